/* SPDX-License-Identifier: Apache-2.0 */
/* combiner.c: see combiner.h. A row's numbers lie in a buffer. There are more buffers than rows, so another fragment
 * can take a row while the sum before waits to leave; without a free buffer parts pass.
 * Read next: switch_combined.c (where sums arrive). */
#include "protocol/combiner.h"

#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "protocol/combiner_memory.h"

#define SOON 2U /* sequences ahead */
#define RUN 16U
#define LARGE 4096U /* rows */
#define PLACES 4U   /* of a fragment */

static void *at(const struct combiner *c, size_t offset)
{
    return (char *)(uintptr_t)c + offset;
}

static struct member *member_at(const struct combiner *c, uint32_t member)
{
    TRIB_ASSERT(member < c->config.members);
    return (struct member *)at(c, c->members_at) + member;
}

static struct trib_combiner_grant *grant_at(const struct combiner *c, uint32_t member)
{
    return &member_at(c, member)->grant;
}

static struct row *row_at(const struct combiner *c, uint32_t row)
{
    return (struct row *)at(c, c->rows_at) + row;
}

static void *buffer_at(const struct combiner *c, uint32_t buffer)
{
    return (char *)at(c, c->buffers_at) + buffer * c->row_size;
}

static size_t lay_out(struct combiner *c, const struct trib_combiner_config *config)
{
    size_t buffers = (size_t)config->rows + LEAVING;
    size_t end = (sizeof *c + 63) & ~(size_t)63;

    *c = (struct combiner){.config = *config};
    c->row_size = config->is_narrow ? config->payload : trib_row_size(TRIB_BFLOAT16, config->payload);
    c->members_at = trib_node_place(&end, config->members * sizeof(struct member));
    c->rows_at = trib_node_place(&end, config->rows * sizeof(struct row));
    c->leaving_at = trib_node_place(&end, LEAVING * sizeof(struct row));
    c->free_at = trib_node_place(&end, buffers * sizeof(uint32_t));
    c->buffers_at = trib_node_place(&end, buffers * c->row_size);
    return end;
}

size_t trib_combiner_size(const struct trib_combiner_config *config)
{
    struct combiner scratch;

    return lay_out(&scratch, config);
}

void trib_combiner_init(void *combiner, const struct trib_combiner_config *config)
{
    struct combiner *c = combiner;

    TRIB_ASSERT(config->payload != 0 && config->payload % TRIB_PAYLOAD_ALIGN == 0 &&
                config->payload <= TRIB_PAYLOAD_MAX);
    (void)lay_out(c, config);
    if (!config->is_zeroed) {
        memset(at(c, c->members_at), 0, c->free_at - c->members_at);
    }
    c->free_count = config->rows + LEAVING;
    for (uint32_t i = 0; i < c->free_count; i++) {
        ((uint32_t *)at(c, c->free_at))[i] = c->free_count - 1 - i; /* the first is taken first */
    }
}

/* ---- rows ---- */

static void give_buffer(struct combiner *c, uint32_t buffer)
{
    TRIB_ASSERT(c->free_count < c->config.rows + LEAVING);
    ((uint32_t *)at(c, c->free_at))[c->free_count++] = buffer;
}

static void empty(struct combiner *c, struct row *row)
{
    struct member *m = member_at(c, row->member);

    m->held--;
    m->astray -= row->is_astray;
    trib_slot_free(&row->slot);
}

static void free_row(struct combiner *c, struct row *row)
{
    give_buffer(c, row->buffer);
    empty(c, row);
}

/* The row is free for others; the sum leaves. False: no room to wait in. */
static bool send_on(struct combiner *c, struct row *row)
{
    if (c->count == LEAVING) {
        return false;
    }
    ((struct row *)at(c, c->leaving_at))[(c->head + c->count++) % LEAVING] = *row;
    empty(c, row);
    return true;
}

/* True if all ranks behind the combiner have the fragment's result. */
static bool is_over(const struct combiner *c, const struct row *row)
{
    return row->slot.sequence < grant_at(c, row->member)->mark;
}

static bool holds(const struct row *row, uint32_t member, uint64_t sequence)
{
    return trib_slot_holds(&row->slot, sequence) && row->member == member;
}

