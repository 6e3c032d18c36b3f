/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: command lines and configuration files from one table of options: reading, --help, and errors that name the
 * nearest option. An option writes one field of the command's struct, found by its offset; texts stay the caller's.
 * Read next: options.c. */
#ifndef TRIB_CLI_OPTIONS_H
#define TRIB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/comm.h>

#include "io/units.h"

struct option_kind {
    /* Reads text ("" for an option without argument) into field; error has TRIB_ERROR_TEXT_MAX bytes. */
    enum trib_status (*read)(const struct option_kind *kind, const char *text, void *field, char *error);
    uint64_t min, max; /* of the value in its smallest unit, or of the length of a text; other readers ignore them */
};

struct option_row {
    const char *name;     /* long name, "workers"; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* "N", NULL for a switch that is on when named */
    const char *help;     /* default in brackets */
    const struct option_kind *kind;
    size_t offset; /* of the field in the command's struct */
};

struct option_command {
    const char *usage;   /* "tributary perf [options]" */
    const char *summary; /* one or two lines */
    const struct option_row *rows;
    const char *examples; /* NULL or lines, each with two spaces in front */
    bool runs_program;    /* the first argument that is no option is a program: options behind it are the program's */
};

enum option_outcome {
    OPTIONS_OK,
    OPTIONS_HELP, /* help was printed: exit 0 */
    OPTIONS_BAD,  /* the cause was printed: exit EXIT_USAGE */
};

/* Reads the options of argv[1..] and moves all other arguments, and all behind "--", to the end, in their order. *rest:
 * index of the first of these (argc when there is none). */
enum option_outcome options_read(const struct option_command *command, int argc, char **argv, void *target, int *rest);
/* Reads "name = value" lines, # comments, strings in quotes or bare. Prints file, line and cause when it returns
 * false. */
bool options_read_file(const struct option_command *command, const char *path, void *target);
/* Frees the texts that files gave to fields: those fields are no longer to be read. */
void options_forget(void);
/* Prints "tributary: <message>" on standard error, as one write: ranks share a terminal. Returns 1, the exit status of
 * a failure. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Readers; the field's type is in brackets. */
#define OPTION_READER(name) \
    enum trib_status name(const struct option_kind *kind, const char *text, void *field, char *error)
OPTION_READER(option_on);         /* [bool] set by being named, or by a value */
OPTION_READER(option_off);        /* [bool] cleared by being named */
OPTION_READER(option_text);       /* [const char *] */
OPTION_READER(option_address);    /* [const char *] "host", "host:port", "[v6]:port" */
OPTION_READER(option_addresses);  /* [const char *] with commas between them */
OPTION_READER(option_count);      /* [uint32_t] */
OPTION_READER(option_number);     /* [uint64_t] */
OPTION_READER(option_size);       /* [uint64_t] bytes, "64MB" */
OPTION_READER(option_size32);     /* [uint32_t] bytes, "64KB" */
OPTION_READER(option_size_short); /* [uint64_t] bytes, "128M" */
OPTION_READER(option_duration);   /* [uint64_t] ns, "30s" */
OPTION_READER(option_percent);    /* [double] "1%" */
OPTION_READER(option_wire);       /* [enum trib_wire] */

/* Kinds of a row. The bounds are the lowest and the highest value that is taken. */
#define OPTION_KIND(reader, low, high) (&(const struct option_kind){reader, low, high})
#define OPTION_ON OPTION_KIND(option_on, 0, 0)
#define OPTION_OFF OPTION_KIND(option_off, 0, 0)
#define OPTION_TEXT OPTION_KIND(option_text, 1, 4000)
#define OPTION_NAME OPTION_KIND(option_text, 1, TRIB_NAME_MAX)
#define OPTION_ADDRESS OPTION_KIND(option_address, 1, TRIB_NAME_MAX)
#define OPTION_ADDRESSES OPTION_KIND(option_addresses, 1, 4000)
#define OPTION_COUNT(low, high) OPTION_KIND(option_count, low, high)
#define OPTION_NUMBER(low, high) OPTION_KIND(option_number, low, high)
#define OPTION_SIZE(low, high) OPTION_KIND(option_size, low, high)
#define OPTION_SIZE32(low, high) OPTION_KIND(option_size32, low, high)
#define OPTION_SIZE_SHORT(low, high) OPTION_KIND(option_size_short, low, high)
#define OPTION_DURATION(low, high) OPTION_KIND(option_duration, low, high)
#define OPTION_TIMEOUT OPTION_DURATION(TRIB_TIMEOUT_MIN_NS, TRIB_TIMEOUT_MAX_NS)
#define OPTION_PERCENT OPTION_KIND(option_percent, 0, 0)
#define OPTION_WIRE OPTION_KIND(option_wire, 0, 0)

/* The injector's options, the same for every command; `base` is the offset of a struct trib_faults. */
#define OPTION_FAULT_ROWS(base)                                                   \
    {"loss",         0,                                                           \
     "P%",           "lose received packets on purpose [0%]",                     \
     OPTION_PERCENT, (base) + offsetof(struct trib_faults, loss)},                \
        {"duplicate",    0,                                                       \
         "P%",           "duplicate received packets [0%]",                       \
         OPTION_PERCENT, (base) + offsetof(struct trib_faults, duplicate)},       \
        {"reorder",      0,                                                       \
         "P%",           "hold received packets back behind later ones [0%]",     \
         OPTION_PERCENT, (base) + offsetof(struct trib_faults, reorder)},         \
        {"corrupt",      0,                                                       \
         "P%",           "flip bits of received packets [0%]",                    \
         OPTION_PERCENT, (base) + offsetof(struct trib_faults, corrupt)},         \
    {                                                                             \
        "seed", 0, "N", "seed of these faults [0]", OPTION_NUMBER(0, UINT64_MAX), \
            (base) + offsetof(struct trib_faults, seed)                           \
    }

#endif
