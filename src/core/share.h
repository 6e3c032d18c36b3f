/* SPDX-License-Identifier: Apache-2.0 */
/* share.h: the memory of one switch divided among the nodes that lie in it: which cap each is to tell its ranks
 * (PANAMA). Called by drivers, which own the memory, whenever a node has become active or idle, or may have got room
 * back; the same code in the switch, the simulator and the test worlds.
 *
 * Fragments of a node lie in it from the mark on, and no rank sends beyond the mark plus twice its cap: so a cap of c
 * takes room for 2c. The caps of active nodes are equal shares. A share that shrinks is told at once, but ranks go by
 * the old one until they have heard: so a share that grows gets only room that no rank can claim any more (node->room),
 * and waits for the rest. So the memory does not run over while a job joins.
 *
 * `first` is a cap that each node has in any case, also while idle: ranks begin with it (trib_session_config.cap).
 * Admission keeps the sum of 2 x first within the memory, and refuses a job that gets none. Free memory may be given
 * to others before a job is admitted: so it stands in the list, idle, before its ranks may send: the sum of rooms must
 * be within the memory again.
 * Read next: node.h (set_cap, room, is_active), schemes/panama/panama.h. */
#ifndef TRIB_CORE_SHARE_H
#define TRIB_CORE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/congestion.h"

/* Share of one node. */
struct trib_share {
    uint32_t first; /* at least 1 */
    uint32_t most;  /* half of its slots; not less than first */
    uint32_t room;  /* result of the node's verb room */
    uint32_t cap;   /* in: as last set, 0: never; out: to be set */
    bool is_active;
};

/* First cap of a node and its ranks: the first window of a tree (core/congestion.h), or half of the slots if that is
 * less. */
static inline uint32_t trib_share_first(uint32_t slots)
{
    uint32_t half = slots > 1 ? slots / 2 : 1;

    return half < TRIB_TREE_FIRST ? half : TRIB_TREE_FIRST;
}

/* memory: fragments. */
void trib_share_divide(uint32_t memory, struct trib_share *shares, uint32_t count);

#endif
