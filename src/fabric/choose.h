/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: which switches a job's trees go through: for one tree after the other the root whose links have least to
 * do, by the topology and by what all trees so far put on its links. Who the members of a tree are, and which trees
 * there are, is the caller's (trees.h). No state but the object's, no sockets, no clock.
 *
 * A tree has one stream from each member to its root, by the shortest way, in equal parts over ways of equal length, as
 * a network of many paths has it. Hosts and switches do not forward for others. Links of hosts are not looked at: each
 * host has its own, and it carries the same whatever the root. Of roots that all members can reach the best is the one
 * whose most loaded link has least to do, the tree's own streams included; then the one with the smallest sum; then the
 * first from `turn` on. That is the order in which the simulator's jobs choose theirs (sim/jobs/tree.c); there a tree
 * also has switches that add on the way, so that no more than the order is common.
 *
 * Use: trib_choose_create; for each tree that there is trib_choose_begin, trib_choose_add for each member, and
 * trib_choose_load; for each new one trib_choose_begin, trib_choose_add, trib_choose_root, and trib_choose_load;
 * trib_choose_destroy. Read next: choose.c. */
#ifndef TRIB_FABRIC_CHOOSE_H
#define TRIB_FABRIC_CHOOSE_H

#include <stdbool.h>

#include "fabric/topology.h"

#define TRIB_STREAM 65536U /* all that one member of a job sends, over all its trees */
#define TRIB_NO_SWITCH UINT32_MAX
#define TRIB_NO_PLACE UINT32_MAX

/* What a tree does to its links: time, in parts that mean something beside each other only. */
struct trib_strain {
    uint64_t most; /* of one link */
    uint64_t sum;  /* of all links that it takes */
};

struct trib_choose {
    const struct trib_topology *topology;
    uint64_t *load;   /* by link: amounts of trees so far */
    uint64_t *own;    /* by link: of the tree at hand, with the root that was looked at last */
    uint64_t *comes;  /* by place: what begins there of the tree at hand */
    uint64_t *passes; /* by place: and what has come there on its way */
    uint64_t strays;  /* what begins nobody knows where: its way is the links of the root */
    uint32_t *first;  /* by place, and one behind: of its rows in `links` */
    uint32_t *links;  /* of each place */
    uint32_t *hops;   /* by switch, and then by place: links to that switch; UINT32_MAX: no way leads there */
    uint32_t *order;  /* by switch: places by those, the nearest first */
    uint32_t *reach;  /* by switch: so many places has its row in `order` */
};

/* The topology is borrowed until destroy. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_choose_create(struct trib_choose *choose, const struct trib_topology *topology);
void trib_choose_destroy(struct trib_choose *choose);
/* The tree at hand is a new one, without members. */
void trib_choose_begin(struct trib_choose *choose);
/* A member of it, which sends so much from that subnet; TRIB_NO_PLACE: nobody knows where it is. */
void trib_choose_add(struct trib_choose *choose, uint32_t place, uint64_t amount);
/* The best root of those in `among`, bit i for switch i; TRIB_NO_SWITCH: no member of it is reached by all. */
uint32_t trib_choose_root(struct trib_choose *choose, uint32_t among, uint32_t turn);
/* What the tree at hand would do with that root. False: somebody cannot reach it. */
bool trib_choose_strain(struct trib_choose *choose, uint32_t root, struct trib_strain *strain);
/* The tree at hand is there, with that root; nothing is done for one that somebody cannot reach. */
void trib_choose_load(struct trib_choose *choose, uint32_t root);
/* The most specific subnet of this host, as a place; TRIB_NO_PLACE: none. */
uint32_t trib_topology_find(const struct trib_topology *topology, const struct trib_address *host);
/* Can a packet go from place `from` to that switch? */
bool trib_choose_reaches(const struct trib_choose *choose, uint32_t from, uint32_t root);

#endif
