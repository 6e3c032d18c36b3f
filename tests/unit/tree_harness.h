/* SPDX-License-Identifier: Apache-2.0 */
/* tree_harness.h: a tree of real switch nodes with real workers at its leaves, in memory: every packet in flight stands
 * in one queue, time goes in rounds, and a test names the packets that get lost, or how many of a hundred. Not a world:
 * losses and restarts are the only faults, and none happens that a test did not ask for. tests/world has the others.
 *
 * A round: everything in flight arrives, in the order in which it was sent; all nodes that heard something are drained.
 * When nothing is in flight, time leaps to the next timeout. The session is emulated as the control plane does it:
 * marks go from the leaf up, M from the top down, and a rank hears of it last. */
#ifndef TRIB_TESTS_TREE_HARNESS_H
#define TRIB_TESTS_TREE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/operation.h"
#include "core/prng.h"
#include "node_memory.h"
#include "schemes/switchml/switchml.h"

#define TREE_SWITCHES 32
#define TREE_RANKS TRIB_SESSION_RANKS_MAX
#define TREE_RULES 16
#define TREE_PAYLOAD 64
#define TREE_ROUND_NS UINT64_C(20000)
#define TREE_MS UINT64_C(1000000)
#define TREE_BOOT 0xb000U

/* Nodes by number: switches first, then ranks. */
#define TREE_RANK(rank) (TREE_SWITCHES + (rank))

/* Which switch is above each switch (-1: none, the top) and above each rank. */
struct tree_shape {
    const int *above;
    const uint16_t *home;
    uint32_t switches, ranks;
};

struct tree_parcel {
    struct trib_packet packet;
    uint32_t from, to;
    uint8_t payload[TREE_PAYLOAD];
};

/* Lose packets of this kind on this hop: the first `count` of them after `skip`, or every `every`-th. Nodes of -1 are
 * any. */
struct tree_rule {
    enum trib_kind kind;
    int from, to;
    uint32_t skip, count, every;
    uint32_t seen, hits; /* how many there were, and how many were lost */
};

struct tree_switch {
    void *memory;
    struct trib_switch_config config;
    uint32_t child[TRIB_CHILDREN_MAX]; /* node numbers */
    uint32_t number;                   /* which child of the one above it is */
    bool is_touched;
};

struct tree_worker {
    void *memory;
    float *send, *recv;
    uint32_t number; /* which child of its switch it is */
    uint32_t done;   /* operations */
    uint32_t mismatches;
};

struct tree {
    struct tree_shape shape;
    struct trib_session_config session;
    struct tree_switch switches[TREE_SWITCHES];
    struct tree_worker workers[TREE_RANKS];
    struct tree_rule rules[TREE_RULES];
    struct tree_parcel *parcels, *arriving;
    size_t parcel_count, parcel_room, arriving_room;
    uint64_t sent[TRIB_KIND_COUNT]; /* packets by kind, lost ones too */
    uint64_t now_ns;
    uint64_t elements; /* of a tensor */
    struct trib_prng prng;
    uint32_t loss; /* of a hundred packets, at random */
    uint32_t boot, rule_count;
    uint32_t events[TRIB_EVENT_KIND_COUNT];
};

/* ---- making one ---- */

static inline uint32_t tree_lowest_rank(const struct tree *t, uint32_t number)
{
    if (number >= TREE_SWITCHES) {
        return number - TREE_SWITCHES;
    }
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        for (int at = t->shape.home[rank]; at >= 0; at = t->shape.above[at]) {
            if (at == (int)number) {
                return rank;
            }
        }
    }
    return UINT32_MAX;
}

/* Children in the order of their lowest ranks. */
static inline void tree_add_child(struct tree *t, uint32_t above, uint32_t number)
{
    struct tree_switch *s = &t->switches[above];
    uint32_t at = s->config.children++;

    assert_in_range(at, 0, TRIB_CHILDREN_MAX - 1);
    while (at > 0 && tree_lowest_rank(t, s->child[at - 1]) > tree_lowest_rank(t, number)) {
        s->child[at] = s->child[at - 1];
        at--;
    }
    s->child[at] = number;
}

