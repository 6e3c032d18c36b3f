/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_file.h: writes measured numbers into the file of a network (docs/PLAN.md). An edit replaces values only:
 * comments, order and all other bytes stay. Read next: doctor_topology.c (finds the host in the file). */
#ifndef TRIB_CLI_DOCTOR_FILE_H
#define TRIB_CLI_DOCTOR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/names.h"

/* Bytes of a rate or of a duration as the file has it. */
#define DOCTOR_QUANTITY_MAX 32

/* The cable of a host in a network. */
struct doctor_cable {
    char host[PLAN_NAME_MAX + 1];
    /* The switch at the other end. */
    char other[PLAN_NAME_MAX + 1];
    /* Rate in the file, bit/s. 0: the file does not exist yet. */
    uint64_t rate_bps;
};

struct doctor_numbers {
    /* Rate of the host's cable, bit/s. */
    uint64_t rate_bps;
    /* Overhead of a step, ns. */
    uint64_t step_ns;
};

/* Writes a rate with four digits: "20.31Mbps". The planner's reader takes it. */
void doctor_format_rate(uint64_t bps, char text[DOCTOR_QUANTITY_MAX]);
/* Writes a duration with four digits: "58.3us". */
void doctor_format_step(uint64_t ns, char text[DOCTOR_QUANTITY_MAX]);

/* Returns the text with the numbers in it, to be freed by the caller: a key step_overhead and a table [[link]] that are
 * missing are added. A cable with rate_bps 0 returns a new file; text is then not read. Returns NULL if the text is no
 * TOML or does not have the cable once; error has the cause, with path and place. */
char *doctor_file_edit(const char *path, const char *text, const struct doctor_cable *cable,
                       const struct doctor_numbers *numbers, char *error);
/* Returns true if doctor_file_write can replace or make the file. It stays as it is. */
bool doctor_file_may_write(const char *path, char *error);
/* Replaces the file at once, by a rename, and keeps its mode. A symbolic link keeps its target's name. Returns false if
 * the planner cannot read the new text or the file cannot be written; the old file then stays. */
bool doctor_file_write(const char *path, const char *text, char *error);

#endif
