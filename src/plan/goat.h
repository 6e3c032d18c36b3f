/* SPDX-License-Identifier: Apache-2.0 */
/* goat.h: GOAT's problem (Fang et al., IWQoS'23) and its planners: which switch buffers which part of a model, and
 * where each worker sends this part.
 *
 * A model is cut into gradients. A switch that buffers a gradient keeps memory for all of its bytes through an
 * iteration, adds the workers' parts, and sends one sum to the server. A worker sends its part of a gradient to one
 * such switch, or to the server. The cost is bytes x hops, of parts and of sums (equation 1 of the paper). A sum that
 * passes a second switch is not added there. So the model leaves out link rates, trees and memory that is used again
 * within an iteration; pack.h has the planner for these.
 *
 * Use: trib_goat_create; the plan of a row of trib_goat_rule_at, or trib_goat_bound; trib_goat_plan_destroy,
 * trib_goat_destroy. Read next: goat.c (cost), goat_rules.c (planners), goat_bound.c (bound). */
#ifndef TRIB_PLAN_GOAT_H
#define TRIB_PLAN_GOAT_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "fabric/fabric.h"

#define TRIB_GOAT_SERVER UINT32_MAX /* instead of a switch */
#define TRIB_GOAT_HOPS_MAX 64U
#define TRIB_GOAT_BYTES_MAX (UINT64_C(1) << 44) /* of a model: costs then stay within 64 bits */
#define TRIB_GOAT_WORKERS_MAX 4096U
#define TRIB_GOAT_SWITCHES_MAX 4096U

/* A job on a network. Places are those of the fabric. */
struct trib_goat_job {
    const struct trib_fabric *fabric;
    uint32_t server; /* place */
    uint32_t workers, switches, gradients;
    const uint32_t *worker_places;
    const uint32_t *switch_places; /* of switches that add */
    const uint64_t *memory;        /* bytes, by switch */
    const uint64_t *bytes;         /* by gradient */
    /* Packets take any shortest path to the server. So a switch counts for a worker only if all shortest paths of the
     * worker pass the switch. */
    bool is_on_path;
};

struct trib_goat {
    uint32_t workers, switches, gradients;
    uint32_t *weight;      /* by worker: number of equal workers that it stands for; 1 in a job's own problem */
    uint32_t *to_server;   /* hops, by worker */
    uint32_t *to_switch;   /* hops, by worker and then by switch; TRIB_NO_WAY: no path */
    uint32_t *from_switch; /* hops to the server, by switch; TRIB_NO_WAY: no path */
    uint64_t *memory;      /* bytes, by switch */
    uint64_t *bytes;       /* by gradient */
    uint64_t total;        /* bytes of all gradients */
};

struct trib_goat_plan {
    bool *is_open;  /* by gradient and then by switch: the switch buffers the gradient */
    uint32_t *node; /* by gradient and then by worker: a switch, or TRIB_GOAT_SERVER */
    /* Of trib_goat_count. */
    uint64_t cost;         /* bytes x hops */
    uint64_t server_bytes; /* that the server receives */
    uint64_t excess_bytes; /* beyond the memory of switches; 0: the plan fits */
    /* No plan that fits costs less. 0: the rule has no bound. */
    uint64_t bound;
    uint32_t *price; /* by worker: trib_goat_prove finds the bound from these; NULL: no bound */
};

/* Hops by shortest paths. ERR_INVALID: error (TRIB_ERROR_TEXT_MAX bytes) says which place or number is at fault;
 * ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_create(struct trib_goat *problem, const struct trib_goat_job *job,
                                                char *error);
/* Allocates a problem of this size, with all numbers 0. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_allocate(struct trib_goat *problem, uint32_t workers, uint32_t switches,
                                                  uint32_t gradients);
void trib_goat_destroy(struct trib_goat *problem);

/* Everything goes to the server, as without aggregation. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_plan_create(struct trib_goat_plan *plan, const struct trib_goat *problem);
void trib_goat_plan_destroy(struct trib_goat_plan *plan);
/* Each worker sends each gradient to the nearest switch that buffers it, if that is nearer than the server. For given
 * buffers no other choice is cheaper. */
void trib_goat_send_to_nearest(const struct trib_goat *problem, struct trib_goat_plan *plan);
/* Counts cost, the server's bytes and excess. A switch to which no worker sends has no sum to send. */
void trib_goat_count(const struct trib_goat *problem, struct trib_goat_plan *plan);
/* The cost of a gradient per byte, if the marked switches buffer it and each worker sends to the nearest, which is
 * written to node, by worker. */
uint64_t trib_goat_gradient_cost(const struct trib_goat *problem, const bool *is_open, uint32_t *node);

/* ---- planners ---- */

