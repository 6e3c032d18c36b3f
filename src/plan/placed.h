/* SPDX-License-Identifier: Apache-2.0 */
/* placed.h: a plan of pieces (fabric/placed.h) in the simulator: switches of a scenario add the pieces that the plan
 * places there, for jobs of scheme `goat`.
 *
 * Use: plan_placed_read; if it has models, plan_placed_give; the scenario's jobs then have their pieces as long as the
 * object lives; plan_placed_free. Read next: placed.c, simulated.h (plans of trees). */
#ifndef TRIB_PLAN_PLACED_H
#define TRIB_PLAN_PLACED_H

#include "fabric/placed.h"
#include "plan/network.h"
#include "sim/scenario/scenario.h"

struct plan_placed {
    struct sim_scenario *scenario; /* NULL: none has the pieces */
    struct plan_network net;
    struct trib_placed plan; /* count 0: it is a plan of another kind */
    struct sim_placed *jobs; /* by job of the scenario */
};

/* Reads the file. False: error has the place and the cause. Free it in any case. */
bool plan_placed_read(struct plan_placed *it, const struct trib_toml *toml, char *error);
/* Checks that the plan is for the scenario's network and jobs, and gives the jobs their pieces. False: error has the
 * place and the cause. */
bool plan_placed_give(struct plan_placed *it, struct sim_scenario *scenario, char *error);
void plan_placed_free(struct plan_placed *it);

#endif
