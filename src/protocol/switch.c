/* SPDX-License-Identifier: Apache-2.0 */
/* switch.c: a switch's main line: a contribution comes, is checked, added to its slot's rows, and the last one
 * completes the sum. At the top of a tree that is the result, which goes to all; below it goes up, and the result comes
 * down (switch_result.c). Recovery is in switch_answer.c and switch_ask.c, the parent of an inner node in
 * switch_parent.c.
 * Read next: core/slot.h (the step), then switch_result.c. */
#include "protocol/switch_memory.h"

#include <string.h>

#include "core/assert.h"
#include "protocol/combiner.h"

static size_t lay_out(struct switch_node *n, const struct trib_switch_config *config)
{
    const struct trib_session_config *s = &config->session;
    size_t at = (sizeof *n + 63) & ~(size_t)63;

    n->rows = config->has_combiners ? 1 : trib_slot_rows(config->children);
    n->row_size = config->is_narrow ? s->payload : trib_row_size(TRIB_BFLOAT16, s->payload); /* any type may come */
    n->answers_room = config->answers != 0 ? config->answers : TRIB_PROTOCOL_ANSWERS;
    n->table_at = trib_node_place(&at, trib_window_table_size(s));
    n->slots_at = trib_node_place(&at, s->slots * sizeof(struct trib_slot));
    n->rows_at = trib_node_place(&at, (size_t)s->slots * n->rows * n->row_size);
    n->down.at = trib_node_place(&at, s->slots * sizeof(uint32_t));
    n->headers.at = trib_node_place(&at, s->slots * sizeof(uint32_t));
    n->up.at = trib_node_place(&at, config->has_parent ? s->slots * sizeof(uint32_t) : 0);
    n->lists_at = trib_node_place(&at, trib_session_has_quorum(s) ? (size_t)s->slots * TRIB_QUORUM_LIST : 0);
    n->marked_at = trib_node_place(&at, s->slots * sizeof(uint64_t));
    n->answers_at = trib_node_place(&at, n->answers_room * sizeof(struct answer));
    n->aside_at = trib_node_place(&at, sizeof(struct switch_aside));
    n->repeats_at = trib_node_place(&at, s->slots * sizeof(struct slot_repeats));
    n->end_at = at;
    return at;
}

size_t trib__switch_size(const struct trib_switch_config *config)
{
    struct switch_node scratch;

    return lay_out(&scratch, config);
}

void trib__switch_init(void *node, const struct trib_switch_config *config)
{
    struct switch_node *n = node;
    const struct trib_session_config *s = &config->session;

    TRIB_ASSERT(s->ranks >= 1 && s->ranks <= TRIB_SESSION_RANKS_MAX && config->root < s->roots &&
                s->roots <= TRIB_ROOTS_MAX);
    TRIB_ASSERT(config->children >= 1 && config->children <= TRIB_CHILDREN_MAX && config->children <= s->ranks);
    TRIB_ASSERT((config->branches & ~trib_all_children(config->children)) == 0);
    TRIB_ASSERT(config->spare <= trib_count_bits(trib_all_children(config->children) & ~config->branches));
    TRIB_ASSERT(config->has_parent || config->branches != 0 || config->children == s->ranks);
    TRIB_ASSERT(!config->has_combiners || (config->branches == 0 && !trib_session_has_quorum(s)));
    TRIB_ASSERT(s->train >= 1 && s->slots >= 1 && config->boot != 0);
    TRIB_ASSERT(s->payload <= TRIB_PAYLOAD_MAX && s->payload % TRIB_PAYLOAD_ALIGN == 0 && s->payload > 0);
    TRIB_ASSERT(!trib_session_has_quorum(s) ||
                (s->ranks <= TRIB_QUORUM_RANKS_MAX && s->payload > TRIB_QUORUM_LIST && s->quorum < s->quorum_of));
    if (!config->is_zeroed) {
        memset(n, 0, trib__switch_size(config));
    }
    (void)lay_out(n, config);
    n->config = *config;
    trib_window_init(&n->window, s, switch_at(n, n->table_at));
    n->required = trib_all_children(config->children);
    n->room = s->slots;
    n->down.mine = 1 << 0;
    n->up.mine = 1 << 1;
    n->headers.mine = 1 << 2;
    n->communicator_mark = n->lowest = s->first;
    n->mark_dense = trib_window_dense_below(&n->window, config->root, s->first);
}

