/* SPDX-License-Identifier: Apache-2.0 */
/* input.h: reads a TOML file of the planner: tables and keys by a list, and errors with place and remedy.
 * Read next: network_read.c (a user). */
#ifndef TRIB_PLAN_INPUT_H
#define TRIB_PLAN_INPUT_H

#include <tributary/comm.h>

#include "io/file.h"
#include "io/toml.h"

struct plan_input {
    const char *path;
    char *error; /* TRIB_ERROR_TEXT_MAX bytes */
    struct trib_toml toml;
};

/* A key that may stand in a table. read writes the value into *field, or refuses it. */
struct plan_key {
    const char *table; /* "": before the first table */
    const char *name;
    const char *help; /* the right form, for errors: "a rate in quotes: \"100Gbps\"" */
    bool (*read)(struct plan_input *in, const struct trib_toml_value *value, void *field);
    size_t offset; /* of the field in the table's struct */
    bool is_needed;
};

/* Writes the cause with its place. Returns false. */
__attribute__((format(printf, 3, 4))) bool plan_refuse(struct plan_input *in, struct trib_file_place place,
                                                       const char *format, ...);
/* Reads a file. False: error has the cause. Close it in any case. */
bool plan_input_open(struct plan_input *in, const char *path, char *error);
/* Uses an open file. No close. */
void plan_input_use(struct plan_input *in, const struct trib_toml *toml, char *error);
void plan_input_close(struct plan_input *in);
/* Reads all values of a table into `target` by those of `keys` that belong to it; a key without a name ends them.
 * Refuses unknown keys and tables, and missing keys. */
bool plan_input_table(struct plan_input *in, uint32_t table, const struct plan_key *keys, void *target);
/* Number of tables with this name; and true if a table has this name. */
uint32_t plan_input_count(const struct plan_input *in, const char *name);
bool plan_input_is(const struct plan_input *in, uint32_t table, const char *name);
/* The value of this key in the table; NULL: it does not stand there. */
const struct trib_toml_value *plan_input_find(const struct plan_input *in, uint32_t table, const char *key);

/* Readers; the field's type is in brackets. */
bool plan_read_text(struct plan_input *in, const struct trib_toml_value *value, void *field);     /* [const char *] */
bool plan_read_rate(struct plan_input *in, const struct trib_toml_value *value, void *field);     /* [uint64_t] bit/s */
bool plan_read_size(struct plan_input *in, const struct trib_toml_value *value, void *field);     /* [uint64_t] bytes */
bool plan_read_count(struct plan_input *in, const struct trib_toml_value *value, void *field);    /* [uint32_t] >= 1 */
bool plan_read_long(struct plan_input *in, const struct trib_toml_value *value, void *field);     /* [uint64_t] */
bool plan_read_duration(struct plan_input *in, const struct trib_toml_value *value, void *field); /* [uint64_t] ns */
bool plan_read_percent(struct plan_input *in, const struct trib_toml_value *value, void *field);  /* [uint32_t] */
bool plan_read_flag(struct plan_input *in, const struct trib_toml_value *value, void *field);     /* [bool] */

/* The next word between blanks from *at on, of *len bytes; NULL: there is none. */
const char *plan_next_word(const char **at, size_t *len);

#endif
