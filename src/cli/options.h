/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: command lines and configuration files from one table of options: reading, --help, and errors that name the
 * nearest option. An option writes one field of the command's struct, found by its offset; texts stay the caller's.
 * Read next: options.c. */
#ifndef TRIB_CLI_OPTIONS_H
#define TRIB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/comm.h>

struct option_row {
    const char *name;     /* long name, "workers"; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* "N", NULL for a switch that is on when named */
    const char *help;     /* default in brackets */
    /* Reads text ("" for a switch without argument) into field; error has TRIB_ERROR_TEXT_MAX bytes. */
    enum trib_status (*read)(const char *text, void *field, char *error);
    size_t offset; /* of the field in the command's struct */
};

struct option_command {
    const char *usage;   /* "tributary perf [options]" */
    const char *summary; /* one or two lines */
    const struct option_row *rows;
    const char *examples; /* NULL or lines, each with two spaces in front */
};

enum option_outcome {
    OPTIONS_OK,
    OPTIONS_HELP, /* help was printed: exit 0 */
    OPTIONS_BAD,  /* the cause was printed: exit EXIT_USAGE */
};

/* Reads argv[1..]; *rest: index of the first argument behind "--" or the options (argc when there is none). */
enum option_outcome options_read(const struct option_command *command, int argc, char **argv, void *target, int *rest);
/* Reads "name = value" lines, # comments, strings in quotes or bare. Prints file, line and cause when it returns
 * false. */
bool options_read_file(const struct option_command *command, const char *path, void *target);
/* Frees the texts that files gave to fields: those fields are no longer to be read. */
void options_forget(void);
/* Prints "tributary: <message>" on standard error, as one write: ranks share a terminal. Returns 1, the exit status of
 * a failure. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints text as a JSON string. Texts of ours hold no control characters; only quotes and backslashes need care. */
void print_quoted(const char *text);

/* Readers; the field's type is in brackets. */
enum trib_status option_on(const char *text, void *field, char *error);   /* [bool] set by being named, or by a value */
enum trib_status option_off(const char *text, void *field, char *error);  /* [bool] cleared by being named */
enum trib_status option_text(const char *text, void *field, char *error); /* [const char *] */
enum trib_status option_count(const char *text, void *field, char *error);      /* [uint32_t] 0 to 1,000,000,000 */
enum trib_status option_seed(const char *text, void *field, char *error);       /* [uint64_t] */
enum trib_status option_size(const char *text, void *field, char *error);       /* [uint64_t] bytes, "64MB" */
enum trib_status option_size32(const char *text, void *field, char *error);     /* [uint32_t] bytes, "64KB", "1408B" */
enum trib_status option_size_short(const char *text, void *field, char *error); /* [uint64_t] bytes, "128M" */
enum trib_status option_duration(const char *text, void *field, char *error);   /* [uint64_t] ns, "30s" */
enum trib_status option_percent(const char *text, void *field, char *error);    /* [double] "1%" */
enum trib_status option_wire(const char *text, void *field, char *error);       /* [enum trib_wire] */
enum trib_status option_name(const char *text, void *field, char *error);       /* [char[TRIB_NAME_MAX + 1]] */

/* The injector's options, the same for every command; `base` is the offset of a struct trib_faults. */
#define OPTION_FAULT_ROWS(base)                                                                              \
    {"loss",         0,                                                                                      \
     "P%",           "lose received packets on purpose [0%]",                                                \
     option_percent, (base) + offsetof(struct trib_faults, loss)},                                           \
        {"duplicate",    0,                                                                                  \
         "P%",           "duplicate received packets [0%]",                                                  \
         option_percent, (base) + offsetof(struct trib_faults, duplicate)},                                  \
        {"reorder",      0,                                                                                  \
         "P%",           "hold received packets back behind later ones [0%]",                                \
         option_percent, (base) + offsetof(struct trib_faults, reorder)},                                    \
        {"corrupt",      0,                                                                                  \
         "P%",           "flip bits of received packets [0%]",                                               \
         option_percent, (base) + offsetof(struct trib_faults, corrupt)},                                    \
    {                                                                                                        \
        "seed", 0, "N", "seed of these faults [0]", option_seed, (base) + offsetof(struct trib_faults, seed) \
    }

#endif