size_t trib__switch_state_size(const void *node)
{
    return ((const struct switch_node *)node)->aside_at;
}

/* ---- marks ---- */

static void update_lowest(struct switch_node *n)
{
    uint64_t lowest = UINT64_MAX;

    if (n->joined != n->required) {
        return;
    }
    for (uint32_t child = 0; child < n->config.children; child++) {
        lowest = n->marks[child] < lowest ? n->marks[child] : lowest;
    }
    n->lowest = lowest > n->lowest ? lowest : n->lowest;
    if (!n->config.has_parent) {
        trib__switch_raise_mark(n, n->lowest);
    }
}

static void take_mark(struct switch_node *n, uint32_t child, uint64_t mark)
{
    uint64_t before = n->marks[child];

    if (mark > before && mark <= TRIB_SEQUENCE_MAX) {
        n->marks[child] = mark;
        if (before <= n->lowest) {
            update_lowest(n);
        }
    }
}

void trib__switch_join(void *node, uint32_t child, uint64_t mark)
{
    struct switch_node *n = node;
    uint64_t bit = UINT64_C(1) << child;

    TRIB_ASSERT(child < n->config.children);
    if (n->joined & bit) {
        take_mark(n, child, mark);
        return;
    }
    n->joined |= bit;
    take_mark(n, child, mark);
    n->expected[child] = trib_window_dense_below(&n->window, n->config.root, n->marks[child]);
    switch_aside(n)->counters.registrations++;
    update_lowest(n);
    if (n->joined == n->required) {
        trib__switch_set_quorum(n);
    }
}

/* The parent is told the minimum of the marks heard here, so M is never above it; a higher M is wrong. */
void trib__switch_learn_mark(void *node, uint64_t mark)
{
    struct switch_node *n = node;

    if (n->config.has_parent && mark <= n->lowest) {
        trib__switch_raise_mark(n, mark);
    }
}

/* ---- contributions ---- */

static void add_payload(struct switch_node *n, uint32_t index, uint32_t child, const struct trib_packet *packet)
{
    const struct trib_slot *slot = switch_slot(n, index);
    const struct trib_value_kernels *k = n->config.kernels;
    enum trib_type type = (enum trib_type)packet->type;
    void *row = switch_child_row(n, index, child);

    if (n->rows > 1 ? slot->loaded >> (child ^ 1U) & 1 : slot->loaded) {
        trib_row_add(k, type, (enum trib_reduction)slot->reduction, row, packet->payload, packet->payload_len);
    } else {
        trib_row_load(k, type, row, packet->payload, packet->payload_len);
    }
}

static void merge_rows(struct switch_node *n, uint32_t index, uint32_t child)
{
    const struct trib_slot *slot = switch_slot(n, index);
    struct trib_merge merge;
    uint32_t level = 1;

    while (n->rows > 1 && trib_slot_climb(slot, n->required, child, &level, &merge)) {
        trib_row_merge(n->config.kernels, (enum trib_type)slot->type, (enum trib_reduction)slot->reduction,
                       switch_row(n, index, merge.into), switch_row(n, index, merge.from), slot->payload_len);
    }
}

/* All children are in, or all that will be. */
static void complete(struct switch_node *n, uint32_t index)
{
    struct trib_slot *slot = switch_slot(n, index);

    if (slot->loaded != 0) {
        trib_row_finish(n->config.kernels, (enum trib_type)slot->type, switch_sum_row(n, index), slot->payload_len);
    }
    if (slot->flags & TRIB_FLAG_QUORUM) {
        trib__switch_attach_list(n, index);
    }
    if (n->config.has_parent) {
        switch_due(n, index, DUE_PARTIAL);
    } else {
        slot->has_result = 1;
        trib__switch_result_due(n, index);
    }
}

