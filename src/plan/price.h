/* SPDX-License-Identifier: Apache-2.0 */
/* price.h: the cheapest tree of a job at given prices of links and adders, exactly, among all trees of a declared
 * family. The prices are whole numbers, so that a bound that follows from them is a proof (bound.h).
 *
 * Families, each with all trees of the one before:
 *   skeletons  the ways of ways.h, where each switch adds or passes on
 *   free       each leaf adds or passes on, and its streams take their cheapest path to any root
 *   middle     and may meet at one more switch that adds
 * There is no family of all trees of a network: to find the cheapest of all trees is NP-hard.
 * Read next: price.c. */
#ifndef TRIB_PLAN_PRICE_H
#define TRIB_PLAN_PRICE_H

#include <tributary/comm.h>

#include "plan/tree.h"
#include "plan/ways.h"

#define PLAN_PRICE_MAX (INT64_C(1) << 40) /* of a row */
#define PLAN_OFFERS 16U                   /* trees of a job that are found at a time */

enum plan_family { PLAN_SKELETONS, PLAN_FREE, PLAN_MIDDLE, PLAN_FAMILIES };

/* A tree that plan_price_tree can make. */
struct plan_offer {
    int64_t price;
    uint32_t way;    /* of skeletons; else PLAN_NO_WAY */
    uint32_t root;   /* switches, from 0 on, of the other families */
    uint32_t middle; /* TRIB_NO_PLACE: none */
};

#define PLAN_NO_WAY UINT32_MAX

struct plan_pricer {
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    enum plan_family family;
    struct plan_routes routes;
    struct plan_loader loader;
    struct plan_ways *ways; /* by job */
    const int64_t *prices;  /* the latest, by row */
    int64_t *path;          /* by node of a way and depth of the adder above: price of a stream to that */
    int64_t *below;         /* likewise: of all that is below the node */
    uint8_t *depth;         /* by node */
    uint32_t *near;         /* by node: the next adder above */
    bool *adds;             /* by node */
    uint32_t *inputs;       /* by node */
};

const char *plan_family_name(enum plan_family family);
/* The widest family that is fast enough in this network. */
enum plan_family plan_family_of(const struct plan_network *net);
/* Finds the ways of all jobs. Network and jobs are borrowed. ERR_MEMORY; ERR_INVALID: error names a job without any
 * tree. Free it in any case. */
TRIB_MUST_USE enum trib_status plan_pricer_init(struct plan_pricer *p, const struct plan_network *net,
                                                const struct plan_jobs *jobs, enum plan_family family, char *error);
void plan_pricer_free(struct plan_pricer *p);
/* The prices, by row, 0 to PLAN_PRICE_MAX; they are borrowed. Rows without a limit must have price 0. */
void plan_pricer_set(struct plan_pricer *p, const int64_t *prices);
/* Writes the cheapest trees of a job, the cheapest first. Returns their number, at least 1. */
uint32_t plan_price(struct plan_pricer *p, uint32_t job, struct plan_offer offers[PLAN_OFFERS]);
/* Makes the tree of an offer, with its loads, at the same prices. False: out of memory. */
bool plan_price_tree(struct plan_pricer *p, uint32_t job, const struct plan_offer *offer, struct plan_tree *tree);

/* Makes a tree with this root, a switch from 0 on; streams take all shortest paths in equal parts; leaves add if
 * they can, or none does. It is a mixture of trees of the families free and middle, so their bounds hold for it. With
 * *is_there false, some leaf cannot reach the root, and there is no tree. False: out of memory. */
bool plan_price_spread(struct plan_pricer *p, uint32_t job, uint32_t root, bool leaves_add, struct plan_tree *tree,
                       bool *is_there);

#endif