/* In a large pool, fragments that follow each other have rows that do, up to RUN of them: a cache then has the next
 * row. Where two runs meet, many fragments collide at once, so a pool that fits into a cache has no runs. */
static uint32_t run_of(const struct trib_combiner_grant *m)
{
    return m->rows < LARGE ? 1 : RUN;
}

/* The first of a fragment's places in the member's rows, by a hash: other parts of the key may differ. Of a piece the
 * sequence names the only place. */
static struct row *first_place(const struct combiner *c, const struct trib_combiner_grant *m, uint64_t sequence)
{
    if (m->pieces.count != 0) {
        return row_at(c, m->first_row + trib_pieces_row(&m->pieces, sequence, m->rows));
    }
    uint32_t run = run_of(m);
    uint64_t key = (uint64_t)m->group << 48 | (uint64_t)m->communicator << 16 | m->generation;
    uint64_t hash = trib_mix64(key ^ trib_mix64(sequence / run));
    uint32_t place = (uint32_t)((hash >> 32) * m->rows >> 32) + (uint32_t)(sequence % run);

    return row_at(c, m->first_row + (place < m->rows ? place : place - m->rows));
}

/* Weight of a part, or of a row: the member's priority first, then that of the operation (of a row, the least that its
 * parts say). */
static uint64_t weigh(uint32_t priority, uint16_t said)
{
    return priority != 0 ? (uint64_t)priority << 16 | said : 0;
}

/* Cost of giving the row to a part of the member: 0 if empty, most if the member has a running fragment there. */
static uint64_t cost_of(const struct combiner *c, const struct row *row, uint32_t member)
{
    if (trib_slot_is_empty(&row->slot)) {
        return 0;
    }
    uint64_t weight = weigh(member_at(c, row->member)->priority, row->slot.cap);

    return is_over(c, row) ? 1 : row->member == member ? UINT64_MAX : 2 + weight;
}

/* The row with the fragment, or else the cheapest of the four places. */
static struct row *search(const struct combiner *c, uint32_t member, uint64_t sequence, struct row *first)
{
    const struct trib_combiner_grant *m = grant_at(c, member);
    struct row *end = row_at(c, m->first_row + m->rows), *row = first, *best = first;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < PLACES && i < m->rows; i++) {
        if (holds(row, member, sequence)) {
            return row;
        }
        uint64_t cost = least != 0 ? cost_of(c, row, member) : 0;
        best = cost < least ? row : best;
        least = cost < least ? cost : least;
        row += run_of(m);
        row = row < end ? row : row - m->rows;
    }
    return best;
}

/* As search, without a look at the other places where none can have the fragment. With as many rows as fragments under
 * way, 82 % of the fragments have a row, where a single place each would give 63 % one; with four times as many rows
 * more than 99 %, and 88 %. */
static struct row *find(const struct combiner *c, uint32_t member, uint64_t sequence, struct row *first)
{
    const struct member *m = member_at(c, member);
    bool is_nowhere_else = (m->astray == 0 && trib_slot_is_empty(&first->slot)) || m->grant.pieces.count != 0;

    return is_nowhere_else || holds(first, member, sequence) ? first : search(c, member, sequence, first);
}

/* Ranks send in trains: the row of a sequence soon to come is fetched, since rows lie at random places. */
static void fetch(const struct combiner *c, const struct trib_combiner_grant *m, uint64_t sequence)
{
    const char *row = (const char *)first_place(c, m, sequence + SOON);

    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + 64, 1);
}

/* May the part stand in one sum with the row's parts, of the same fragment? A sum's header must be true of each part.
 */
static bool is_like(const struct row *row, const struct trib_packet *packet)
{
    const struct trib_slot *slot = &row->slot;
    bool is_wanted = (packet->flags & TRIB_FLAG_UNWANTED) == 0;

    return row->boot == packet->boot && slot->attempt == packet->attempt && slot->digest == packet->digest &&
           (slot->unwanted == 0) == is_wanted && !trib_slot_differs(slot, packet);
}

