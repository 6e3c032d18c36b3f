/* SPDX-License-Identifier: Apache-2.0 */
/* worker_harness.h: one worker node of two ranks, and what its tests say to it: packets are made by hand, time passes
 * when told. For test_switchml_worker.c and test_switchml_worker_recover.c. */
#ifndef TRIB_WORKER_HARNESS_H
#define TRIB_WORKER_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loss.h"
#include "core/operation.h"
#include "node_memory.h"
#include "schemes/switchml/switchml.h"

#define RANKS 2
#define SLOTS 64
#define WINDOW 32
#define BOOT 0xb007
#define SALT 99
#define ELEMENTS 16 /* of a block */
#define MS UINT64_C(1000000)

struct fixture {
    void *node;
    uint64_t now_ns;
    const struct trib_worker_verbs *verbs;
    struct trib_value_kernels kernels; /* the node's */
    struct trib_session_config session;
    float send[64 * ELEMENTS], recv[64 * ELEMENTS];
    struct trib_layout layout; /* of the operation that was submitted last */
    struct trib_operation operation;
    uint64_t number;
    uint64_t mark; /* M in what is made by hand */
};

static inline int set_up_roots(void **state, uint32_t roots)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct trib_worker_config config = {
        .session = {.salt = SALT,
                    .communicator = 11,
                    .generation = 2,
                    .ranks = RANKS,
                    .roots = roots,
                    .train = 1,
                    .slots = SLOTS,
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 2},
        .kernels = &f->kernels,
        .rank = 0,
        .window = WINDOW,
        .operations = 2,
        .stall_ns = 100 * MS,
    };

    f->verbs = trib_switchml.worker;
    f->kernels = *trib_value_kernels();
    f->session = config.session;
    f->node = node_memory(f->verbs->size(&config));
    f->verbs->init(f->node, &config);
    f->now_ns = 5000 * MS;
    f->verbs->registered(f->node, BOOT, 0, f->now_ns);
    for (size_t i = 0; i < sizeof f->send / sizeof f->send[0]; i++) {
        f->send[i] = (float)i;
    }
    *state = f;
    return 0;
}

static inline int set_up(void **state)
{
    return set_up_roots(state, 1);
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->node);
    free(f);
    return 0;
}

static inline void submit(struct fixture *f, const struct trib_operation *operation)
{
    f->operation = *operation;
    trib_layout_init(&f->layout, &f->session, operation, f->number++);
    assert_true(f->verbs->submit(f->node, operation, f->now_ns));
}

static inline void submit_blocks(struct fixture *f, uint64_t blocks)
{
    struct trib_operation operation = {
        .send = f->send,
        .recv = f->recv,
        .count = blocks * ELEMENTS,
        .token = 7,
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
    };

    submit(f, &operation);
}

/* ---- what goes up ---- */

static inline struct trib_packet expect(struct fixture *f, enum trib_kind kind, uint64_t sequence)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(to.kind, TRIB_PLACE_ROOT);
    assert_int_equal(to.index, 0);
    assert_int_equal(packet.communicator, 11);
    assert_int_equal(packet.generation, 2);
    assert_int_equal(packet.mark, f->verbs->mark(f->node));
    return packet;
}

static inline void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
}

static inline void expect_contributions(struct fixture *f, uint64_t from, uint64_t to)
{
    for (uint64_t sequence = from; sequence < to; sequence++) {
        (void)expect(f, TRIB_CONTRIBUTION, sequence);
    }
    expect_nothing(f);
}

static inline void expect_event(struct fixture *f, enum trib_event_kind kind, uint64_t sequence)
{
    struct trib_event event;

    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.sequence, sequence);
}

static inline void expect_no_event(struct fixture *f)
{
    struct trib_event event;

    assert_false(f->verbs->node.next_event(f->node, &event));
}

/* ---- what comes down ---- */

static inline enum trib_drop down(struct fixture *f, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = 0};

    return f->verbs->node.receive(f->node, from, packet, f->now_ns);
}

static inline struct trib_packet packet_of(const struct fixture *f, enum trib_kind kind, uint64_t sequence)
{
    return (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = f->mark,
        .communicator = 11,
        .generation = 2,
        .boot = BOOT,
    };
}

static inline uint64_t lane_of(const struct fixture *f, uint64_t sequence, uint64_t keys)
{
    return keys * trib_session_odd(&f->session, sequence, 0, f->layout.digest);
}

#define ALL_KEYS (trib_lane_key(SALT, 0) + trib_lane_key(SALT, 1))

static float block[ELEMENTS]; /* of the last result made */

static inline struct trib_packet result_of(const struct fixture *f, uint64_t sequence, float value)
{
    struct trib_packet packet = packet_of(f, TRIB_RESULT, sequence);

    for (size_t i = 0; i < ELEMENTS; i++) {
        block[i] = value;
    }
    packet.bitmap = 3;
    packet.digest = f->layout.digest;
    packet.type = TRIB_FLOAT32;
    packet.reduction = TRIB_SUM;
    packet.contributors = RANKS;
    packet.lane = lane_of(f, sequence, ALL_KEYS);
    packet.payload = block;
    packet.payload_len = sizeof block;
    packet.last_rank = 1;
    return packet;
}

static inline enum trib_drop answer(struct fixture *f, uint64_t sequence, float value)
{
    struct trib_packet packet = result_of(f, sequence, value);

    return down(f, &packet);
}

static inline enum trib_drop ask(struct fixture *f, uint64_t sequence, uint64_t bitmap)
{
    struct trib_packet packet = packet_of(f, TRIB_ASK, sequence);

    packet.bitmap = bitmap;
    return down(f, &packet);
}

static inline enum trib_drop hold(struct fixture *f, uint64_t sequence, uint64_t bitmap)
{
    struct trib_packet packet = packet_of(f, TRIB_HELD, sequence);

    packet.bitmap = bitmap;
    return down(f, &packet);
}

/* Lets time pass to the next timeout, and past it. */
static inline void time_out(struct fixture *f)
{
    uint64_t timeout = f->verbs->node.next_timeout(f->node);

    assert_int_not_equal(timeout, TRIB_NEVER);
    f->now_ns = timeout > f->now_ns ? timeout : f->now_ns;
    f->verbs->node.on_timeout(f->node, f->now_ns);
}

#define WITH_NODE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
