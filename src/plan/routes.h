/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h: shortest paths between the switches of a network, which of them are the only ones, and the cheapest path
 * between any two at given prices, where the paths are the plan's to choose. Switches are numbered from 0 on here.
 * Read next: routes.c, ways.h, price.h. */
#ifndef TRIB_PLAN_ROUTES_H
#define TRIB_PLAN_ROUTES_H

#include "plan/network.h"

#define PLAN_HOPS_MAX 60U          /* links of a path, so that prices of paths stay within 64 bits */
#define PLAN_FAR (INT64_MAX / 4)   /* price of a path where there is none */
#define PLAN_SHARE UINT64_C(65536) /* amount of one stream on a link that carries all of it */

struct plan_routes {
    const struct plan_network *net;
    uint32_t count; /* switches */
    uint32_t *next; /* by target and switch: link that begins a shortest path; TRIB_NO_LINK: none, or there already */
    uint16_t *hops; /* likewise: its links; UINT16_MAX: none, or more than PLAN_HOPS_MAX */
    bool *is_only;  /* likewise: no other path is as short */
    /* At the latest prices, by target and switch. */
    int64_t *price; /* of a stream there and back; PLAN_FAR: there is no path */
    int64_t *split; /* the part of the price for links behind a switch with several shortest paths; ECMP only */
    uint32_t *step; /* link that begins the cheapest path, with explicit paths; else as in next */
};

/* The network is borrowed. False: out of memory. */
bool plan_routes_init(struct plan_routes *routes, const struct plan_network *net);
void plan_routes_free(struct plan_routes *routes);
/* Finds the prices of paths to all switches that add. prices: by row, 0 to 2^40. */
void plan_routes_price(struct plan_routes *routes, const int64_t *prices);
/* Price of `streams` streams between two switches, with the headroom of plan_headroom, rounded down. PLAN_FAR: no
 * path. */
int64_t plan_routes_cost(const struct plan_routes *routes, uint32_t target, uint32_t from, uint32_t streams);
/* Adds to amount, by link, the parts of `streams` streams from one switch to another, and of their results the other
 * way, in PLAN_SHARE, with their headroom; with paths by ECMP. There must be a path. */
void plan_routes_spread(const struct plan_routes *routes, uint32_t from, uint32_t target, uint64_t streams,
                        uint64_t *amount);

static inline size_t plan_pair(const struct plan_routes *routes, uint32_t target, uint32_t from)
{
    return (size_t)target * routes->count + from;
}

/* True if packets can be sent from one switch to the other over paths that the network keeps. */
static inline bool plan_reaches(const struct plan_routes *routes, uint32_t target, uint32_t from)
{
    size_t pair = plan_pair(routes, target, from);
    return routes->hops[pair] != UINT16_MAX && (routes->net->paths != PLAN_PINNED || routes->is_only[pair]);
}

#endif