static inline void tree_wire(struct tree *t)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        tree_add_child(t, t->shape.home[rank], TREE_RANK(rank));
    }
    for (uint32_t i = 0; i < t->shape.switches; i++) {
        if (t->shape.above[i] >= 0) {
            tree_add_child(t, (uint32_t)t->shape.above[i], i);
        }
    }
    for (uint32_t i = 0; i < t->shape.switches; i++) {
        struct tree_switch *s = &t->switches[i];
        for (uint32_t c = 0; c < s->config.children; c++) {
            if (s->child[c] < TREE_SWITCHES) {
                s->config.branches |= UINT64_C(1) << c;
                t->switches[s->child[c]].number = c;
            } else {
                t->workers[s->child[c] - TREE_SWITCHES].number = c;
            }
        }
    }
}

static inline void tree_boot_switch(struct tree *t, uint32_t i)
{
    struct tree_switch *s = &t->switches[i];

    s->config.session = t->session;
    s->config.session.salt = 0;
    s->config.kernels = trib_value_kernels();
    s->config.has_parent = t->shape.above[i] >= 0;
    s->config.boot = t->boot;
    if (s->memory == NULL) {
        s->memory = node_memory(trib_switchml.switch_node->size(&s->config));
    }
    trib_switchml.switch_node->init(s->memory, &s->config);
}

/* ---- the session ---- */

static inline void tree_rank_marks(struct tree *t, uint32_t rank, uint64_t *least)
{
    uint64_t mark = trib_switchml.worker->mark(t->workers[rank].memory);

    for (int at = t->shape.home[rank]; at >= 0; at = t->shape.above[at]) {
        least[at] = mark < least[at] ? mark : least[at];
    }
}

/* All marks go up, from the leaves to the top. */
static inline void tree_join(struct tree *t)
{
    const struct trib_switch_verbs *verbs = trib_switchml.switch_node;
    uint64_t least[TREE_SWITCHES];

    memset(least, 0xff, sizeof least);
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        tree_rank_marks(t, rank, least);
    }
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        const struct tree_worker *w = &t->workers[rank];
        verbs->join(t->switches[t->shape.home[rank]].memory, w->number, trib_switchml.worker->mark(w->memory));
    }
    for (uint32_t i = t->shape.switches; i-- > 1;) { /* a switch has a higher number than the one above it */
        verbs->join(t->switches[t->shape.above[i]].memory, t->switches[i].number, least[i]);
    }
}

static inline uint64_t tree_learn_mark(struct tree *t)
{
    uint64_t mark = trib_switchml.switch_node->node.communicator_mark(t->switches[0].memory);

    for (uint32_t i = 0; i < t->shape.switches; i++) {
        trib_switchml.switch_node->learn_mark(t->switches[i].memory, mark);
    }
    return mark;
}

/* All switches boot anew; what they held is gone, what is in flight arrives. */
static inline void tree_boot(struct tree *t)
{
    t->boot++;
    for (uint32_t i = 0; i < t->shape.switches; i++) {
        tree_boot_switch(t, i);
    }
    tree_join(t);
    uint64_t mark = tree_learn_mark(t);
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        trib_switchml.worker->registered(t->workers[rank].memory, t->boot, mark, t->now_ns);
    }
}

static inline struct tree *tree_open(const struct tree_shape *shape, enum trib_type wire, uint32_t slots)
{
    struct tree *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->shape = *shape;
    t->session = (struct trib_session_config){
        .salt = 0x5a17,
        .communicator = 11,
        .ranks = shape->ranks,
        .roots = 1,
        .train = 1,
        .slots = slots,
        .payload = TREE_PAYLOAD,
        .generation = 2,
        .wire = wire,
        .lookahead = (slots + 1) / 2,
    };
    t->boot = TREE_BOOT;
    t->now_ns = 1000 * TREE_MS;
    tree_wire(t);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        struct trib_worker_config config = {
            .session = t->session,
            .kernels = trib_value_kernels(),
            .rank = rank,
            .window = (slots + 1) / 2,
            .operations = 4,
            .stall_ns = 1000 * TREE_MS,
        };
        t->workers[rank].memory = node_memory(trib_switchml.worker->size(&config));
        trib_switchml.worker->init(t->workers[rank].memory, &config);
    }
    tree_boot(t);
    return t;
}

