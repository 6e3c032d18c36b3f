/* SPDX-License-Identifier: Apache-2.0 */
/* trees_harness.h: real workers under several roots, each a real switch node: packets in flight stand in one queue, in
 * rounds of a round trip, and a test may stop a root, mark what passes it, or lose packets of a kind. For
 * test_switchml_roots.c, test_panama.c and test_panama_marks.c. tree_harness.h is the other way round: one root, and
 * switches below it. */
#ifndef TRIB_TESTS_TREES_HARNESS_H
#define TRIB_TESTS_TREES_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/operation.h"
#include "core/window.h"
#include "node_memory.h"
#include "schemes/schemes.h"

#define TREES_RANKS 4
#define TREES_ROOTS 4
#define TREES_PAYLOAD 64
#define TREES_ELEMENTS (TREES_PAYLOAD / 4) /* of a block of float32 */
#define TREES_BOOT 0xb007
#define TREES_ROUND_NS UINT64_C(20000) /* one way */
#define TREES_MS UINT64_C(1000000)

struct trees_parcel {
    struct trib_packet packet;
    uint32_t root, rank;
    bool is_up;
    uint8_t payload[TREES_PAYLOAD];
};

struct trees {
    const struct trib_scheme *scheme;
    struct trib_session_config session;
    void *workers[TREES_RANKS], *roots[TREES_ROOTS];
    float *send[TREES_RANKS], *recv[TREES_RANKS];
    uint64_t elements;
    uint32_t done[TREES_RANKS];
    bool is_stopped[TREES_ROOTS], is_marked[TREES_ROOTS];
    uint64_t spared; /* ranks whose way up is not marked even so */
    uint64_t late;   /* ranks whose packets up stay on their way */
    uint32_t first;  /* the rank whose packets leave first, and so come first; the others' follow in turn */
    /* Lose packets of this kind, up or down as they go, of this root: so many. */
    uint32_t lose, lose_root;
    enum trib_kind lose_kind;
    uint32_t boot; /* of the roots */
    uint64_t now_ns;
    struct trees_parcel *parcels;
    size_t count, room;
    uint64_t sent[TREES_ROOTS][TRIB_KIND_COUNT]; /* packets up, by root and kind */
    uint64_t highest[TREES_ROOTS];               /* sequence that came up */
    uint32_t most_held[TREES_ROOTS];
    struct trib_event stall;
    bool is_ordered; /* new contributions of each root came in the order of their sequences */
};

static inline void trees_open_root(struct trees *t, uint32_t root)
{
    struct trib_switch_config config = {.session = t->session,
                                        .kernels = trib_value_kernels(),
                                        .children = t->session.ranks,
                                        .root = root,
                                        .boot = t->boot};

    config.session.salt = 0;
    free(t->roots[root]);
    t->roots[root] = node_memory(t->scheme->switch_node->size(&config));
    t->scheme->switch_node->init(t->roots[root], &config);
}

/* Registered, and nothing submitted. */
static inline void trees_start(struct trees *t, const struct trib_scheme *scheme,
                               const struct trib_session_config *session, uint32_t window)
{
    memset(t, 0, sizeof *t);
    t->scheme = scheme;
    t->session = *session;
    t->session.payload = TREES_PAYLOAD;
    t->session.communicator = 7;
    t->session.salt = 99;
    t->session.wire = session->wire == TRIB_TYPE_NONE ? TRIB_FLOAT32 : session->wire;
    t->session.lookahead = session->lookahead == 0 ? window * session->roots : session->lookahead;
    t->now_ns = 100 * TREES_MS;
    t->boot = TREES_BOOT;
    t->is_ordered = true;
    for (uint32_t root = 0; root < session->roots; root++) {
        trees_open_root(t, root);
        for (uint32_t rank = 0; rank < session->ranks; rank++) {
            scheme->switch_node->join(t->roots[root], rank, session->first);
        }
    }
    for (uint32_t rank = 0; rank < session->ranks; rank++) {
        struct trib_worker_config config = {.session = t->session,
                                            .kernels = trib_value_kernels(),
                                            .rank = rank,
                                            .window = window,
                                            .operations = 8,
                                            .stall_ns = 100 * TREES_MS};
        t->workers[rank] = node_memory(scheme->worker->size(&config));
        scheme->worker->init(t->workers[rank], &config);
        scheme->worker->registered(t->workers[rank], TREES_BOOT, session->first, t->now_ns);
    }
}

