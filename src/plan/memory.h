/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: memory of switches that add. A job takes its memory (plan_job.memory) once at each switch that adds in one
 * of its trees, whatever its rate: its slots there serve all its trees. So memory limits which switches a job may have,
 * and no bound depends on it: bounds hold for plans with any memory.
 *
 * Use: plan_memory_init, plan_memory_take for each tree, plan_memory_free. Read next: choice.h, check.c. */
#ifndef TRIB_PLAN_MEMORY_H
#define TRIB_PLAN_MEMORY_H

#include <tributary/comm.h>

#include "plan/tree.h"

struct plan_memory {
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    uint64_t *left; /* by switch, bytes; UINT64_MAX: no limit */
    bool *is_open;  /* by job and switch: the job has its memory there */
};

/* Nothing is taken yet. Network and jobs are borrowed. ERR_INVALID: error names a job whose memory is unknown, though
 * switches have a limit; ERR_MEMORY. Free it in any case. */
TRIB_MUST_USE enum trib_status plan_memory_init(struct plan_memory *m, const struct plan_network *net,
                                                const struct plan_jobs *jobs, char *error);
void plan_memory_free(struct plan_memory *m);
/* Gives all taken memory back. */
void plan_memory_begin(struct plan_memory *m);
/* True if a switch that adds has a limit of memory. */
bool plan_memory_is_limited(const struct plan_network *net);
/* True if the job has its memory at this switch, or enough memory is left there. */
bool plan_memory_has_room(const struct plan_memory *m, uint32_t job, uint32_t place);
/* True if the job has its memory at this switch. */
bool plan_memory_has(const struct plan_memory *m, uint32_t job, uint32_t place);
/* True if the tree's job has its memory at all switches that add in the tree. */
bool plan_memory_is_open(const struct plan_memory *m, const struct plan_tree *tree);
/* The tree's job takes its memory at all switches that add in the tree. Returns TRIB_NO_PLACE, or the place of a switch
 * with too little memory: then the job takes nothing. */
uint32_t plan_memory_take(struct plan_memory *m, const struct plan_tree *tree);

#endif