static inline void tree_close(struct tree *t)
{
    for (uint32_t i = 0; i < TREE_SWITCHES; i++) {
        free(t->switches[i].memory);
    }
    for (uint32_t rank = 0; rank < TREE_RANKS; rank++) {
        free(t->workers[rank].memory);
        free(t->workers[rank].send);
        free(t->workers[rank].recv);
    }
    free(t->parcels);
    free(t->arriving);
    free(t);
}

/* ---- losses ---- */

static inline struct tree_rule *tree_lose(struct tree *t, enum trib_kind kind, int from, int to, uint32_t count)
{
    assert_in_range(t->rule_count, 0, TREE_RULES - 1);
    t->rules[t->rule_count] = (struct tree_rule){.kind = kind, .from = from, .to = to, .count = count};
    return &t->rules[t->rule_count++];
}

static inline bool tree_is_lost(struct tree *t, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    if (t->loss != 0 && trib_prng_below(&t->prng, 100) < t->loss) {
        return true;
    }
    for (uint32_t i = 0; i < t->rule_count; i++) {
        struct tree_rule *r = &t->rules[i];
        if (r->kind != packet->kind || (r->from >= 0 && r->from != (int)from) || (r->to >= 0 && r->to != (int)to)) {
            continue;
        }
        r->seen++;
        if (r->every != 0 ? r->seen % r->every == 0 : r->seen > r->skip && r->hits < r->count) {
            r->hits++;
            return true;
        }
    }
    return false;
}

/* ---- carrying ---- */

static inline void tree_post(struct tree *t, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    t->sent[packet->kind]++;
    assert_true(trib_packet_can_encode(packet));
    if (tree_is_lost(t, from, to, packet)) {
        return;
    }
    if (t->parcel_count == t->parcel_room) {
        t->parcel_room = t->parcel_room == 0 ? 256 : 2 * t->parcel_room;
        t->parcels = realloc(t->parcels, t->parcel_room * sizeof *t->parcels);
        assert_non_null(t->parcels);
    }
    struct tree_parcel *parcel = &t->parcels[t->parcel_count++];
    parcel->packet = *packet;
    parcel->from = from;
    parcel->to = to;
    if (packet->payload_len != 0) {
        assert_in_range(packet->payload_len, 1, TREE_PAYLOAD);
        memcpy(parcel->payload, packet->payload, packet->payload_len);
    }
}

static inline void tree_drain_switch(struct tree *t, uint32_t i)
{
    struct tree_switch *s = &t->switches[i];
    struct trib_packet packet;
    struct trib_event event;
    struct trib_place to;

    while (trib_switchml.switch_node->node.next_packet(s->memory, t->now_ns, &packet, &to)) {
        if (to.kind == TRIB_PLACE_PARENT) {
            assert_in_range(t->shape.above[i], 0, TREE_SWITCHES - 1);
            tree_post(t, i, (uint32_t)t->shape.above[i], &packet);
            continue;
        }
        assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
        assert_int_not_equal(to.children, 0);
        for (uint64_t bits = to.children; bits != 0; bits &= bits - 1) {
            tree_post(t, i, s->child[__builtin_ctzll(bits)], &packet);
        }
    }
    while (trib_switchml.switch_node->node.next_event(s->memory, &event)) {
        t->events[event.kind]++;
    }
    assert_true(trib_switchml.switch_node->node.next_timeout(s->memory) == TRIB_NEVER);
}

static inline void tree_drain_worker(struct tree *t, uint32_t rank)
{
    struct tree_worker *w = &t->workers[rank];
    struct trib_packet packet;
    struct trib_event event;
    struct trib_place to;

    while (trib_switchml.worker->node.next_packet(w->memory, t->now_ns, &packet, &to)) {
        tree_post(t, TREE_RANK(rank), t->shape.home[rank], &packet);
    }
    while (trib_switchml.worker->node.next_event(w->memory, &event)) {
        t->events[event.kind]++;
        w->done += event.kind == TRIB_EVENT_DONE;
    }
}