static bool fits(const struct combiner *c, const struct row *row, const struct trib_packet *packet)
{
    bool is_first = row == NULL || row->slot.loaded == 0;

    return packet->payload_len <= c->config.payload &&
           trib_row_takes((enum trib_type)packet->type, (enum trib_reduction)packet->reduction, packet->payload_len,
                          is_first, c->row_size);
}

/* ---- adding ---- */

/* No part is still to come: of ranks that are not in, it has passed. */
static void leave_if_complete(struct combiner *c, struct row *row)
{
    struct member *m = member_at(c, row->member);

    if ((m->grant.behind & ~(row->slot.present | row->past)) == 0) {
        bool is_whole = row->past == 0;
        bool is_sent = send_on(c, row);
        m->priority += is_sent && is_whole && m->priority < m->grant.priority;
        c->counters.complete += is_sent && is_whole;
        c->counters.rest += is_sent && !is_whole;
    }
}

static void add(struct combiner *c, struct row *row, const struct trib_packet *packet, uint64_t ranks)
{
    enum trib_type type = (enum trib_type)packet->type;
    bool is_sum = (ranks & (ranks - 1)) != 0;

    if (packet->payload_len != 0 && row->slot.loaded != 0) {
        trib_row_add(c->config.kernels, type, (enum trib_reduction)packet->reduction, buffer_at(c, row->buffer),
                     packet->payload, packet->payload_len);
    } else if (packet->payload_len != 0) {
        trib_row_load(c->config.kernels, type, buffer_at(c, row->buffer), packet->payload, packet->payload_len);
    }
    trib_slot_note(&row->slot, packet, ranks, is_sum ? packet->contributors : 1);
    row->mark = packet->mark < row->mark ? packet->mark : row->mark;
    c->counters.combined++;
    leave_if_complete(c, row);
}

/* A rank sends its parts in order: the part of this sequence has come, or was lost, if a later one has. */
static uint64_t find_past(const struct combiner *c, uint32_t member, uint64_t sequence, uint64_t ranks)
{
    const struct member *m = member_at(c, member);
    uint64_t past = 0;

    for (uint64_t bits = m->grant.behind & ~ranks; bits != 0; bits &= bits - 1) {
        uint32_t rank = trib_lowest(bits);
        past |= (uint64_t)(m->next[rank] > sequence) << rank;
    }
    return past;
}

static void note_parts(struct combiner *c, uint32_t member, uint64_t sequence, uint64_t ranks)
{
    struct member *m = member_at(c, member);

    for (uint64_t bits = ranks; bits != 0; bits &= bits - 1) {
        uint64_t *next = &m->next[trib_lowest(bits)];
        *next = sequence >= *next ? sequence + 1 : *next;
    }
}

/* The row is empty, and there is a buffer for it. */
static void open_row(struct combiner *c, struct row *row, uint32_t member, const struct trib_packet *packet,
                     uint64_t ranks)
{
    trib_slot_open(&row->slot, packet, trib_lowest(ranks));
    member_at(c, member)->held++;
    member_at(c, member)->astray += row->is_astray;
    row->mark = UINT64_MAX;
    row->boot = packet->boot;
    row->member = member;
    row->past = find_past(c, member, packet->sequence, ranks);
    row->buffer = ((const uint32_t *)at(c, c->free_at))[--c->free_count];
    add(c, row, packet, ranks);
}

/* Another fragment has the row. True: the row is empty now, for the member's part, of which its rank says this
 * priority. The row's member loses half of its own priority, but keeps 1 if it has some. The longer a member waits for
 * a rank, the more parts meet its rows. A member takes no row of its own. */
static bool displace(struct combiner *c, struct row *row, uint32_t member, uint16_t said)
{
    uint32_t *theirs = &member_at(c, row->member)->priority;
    uint64_t weight = row->member != member ? weigh(member_at(c, member)->priority, said) : 0;

    if (is_over(c, row)) {
        free_row(c, row);
        return true;
    }
    if (weight > weigh(*theirs, row->slot.cap) && send_on(c, row)) {
        c->counters.evicted++;
        return true;
    }
    *theirs -= *theirs / 2;
    c->counters.collisions++;
    return false;
}