/* How many ranks' payloads a contribution says it holds. A rank has one, whatever it says; a switch counts the ranks
 * below, at most all ranks, and a combiner those in its sum. */
static bool count_parts(const struct switch_node *n, const struct trib_slot *slot, uint64_t children,
                        const struct trib_packet *packet, uint16_t *parts)
{
    bool is_sum = (children & (children - 1)) != 0 || (n->config.branches & children) != 0;
    uint32_t most = n->config.branches != 0 ? n->config.session.ranks - slot->parts : trib_count_bits(children);

    *parts = is_sum ? packet->contributors : 1;
    return !is_sum || ((packet->contributors != 0) == (packet->payload_len != 0) && packet->contributors <= most);
}

static void note_activity(struct switch_node *n, uint64_t dense, uint64_t now_ns)
{
    n->opened = dense < n->opened ? n->opened : dense + 1;
    switch_aside(n)->active_ns = now_ns;
}

/* Adds a contribution that passed all checks, of `parts` ranks. */
static void add(struct switch_node *n, uint32_t index, uint64_t children, const struct trib_packet *packet,
                const uint8_t *list, uint16_t parts)
{
    struct trib_slot *slot = switch_slot(n, index);
    uint32_t child = trib_lowest(children);

    if (packet->payload_len != 0) {
        add_payload(n, index, child, packet);
    }
    if (packet->flags & TRIB_FLAG_ECN) {
        trib__switch_mark(n, index, children);
    }
    trib_slot_note(slot, packet, children, parts);
    if (slot->flags & TRIB_FLAG_QUORUM) {
        trib__switch_list(n, index, packet, list);
    }
    merge_rows(n, index, child);
    switch_aside(n)->counters.contributions++;
}

static void open_slot(struct switch_node *n, uint32_t index, uint32_t child, const struct trib_packet *packet)
{
    trib_slot_open(switch_slot(n, index), packet, child);
    if (packet->flags & TRIB_FLAG_QUORUM) {
        memset(switch_list(n, index), 0, TRIB_QUORUM_LIST);
    }
}

static enum trib_drop contribution(struct switch_node *n, uint64_t children, const struct trib_packet *packet,
                                   const uint8_t *list, uint64_t now_ns)
{
    uint32_t index = trib_window_slot(&n->window, packet->sequence);
    struct trib_slot *slot = switch_slot(n, index);
    bool opened = trib_slot_is_empty(slot);
    uint32_t child = trib_lowest(children);
    uint16_t parts;

    if (packet->payload_len > n->config.session.payload) {
        return TRIB_DROP_SHAPE;
    }
    if (opened) {
        open_slot(n, index, child, packet);
    }
    /* The window and the mark leave no other sequence for this slot: an owned slot is never displaced. */
    TRIB_ASSERT(slot->sequence == packet->sequence);
    if (slot->is_latched && trib__switch_is_late(n, index, child, packet)) {
        return slot->digest != packet->digest ? TRIB_DROP_DIGEST : trib__switch_late(n, child, packet, now_ns);
    }
    enum trib_drop drop = trib_slot_check(slot, packet, children);
    if (drop == TRIB_DROP_NONE && (packet->flags & TRIB_FLAG_QUORUM) != 0 &&
        trib__switch_overlaps(n, index, packet, list)) {
        drop = TRIB_DROP_SHAPE;
    }
    if (drop == TRIB_DROP_NONE && (!trib_row_takes((enum trib_type)packet->type, (enum trib_reduction)packet->reduction,
                                                   packet->payload_len, slot->loaded == 0, n->row_size) ||
                                   !count_parts(n, slot, children, packet, &parts))) {
        drop = TRIB_DROP_SHAPE;
    }
    if (drop == TRIB_DROP_OVERLAP) {
        trib__switch_ask_apart(n, packet->sequence, children & ~slot->present, now_ns);
    }
    if (drop != TRIB_DROP_NONE) {
        if (opened) {
            trib_slot_free(slot);
        }
        return drop;
    }
    n->held += opened;
    note_activity(n, trib_window_dense(&n->window, packet->sequence), now_ns);
    add(n, index, children, packet, list, parts);
    trib__switch_find_gap(n, child, trib_window_dense(&n->window, packet->sequence));
    if ((slot->flags & TRIB_FLAG_QUORUM) != 0 && trib__switch_is_enough(n, slot)) {
        trib__switch_latch(n, index);
    }
    if (trib_slot_is_complete(slot, n->required)) {
        complete(n, index);
    } else {
        trib__switch_seek_rest(n, slot, child, now_ns);
    }
    return TRIB_DROP_NONE;
}

