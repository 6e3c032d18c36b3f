/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the jobs of a plan: their hosts, a weight, and bytes per step. As TOML:
 *   [[job]]
 *   name = "resnet"
 *   hosts = "host0-15 host20"
 *   weight = 2           # of its rate, beside other jobs [1]
 *   bytes = "98MB"       # of gradients in a step: for the time of a step, which is then printed
 *   memory = "24MB"      # at each switch that adds for it, if switches have a limit
 * Read next: routes.h. */
#ifndef TRIB_PLAN_JOBS_H
#define TRIB_PLAN_JOBS_H

#include "plan/network.h"

#define PLAN_JOBS_MAX 1024U
#define PLAN_WEIGHT_MAX 1000U

/* Members of a job behind one switch. */
struct plan_leaf {
    uint32_t place;
    uint32_t members;
};

struct plan_job {
    char name[PLAN_NAME_MAX + 1];
    uint32_t weight;
    uint64_t bytes; /* 0: unknown */
    /* Bytes at each switch that adds for it; 0: unknown. Not in the digest, as in network.h. */
    uint64_t memory;
    uint32_t *hosts;
    uint32_t host_count;
    struct plan_leaf *leaves; /* by place, ascending */
    uint32_t leaf_count;
};

struct plan_jobs {
    struct plan_job *list;
    uint32_t count;
};

/* Reads a file. False: error has the cause and the place. Free it in any case. */
bool plan_jobs_read(struct plan_jobs *jobs, const struct plan_network *net, const char *path, char *error);
/* Finds the leaves of a job from its hosts. False: out of memory. */
bool plan_job_settle(struct plan_job *job, const struct plan_network *net);
void plan_jobs_free(struct plan_jobs *jobs);
/* A number that differs between lists of jobs that differ. */
uint64_t plan_jobs_digest(const struct plan_jobs *jobs);

#endif
