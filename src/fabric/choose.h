/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the root of a tree whose links have least to do, by what all trees so far put on them. The caller knows the
 * trees and their members (control/roots/trees.h). No state but the object's, no sockets, no clock.
 *
 * A tree has one stream from each member to its root, by the shortest way, in equal parts over ways of equal length, as
 * ECMP has it; results come back the same way. Links from places that forward nothing do not count: each host has its
 * own, and it carries the same whatever the root. Of roots that all members can reach the best is the one with the
 * smallest strain (fabric.h), the tree's own streams included; of equal ones, the first from `turn` on. The simulator's
 * trees have switches that add on the way: sim/jobs/tree.c has that choice.
 *
 * Use: trib_choose_create; for each tree that there is trib_choose_begin, trib_choose_add for each member, and
 * trib_choose_load; for each new one trib_choose_begin, trib_choose_add, trib_choose_root, and trib_choose_load;
 * trib_choose_destroy. Read next: choose.c. */
#ifndef TRIB_FABRIC_CHOOSE_H
#define TRIB_FABRIC_CHOOSE_H

#include <tributary/comm.h>

#include "fabric/fabric.h"

#define TRIB_STREAM 65536U /* amount that one member of a job sends, over all its trees */

struct trib_choose {
    const struct trib_fabric *fabric;
    uint32_t roots;   /* so many places, the first ones, can be roots */
    uint64_t *load;   /* by link: amounts of trees so far */
    uint64_t *own;    /* by link: of the tree at hand, with the root that was looked at last; only towards it */
    uint64_t *comes;  /* by place: amount that begins there, of the tree at hand */
    uint64_t *passes; /* by place: and amount that has come there on its way */
    uint64_t known;   /* sum of comes */
    uint64_t strays;  /* amount that begins at an unknown place: its way is the links of the root */
    uint32_t *used;   /* links with own > 0 */
    uint32_t used_count;
    uint32_t *hops;  /* by root, and then by place: as measured (fabric.h) */
    uint32_t *order; /* likewise */
    uint32_t *reach; /* by root: so many places has its row in `order` */
};

/* The amount that one tree, or several of a job, put on a link. Results put as much on the opposite link. */
struct trib_link_load {
    uint64_t amount;
    uint32_t link;
};

/* The fabric, whose rates must be at least TRIB_LINK_RATE_MIN, is borrowed until destroy. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_choose_create(struct trib_choose *choose, const struct trib_fabric *fabric,
                                                  uint32_t roots);
void trib_choose_destroy(struct trib_choose *choose);
/* The tree at hand is a new one, without members. */
void trib_choose_begin(struct trib_choose *choose);
/* A member of it sends so much from that place; TRIB_NO_PLACE: it is unknown. */
void trib_choose_add(struct trib_choose *choose, uint32_t place, uint64_t amount);
/* The best root of those in `among`, by place; TRIB_NO_PLACE: all members can reach none of them. */
uint32_t trib_choose_root(struct trib_choose *choose, const bool *among, uint32_t turn);
/* What the tree at hand would do with that root. False: some member cannot reach it. */
bool trib_choose_strain(struct trib_choose *choose, uint32_t root, struct trib_strain *strain);
/* The tree at hand is there, with that root. No effect if some member cannot reach it. */
void trib_choose_load(struct trib_choose *choose, uint32_t root);
/* Writes what the tree at hand puts on links with that root. list: room for all links. Returns how many there are; 0 if
 * some member cannot reach the root. */
uint32_t trib_choose_list(struct trib_choose *choose, uint32_t root, struct trib_link_load *list);
/* A tree with this list is there, or is no longer there: an exact sum, whatever the order of both. */
void trib_choose_put(struct trib_choose *choose, const struct trib_link_load *list, uint32_t count);
void trib_choose_take(struct trib_choose *choose, const struct trib_link_load *list, uint32_t count);

#endif
