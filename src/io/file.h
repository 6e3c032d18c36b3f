/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: reads a whole file as text, and names a place in it that is wrong; makes folders for results. Read next:
 * toml.h. */
#ifndef TRIB_IO_FILE_H
#define TRIB_IO_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Where something stands in a file, counted from 1. */
struct trib_file_place {
    uint32_t line;
    uint32_t column;
};

/* Opens a file, or a pipe that a program writes to. NULL: error says why not. A pipe without a writer is refused: a
 * read would take for ever. */
FILE *trib_file_open(const char *path, char *error);
/* The whole file, ended by a zero, to be freed; NULL: error says why not. */
char *trib_file_read(const char *path, size_t *len, char *error);
/* Makes the folder where it is not there yet. False: error says why there is none, and what to name instead. */
bool trib_file_make_folder(const char *path, char *error);
/* Whether the file can be written, which leaves it as it was. False: error says why not. Ask before a long run. */
bool trib_file_may_write(const char *path, char *error);
/* "PATH:LINE:COLUMN: " and the text, in error. Returns false. */
__attribute__((format(printf, 4, 5))) bool trib_file_refuse(char *error, const char *path, struct trib_file_place place,
                                                            const char *format, ...);
__attribute__((format(printf, 4, 0))) bool trib_file_refuse_list(char *error, const char *path,
                                                                 struct trib_file_place place, const char *format,
                                                                 va_list arguments);

#endif
