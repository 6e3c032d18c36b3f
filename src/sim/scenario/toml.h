/* SPDX-License-Identifier: Apache-2.0 */
/* toml.h: reads the part of TOML 1.0 that scenarios need: comments, [table], [[table of an array]], key = value, where
 * a value is a string on one line, an integer, a float or a boolean. What TOML has besides (arrays, inline tables,
 * dotted keys, dates, strings of several lines) is refused by name: a file that is read means what TOML says that it
 * means.
 *
 * Why our own: Debian has libraries for C++ and Python, none for C.
 * Read next: scenario.c (who uses it). */
#ifndef TRIB_SIM_TOML_H
#define TRIB_SIM_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/file.h"

enum sim_toml_kind { SIM_TOML_NONE = 0, SIM_TOML_STRING, SIM_TOML_INTEGER, SIM_TOML_FLOAT, SIM_TOML_BOOLEAN };

struct sim_toml_table {
    const char *name; /* "": what stands before the first table */
    bool is_array;    /* [[name]] */
    struct sim_place place;
};

struct sim_toml_value {
    const char *key;
    const char *text; /* of a string: what it says; else as written, without underscores */
    uint32_t table;   /* in tables */
    enum sim_toml_kind kind;
    struct sim_place key_place;
    struct sim_place place;
};

struct sim_toml {
    struct sim_toml_table *tables;
    struct sim_toml_value *values;
    uint32_t table_count;
    uint32_t value_count;
    char *text;             /* keys and texts lie in it */
    struct sim_place place; /* of an error */
};

/* Reads len bytes of text, copied. False: what is wrong stands in error (TRIB_ERROR_TEXT_MAX bytes), where in
 * toml->place. */
bool sim_toml_read(struct sim_toml *toml, const char *text, size_t len, char *error);
/* The same as a file again, without comments: tables in their order, and in each its keys in theirs. */
void sim_toml_write(FILE *out, const struct sim_toml *toml);
void sim_toml_free(struct sim_toml *toml);

#endif
