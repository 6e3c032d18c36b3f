/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.h: places and the links between them: the graph of a network, for the control plane, the simulator and a
 * planner.
 *
 * A place is a host, a subnet of hosts, a switch that forwards, or an agent beside one. The first `ends` places only
 * begin or end ways; all others forward. A link is one direction of a cable; the other direction is its opposite.
 * Places and links are numbers, in an order that the caller chooses, so that users keep their own facts in arrays
 * beside it.
 *
 * Use: trib_fabric_init, trib_fabric_add for each link, trib_fabric_ready, then the rest; trib_fabric_deinit. Read
 * next: fabric.c, topology.h (a network as its operator describes it), choose.h (which roots trees get). */
#ifndef TRIB_FABRIC_FABRIC_H
#define TRIB_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"

#define TRIB_NO_PLACE UINT32_MAX
#define TRIB_NO_LINK UINT32_MAX
#define TRIB_NO_WAY UINT32_MAX                     /* hops to a place that cannot be reached */
#define TRIB_LINK_RATE_MIN UINT64_C(1000000)       /* bits per second, in files: loads then stay within 64 bits */
#define TRIB_LINK_RATE_MAX UINT64_C(3200000000000) /* of a plan's network and jobs */

struct trib_fabric {
    uint32_t places;
    uint32_t ends; /* so many places, the first ones, forward nothing */
    uint32_t link_count;
    uint32_t link_room;
    /* By link. */
    uint32_t *from; /* places */
    uint32_t *to;
    uint32_t *opposite; /* link */
    uint64_t *rate_bps; /* 0: the cable is cut, and its opposite's is 0 too. May change at any time */
    /* The links from place p are out[first[p]] to out[first[p + 1] - 1], in the order of their numbers. */
    uint32_t *first;
    uint32_t *out;
};

/* Room for so many links. False: out of memory. */
bool trib_fabric_init(struct trib_fabric *f, uint32_t places, uint32_t ends, uint32_t links);
void trib_fabric_deinit(struct trib_fabric *f);
static inline uint32_t trib_fabric_add(struct trib_fabric *f, uint32_t from, uint32_t to, uint64_t rate_bps)
{
    TRIB_ASSERT(f->link_count < f->link_room && from < f->places && to < f->places);
    f->from[f->link_count] = from;
    f->to[f->link_count] = to;
    f->rate_bps[f->link_count] = rate_bps;
    return f->link_count++;
}
/* All links are there, each with its opposite: the k-th link from a to b belongs to the k-th from b to a. False: out of
 * memory. */
bool trib_fabric_ready(struct trib_fabric *f);
/* The first link between these; TRIB_NO_LINK: none. */
uint32_t trib_fabric_find(const struct trib_fabric *f, uint32_t from, uint32_t to);
/* Counts the links of a shortest way from each place to the target. order: places that reach it, the nearest first;
 * returns how many. Both arrays have room for all places. */
uint32_t trib_fabric_measure(const struct trib_fabric *f, uint32_t target, uint32_t *hops, uint32_t *order);
/* Does a shortest way to the target begin with this link? hops: as measured. */
static inline bool trib_fabric_leads(const struct trib_fabric *f, const uint32_t *hops, uint32_t target, uint32_t link)
{
    uint32_t to = f->to[link];
    return hops[to] + 1 == hops[f->from[link]] && (to >= f->ends || to == target) && f->rate_bps[link] != 0;
}

/* The load of a tree's links, other trees' streams included: times, in a unit of the user's. Of two trees the better
 * one is that whose most loaded link has less to do; then the one with the smaller sum. */
struct trib_strain {
    uint64_t most; /* of one link */
    uint64_t sum;  /* of all; UINT64_MAX: or more */
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