/* The same, of a part for a sum that may lack ranks. */
static enum trib_drop contribution_of_quorum(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                             uint64_t now_ns)
{
    bool is_branch = (n->config.branches >> child & 1) != 0;
    struct trib_packet bare = *packet;
    const uint8_t *list = is_branch ? trib_quorum_split(packet, &bare) : NULL;

    if ((is_branch && list == NULL) || !trib__switch_is_listable(n, &bare, list)) {
        return TRIB_DROP_SHAPE;
    }
    return contribution(n, UINT64_C(1) << child, &bare, list, now_ns);
}

/* The kept result of a finished rank below is news above as well: finished ranks will never let the slot's sum be
 * complete. If sums may lack ranks, a late rank may have given a part of another operation first. */
static enum trib_drop offer(struct switch_node *n, uint32_t child, const struct trib_packet *packet)
{
    enum trib_drop drop = trib__switch_take_result(n, child, packet);

    if (drop == TRIB_DROP_NONE) {
        switch_aside(n)->counters.offers++;
        if (n->config.has_parent) {
            switch_due(n, trib_window_slot(&n->window, packet->sequence), DUE_OFFER);
        }
    }
    return drop;
}

/* ---- parts that cannot meet ---- */

/* A child beside the one that sent: of a slot with payload the child that made the shape, else the first child;
 * where neither is known, any. */
static uint16_t other_side(const struct switch_node *n, const struct trib_slot *slot, uint32_t child)
{
    uint32_t other = child;

    if (slot != NULL && !slot->has_result && slot->loaded != 0) {
        other = trib_lowest(slot->loaded);
    } else if (slot != NULL) {
        other = slot->first;
    }
    if (other == child) {
        other = child == 0 && n->config.children > 1 ? 1 : 0;
    }
    return (uint16_t)other;
}

/* The operation cannot end any more, and nobody would be named: the control plane asks both. slot: NULL: none holds the
 * sequence. */
static void dispute(struct switch_node *n, const struct trib_slot *slot, uint32_t child, uint64_t sequence)
{
    switch_aside(n)->counters.mismatches++;
    if (n->mismatch.kind == TRIB_EVENT_NONE) {
        n->mismatch = (struct trib_event){
            .kind = TRIB_EVENT_MISMATCH,
            .sequence = sequence,
            .child = (uint16_t)child,
            .other = other_side(n, slot, child),
        };
    }
}

/* A part, or an OFFER, was dropped for its digest or its form. A useless packet, as this child's part or the result is
 * here, ends nothing. */
static void take_misfit(struct switch_node *n, uint32_t child, const struct trib_packet *packet, enum trib_drop drop)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, packet->sequence));
    bool is_here = trib_slot_holds(slot, packet->sequence);
    bool is_repeat = is_here && packet->kind == TRIB_CONTRIBUTION && (slot->present >> child & 1) != 0;
    bool is_vain = is_here && (is_repeat || slot->has_result);

    if (drop == TRIB_DROP_DIGEST || (drop == TRIB_DROP_SHAPE && !is_vain)) {
        dispute(n, is_here ? slot : NULL, child, packet->sequence);
    }
}

/* A sender with other weights or trains: a sequence of another shard that may be under way. */
static enum trib_drop take_astray(struct switch_node *n, uint32_t child, const struct trib_packet *packet)
{
    bool is_part = packet->kind == TRIB_CONTRIBUTION || packet->kind == TRIB_OFFER;

    if (is_part && packet->sequence >= n->communicator_mark &&
        packet->sequence - n->communicator_mark < trib_window_span(&n->config.session)) {
        dispute(n, NULL, child, packet->sequence);
    }
    return TRIB_DROP_SOURCE;
}

