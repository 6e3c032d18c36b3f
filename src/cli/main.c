/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program `tributary`: picks the subcommand. Read next: commands.h. */
#include <stdio.h>
#include <string.h>

#include <tributary/comm.h>

#include "cli/commands.h"
#include "cli/options.h"
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
    fprintf(out, "\n`tributary <command> --help` tells more.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int unknown(const char *word)
{
    struct trib_nearest nearest = {.word = word, .len = strlen(word)};

    for (unsigned i = 0; command_at(i) != NULL; i++) {
        trib_nearest_offer(&nearest, command_at(i)->name);
    }
    if (nearest.best != NULL) {
        complain("unknown command \"%s\"; did you mean %s?", word, nearest.best);
    } else {
        complain("unknown command \"%s\"; `tributary --help` lists what there is", word);
    }
    return EXIT_USAGE;
}

/* argv begins with the command's name. */
static int run(int argc, char **argv)
{
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        if (strcmp(argv[0], command_at(i)->name) == 0) {
            return command_at(i)->run(argc, argv);
        }
    }
    return unknown(argv[0]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return help(stderr);
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "help") != 0) {
        char more[] = "--help";
        char *of[] = {argv[2], more, NULL};
        return run(2, of);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return help(stdout);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("tributary %s\n", trib_version());
        return 0;
    }
    return run(argc - 1, argv + 1);
}
