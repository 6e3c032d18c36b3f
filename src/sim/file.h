/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: a whole file as text, for those who read scenarios, traces and networks. Read next: scenario/toml.h. */
#ifndef TRIB_SIM_FILE_H
#define TRIB_SIM_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Where something stands in a file, counted from 1. */
struct sim_place {
    uint32_t line;
    uint32_t column;
};

/* The whole file, ended by a zero, to be freed; NULL: error says why not. */
char *sim_file_read(const char *path, size_t *len, char *error);

#endif
