/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_topology.h: this machine in the file of a network (docs/PLAN.md). Read next: doctor_file.h (the edit). */
#ifndef TRIB_CLI_DOCTOR_TOPOLOGY_H
#define TRIB_CLI_DOCTOR_TOPOLOGY_H

#include "cli/doctor_file.h"
#include "net/address.h"

#define DOCTOR_NAMES_MAX 4

/* Names that this machine may have in a file. */
struct doctor_names {
    uint32_t count;
    /* The user has named the host. */
    bool is_chosen;
    char list[DOCTOR_NAMES_MAX][PLAN_NAME_MAX + 1];
    /* Address and port of the switch, for a new file. */
    char peer[PLAN_NAME_MAX + 1];
};

/* The host's name, the same up to its first dot, and the address that packets to the switch leave from; source: that
 * address, or NULL for the one by the routes. */
void doctor_names_collect(struct doctor_names *names, const struct trib_address *peer,
                          const struct trib_address *source);
/* Replaces the names by one of the user's. Returns false if a file cannot have it; error has the cause. */
bool doctor_names_choose(struct doctor_names *names, const char *host, char *error);

/* Finds the cable of the host with one of these names; for a file that does not exist, the cable that a new one gets.
 * Returns false if no host or several have them, the planner cannot read the file, or it cannot be replaced; error has
 * the cause. */
bool doctor_topology_find(const char *path, const struct doctor_names *names, struct doctor_cable *cable, char *error);
/* Writes the numbers; the file is read again, and may have changed. Returns false if it stays as it is. */
bool doctor_topology_write(const char *path, const struct doctor_cable *cable, const struct doctor_numbers *numbers,
                           char *error);

#endif
