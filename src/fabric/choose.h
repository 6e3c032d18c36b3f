/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: chooses the root of a tree with the least loaded links, by the load of all trees so far. The caller knows
 * the trees and their members (control/roots/trees.h). No state but the object's, no sockets, no clock.
 *
 * A tree has one stream from each member to its root, by the shortest path, in equal parts over paths of equal length,
 * as with ECMP. Results return on the same paths. Links from places that forward nothing do not count: each host has
 * its own link, with the same load for every root.
 * Of the roots that all members can reach, the best has the smallest strain (fabric.h), including the tree's own
 * streams; of equal roots, the first from `turn` on. Trees of the simulator have switches that add on the way:
 * sim/jobs/tree.c chooses their roots.
 *
 * Use: trib_choose_create; for each existing tree trib_choose_begin, trib_choose_add for each member, and
 * trib_choose_load; for each new tree trib_choose_begin, trib_choose_add, trib_choose_root, and trib_choose_load;
 * trib_choose_destroy. Read next: choose.c. */
#ifndef TRIB_FABRIC_CHOOSE_H
#define TRIB_FABRIC_CHOOSE_H

#include <tributary/comm.h>

#include "fabric/fabric.h"

#define TRIB_STREAM 65536U /* amount sent by one member of a job, over all its trees */

struct trib_choose {
    const struct trib_fabric *fabric;
    uint32_t roots;   /* number of places that can be roots, the first ones */
    uint64_t *load;   /* by link: amounts of trees so far */
    uint64_t *own;    /* by link: of the current tree, with the root examined last; only towards the root */
    uint64_t *comes;  /* by place: amount that begins there, of the current tree */
    uint64_t *passes; /* by place: `comes`, and the amount that passes through */
    uint64_t known;   /* sum of comes */
    uint64_t strays;  /* amount from unknown places; only the links of the root are charged */
    uint32_t *used;   /* links with own > 0 */
    uint32_t used_count;
    uint32_t *hops;  /* by root, then by place: hops as of trib_fabric_measure */
    uint32_t *order; /* by root, then by place: order as of trib_fabric_measure */
    uint32_t *reach; /* by root: places in its row of `order` */
};

/* Amount that one tree, or several of a job, put on a link. Results put the same on the opposite link. */
struct trib_link_load {
    uint64_t amount;
    uint32_t link;
};

/* The fabric is borrowed until destroy; its rates must be at least TRIB_LINK_RATE_MIN. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_choose_create(struct trib_choose *choose, const struct trib_fabric *fabric,
                                                  uint32_t roots);
void trib_choose_destroy(struct trib_choose *choose);
/* Starts a new current tree, without members. */
void trib_choose_begin(struct trib_choose *choose);
/* Adds a member's stream from this place; TRIB_NO_PLACE: an unknown place. */
void trib_choose_add(struct trib_choose *choose, uint32_t place, uint64_t amount);
/* Best root in `among`, which is indexed by place; TRIB_NO_PLACE: no root in `among` is reachable from all members. */
uint32_t trib_choose_root(struct trib_choose *choose, const bool *among, uint32_t turn);
/* Strain of the current tree with that root. False: a member cannot reach the root. */
bool trib_choose_strain(struct trib_choose *choose, uint32_t root, struct trib_strain *strain);
/* Adds the load of the current tree with that root. No effect if a member cannot reach the root. */
void trib_choose_load(struct trib_choose *choose, uint32_t root);
/* Writes the load of the current tree with that root. list: room for all links. Returns the number of entries; 0 if a
 * member cannot reach the root. */
uint32_t trib_choose_list(struct trib_choose *choose, uint32_t root, struct trib_link_load *list);
/* Adds or removes the load of a tree with this list. The sum is exact in any order of calls. */
void trib_choose_put(struct trib_choose *choose, const struct trib_link_load *list, uint32_t count);
void trib_choose_take(struct trib_choose *choose, const struct trib_link_load *list, uint32_t count);

#endif
