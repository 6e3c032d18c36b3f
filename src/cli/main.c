/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program `tributary`: picks the subcommand. Read next: commands.h. */
#include <stdio.h>
#include <string.h>

#include <tributary/comm.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "io/nearest.h"

static int help(FILE *out)
{
    fprintf(
        out,
        "usage: tributary <command> [options]\n\nTributary %s: in-network aggregation for distributed training.\n\n",
        trib_version());
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        fprintf(out, "  %-9s %s\n", command_at(i)->name, command_at(i)->help);
    }
    fprintf(out, "\n`tributary <command> --help` tells more. Of an option that is given twice, the last counts.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int unknown(const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    struct trib_nearest nearest = {.word = word, .len = strlen(word)};
    bool is_option = word[0] == '-';

    for (unsigned i = 0; !is_option && command_at(i) != NULL; i++) {
        trib_nearest_offer(&nearest, command_at(i)->name);
    }
    for (unsigned i = 0; is_option && i < sizeof options / sizeof options[0]; i++) {
        trib_nearest_offer(&nearest, options[i]);
    }
    const char *what = is_option ? "option" : "command";
    if (nearest.best != NULL) {
        complain("unknown %s \"%s\"; did you mean %s?", what, word, nearest.best);
    } else {
        complain("unknown %s \"%s\"; `tributary --help` lists all", what, word);
    }
    return EXIT_USAGE;
}

/* argv begins with the command's name. */
static int run(int argc, char **argv, bool has_output)
{
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        const struct command *command = command_at(i);
        if (strcmp(argv[0], command->name) == 0) {
            return command->prints && !has_output
                       ? complain("standard output is closed, and results would be lost: name a file, or /dev/null")
                       : command->run(argc, argv);
        }
    }
    return unknown(argv[0]);
}

static int choose(int argc, char **argv, bool has_output)
{
    if (argc < 2) {
        return help(stderr);
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "help") != 0) {
        char more[] = "--help";
        char *of[] = {argv[2], more, NULL};
        return run(2, of, has_output);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return help(stdout);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("tributary %s\n", trib_version());
        return 0;
    }
    return run(argc - 1, argv + 1, has_output);
}

int main(int argc, char **argv)
{
    bool has_output = output_begin();

    return output_end(choose(argc, argv, has_output));
}