struct trib_goat_options {
    uint64_t seed; /* seed of rules that draw at random */
    uint32_t late; /* workers, the first ones, that are late: rule `atp` */
    char *error;   /* TRIB_ERROR_TEXT_MAX bytes, or NULL */
};

struct trib_goat_rule {
    const char *name;
    bool needs_solver;
    /* The plan is created by trib_goat_plan_create, and comes back counted. ERR_MEMORY; ERR_SYSTEM: options->error. */
    enum trib_status (*make)(const struct trib_goat *problem, const struct trib_goat_options *options,
                             struct trib_goat_plan *plan);
};

/* The index-th rule; NULL behind the last. */
const struct trib_goat_rule *trib_goat_rule_at(uint32_t index);
/* NULL: no rule of this name. */
const struct trib_goat_rule *trib_goat_rule_find(const char *name);

/* Opens switches for gradients, the largest saving per byte first, as long as memory lasts; then closes those without
 * a saving, and opens again. Goes on from the plan's open switches. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_fill(const struct trib_goat *problem, struct trib_goat_plan *plan);
/* Closes gradients at switches with more bytes than memory, the least saving first. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_repair(const struct trib_goat *problem, struct trib_goat_plan *plan);

/* Deals gradients to sets of switches by a linear program over sets, then fills. Looks for no more sets once the
 * program's optimum is `enough`, bytes x hops. The plan is a new one; the problem has bytes. ERR_MEMORY; ERR_SYSTEM:
 * error. */
TRIB_MUST_USE enum trib_status trib_goat_deal(const struct trib_goat *problem, double enough,
                                              struct trib_goat_plan *plan, char *error);

/* ---- the relaxed problem ---- */

/* Shares instead of yes and no, the same for all gradients. */
struct trib_goat_shares {
    double *x; /* by switch: share of the model that it buffers */
    double *y; /* by worker and then by switch: share that the worker sends there */
};

TRIB_MUST_USE enum trib_status trib_goat_shares_create(struct trib_goat_shares *shares,
                                                       const struct trib_goat *problem);
void trib_goat_shares_destroy(struct trib_goat_shares *shares);
/* An optimum of the paper's form (4), which counts the hops from a switch to the server and leaves out those from a
 * worker to the switch. No solver is needed: the switches farthest from the server take all they can hold, until the
 * model is dealt out. */
void trib_goat_relax_slide(const struct trib_goat *problem, struct trib_goat_shares *shares);
/* Algorithm 1 (KRGS), steps 2 and 3. is_repaired: bins have a null item, so that no switch is drawn more often than
 * its share; memory is repaired, and workers send to the nearest. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_round(const struct trib_goat *problem, const struct trib_goat_shares *shares,
                                               uint64_t seed, bool is_repaired, struct trib_goat_plan *plan);

/* The relaxed problem has the same optimum with one gradient of all bytes: averages of a solution over the gradients
 * are a solution. Equal workers become one with a weight, equal switches one with the memory of all. Of a switch's
 * memory a multiple of the gradients' greatest common divisor counts: the rest no gradient fills. worker_class,
 * switch_class: room for all; set to the numbers in the collapsed problem. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_goat_collapse(const struct trib_goat *problem, struct trib_goat *collapsed,
                                                  uint32_t *worker_class, uint32_t *switch_class);

/* Bytes of the switch's memory that whole gradients can fill, at most. */
uint64_t trib_goat_usable_memory(const struct trib_goat *problem, uint32_t node);

#define TRIB_GOAT_PRICE_ONE (UINT32_C(1) << 20)

struct trib_goat_relaxed {
    struct trib_goat_shares shares; /* means over gradients */
    double cost;                    /* optimum, bytes x hops, as the solver has it */
    uint32_t *price;                /* by worker: cost of a byte, in TRIB_GOAT_PRICE_ONE-ths of a hop */
};

/* Solves the problem as it is, with shares of 0 to 1 for each gradient. extra: by switch, added to the hops of its sum;
 * NULL: nothing. ERR_MEMORY; ERR_SYSTEM: error. */
TRIB_MUST_USE enum trib_status trib_goat_relax(const struct trib_goat *problem, const double *extra,
                                               struct trib_goat_relaxed *relaxed, char *error);
/* Solves the collapsed problem; shares and prices are those of the problem. ERR_MEMORY; ERR_SYSTEM: error. */
TRIB_MUST_USE enum trib_status trib_goat_bound(const struct trib_goat *problem, struct trib_goat_relaxed *relaxed,
                                               char *error);
void trib_goat_relaxed_destroy(struct trib_goat_relaxed *relaxed);
/* A bound by weak duality, from any prices and in integers: no plan that fits costs less, whatever the solver did. */
uint64_t trib_goat_prove(const struct trib_goat *problem, const uint32_t *price);

#endif