/* Adds a part to a row, if there is one for it. False: the part passes. */
static bool take(struct combiner *c, uint32_t member, const struct trib_packet *packet, uint64_t ranks,
                 enum trib_combined *verdict)
{
    const struct trib_combiner_grant *m = grant_at(c, member);
    struct row *first = first_place(c, m, packet->sequence);
    struct row *row = find(c, member, packet->sequence, first);

    fetch(c, m, packet->sequence);
    if (holds(row, member, packet->sequence)) {
        bool is_here = is_like(row, packet) && (ranks & ~row->slot.present) == 0;
        bool is_new = (ranks & row->slot.present) == 0 && is_like(row, packet) && fits(c, row, packet);
        if (is_new) {
            add(c, row, packet, ranks);
        } else if (!is_here) {
            row->past |= ranks; /* in a reduce, say, one rank alone wants the result: the two never meet */
            leave_if_complete(c, row);
        }
        c->counters.duplicates += is_here;
        *verdict = is_here ? TRIB_COMBINED_DROPPED : TRIB_COMBINED_TAKEN;
        return is_here || is_new;
    }
    if (!fits(c, NULL, packet) || (!trib_slot_is_empty(&row->slot) && !displace(c, row, member, packet->window_cap)) ||
        c->free_count == 0) {
        return false;
    }
    row->is_astray = row != first;
    open_row(c, row, member, packet, ranks);
    *verdict = TRIB_COMBINED_TAKEN;
    return true;
}

/* ---- packets ---- */

/* Names the ranks of a packet in the packet: above, all packets come from one address, the combiner's. Returns 0 where
 * the sender must not speak for them. */
static uint64_t name(struct trib_packet *packet, uint64_t sender)
{
    uint64_t ranks = trib_combiner_ranks(sender, packet);

    if ((sender & (sender - 1)) == 0 && packet->kind == TRIB_CONTRIBUTION) {
        packet->bitmap = 0;
    }
    if (ranks != 0) {
        packet->node = (uint16_t)trib_lowest(ranks);
    }
    return ranks;
}

static bool is_sound(const struct trib_packet *packet, uint64_t ranks)
{
    bool is_sum = (ranks & (ranks - 1)) != 0;

    return packet->mark <= packet->sequence && (!is_sum || ((packet->contributors != 0) == (packet->payload_len != 0) &&
                                                            packet->contributors <= trib_count_bits(ranks)));
}

/* Only parts of own pieces that were not asked for, with other parts still to come. */
static bool may_add(const struct trib_combiner_grant *m, const struct trib_packet *packet, uint64_t ranks)
{
    return m->rows != 0 && trib_pieces_has(&m->pieces, packet->sequence) &&
           (packet->flags & (TRIB_FLAG_RESEND | TRIB_FLAG_COLLISION | TRIB_FLAG_QUORUM)) == 0 && ranks != m->behind;
}

/* A finished rank contributes no more. So no rank behind needs a row below the least of their marks, which no packet
 * from the root has to tell: a result for some of the ranks goes to their own addresses. */
static void note_marks(struct combiner *c, uint32_t member, const struct trib_packet *packet, uint64_t ranks)
{
    struct member *m = member_at(c, member);
    bool can_be = packet->mark <= (packet->kind == TRIB_OFFER ? TRIB_SEQUENCE_MAX : packet->sequence);
    bool is_least = false;

    if (!can_be || packet->generation != m->grant.generation) {
        return;
    }
    for (; ranks != 0; ranks &= ranks - 1) {
        uint64_t *mark = &m->marks[trib_lowest(ranks)];
        is_least |= *mark <= m->grant.mark && packet->mark > m->grant.mark;
        *mark = packet->mark > *mark ? packet->mark : *mark;
    }
    uint64_t least = packet->mark;
    for (uint64_t behind = is_least ? m->grant.behind : 0; behind != 0; behind &= behind - 1) {
        uint64_t mark = m->marks[trib_lowest(behind)];
        least = mark < least ? mark : least;
    }
    m->grant.mark = is_least && least > m->grant.mark ? least : m->grant.mark;
}

/* A PROBE asks for parts of its sender: of its fragment, and of those behind that its bitmap names. Sums with these
 * parts leave first: then the root knows which of them were lost on the way. */