/* ---- receive ---- */

static enum trib_drop check(struct switch_node *n, uint32_t child, const struct trib_packet *packet, uint64_t now_ns)
{
    const struct trib_session_config *s = &n->config.session;

    if (packet->communicator != s->communicator || child >= n->config.children) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->kind == TRIB_PROBE && (packet->flags & TRIB_FLAG_QUORUM) != 0 && !trib_session_has_quorum(s)) {
        return TRIB_DROP_FIELD;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->boot != n->config.boot) {
        trib__switch_boot_hint(n, child, now_ns);
        return TRIB_DROP_BOOT;
    }
    if (n->joined != n->required) {
        return TRIB_DROP_UNREGISTERED;
    }
    if (packet->sequence > n->communicator_mark + INT32_MAX) {
        return TRIB_DROP_WINDOW; /* no answer could name M from there */
    }
    /* A sender's mark is its lowest unfinished sequence: not above an unfinished one. */
    if (packet->kind != TRIB_OFFER && packet->mark > packet->sequence) {
        return TRIB_DROP_MARK;
    }
    return trib_window_root(&n->window, packet->sequence) == n->config.root ? TRIB_DROP_NONE
                                                                            : take_astray(n, child, packet);
}

static enum trib_drop take_part(struct switch_node *n, uint64_t children, const struct trib_packet *packet,
                                uint64_t now_ns)
{
    uint32_t child = trib_lowest(children);

    if (packet->kind == TRIB_OFFER) {
        return offer(n, child, packet);
    }
    return packet->flags & TRIB_FLAG_QUORUM ? contribution_of_quorum(n, child, packet, now_ns)
                                            : contribution(n, children, packet, NULL, now_ns);
}

static enum trib_drop take(struct switch_node *n, uint64_t children, const struct trib_packet *packet, uint64_t now_ns)
{
    uint32_t child = trib_lowest(children);
    enum trib_drop drop = check(n, child, packet, now_ns);

    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        take_mark(n, trib_lowest(bits), packet->mark);
    }
    if (packet->sequence < n->communicator_mark) {
        return TRIB_DROP_STALE; /* everybody has its result (I3) */
    }
    if (packet->kind == TRIB_PROBE) {
        return trib__switch_probe(n, child, packet, now_ns);
    }
    if (!switch_admits(n, packet->sequence)) {
        return TRIB_DROP_WINDOW;
    }
    if (packet->kind != TRIB_CONTRIBUTION && packet->kind != TRIB_OFFER) {
        return TRIB_DROP_KIND;
    }
    drop = take_part(n, children, packet, now_ns);
    if (drop == TRIB_DROP_DIGEST || drop == TRIB_DROP_SHAPE) {
        take_misfit(n, child, packet, drop);
    }
    return drop;
}

enum trib_drop trib__switch_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                    uint64_t now_ns)
{
    struct switch_node *n = node;
    enum trib_drop drop = TRIB_DROP_SOURCE;

