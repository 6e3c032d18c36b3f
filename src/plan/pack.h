/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: packs trees of jobs into a network: rates as fair as can be (max-min by weight), stage by stage. Each stage
 * raises the rates of all jobs that are not fixed, until some of these jobs can have no more. Such a job is then fixed,
 * and keeps its rate. A linear program finds the best shares of the known trees, and its prices lead to better trees.
 * Read next: pack.c, master.h. */
#ifndef TRIB_PLAN_PACK_H
#define TRIB_PLAN_PACK_H

#include "plan/bound.h"
#include "plan/memory.h"

#define PLAN_GAP 0.002 /* a stage ends when its level is this near to its bound */

/* A stage, with the prices that prove its bound. */
struct plan_stage {
    uint64_t level_bps; /* for each unit of weight */
    uint64_t bound_bps;
    int64_t *prices; /* by row */
};

/* How far a search is. */
struct plan_step {
    uint32_t solved;    /* linear programs */
    uint32_t left;      /* jobs whose level is not known yet */
    double level_bps;   /* of the slowest of these, by weight, as far as it is found */
    uint64_t bound_bps; /* of that level; PLAN_NO_BOUND: not known */
    bool is_cut;        /* the packing is there, and is cut to few trees */
};

struct plan_pack {
    struct plan_pricer *pricer;
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    struct plan_tree *trees; /* all trees found */
    uint32_t tree_count, tree_room;
    bool *kept;    /* by tree: plan_choose has chosen the tree */
    double *rates; /* by tree: rate in the plan, bit/s */
    struct plan_stage *stages;
    uint32_t stage_count;
    uint32_t *stage_of;        /* by job */
    uint64_t *level;           /* by job, bit/s; 0: not fixed yet */
    uint32_t *order;           /* jobs in the order in which they choose memory (choice.h) */
    bool has_memory;           /* switches have a limit of memory */
    struct plan_memory memory; /* where each job has memory, as plan_choose last chose */
    int64_t thrift;            /* price of the memory of a switch for each input that it adds */
    struct plan_step step;
    /* Called now and then; true ends the search; NULL: never. */
    bool (*is_over)(void *user, const struct plan_step *step);
    bool (*is_late)(void *user); /* true: what is there is good enough; NULL: never */
    void *user;
    bool is_early; /* is_late ended a stage before its level was near its bound, or saved a cut's search */
};

/* Does is_late end the search? */
bool plan_pack_is_late(struct plan_pack *pack);

/* Everything is borrowed. False: out of memory. Free it in any case. */
bool plan_pack_init(struct plan_pack *pack, struct plan_pricer *pricer);
void plan_pack_free(struct plan_pack *pack);
/* Finds trees, levels, bounds and rates. ERR_UNSUPPORTED: no solver; ERR_ABORTED: is_over; error says it. */
TRIB_MUST_USE enum trib_status plan_pack_solve(struct plan_pack *pack, char *error);
/* Keeps the tree, unless the pack has a tree with the same loads and, if memory has a limit, the same switches that
 * add. *number: index of the tree kept or found. A new tree has no rate yet. ERR_MEMORY: the tree is freed. */
TRIB_MUST_USE enum trib_status plan_pack_keep(struct plan_pack *pack, struct plan_tree *tree, uint32_t *number);
/* Part of the row's rate that a tree with this rate takes. */
static inline double plan_part_of(const struct plan_pack *pack, const struct plan_load *load, double rate)
{
    return rate * (double)load->amount / (double)PLAN_SHARE / (double)plan_capacity(pack->net, load->row);
}
/* Adds the load of a tree with this rate to `load`, by row, as a fraction of the row's rate. */
void plan_pack_load(const struct plan_pack *pack, const struct plan_tree *tree, double rate, double *load);
/* Prices that grow steeply with the load, up to PLAN_PRICE_MAX. The fullest row counts as having at least the load
 * `least`. prices: by row. */
void plan_pack_price(const struct plan_pack *pack, const double *load, double least, int64_t *prices);
/* Writes the job's trees that have a rate, the fastest first. list: room for all trees. Returns their number. */
uint32_t plan_pack_list(const struct plan_pack *pack, uint32_t job, uint32_t *list);
/* Finds rates with fewer trees, or with trees that merge into fewer. Each job keeps at least `share` of its level. Each
 * round makes trees with small rates cost more. */
TRIB_MUST_USE enum trib_status plan_pack_thin(struct plan_pack *pack, double share, char *error);
/* Finds levels and rates with the kept trees alone; if is_open, also with some new trees, at the switches where
 * plan_choose gave the job memory if that has a limit. levels: by job, bit/s. Bounds and stages stay. */
TRIB_MUST_USE enum trib_status plan_pack_cut(struct plan_pack *pack, bool is_open, uint64_t *levels, char *error);

#endif