static void flush(struct combiner *c, uint32_t member, const struct trib_packet *probe, uint64_t ranks)
{
    const struct member *m = member_at(c, member);
    uint64_t sent = m->next[trib_lowest(ranks)];
    uint64_t end =
        probe->bitmap != 0 ? probe->sequence + 1 + 64 * (uint64_t)(m->grant.roots + (m->grant.roots == 0)) : 0;

    end = end < sent ? end : sent;
    for (uint64_t sequence = probe->sequence; m->held != 0 && (sequence < end || sequence == probe->sequence);
         sequence++) {
        struct row *row = find(c, member, sequence, first_place(c, &m->grant, sequence));
        bool is_meant = sequence == probe->sequence || (row->slot.present & ranks) != 0;
        c->counters.flushed += holds(row, member, sequence) && is_meant && send_on(c, row);
    }
}

/* A part passes that may not be added: a row of its fragment waits for it no more. */
static void pass_by(struct combiner *c, uint32_t member, uint64_t sequence, uint64_t ranks)
{
    struct row *row = find(c, member, sequence, first_place(c, grant_at(c, member), sequence));

    if (holds(row, member, sequence)) {
        row->past |= ranks & ~row->slot.present;
        leave_if_complete(c, row);
    }
}

enum trib_combined trib_combiner_up(void *combiner, uint32_t member, uint64_t sender, struct trib_packet *packet)
{
    struct combiner *c = combiner;
    const struct trib_combiner_grant *m = grant_at(c, member);
    uint64_t ranks = packet->communicator == m->communicator ? name(packet, sender & m->behind) : 0;
    enum trib_combined verdict = TRIB_COMBINED_PASS;

    if (ranks == 0) {
        c->counters.refused++;
        return TRIB_COMBINED_DROPPED;
    }
    note_marks(c, member, packet, ranks);
    if (packet->kind == TRIB_PROBE && (packet->flags & TRIB_FLAG_UNWANTED) == 0 && m->rows != 0) {
        flush(c, member, packet, ranks);
    }
    if (packet->kind != TRIB_CONTRIBUTION) {
        return TRIB_COMBINED_PASS;
    }
    bool can_be = packet->generation == m->generation && is_sound(packet, ranks);
    bool is_beyond = can_be && m->span != 0 && packet->sequence >= m->mark + m->span;
    if (can_be && !is_beyond) {
        bool may_be_added = may_add(m, packet, ranks);
        if (may_be_added && packet->sequence < m->mark) {
            c->counters.stale++;
            return TRIB_COMBINED_DROPPED;
        }
        bool is_taken = may_be_added && take(c, member, packet, ranks, &verdict);
        if (!may_be_added && m->rows != 0) {
            pass_by(c, member, packet->sequence, ranks);
        }
        note_parts(c, member, packet->sequence, ranks);
        if (is_taken) {
            return verdict;
        }
    }
    c->counters.direct += (packet->flags & TRIB_FLAG_RESEND) != 0;
    c->counters.beyond += is_beyond;
    c->counters.elsewhere += can_be && !is_beyond && !trib_pieces_has(&m->pieces, packet->sequence);
    c->counters.passed++;
    return TRIB_COMBINED_PASS;
}

uint64_t trib_combiner_missing(const void *combiner, uint32_t member, uint64_t sequence)
{
    const struct member *m = member_at(combiner, member);
    uint64_t missing = 0;

    for (uint64_t bits = m->grant.behind; bits != 0; bits &= bits - 1) {
        uint32_t rank = trib_lowest(bits);
        missing |= (uint64_t)(m->next[rank] <= sequence) << rank;
    }
    return missing;
}

void trib_combiner_learn_mark(void *combiner, uint32_t member, uint64_t mark)
{
    struct trib_combiner_grant *m = grant_at(combiner, member);

    m->mark = mark > m->mark && mark <= TRIB_SEQUENCE_MAX ? mark : m->mark;
}

void trib_combiner_down(void *combiner, uint32_t member, const struct trib_packet *packet)
{
    const struct trib_combiner_grant *m = grant_at(combiner, member);

    if (packet->communicator == m->communicator && packet->generation == m->generation) {
        trib_combiner_learn_mark(combiner, member, packet->mark);
    }
}