    if (from.kind == TRIB_PLACE_CHILDREN) {
        uint64_t children = trib_combiner_ranks(from.children, packet);
        bool can_be = children != 0 && (n->config.has_combiners || (children & (children - 1)) == 0);
        drop = can_be ? take(n, children, packet, now_ns) : TRIB_DROP_SOURCE;
    } else if (from.kind == TRIB_PLACE_PARENT && n->config.has_parent) {
        drop = trib__switch_from_parent(n, packet, now_ns);
    }
    switch_aside(n)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* The packet's slot and row, the slot that is freed when M moves, and the queue of due results. */
void trib__switch_soon(const void *node, struct trib_place from, const struct trib_packet *packet)
{
    const struct switch_node *n = node;
    uint32_t index = trib_window_slot(&n->window, packet->sequence);
    uint32_t child = from.kind == TRIB_PLACE_CHILDREN && from.children != 0 ? trib_lowest(from.children) : 0;

    __builtin_prefetch(switch_slot(n, index), 1);
    __builtin_prefetch(switch_slot(n, (uint32_t)(n->mark_dense % n->window.slots)), 1);
    __builtin_prefetch(switch_aside(n), 1);
    __builtin_prefetch((uint32_t *)switch_at(n, n->down.at) + n->down.head, 1);
    if (child < n->config.children) {
        __builtin_prefetch(switch_child_row(n, index, child), 1);
    }
}

/* ---- packets that leave ---- */

static uint8_t take_payload(struct switch_node *n, uint32_t *index)
{
    uint8_t due = switch_take_due(n, &n->down, DUE_RESULT, index);

    n->headers_owed += due != 0 && (switch_slot(n, *index)->due & DUE_HEADER) != 0;
    n->ahead += n->headers_owed != 0;
    return due;
}

/* Some with payload, then as many headers of the same slots: each way trains of packets of one size, and no header is
 * late. */
static uint8_t take_result(struct switch_node *n, uint32_t *index)
{
    if (n->headers_left == 0) {
        uint8_t due = n->ahead < TRIB_PROTOCOL_AHEAD ? take_payload(n, index) : 0;
        if (due != 0) {
            return due;
        }
        n->headers_left = n->headers_owed;
        n->headers_owed = n->ahead = 0;
    }
    uint8_t due = switch_take_due(n, &n->headers, DUE_HEADER, index);
    if (due != 0) {
        n->headers_left -= n->headers_left != 0;
        return due;
    }
    n->headers_left = 0; /* their slots were freed since */
    return take_payload(n, index);
}

/* Payload to the children that want payload, headers to the others. */
static bool next_result(struct switch_node *n, struct trib_packet *packet, struct trib_place *to)
{
    uint32_t index;
    uint8_t due = take_result(n, &index);

    if (due == 0) {
        return false;
    }
    const struct trib_slot *slot = switch_slot(n, index);
    uint64_t wanting = slot->loaded != 0 ? n->required & ~slot->unwanted : n->required;

    trib__switch_build_result(n, index, due == DUE_RESULT && wanting != 0, packet);
    to->kind = TRIB_PLACE_CHILDREN;
    to->index = 0;
    to->children = due == DUE_HEADER ? slot->unwanted : wanting != 0 ? wanting : n->required;
    return true;
}

/* Results and sums first, each as trains of their own; a PROBE to the parent comes behind the sums in its bitmap. */
bool trib__switch_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct switch_node *n = node;

    (void)now_ns;
    return next_result(n, packet, to) || trib__switch_next_up(n, packet, to) || trib__switch_next_answer(n, packet, to);
}

bool trib__switch_next_event(void *node, struct trib_event *event)
{
    struct switch_node *n = node;

    if (n->mismatch.kind == TRIB_EVENT_NONE) {
        return false;
    }
    *event = n->mismatch;
    n->mismatch = (struct trib_event){0};
    return true;
}

/* A switch waits for nobody: a rank that misses a packet probes, and only the workers have clocks. */
uint64_t trib__switch_next_timeout(const void *node)
{
    (void)node;
    return TRIB_NEVER;
}

void trib__switch_on_timeout(void *node, uint64_t now_ns)
{
    (void)node;
    (void)now_ns;
}

uint64_t trib__switch_communicator_mark(const void *node)
{
    return ((const struct switch_node *)node)->communicator_mark;
}

uint32_t trib__switch_slots_held(const void *node)
{
    return ((const struct switch_node *)node)->held;
}

/* A slot that is empty and in no queue is all zeros; rows and queues are written before they are read. */
uint32_t trib__switch_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    const struct switch_node *n = node;

    if (n->held != 0 || n->down.count != 0 || n->headers.count != 0 || n->up.count != 0 || n->answers_count != 0) {
        return 0;
    }
    ranges[0] = (struct trib_range){n->slots_at, n->aside_at - n->slots_at};
    ranges[1] = (struct trib_range){n->repeats_at, n->window.slots * sizeof(struct slot_repeats)};
    return 2;
}

const struct trib_counters *trib__switch_counters(const void *node)
{
    return &switch_aside(node)->counters;
}
