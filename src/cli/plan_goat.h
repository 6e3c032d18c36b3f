/* SPDX-License-Identifier: Apache-2.0 */
/* plan_goat.h: `tributary plan --objective`: a job planned by GOAT's problem instead: bytes x hops, with memory that a
 * switch keeps for a whole gradient. Read next: plan/goat.h. */
#ifndef TRIB_CLI_PLAN_GOAT_H
#define TRIB_CLI_PLAN_GOAT_H

#include "fabric/placed.h"
#include "plan/jobs.h"

struct plan_goat_arguments {
    const char *objective; /* name of a rule; NULL: none */
    const char *server;    /* host */
    uint64_t memory;       /* bytes of each switch that adds; 0: PLAN_GOAT_MEMORY */
    uint64_t seed;
    double late;        /* share of the workers, for `atp` */
    uint32_t gradients; /* that the model is cut into; 0: PLAN_GOAT_GRADIENTS */
    const char *out;    /* file for the plan; NULL: none */
    bool explain;
    bool json;
};

#define PLAN_GOAT_MEMORY UINT64_C(22000000) /* a Tofino 1 */
#define PLAN_GOAT_GRADIENTS 16U
#define PLAN_GOAT_GRADIENTS_MAX 10000U

/* Plans the one job and prints the plan. Returns the exit status. */
int plan_goat(const struct plan_goat_arguments *arguments, const struct plan_network *net,
              const struct plan_jobs *jobs);
/* Checks the plans of the file, which has the models in `placed`, and prints them: all or none. The jobs are those of
 * the models. All together have memory at a switch. Of the arguments, memory, explain and json count. Returns the exit
 * status. */
int plan_goat_prove(const struct plan_goat_arguments *arguments, const struct trib_toml *toml,
                    const struct trib_placed *placed, const struct plan_network *net, const struct plan_jobs *jobs);
/* True if an option is given that only --objective takes. */
bool plan_goat_is_given(const struct plan_goat_arguments *arguments);

#endif
