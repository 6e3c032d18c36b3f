/* SPDX-License-Identifier: Apache-2.0 */
/* combining.h: a combiner as a driver of switches sees it: a pool, and for each communicator a switch node with a
 * parent, whose parts go into rows of the pool. All rules are the combiner's (combiner.h); this is the driver's side:
 * what passes, and where it goes.
 *
 * A driver opens the node as it opens a switch, with config.behind, and enters it in a pool. Then it is a node like any
 * other, with three differences:
 *   - Packets that pass are not copied. They wait, with sums, in one line of the pool, in order, of all communicators.
 *     After each buffer of packets the driver drains the line: trib_pool_next says whose packet is next,
 *     and next_packet of that node hands it out. The buffer is the driver's again when all of that has been sent.
 *   - A packet up names the ranks by their numbers at the root. A packet down names one of these in `node`, or all that
 *     are behind the place that it goes to (TRIB_NODE_ALL).
 *   - The node holds no sum that must not be lost: a pool may be thrown away at any moment, and its nodes enter another
 *     one.
 * Read next: combining.c, combiner.h. */
#ifndef TRIB_PROTOCOL_COMBINING_H
#define TRIB_PROTOCOL_COMBINING_H

#include "protocol/combiner.h"

/* In `node` of a packet down, on its way to a combiner: it is for all ranks behind. */
#define TRIB_NODE_ALL UINT16_MAX

/* Of the verbs that a switch may leave out it has none. */
extern const struct trib_switch_verbs trib_combining_verbs;

size_t trib_pool_size(const struct trib_combiner_config *config);
void trib_pool_init(void *pool, const struct trib_combiner_config *config);

/* What a communicator may have of a pool. rows 0: nothing is added, every part passes. */
struct trib_pool_share {
    uint32_t first_row, rows;
    uint8_t priority; /* as in struct trib_combiner_grant */
};

/* The node's parts go into this pool from now on; also with another share. owner: what trib_pool_next returns. False:
 * the pool has as many communicators as it can have. The pool must stay until trib_pool_leave. */
bool trib_pool_enter(void *pool, void *node, void *owner, const struct trib_pool_share *share);
/* Rows and waiting packets of the node are gone. A node that is in no pool drops all packets. */
void trib_pool_leave(void *node);
/* The owner of the node whose packet is next; NULL: none waits. */
void *trib_pool_next(const void *pool);
uint32_t trib_pool_rows_held(const void *pool);
const struct trib_combiner_counters *trib_pool_counters(const void *pool);

#endif
