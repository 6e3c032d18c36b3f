/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.h: a plan in the simulator: a scenario's network and jobs as the planner has them, and trees, paths and
 * rates of a plan as the simulator has them. A worker keeps its rate by the code that real ranks have
 * (protocol/worker_pace.c), and deals its fragments over roots by the same weights (core/window.h).
 *
 * Use: plan_simulated_init from a scenario; then plan_simulated_read, or a plan of one's own and plan_simulated_give;
 * the scenario's jobs then have their trees (sim/jobs/planned.h) as long as the object lives; plan_simulated_free.
 * Read next: simulated.c. */
#ifndef TRIB_PLAN_SIMULATED_H
#define TRIB_PLAN_SIMULATED_H

#include "io/toml.h"
#include "plan/plan.h"
#include "sim/jobs/planned.h"
#include "sim/scenario/scenario.h"

#define PLAN_PORTS 16U /* source ports of a stream where switches choose paths by ECMP */

struct plan_simulated {
    struct sim_scenario *scenario;
    struct plan_network net;
    struct plan_jobs jobs; /* of the scenario, by name */
    struct plan plan;
    struct sim_planned *planned; /* by job */
};

/* The scenario's network, with the switches that add. False: error has the cause. Free it in any case. */
bool plan_simulated_network(struct plan_network *net, const struct sim_scenario *scenario, char *error);
/* Network and jobs. False: error has the place and the cause. Free it in any case. */
bool plan_simulated_init(struct plan_simulated *it, struct sim_scenario *scenario, char *error);
/* Reads and checks a plan, and gives it to the scenario's jobs. False: error has the place and the cause. */
bool plan_simulated_read(struct plan_simulated *it, const struct trib_toml *toml, char *error);
/* Gives the plan to the scenario's jobs. False: error has the cause. */
bool plan_simulated_give(struct plan_simulated *it, char *error);
/* A tree as the simulator has it, of weight 1. With streams that switches deal over ports (ECMP), or else exactly.
 * False: out of memory, or more than 1024 paths between two switches. */
bool plan_simulated_tree(const struct plan_network *net, const struct plan_tree *tree, bool has_ports,
                         struct sim_planned_tree *out);
void plan_simulated_free(struct plan_simulated *it);

#endif
