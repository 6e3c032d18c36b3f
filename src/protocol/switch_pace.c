/* SPDX-License-Identifier: Apache-2.0 */
/* switch_pace.c: the children with a congested way, and the room of ranks beyond the mark: where a
 * node is paced (schemes/panama), as far as its driver has memory. Packets tell a cap on fragments in flight; a rank
 * sends no further than twice that beyond M, as marks are a round trip old.
 *
 * A rank obeys the cap of its last result, so a lower cap holds only once all ranks have heard of the cap. An earlier
 * result may still be taken, but only of a sequence opened before (`latch`), since later ones carry the new cap, and a
 * rank ignores an older sequence's cap. So when M has passed the
 * latch, all have heard. By then ranks may have sent as far as the old cap allowed, from an M not above the present
 * one (`reach`); the reach runs out as M rises. A part from beyond the room is dropped, from any rank: the memory does
 * not run over whatever ranks do. After a restart the room is that of the first cap; fragments in flight beyond the
 * room wait for M, as all beyond a window do.
 *
 * A result names the children with marked parts, and each child takes its own mark alone: a window follows the
 * way up and down of one rank, as a flow's does. The paper ORs the marks, so that each rank hears of every link, and
 * with many ranks nearly every result is marked (docs/DECISIONS.md). The way between a switch and its parent is one of
 * all below it. A node without a number at the switch above has the paper's rule: all marks count, and go up.
 * Read next: core/share.h. */
#include "protocol/switch_memory.h"

#include "core/assert.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The largest cap that some rank may go by. */
static uint32_t cap_in_force(const struct switch_node *n)
{
    return larger(larger(n->first_cap, n->cap), n->cap_before);
}

/* M has risen, or a cap was set. */
void trib__switch_set_room(struct switch_node *n)
{
    if (!n->is_paced) {
        return;
    }
    if (n->cap_before != 0 && n->mark_dense > n->cap_latch) {
        uint64_t reach = n->mark_dense + trib_window_reach(&n->window, n->cap_before);
        n->cap_reach = reach > n->cap_reach ? reach : n->cap_reach;
        n->cap_before = 0;
    }
    uint32_t room = trib_window_reach(&n->window, cap_in_force(n));
    uint64_t reach = n->cap_reach > n->mark_dense ? n->cap_reach - n->mark_dense : 0;
    n->room = reach > room ? (uint32_t)reach : room;
}

void trib__switch_pace(struct switch_node *n)
{
    n->is_paced = 1;
    n->first_cap = trib_window_cap(&n->window, n->config.session.cap);
    n->cap = n->config.session.cap != 0 ? n->first_cap : 0; /* a switch below may be told another before this one is */
    trib__switch_set_room(n);
}

bool trib__switch_is_active(const void *node, uint64_t now_ns)
{
    const struct switch_node *n = node;
    uint64_t last = switch_aside(n)->active_ns;

    return n->held != 0 || (last != 0 && now_ns - last < TRIB_PROTOCOL_IDLE_NS);
}

void trib__switch_set_cap(void *node, uint32_t fragments, uint64_t now_ns)
{
    struct switch_node *n = node;
    uint32_t cap = fragments == 0 ? 1 : trib_window_cap(&n->window, fragments);

    if (!trib__switch_is_active(n, now_ns)) {
        /* Ranks that have sent nothing for so long begin anew with the first cap. */
        n->cap_before = 0;
        n->cap_reach = 0;
    } else if (cap < n->cap) {
        n->cap_before = larger(n->cap_before, n->cap);
        n->cap_latch = n->opened > n->mark_dense ? n->opened : n->mark_dense;
    }
    n->cap = cap;
    trib__switch_set_room(n);
}

uint32_t trib__switch_room(const void *node)
{
    return ((const struct switch_node *)node)->room;
}

/* The cap for a packet, of a slot with `said` from contributions or parent. Only switches say one. From ranks
 * the field is a priority (combiner.h). */
uint16_t trib__switch_cap(const struct switch_node *n, uint16_t said)
{
    bool has_switches = n->config.has_parent || n->config.branches != 0;

    return n->is_paced ? trib_least_cap((uint16_t)n->cap, has_switches ? said : 0) : 0;
}

/* ---- marks of congestion ---- */

/* Parts of `children` came marked, or the result of all. */
void trib__switch_mark(struct switch_node *n, uint32_t index, uint64_t children)
{
    struct trib_slot *slot = switch_slot(n, index);
    uint64_t before = slot->flags & TRIB_FLAG_ECN ? *switch_marked(n, index) : 0;

    *switch_marked(n, index) = before | children;
    slot->flags |= TRIB_FLAG_ECN;
}

void trib__switch_set_child(void *node, uint32_t child)
{
    TRIB_ASSERT(child < TRIB_CHILDREN_MAX);
    ((struct switch_node *)node)->child = child + 1;
}
