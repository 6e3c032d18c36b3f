/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h: the switches of jobs from a plan of `tributary plan` (docs/PLAN.md), for the control plane. From the
 * plan's file it reads the tables [[job]] (name and rate) and the tables [[tree]] (job, switch at the root, weight).
 * Other keys describe a tree further, or prove the plan.
 * Read next: control/roots/trees.h (uses this). */
#ifndef TRIB_FABRIC_PLANNED_H
#define TRIB_FABRIC_PLANNED_H

#include <tributary/comm.h>

#include "fabric/topology.h"
#include "io/toml.h"

#define TRIB_PLANNED_JOBS_MAX 1024
#define TRIB_PLANNED_SWITCHES_MAX 8 /* of a job */

struct trib_planned_job {
    char name[TRIB_NAME_MAX + 1];
    uint64_t rate_bps; /* of each rank, over all switches */
    uint8_t count;
    uint8_t switches[TRIB_PLANNED_SWITCHES_MAX]; /* by number, ascending */
    uint8_t weight[TRIB_PLANNED_SWITCHES_MAX];   /* weight of each switch relative to the others, 1 to 255 */
};

struct trib_planned {
    uint32_t count;
    struct trib_planned_job *jobs;
};

/* Reads a plan with these names of switches. False: error has the cause and the place, and *planned holds no memory. */
bool trib_planned_read(struct trib_planned *planned, const struct trib_toml *toml,
                       const struct trib_switch_names *names, char *error);
void trib_planned_free(struct trib_planned *planned);
/* The job of this name. NULL: the plan does not name it, or `planned` is NULL. */
const struct trib_planned_job *trib_planned_find(const struct trib_planned *planned, const char *name);

#endif
