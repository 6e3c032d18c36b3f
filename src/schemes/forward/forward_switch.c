/* SPDX-License-Identifier: Apache-2.0 */
/* forward_switch.c: a queue of packets in front of a switch node of switchml: contributions that the switch would add,
 * or call right, wait here until they leave as results; everything else is for the node. Payloads wait in the rows of
 * slots, unused otherwise; when a row is written over, the first fragment is below M, and the rank needs no copy of
 * the result. Read next: protocol/switch_memory.h. */
#include "schemes/forward/forward.h"

#include <string.h>

#include "protocol/switch_memory.h"

struct forward {
    uint32_t head, count, room;
    uint32_t unused;
    size_t queue_at, inner_at;
};

static void *at(const struct forward *f, size_t offset)
{
    return (char *)(uintptr_t)f + offset;
}

static struct switch_node *inner_of(const void *node)
{
    const struct forward *f = node;

    return at(f, f->inner_at);
}

static size_t lay_out(struct forward *f, const struct trib_switch_config *config)
{
    size_t end = (sizeof *f + 63) & ~(size_t)63;

    *f = (struct forward){.room = config->session.slots};
    f->queue_at = trib_node_place(&end, f->room * sizeof(struct trib_packet));
    f->inner_at = end;
    return end + trib__switch_size(config);
}

static size_t forward_size(const struct trib_switch_config *config)
{
    struct forward scratch;

    return lay_out(&scratch, config);
}

static void forward_init(void *node, const struct trib_switch_config *config)
{
    struct forward *f = node;
    size_t size = lay_out(f, config);

    if (!config->is_zeroed) {
        memset(at(f, f->queue_at), 0, size - f->queue_at);
    }
    trib__switch_init(at(f, f->inner_at), config);
}

static size_t forward_state_size(const void *node)
{
    const struct forward *f = node;

    return f->inner_at + trib__switch_state_size(inner_of(f));
}

/* True for a whole contribution of the one rank to the communicator in its present state. */
static bool is_plain(const struct switch_node *n, struct trib_place from, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &n->config.session;

    return from.kind == TRIB_PLACE_CHILDREN && from.children == 1 && n->joined == 1 && n->required == 1 &&
           !n->config.has_parent && packet->kind == TRIB_CONTRIBUTION && packet->communicator == s->communicator &&
           packet->generation == s->generation && packet->boot == n->config.boot &&
           (packet->flags & TRIB_FLAG_UNWANTED) == 0 && packet->payload_len <= s->payload &&
           packet->mark <= packet->sequence && packet->sequence <= n->communicator_mark + INT32_MAX &&
           trib_window_root(&n->window, packet->sequence) == n->config.root;
}

static enum trib_drop forward_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    struct forward *f = node;
    struct switch_node *n = inner_of(f);

    bool is_mine = is_plain(n, from, packet);
    if (is_mine) {
        trib__switch_join(n, 0, packet->mark); /* M: the window begins there */
    }
    if (!is_mine || packet->sequence < n->communicator_mark || !switch_admits(n, packet->sequence)) {
        return trib__switch_receive(n, from, packet, now_ns);
    }
    if (f->count == f->room) {
        switch_aside(n)->counters.dropped[TRIB_DROP_FULL]++;
        return TRIB_DROP_FULL;
    }
    struct trib_packet *kept = (struct trib_packet *)at(f, f->queue_at) + (f->head + f->count++) % f->room;
    *kept = *packet;
    kept->payload = NULL;
    if (packet->payload_len != 0) {
        memcpy(switch_row(n, trib_window_slot(&n->window, packet->sequence), 0), packet->payload, packet->payload_len);
    }
    switch_heard(n, 0, trib_window_dense(&n->window, packet->sequence)); /* its slot is empty, but nothing is lost */
    switch_aside(n)->counters.contributions++;
    return TRIB_DROP_NONE;
}

static void forward_soon(const void *node, struct trib_place from, const struct trib_packet *packet)
{
    trib__switch_soon(inner_of(node), from, packet);
}

/* The next that was taken; a fragment below M is at its rank. */
static bool take_kept(struct forward *f, struct trib_packet *packet)
{
    while (f->count > 0) {
        *packet = ((const struct trib_packet *)at(f, f->queue_at))[f->head];
        f->head = (f->head + 1) % f->room;
        f->count--;
        if (packet->sequence >= inner_of(f)->communicator_mark) {
            return true;
        }
    }
    return false;
}

static bool forward_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct forward *f = node;
    struct switch_node *n = inner_of(f);

    if (!take_kept(f, packet)) {
        return trib__switch_next_packet(n, now_ns, packet, to);
    }
    packet->kind = TRIB_RESULT;
    packet->bitmap = packet->flags & TRIB_FLAG_ECN ? n->required : 0;
    packet->flags = 0;
    packet->mark = n->communicator_mark;
    packet->node = 0;
    if (packet->payload_len != 0) {
        packet->payload = switch_row(n, trib_window_slot(&n->window, packet->sequence), 0);
    }
    switch_aside(n)->counters.results++;
    *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = n->required};
    return true;
}

/* ---- switchml's ---- */

static bool forward_next_event(void *node, struct trib_event *event)
{
    return trib__switch_next_event(inner_of(node), event);
}

static uint64_t forward_next_timeout(const void *node)
{
    return trib__switch_next_timeout(inner_of(node));
}

static void forward_on_timeout(void *node, uint64_t now_ns)
{
    trib__switch_on_timeout(inner_of(node), now_ns);
}

static void forward_join(void *node, uint32_t child, uint64_t mark)
{
    trib__switch_join(inner_of(node), child, mark);
}

static void forward_learn_mark(void *node, uint64_t mark)
{
    trib__switch_learn_mark(inner_of(node), mark);
}

static uint64_t forward_communicator_mark(const void *node)
{
    return trib__switch_communicator_mark(inner_of(node));
}

static uint32_t forward_slots_held(const void *node)
{
    return trib__switch_slots_held(inner_of(node));
}

static uint64_t forward_missing(const void *node, uint64_t *sequence)
{
    return trib__switch_missing(inner_of(node), sequence);
}

static uint64_t forward_missing_on(const void *node, uint64_t sequence)
{
    return trib__switch_missing_on(inner_of(node), sequence);
}

static uint32_t forward_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    const struct forward *f = node;
    uint32_t count = f->count == 0 ? trib__switch_idle(inner_of(f), ranges) : 0;

    for (uint32_t i = 0; i < count; i++) {
        ranges[i].at += f->inner_at;
    }
    return count;
}

static const struct trib_counters *forward_counters(const void *node)
{
    return trib__switch_counters(inner_of(node));
}

const struct trib_switch_verbs trib_forward_switch_verbs = {
    .node = {.state_size = forward_state_size,
             .receive = forward_receive,
             .soon = forward_soon,
             .next_packet = forward_next_packet,
             .next_event = forward_next_event,
             .next_timeout = forward_next_timeout,
             .on_timeout = forward_on_timeout,
             .communicator_mark = forward_communicator_mark,
             .idle = forward_idle,
             .counters = forward_counters},
    .size = forward_size,
    .init = forward_init,
    .join = forward_join,
    .learn_mark = forward_learn_mark,
    .slots_held = forward_slots_held,
    .missing = forward_missing,
    .missing_on = forward_missing_on,
};