static inline void tree_deliver(struct tree *t, struct tree_parcel *parcel)
{
    parcel->packet.payload = parcel->packet.payload_len != 0 ? parcel->payload : NULL;
    if (parcel->to >= TREE_SWITCHES) {
        struct trib_place from = {.kind = TRIB_PLACE_ROOT};
        (void)trib_switchml.worker->node.receive(t->workers[parcel->to - TREE_SWITCHES].memory, from, &parcel->packet,
                                                 t->now_ns);
        return;
    }
    struct trib_place from = {.kind = TRIB_PLACE_PARENT};
    if (t->shape.above[parcel->to] != (int)parcel->from) {
        uint32_t number = parcel->from < TREE_SWITCHES ? t->switches[parcel->from].number
                                                       : t->workers[parcel->from - TREE_SWITCHES].number;
        from = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << number};
    }
    (void)trib_switchml.switch_node->node.receive(t->switches[parcel->to].memory, from, &parcel->packet, t->now_ns);
}

/* Everybody sends. */
static inline void tree_drain(struct tree *t)
{
    for (uint32_t i = 0; i < t->shape.switches; i++) {
        tree_drain_switch(t, i);
    }
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        tree_drain_worker(t, rank);
    }
}

static inline void tree_round(struct tree *t)
{
    struct tree_parcel *arriving = t->parcels;
    size_t count = t->parcel_count, room = t->parcel_room;

    t->parcels = t->arriving;
    t->parcel_room = t->arriving_room;
    t->parcel_count = 0;
    t->arriving = arriving;
    t->arriving_room = room;
    t->now_ns += TREE_ROUND_NS;
    for (size_t i = 0; i < count; i++) {
        tree_deliver(t, &arriving[i]);
    }
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        void *worker = t->workers[rank].memory;
        if (trib_switchml.worker->node.next_timeout(worker) <= t->now_ns) {
            trib_switchml.worker->node.on_timeout(worker, t->now_ns);
        }
    }
    tree_drain(t);
}

/* Nothing is in flight: leap to the next timeout, or to `until`. */
static inline void tree_leap(struct tree *t, uint64_t until_ns)
{
    uint64_t wake = until_ns;

    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        uint64_t at = trib_switchml.worker->node.next_timeout(t->workers[rank].memory);
        wake = at < wake ? at : wake;
    }
    if (wake > t->now_ns + TREE_ROUND_NS) {
        t->now_ns = wake - TREE_ROUND_NS;
    }
}

static inline void tree_run_for(struct tree *t, uint64_t ns)
{
    uint64_t until_ns = t->now_ns + ns;

    tree_drain(t);
    while (t->now_ns < until_ns) {
        if (t->parcel_count == 0) {
            tree_leap(t, until_ns);
        }
        tree_round(t);
    }
}

/* ---- operations ---- */

/* Small integers: every order of additions gives the same bits. */
static inline float tree_integer(uint32_t rank, uint64_t element)
{
    return (float)((rank * 7 + element * 3) % 32) + 1;
}

static inline void tree_buffers(struct tree *t, uint64_t elements, float (*value)(uint32_t rank, uint64_t element))
{
    t->elements = elements;
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        struct tree_worker *w = &t->workers[rank];
        free(w->send);
        free(w->recv);
        w->send = malloc(elements * sizeof(float));
        w->recv = malloc(elements * sizeof(float));
        assert_true(w->send != NULL && w->recv != NULL);
        for (uint64_t i = 0; i < elements; i++) {
            w->send[i] = value(rank, i);
            w->recv[i] = -1;
        }
    }
}