/* The roots lose all that they held, and every rank registers again, with its mark. What is on its way is of the old
 * boot. */
static inline void trees_restart(struct trees *t)
{
    const struct trib_worker_verbs *verbs = t->scheme->worker;
    uint64_t lowest = UINT64_MAX;

    t->boot++;
    for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
        uint64_t mark = verbs->mark(t->workers[rank]);
        verbs->suspend(t->workers[rank]);
        lowest = mark < lowest ? mark : lowest;
    }
    for (uint32_t root = 0; root < t->session.roots; root++) {
        trees_open_root(t, root);
        for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
            t->scheme->switch_node->join(t->roots[root], rank, verbs->mark(t->workers[rank]));
        }
    }
    for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
        verbs->registered(t->workers[rank], t->boot, lowest, t->now_ns);
    }
}

static inline void trees_free_tensors(struct trees *t)
{
    for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
        free(t->send[rank]);
        free(t->recv[rank]);
        t->send[rank] = t->recv[rank] = NULL;
    }
}

static inline void trees_stop(struct trees *t)
{
    for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
        free(t->workers[rank]);
    }
    for (uint32_t root = 0; root < t->session.roots; root++) {
        free(t->roots[root]);
    }
    trees_free_tensors(t);
    free(t->parcels);
}

/* An allreduce of so many blocks in `operations` equal parts, at every rank. */
static inline void trees_submit(struct trees *t, uint64_t blocks, uint32_t operations)
{
    uint64_t part = blocks / operations * TREES_ELEMENTS;

    t->elements = blocks * TREES_ELEMENTS;
    trees_free_tensors(t);
    for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
        t->send[rank] = malloc(t->elements * sizeof(float));
        t->recv[rank] = calloc(t->elements, sizeof(float));
        assert_non_null(t->send[rank]);
        assert_non_null(t->recv[rank]);
        for (uint64_t i = 0; i < t->elements; i++) {
            t->send[rank][i] = (float)(i % 1000 + rank);
        }
        for (uint32_t i = 0; i < operations; i++) {
            struct trib_operation operation = {
                .send = t->send[rank] + i * part,
                .recv = t->recv[rank] + i * part,
                .count = part,
                .token = i,
                .collective = TRIB_ALLREDUCE,
                .type = TRIB_FLOAT32,
                .reduction = TRIB_SUM,
            };
            assert_true(t->scheme->worker->submit(t->workers[rank], &operation, t->now_ns));
        }
    }
}

static inline void trees_check(const struct trees *t)
{
    uint32_t ranks = t->session.ranks;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint64_t i = 0; i < t->elements; i++) {
            float sum = (float)(ranks * (i % 1000) + ranks * (ranks - 1) / 2);
            assert_true(t->recv[rank][i] == sum);
        }
    }
}

static inline void trees_post(struct trees *t, const struct trib_packet *packet, uint32_t root, uint32_t rank,
                              bool is_up)
{
    if (t->lose != 0 && packet->kind == t->lose_kind && root == t->lose_root) {
        t->lose--;
        return;
    }
    if (t->count == t->room) {
        t->room = 2 * t->room + 64;
        t->parcels = realloc(t->parcels, t->room * sizeof *t->parcels);
        assert_non_null(t->parcels);
    }
    struct trees_parcel *parcel = &t->parcels[t->count++];
    *parcel = (struct trees_parcel){.packet = *packet, .root = root, .rank = rank, .is_up = is_up};
    if (packet->payload_len != 0) {
        memcpy(parcel->payload, packet->payload, packet->payload_len);
    }
}

static inline void trees_drain_worker(struct trees *t, uint32_t rank)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    while (t->scheme->worker->node.next_packet(t->workers[rank], t->now_ns, &packet, &to)) {
        assert_int_equal(to.kind, TRIB_PLACE_ROOT);
        t->sent[to.index][packet.kind]++;
        if (rank == 0 && packet.kind == TRIB_CONTRIBUTION && (packet.flags & TRIB_FLAG_RESEND) == 0) {
            t->is_ordered = t->is_ordered && packet.sequence >= t->highest[to.index];
            t->highest[to.index] = packet.sequence;
        }
        trees_post(t, &packet, to.index, rank, true);
    }
    while (t->scheme->worker->node.next_event(t->workers[rank], &event)) {
        assert_true(event.kind == TRIB_EVENT_DONE || event.kind == TRIB_EVENT_STALL);
        t->done[rank] += event.kind == TRIB_EVENT_DONE;
        t->stall = event.kind == TRIB_EVENT_STALL ? event : t->stall;
    }
}

