/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: reads a whole file as text, and names the place of an error in a file; makes folders for results. Read next:
 * toml.h. */
#ifndef TRIB_IO_FILE_H
#define TRIB_IO_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A place in a file, counted from 1. */
struct trib_file_place {
    uint32_t line;
    uint32_t column;
};

/* Returns the whole file, ended by a zero, for the caller to free. NULL: error has the cause. */
char *trib_file_read(const char *path, size_t *len, char *error);
/* Makes the folder if it does not exist. False: error has the cause, and the path to name instead. */
bool trib_file_make_folder(const char *path, char *error);
/* True if both names are of one file, which need not exist; false for devices and pipes, which many may write to. */
bool trib_file_is_same(const char *one, const char *other);
/* True if the file can be written; the check leaves the file unchanged. False: error has the cause. Ask before a long
 * run. */
bool trib_file_may_write(const char *path, char *error);
/* Writes "PATH:LINE:COLUMN: " and the text to error. Returns false. */
__attribute__((format(printf, 4, 5))) bool trib_file_refuse(char *error, const char *path, struct trib_file_place place,
                                                            const char *format, ...);
__attribute__((format(printf, 4, 0))) bool trib_file_refuse_list(char *error, const char *path,
                                                                 struct trib_file_place place, const char *format,
                                                                 va_list arguments);

#endif