/* The top of the stack of given buffers. No two of all buffers are in both stacks, so these never meet. */
static uint32_t *given_at(const struct combiner *c)
{
    return (uint32_t *)at(c, c->free_at) + (c->config.rows + LEAVING - c->given);
}

void trib_combiner_release(void *combiner)
{
    struct combiner *c = combiner;

    while (c->given != 0) {
        uint32_t buffer = *given_at(c);
        c->given--;
        give_buffer(c, buffer);
    }
}

bool trib_combiner_next(void *combiner, struct trib_packet *packet, uint32_t *member)
{
    struct combiner *c = combiner;

    if (c->count == 0) {
        return false;
    }
    const struct row *row = (const struct row *)at(c, c->leaving_at) + c->head;
    const struct trib_slot *slot = &row->slot;
    const struct trib_combiner_grant *m = grant_at(c, row->member);
    void *buffer = buffer_at(c, row->buffer);
    c->head = (c->head + 1) % LEAVING;
    c->count--;
    c->given++;
    *given_at(c) = row->buffer;
    *member = row->member;
    *packet = (struct trib_packet){
        .kind = TRIB_CONTRIBUTION,
        .flags = (uint16_t)((slot->flags & TRIB_FLAG_ECN) | (slot->unwanted != 0 ? TRIB_FLAG_UNWANTED : 0)),
        .sequence = slot->sequence,
        .mark = row->mark,
        .bitmap = slot->present,
        .lane = slot->lane,
        .digest = slot->digest,
        .boot = row->boot,
        .communicator = m->communicator,
        .generation = m->generation,
        .node = (uint16_t)trib_lowest(slot->present),
        .last_rank = slot->last,
        .window_cap = slot->cap,
        .contributors = slot->parts,
        .attempt = slot->attempt,
        .reduction = slot->reduction,
        .exponent = slot->exponent,
    };
    if (slot->loaded != 0) {
        trib_row_finish(c->config.kernels, (enum trib_type)slot->type, buffer, slot->payload_len);
        packet->type = slot->type;
        packet->payload_len = slot->payload_len;
        packet->payload = buffer;
    }
    return true;
}

/* ---- members ---- */

void trib_combiner_dismiss(void *combiner, uint32_t member)
{
    struct combiner *c = combiner;

    for (uint32_t i = 0; i < c->config.rows && member_at(c, member)->held > 0; i++) {
        struct row *row = row_at(c, i);
        if (row->member == member && !trib_slot_is_empty(&row->slot)) {
            free_row(c, row);
        }
    }
    uint32_t count = c->count;
    for (uint32_t i = 0; i < count; i++) { /* sums of other members go round once */
        struct row *rows = at(c, c->leaving_at);
        struct row row = rows[c->head];
        c->head = (c->head + 1) % LEAVING;
        c->count--;
        if (row.member == member) {
            give_buffer(c, row.buffer);
        } else {
            rows[(c->head + c->count++) % LEAVING] = row;
        }
    }
    *member_at(c, member) = (struct member){0};
}

void trib_combiner_admit(void *combiner, uint32_t member, const struct trib_combiner_grant *grant)
{
    struct combiner *c = combiner;

    TRIB_ASSERT(grant->behind != 0 && (uint64_t)grant->first_row + grant->rows <= c->config.rows);
    TRIB_ASSERT(grant->pieces.count == 0 || (grant->pieces.count <= TRIB_PIECES_MAX && grant->pieces.run != 0 &&
                                             (grant->pieces.own & ~trib_pieces_all(grant->pieces.count)) == 0));
    trib_combiner_dismiss(c, member);
    *grant_at(c, member) = *grant;
    member_at(c, member)->priority = grant->priority;
}

/* ---- counts ---- */

uint32_t trib_combiner_rows_held(const void *combiner, uint32_t member)
{
    const struct combiner *c = combiner;
    uint32_t held = 0;

    for (uint32_t i = 0; i < c->config.rows; i++) {
        const struct row *row = row_at(c, i);
        held += !trib_slot_is_empty(&row->slot) && (member == TRIB_COMBINER_ALL || row->member == member) &&
                !is_over(c, row);
    }
    return held;
}

const struct trib_combiner_counters *trib_combiner_counters(const void *combiner)
{
    return &((const struct combiner *)combiner)->counters;
}
