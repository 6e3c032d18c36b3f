/* SPDX-License-Identifier: Apache-2.0 */
/* toml.h: reads the part of TOML 1.0 that scenarios and topologies need: comments, [table], [[table of an array]], key
 * = value. A value is a string on one line, an integer, a float or a boolean.
 * All other TOML is refused by name: arrays, inline tables, dotted keys, dates, strings of several lines. So an
 * accepted file means the same as in TOML.
 *
 * Why our own: Debian has libraries for C++ and Python, none for C.
 * Read next: fabric/topology.c, sim/scenario/scenario.c. */
#ifndef TRIB_IO_TOML_H
#define TRIB_IO_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io/file.h"

enum trib_toml_kind { TRIB_TOML_NONE = 0, TRIB_TOML_STRING, TRIB_TOML_INTEGER, TRIB_TOML_FLOAT, TRIB_TOML_BOOLEAN };

struct trib_toml_table {
    const char *name; /* "": before the first table */
    bool is_array;    /* [[name]] */
    struct trib_file_place place;
};

struct trib_toml_value {
    const char *key;
    const char *text; /* of a string: its characters; else as written, without underscores */
    uint32_t table;   /* index in `tables` */
    enum trib_toml_kind kind;
    struct trib_file_place key_place;
    struct trib_file_place place;
};

struct trib_toml {
    struct trib_toml_table *tables;
    struct trib_toml_value *values;
    uint32_t table_count;
    uint32_t value_count;
    char *text;                   /* memory of keys and texts */
    const char *path;             /* of trib_toml_open, for errors; borrowed */
    struct trib_file_place place; /* of an error */
};

/* Reads len bytes of text, which is copied. False: error (TRIB_ERROR_TEXT_MAX bytes) has the cause, toml->place the
 * place. */
bool trib_toml_read(struct trib_toml *toml, const char *text, size_t len, char *error);
/* Writes tables and keys in their order as a file, without comments. */
void trib_toml_write(FILE *out, const struct trib_toml *toml);
/* Reads a file, which may be a pipe: readers of one file share the result. False: error has the cause and the place.
 * Call trib_toml_free in any case. */
bool trib_toml_open(struct trib_toml *toml, const char *path, char *error);
void trib_toml_free(struct trib_toml *toml);

#endif
