/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.h: places and the links between them: the graph of a network, for the control plane, the simulator and a
 * planner.
 *
 * A place is a host, a subnet of hosts, a switch that forwards, or an agent beside one. The first `ends` places only
 * begin or end paths; all others forward. A link is one direction of a cable; the other direction is its opposite.
 * Places and links are numbers in an order that the caller chooses, so that users keep more data in arrays of their
 * own.
 *
 * Use: trib_fabric_init, trib_fabric_add for each link, trib_fabric_ready, then the rest; trib_fabric_deinit. Read
 * next: fabric.c, topology.h (a network as its operator describes it), choose.h (roots of trees). */
#ifndef TRIB_FABRIC_FABRIC_H
#define TRIB_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"

#define TRIB_NO_PLACE UINT32_MAX
#define TRIB_NO_LINK UINT32_MAX
#define TRIB_NO_WAY UINT32_MAX                     /* hops of an unreachable place */
#define TRIB_LINK_RATE_MIN UINT64_C(1000000)       /* bits per second, in files: keeps loads within 64 bits */
#define TRIB_LINK_RATE_MAX UINT64_C(3200000000000) /* bits per second, of a plan's network and jobs */

struct trib_fabric {
    uint32_t places;
    uint32_t ends; /* number of places that forward nothing, the first ones */
    uint32_t link_count;
    uint32_t link_room;
    /* By link. */
    uint32_t *from; /* places */
    uint32_t *to;
    uint32_t *opposite; /* link */
    uint64_t *rate_bps; /* 0: the cable is cut, in both directions. May change at any time */
    /* The links from place p are out[first[p]] to out[first[p + 1] - 1], in the order of their numbers. */
    uint32_t *first;
    uint32_t *out;
};

/* Makes a fabric with room for `links` links. False: out of memory. */
bool trib_fabric_init(struct trib_fabric *f, uint32_t places, uint32_t ends, uint32_t links);
void trib_fabric_deinit(struct trib_fabric *f);
/* Adds one direction of a cable. Returns the link's number. */
static inline uint32_t trib_fabric_add(struct trib_fabric *f, uint32_t from, uint32_t to, uint64_t rate_bps)
{
    TRIB_ASSERT(f->link_count < f->link_room && from < f->places && to < f->places);
    f->from[f->link_count] = from;
    f->to[f->link_count] = to;
    f->rate_bps[f->link_count] = rate_bps;
    return f->link_count++;
}
/* Call after the last link: pairs each link with its opposite, the k-th from a to b with the k-th from b to a. False:
 * out of memory. */
bool trib_fabric_ready(struct trib_fabric *f);
/* First link from `from` to `to`; TRIB_NO_LINK: none. */
uint32_t trib_fabric_find(const struct trib_fabric *f, uint32_t from, uint32_t to);
/* Counts the links of a shortest path from each place to the target. order: places that reach the target, the nearest
 * first. Returns the number of places in `order`. Both arrays have room for all places. */
uint32_t trib_fabric_measure(const struct trib_fabric *f, uint32_t target, uint32_t *hops, uint32_t *order);
/* True if a shortest path to the target begins with this link. hops: of trib_fabric_measure. */
static inline bool trib_fabric_leads(const struct trib_fabric *f, const uint32_t *hops, uint32_t target, uint32_t link)
{
    uint32_t to = f->to[link];
    return hops[to] + 1 == hops[f->from[link]] && (to >= f->ends || to == target) && f->rate_bps[link] != 0;
}

/* Load of a tree's links, including streams of other trees: times, in a unit of the caller's. The better of two trees
 * has the smaller load on its most loaded link, then the smaller sum. */
struct trib_strain {
    uint64_t most; /* of one link */
    uint64_t sum;  /* of all links; UINT64_MAX: or more */
};

static inline void trib_strain_add(struct trib_strain *strain, uint64_t time)
{
    strain->most = time > strain->most ? time : strain->most;
    strain->sum = time < UINT64_MAX - strain->sum ? strain->sum + time : UINT64_MAX;
}

static inline bool trib_strain_is_less(const struct trib_strain *a, const struct trib_strain *b)
{
    return a->most != b->most ? a->most < b->most : a->sum < b->sum;
}

#endif