/* Shares are equal, and each rank's lies in both of its buffers where it lies in the whole tensor. */
static inline void tree_submit(struct tree *t, uint32_t rank, enum trib_collective collective, uint32_t root)
{
    struct tree_worker *w = &t->workers[rank];
    bool has_data = collective != TRIB_BARRIER;
    struct trib_operation operation = {
        .count = has_data ? t->elements : 0,
        .collective = collective,
        .type = has_data ? TRIB_FLOAT32 : TRIB_TYPE_NONE,
        .root = root,
    };
    bool has_shares = trib_operation_has_shares(&operation);
    operation.reduction = trib_operation_reduces(&operation) ? TRIB_SUM : TRIB_REDUCTION_NONE;
    if (has_shares) {
        operation.count = t->elements / t->shape.ranks;
    }
    if (has_data && (has_shares || trib_operation_contributes(&operation, root, rank))) {
        operation.send = w->send + (collective == TRIB_ALLGATHER ? rank * operation.count : 0);
    }
    if (has_data && (has_shares || trib_operation_wants(&operation, root, rank))) {
        operation.recv = w->recv + (collective == TRIB_REDUCE_SCATTER ? rank * operation.count : 0);
    }

    assert_true(trib_switchml.worker->submit(w->memory, &operation, t->now_ns));
}

static inline void tree_submit_all(struct tree *t, enum trib_collective collective, uint32_t root)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        tree_submit(t, rank, collective, root);
    }
}

static inline bool tree_is_done(const struct tree *t, uint32_t operations)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        if (t->workers[rank].done < operations) {
            return false;
        }
    }
    return true;
}

/* Runs until everybody has ended so many operations; a hang fails the test. */
static inline void tree_finish(struct tree *t, uint32_t operations, uint64_t within_ns)
{
    uint64_t until_ns = t->now_ns + within_ns;

    tree_drain(t);
    while (!tree_is_done(t, operations)) {
        if (t->now_ns >= until_ns) {
            fail_msg("not done after %llu ms", (unsigned long long)(within_ns / TREE_MS));
        }
        if (t->parcel_count == 0) {
            tree_leap(t, until_ns);
        }
        tree_round(t);
    }
}

static inline float tree_sum(const struct tree *t, uint64_t element)
{
    float sum = 0;

    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        sum += t->workers[rank].send[element];
    }
    return sum;
}

/* Every rank has the sum; values are integers. */
static inline void tree_check_sums(const struct tree *t)
{
    for (uint64_t i = 0; i < t->elements; i++) {
        float sum = tree_sum(t, i);
        for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
            assert_float_equal(t->workers[rank].recv[i], sum, 0);
        }
    }
}

/* ---- what was counted ---- */

static inline const struct trib_counters *tree_counters(const struct tree *t, uint32_t number)
{
    return number < TREE_SWITCHES ? trib_switchml.switch_node->node.counters(t->switches[number].memory)
                                  : trib_switchml.worker->node.counters(t->workers[number - TREE_SWITCHES].memory);
}

static inline uint64_t tree_resends(const struct tree *t)
{
    uint64_t resends = 0;

    for (uint32_t i = 0; i < t->shape.switches; i++) {
        resends += tree_counters(t, i)->contributions_resent + tree_counters(t, i)->offers_up;
    }
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        resends += tree_counters(t, TREE_RANK(rank))->contributions_resent;
        resends += tree_counters(t, TREE_RANK(rank))->offers;
    }
    return resends;
}

static inline uint32_t tree_slots_held(const struct tree *t)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < t->shape.switches; i++) {
        held += trib_switchml.switch_node->slots_held(t->switches[i].memory);
    }
    return held;
}

/* ---- shapes ---- */

static const int tree_above_2x2[] = {-1, 0, 0};
static const uint16_t tree_home_2x2[] = {1, 1, 2, 2};
static const struct tree_shape tree_2x2 = {tree_above_2x2, tree_home_2x2, 3, 4};

/* Three levels, of 0; 1, 2; 3, 4 under 1, 5 under 2; rank 7 sits at the middle, rank 6 at the top. */
static const int tree_above_deep[] = {-1, 0, 0, 1, 1, 2};
static const uint16_t tree_home_deep[] = {3, 3, 4, 4, 5, 5, 0, 2};
static const struct tree_shape tree_deep = {tree_above_deep, tree_home_deep, 6, 8};

#endif
