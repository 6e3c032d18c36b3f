/* SPDX-License-Identifier: Apache-2.0 */
/* combining.h: a combiner for drivers of switches: a pool, and for each communicator a switch node with a parent. The
 * parts of the node's children go into rows of the pool. All rules are the combiner's (combiner.h). Here is the side of
 * the driver: which packets leave, in which order, and to which places.
 *
 * A driver opens the node as any switch, with config.behind, and enters the node in a pool. The node has all verbs of a
 * switch, with three differences:
 *   - Packets that pass are not copied. The pool has one line of packets and sums, of all communicators, in order. The
 *     driver drains the line after each buffer of packets: trib_pool_next names the node of the next packet, and
 *     next_packet of that node hands the packet out. When all are sent, the buffer belongs to the driver again.
 *   - A packet up names ranks by their numbers at the root. A packet down has in `node` one such number, or
 *     TRIB_NODE_ALL: all ranks behind the receiver.
 *   - No sum in the node must be kept: a driver may throw a pool away at any moment, and enter the nodes in a new one.
 * Read next: combining.c, combiner.h. */
#ifndef TRIB_PROTOCOL_COMBINING_H
#define TRIB_PROTOCOL_COMBINING_H

#include "protocol/combiner.h"

/* In `node` of a packet down to a combiner: for all ranks behind. */
#define TRIB_NODE_ALL UINT16_MAX

/* Without the optional verbs. */
extern const struct trib_switch_verbs trib_combining_verbs;

size_t trib_pool_size(const struct trib_combiner_config *config);
void trib_pool_init(void *pool, const struct trib_combiner_config *config);

/* A communicator's share of a pool. rows 0: nothing is added, every part passes. */
struct trib_pool_share {
    struct trib_pieces pieces; /* of the scheme's placement; count 0: the rows are shared, by hash */
    uint32_t first_row, rows;
    uint16_t group;   /* as in struct trib_combiner_grant */
    uint8_t priority; /* the same */
};

/* The node's parts go into this pool from now on; also with another share. trib_pool_next returns owner. False:
 * the pool has as many communicators as it can have. The pool must stay until trib_pool_leave. */
bool trib_pool_enter(void *pool, void *node, void *owner, const struct trib_pool_share *share);
/* Rows and waiting packets of the node are gone. A node that is in no pool drops all packets. */
void trib_pool_leave(void *node);
/* The owner of the node of the next packet; NULL: no packet waits. */
void *trib_pool_next(const void *pool);
uint32_t trib_pool_rows_held(const void *pool);
const struct trib_combiner_counters *trib_pool_counters(const void *pool);

#endif