static inline void trees_note_held(struct trees *t, uint32_t root)
{
    uint32_t held = t->scheme->switch_node->slots_held(t->roots[root]);

    t->most_held[root] = held > t->most_held[root] ? held : t->most_held[root];
}

static inline void trees_drain_root(struct trees *t, uint32_t root)
{
    struct trib_packet packet;
    struct trib_place to;

    while (t->scheme->switch_node->node.next_packet(t->roots[root], t->now_ns, &packet, &to)) {
        assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
        for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
            if (to.children >> rank & 1) {
                trees_post(t, &packet, root, rank, false);
            }
        }
    }
    trees_note_held(t, root);
}

/* All that is in flight arrives, but for what is at a root that is stopped or of a rank that is late; then what that
 * brings leaves. False: nothing moved. */
static inline bool trees_round(struct trees *t)
{
    struct trees_parcel *arriving = t->parcels;
    size_t count = t->count;
    bool moved = false;

    t->parcels = NULL;
    t->count = t->room = 0;
    t->now_ns += TREES_ROUND_NS;
    for (size_t i = 0; i < count; i++) {
        struct trees_parcel *p = &arriving[i];
        p->packet.payload = p->packet.payload_len != 0 ? p->payload : NULL;
        if (t->is_stopped[p->root] || (p->is_up && (t->late >> p->rank & 1))) {
            trees_post(t, &p->packet, p->root, p->rank, p->is_up);
            continue;
        }
        moved = true;
        bool is_marked = t->is_marked[p->root] && p->is_up && !(t->spared >> p->rank & 1);
        p->packet.flags |= is_marked ? TRIB_FLAG_ECN : 0;
        struct trib_place from = {.kind = p->is_up ? TRIB_PLACE_CHILDREN : TRIB_PLACE_ROOT};
        from.index = p->is_up ? 0 : p->root;
        from.children = p->is_up ? UINT64_C(1) << p->rank : 0;
        if (p->is_up) {
            (void)t->scheme->switch_node->node.receive(t->roots[p->root], from, &p->packet, t->now_ns);
            trees_note_held(t, p->root);
        } else {
            (void)t->scheme->worker->node.receive(t->workers[p->rank], from, &p->packet, t->now_ns);
        }
    }
    free(arriving);
    for (uint32_t root = 0; root < t->session.roots; root++) {
        trees_drain_root(t, root);
    }
    for (uint32_t i = 0; i < t->session.ranks; i++) {
        uint32_t rank = (t->first + i) % t->session.ranks;
        if (t->scheme->worker->node.next_timeout(t->workers[rank]) <= t->now_ns) {
            t->scheme->worker->node.on_timeout(t->workers[rank], t->now_ns);
        }
        trees_drain_worker(t, rank);
    }
    return moved || t->count > count;
}

/* Until every rank has ended so many operations; by then at the latest, or for so many rounds where none do. */
static inline void trees_run(struct trees *t, uint32_t operations, uint32_t rounds)
{
    for (uint32_t i = 0; i < t->session.ranks; i++) {
        trees_drain_worker(t, (t->first + i) % t->session.ranks);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        bool is_over = operations != 0;
        (void)trees_round(t);
        for (uint32_t rank = 0; rank < t->session.ranks; rank++) {
            is_over = is_over && t->done[rank] >= operations;
        }
        if (is_over) {
            return;
        }
    }
    assert_int_equal(operations, 0); /* they were to end */
}

/* The most that rank 0 has in flight at a root at once, from now on. */
static inline uint32_t trees_most_in_flight(struct trees *t, uint32_t root, uint32_t rounds)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < rounds; i++) {
        (void)trees_round(t);
        uint32_t now = t->scheme->worker->in_flight(t->workers[0], root);
        most = now > most ? now : most;
    }
    return most;
}

#endif
