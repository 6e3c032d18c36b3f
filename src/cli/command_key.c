/* SPDX-License-Identifier: Apache-2.0 */
/* command_key.c: `tributary key`: makes and names keys of jobs. Read next: keys/store.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "keys/store.h"
#include "report/json.h"

struct key_options {
    bool json;
};

static const struct option_row rows[] = {
    {"json", 0, NULL, "the id and the file written, as JSON", OPTION_ON, offsetof(struct key_options, json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_key = {
    .usage = "tributary key [options] new FILE | id FILE | tenant FILE DIR",
    .summary =
        "Keys of jobs. new: makes a key in FILE, mode 0600, for the ranks of a job (TRIB_KEY_FILE). id: prints the\n"
        "public id of the key in FILE. tenant: derives a key for the switch (`tributary switch --keys DIR`), and\n"
        "writes it to the file DIR/ID. The key of the job cannot be computed from it. No file is overwritten.",
    .rows = rows,
    .examples = "  tributary key new job.key\n"
                "  tributary key tenant job.key keys    # then copy the file in keys/ to the switch",
};

static int print_id(const struct key_options *options, const struct trib_keys *keys, const char *written)
{
    char id[TRIB_KEY_ID_TEXT];
    trib_key_id_format(keys->id, id);
    if (options->json) {
        struct report_json json = {.out = stdout};
        report_json_open(&json, NULL, '{');
        report_json_say(&json, "id", id);
        if (written != NULL) {
            report_json_say(&json, "file", written);
        }
        report_json_close(&json, '}');
        printf("\n");
    } else {
        printf("%s%s%s\n", id, written != NULL ? " " : "", written != NULL ? written : "");
    }
    return 0;
}

static int run(const struct key_options *options, int count, char **words)
{
    struct trib_keys keys = {.is_set = false};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char written[PATH_MAX];
    bool is_new = strcmp(words[0], "new") == 0;
    bool is_tenant = count == 3;
    enum trib_status status = TRIB_OK;
    if (trib_keys_explain_lack() != NULL) {
        return complain("key: %s", trib_keys_explain_lack());
    }
    if (is_new) {
        status = trib_key_make(words[1], error);
    }
    status = status == TRIB_OK ? trib_keys_load(words[1], &keys, error) : status;
    if (status == TRIB_OK && is_tenant) {
        status = trib_key_store(words[2], &keys, written, sizeof written, error);
    }
    int result = status == TRIB_OK ? print_id(options, &keys,
                                              is_tenant ? written
                                              : is_new  ? words[1]
                                                        : NULL)
                                   : complain("%s", error);
    trib_wipe(&keys, sizeof keys);
    return result;
}

int command_key(int argc, char **argv)
{
    struct key_options options = {0};
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_key, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    int count = argc - rest;
    const char *verb = count > 0 ? argv[rest] : "";
    bool is_verb = strcmp(verb, "new") == 0 || strcmp(verb, "id") == 0 || strcmp(verb, "tenant") == 0;
    if (!is_verb || count != (strcmp(verb, "tenant") == 0 ? 3 : 2)) {
        complain("key%s%s: write new FILE, id FILE or tenant FILE DIR; --help has examples", *verb != '\0' ? " " : "",
                 verb);
        return EXIT_USAGE;
    }
    return run(&options, count, argv + rest);
}
