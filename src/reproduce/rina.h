/* SPDX-License-Identifier: Apache-2.0 */
/* rina.h: Rina (Chen et al., ICNP'24): experiments. Scheme `rina` is ours; `rina-literal` has the paper's agents
 * (published/rina_literal/rina_literal.h). Read next: plan/deploy.h (the paper's model of bottlenecks), rina_bom.c,
 * rina_steps.c, rina_jitter.c, rina_runs.c (simulations), rina_throughput.c. */
#ifndef TRIB_REPRODUCE_RINA_H
#define TRIB_REPRODUCE_RINA_H

#include "plan/deploy.h"
#include "reproduce/reproduce.h"
#include "sim/network/topology.h"

/* A network of the paper. */
struct rina_network {
    const char *name;
    struct sim_topology topology;
    const char *text; /* the topology as text of a scenario */
    uint32_t workers; /* simulated; a sum on its way to a server names up to 64 */
    uint32_t racks;   /* switches with workers */
};

extern const struct rina_network rina_fat_tree;
extern const struct rina_network rina_dragonfly;

/* Builds the spanning tree of all hosts, or of the first `hosts`, to the first host. False: run->is_out_of_memory. */
bool rina_tree(struct reproduce_run *run, const struct rina_network *network, uint32_t hosts,
               struct plan_deploy *deploy);

/* Time of the gradients by the paper's accounts, s: overhead of steps, and bytes of the fullest link. */
struct rina_model {
    double bytes;
    double rate_bps;
    double overhead_s; /* of a step */
};

double rina_model_ring(const struct rina_model *m, uint32_t workers);
/* Racks of `rack` workers; each worker has its part between racks. */
double rina_model_hybrid(const struct rina_model *m, uint32_t workers, uint32_t rack);
double rina_model_chain(const struct rina_model *m, uint32_t links, uint32_t workers);
/* A tree that runs at this share of the rate: sums up, then results down. */
double rina_model_tree(const struct rina_model *m, double share);

bool rina_bom(struct reproduce_run *run);
bool rina_steps(struct reproduce_run *run);
bool rina_eq3(struct reproduce_run *run);
bool rina_fig10(struct reproduce_run *run);
bool rina_fig11(struct reproduce_run *run);
bool rina_fig12(struct reproduce_run *run);

#endif
