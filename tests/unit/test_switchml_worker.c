/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_worker.c: scripted exchanges with one worker node: a test for each row of its state table (docs/ARCHITECTURE.md). Packets
 * are made by hand here; the switch has its own file, and both together run in tests/world. */
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
    struct trib_session_config session;
    float send[64 * ELEMENTS], recv[64 * ELEMENTS];
    struct trib_layout layout; /* of the operation that was submitted last */
    struct trib_operation operation;
    uint64_t number;
    uint64_t mark; /* M in what is made by hand */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct trib_worker_config config = {
        .session = {.salt = SALT,
                    .communicator = 11,
                    .generation = 2,
                    .ranks = RANKS,
                    .roots = 1,
                    .train = 1,
                    .slots = SLOTS,
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 2},
        .kernels = trib_value_kernels(),
        .rank = 0,
        .window = WINDOW,
        .operations = 2,
        .stall_ns = 100 * MS,
    };

    f->verbs = trib_switchml.worker;
    f->session = config.session;
    f->node = aligned_alloc(64, (f->verbs->size(&config) + 63) & ~(size_t)63);
    assert_non_null(f->node);
    f->verbs->init(f->node, &config);
    f->now_ns = 5000 * MS;
    f->verbs->registered(f->node, BOOT, 0, f->now_ns);
    for (size_t i = 0; i < sizeof f->send / sizeof f->send[0]; i++) {
        f->send[i] = (float)i;
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->node);
    free(f);
    return 0;
}

static void submit(struct fixture *f, const struct trib_operation *operation)
{
    f->operation = *operation;
    trib_layout_init(&f->layout, &f->session, operation, f->number++);
    assert_true(f->verbs->submit(f->node, operation, f->now_ns));
}

static void submit_blocks(struct fixture *f, uint64_t blocks)
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

static struct trib_packet expect(struct fixture *f, enum trib_kind kind, uint64_t sequence)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(f->verbs->next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(to.kind, TRIB_PLACE_ROOT);
    assert_int_equal(to.index, 0);
    assert_int_equal(packet.communicator, 11);
    assert_int_equal(packet.generation, 2);
    assert_int_equal(packet.mark, f->verbs->mark(f->node));
    return packet;
}

static void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(f->verbs->next_packet(f->node, f->now_ns, &packet, &to));
}

static void expect_contributions(struct fixture *f, uint64_t from, uint64_t to)
{
    for (uint64_t sequence = from; sequence < to; sequence++) {
        (void)expect(f, TRIB_CONTRIBUTION, sequence);
    }
    expect_nothing(f);
}

static void expect_event(struct fixture *f, enum trib_event_kind kind, uint64_t sequence)
{
    struct trib_event event;

    assert_true(f->verbs->next_event(f->node, &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.sequence, sequence);
}

static void expect_no_event(struct fixture *f)
{
    struct trib_event event;

    assert_false(f->verbs->next_event(f->node, &event));
}

/* ---- what comes down ---- */

static enum trib_drop down(struct fixture *f, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = 0};

    return f->verbs->receive(f->node, from, packet, f->now_ns);
}

static struct trib_packet packet_of(const struct fixture *f, enum trib_kind kind, uint64_t sequence)
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

static uint64_t lane_of(const struct fixture *f, uint64_t sequence, uint64_t keys)
{
    return keys * trib_session_odd(&f->session, sequence, 0, f->layout.digest);
}

#define ALL_KEYS (trib_lane_key(SALT, 0) + trib_lane_key(SALT, 1))

static float block[ELEMENTS]; /* of the last result made */

static struct trib_packet result_of(const struct fixture *f, uint64_t sequence, float value)
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

static enum trib_drop answer(struct fixture *f, uint64_t sequence, float value)
{
    struct trib_packet packet = result_of(f, sequence, value);

    return down(f, &packet);
}

static enum trib_drop ask(struct fixture *f, uint64_t sequence, uint64_t bitmap)
{
    struct trib_packet packet = packet_of(f, TRIB_ASK, sequence);

    packet.bitmap = bitmap;
    return down(f, &packet);
}

static enum trib_drop hold(struct fixture *f, uint64_t sequence, uint64_t bitmap)
{
    struct trib_packet packet = packet_of(f, TRIB_HELD, sequence);

    packet.bitmap = bitmap;
    return down(f, &packet);
}

/* Lets time pass to the next timeout, and past it. */
static void time_out(struct fixture *f)
{
    uint64_t timeout = f->verbs->next_timeout(f->node);

    assert_int_not_equal(timeout, TRIB_NEVER);
    f->now_ns = timeout > f->now_ns ? timeout : f->now_ns;
    f->verbs->on_timeout(f->node, f->now_ns);
}

/* ---- sending ---- */

static void contribution__is_the_tensor_itself_with_the_own_lane(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 2);
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 0);
    assert_ptr_equal(packet.payload, f->send);
    assert_int_equal(packet.payload_len, 64);
    assert_int_equal(packet.contributors, 1);
    assert_int_equal(packet.type, TRIB_FLOAT32);
    assert_int_equal(packet.digest, f->layout.digest);
    assert_int_equal(packet.boot, BOOT);
    assert_int_equal(packet.lane, lane_of(f, 0, trib_lane_key(SALT, 0)));
    packet = expect(f, TRIB_CONTRIBUTION, 1);
    assert_ptr_equal(packet.payload, f->send + ELEMENTS);
    expect_nothing(f);
}

static void contribution__stops_at_the_congestion_window(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 40);
    expect_contributions(f, 0, WINDOW);
    assert_int_equal(answer(f, 3, 1), TRIB_DROP_NONE);
    expect_contributions(f, WINDOW, WINDOW + 1);
}

static void contribution__of_a_barrier_has_no_payload(void **state)
{
    struct fixture *f = *state;
    struct trib_operation barrier = {.collective = TRIB_BARRIER, .type = TRIB_BYTES, .token = 3};

    submit(f, &barrier);
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(packet.payload_len, 0);
    assert_int_equal(packet.contributors, 0);
    packet = packet_of(f, TRIB_RESULT, 0);
    packet.digest = f->layout.digest;
    packet.lane = lane_of(f, 0, ALL_KEYS);
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    expect_event(f, TRIB_EVENT_DONE, 0);
}

static void submit__refuses_more_than_configured(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 1);
    submit_blocks(f, 1);
    assert_false(f->verbs->submit(f->node, &f->operation, f->now_ns));
    assert_int_equal(f->verbs->end(f->node), 2);
}

/* The caller has its buffers back, and the shares with them, while an older operation is still under way. */
static void describe__skips_what_has_ended(void **state)
{
    struct fixture *f = *state;
    struct trib_operation operation;
    uint64_t number = 9;

    submit_blocks(f, 1);
    submit_blocks(f, 1);
    expect_contributions(f, 0, 2);
    assert_true(f->verbs->describe(f->node, 1, &operation, &number) && number == 1);
    assert_int_equal(answer(f, 1, 2), TRIB_DROP_NONE);
    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        assert_int_equal(f->verbs->describe(f->node, sequence, &operation, &number), sequence == 0);
    }
}

/* ---- results ---- */

static void result__is_delivered_once_and_the_last_one_says_DONE(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 2);
    expect_contributions(f, 0, 2);
    assert_int_equal(answer(f, 1, 5), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->mark(f->node), 0);
    expect_no_event(f);
    assert_float_equal(f->recv[ELEMENTS], 5, 0);
    assert_float_equal(f->recv[0], 0, 0);
    assert_int_equal(answer(f, 0, 4), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->mark(f->node), 2);
    expect_event(f, TRIB_EVENT_DONE, 0);
    expect_no_event(f);
    f->recv[0] = -1;
    assert_int_equal(answer(f, 0, 6), TRIB_DROP_DUPLICATE);
    assert_float_equal(f->recv[0], -1, 0);
    expect_no_event(f);
}

static void result__that_nobody_waits_for_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    submit_blocks(f, 1);
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_UNASKED); /* not sent yet */
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 1, 1), TRIB_DROP_UNASKED);
    packet = result_of(f, 0, 1);
    packet.digest++;
    assert_int_equal(down(f, &packet), TRIB_DROP_DIGEST);
    packet = result_of(f, 0, 1);
    packet.type = TRIB_INT32;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    (void)expect(f, TRIB_PROBE, 0);
    packet = result_of(f, 0, 1);
    packet.payload_len = 0;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    (void)expect(f, TRIB_PROBE, 0);
    assert_float_equal(f->recv[0], 0, 0);
    expect_nothing(f);
    expect_no_event(f);
}

/* A switch that holds the wrong count would hold it for ever: as an end to the wait, that is an error. */
static void result__with_a_wrong_count_is_probed_and_fails_at_the_third(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    packet = result_of(f, 0, 1);
    packet.contributors = 1; /* one part is missing, whatever the lane says */
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    (void)expect(f, TRIB_PROBE, 0);
    packet.contributors = 2;
    packet.payload_len = 60;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    (void)expect(f, TRIB_PROBE, 0);
    expect_no_event(f);
    packet.payload_len = 64;
    packet.contributors = 3;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    expect_nothing(f);
    expect_event(f, TRIB_EVENT_FAILED, 0);
}

static void result__with_a_wrong_lane_is_probed_and_fails_at_the_third(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    packet = result_of(f, 0, 1);
    packet.lane = lane_of(f, 0, 2 * trib_lane_key(SALT, 0)); /* one rank twice */
    for (int strike = 1; strike < 3; strike++) {
        assert_int_equal(down(f, &packet), TRIB_DROP_LANE);
        (void)expect(f, TRIB_PROBE, 0);
        expect_nothing(f);
        expect_no_event(f);
    }
    assert_int_equal(down(f, &packet), TRIB_DROP_LANE);
    expect_nothing(f);
    expect_event(f, TRIB_EVENT_FAILED, 0);
    for (int more = 0; more < 600; more++) {
        assert_int_equal(down(f, &packet), TRIB_DROP_LANE);
    }
    expect_nothing(f); /* probes and wrong results must not answer each other */
    expect_no_event(f);
    assert_float_equal(f->recv[0], 0, 0);
}

static void result__is_averaged_by_the_worker(void **state)
{
    struct fixture *f = *state;
    struct trib_operation operation = {
        .send = f->send,
        .recv = f->recv,
        .count = ELEMENTS,
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_AVERAGE,
    };

    submit(f, &operation);
    expect_contributions(f, 0, 1);
    struct trib_packet packet = result_of(f, 0, 5);
    packet.reduction = TRIB_AVERAGE;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    assert_float_equal(f->recv[3], 2.5, 0);
}

static void receive__drops_what_is_not_for_this_worker(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    struct trib_place elsewhere = {.kind = TRIB_PLACE_ROOT, .index = 1};

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    packet = result_of(f, 0, 1);
    assert_int_equal(f->verbs->receive(f->node, elsewhere, &packet, f->now_ns), TRIB_DROP_SOURCE);
    packet.communicator++;
    assert_int_equal(down(f, &packet), TRIB_DROP_SOURCE);
    packet = result_of(f, 0, 1);
    packet.generation++;
    assert_int_equal(down(f, &packet), TRIB_DROP_GENERATION);
    packet = result_of(f, 0, 1);
    packet.boot++;
    assert_int_equal(down(f, &packet), TRIB_DROP_BOOT);
    packet = result_of(f, 0, 1);
    packet.mark = 1; /* M cannot be above the own mark */
    assert_int_equal(down(f, &packet), TRIB_DROP_MARK);
    packet = packet_of(f, TRIB_PROBE, 0);
    assert_int_equal(down(f, &packet), TRIB_DROP_KIND);
}

/* ---- asks ---- */

static void ask__is_answered_with_the_contribution_at_most_once_in_a_while(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 4);
    expect_contributions(f, 0, 4);
    assert_int_equal(ask(f, 1, 2 | UINT64_C(1) << 63), TRIB_DROP_NONE); /* 1, 3, and one that was never sent */
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 1);
    assert_int_equal(packet.flags, TRIB_FLAG_RESEND);
    assert_ptr_equal(packet.payload, f->send + ELEMENTS);
    (void)expect(f, TRIB_CONTRIBUTION, 3);
    expect_nothing(f);
    assert_int_equal(ask(f, 1, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    f->now_ns += TRIB_RTO_FIRST_NS;
    assert_int_equal(ask(f, 1, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_CONTRIBUTION, 1);
    assert_int_equal(f->verbs->counters(f->node)->contributions_resent, 3);
}

/* The caller's buffers are the caller's again after DONE: an OFFER is made of the retained copy. */
static void ask__for_what_is_finished_is_answered_with_the_retained_result(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 0, 4), TRIB_DROP_NONE);
    memset(f->send, 0xff, sizeof f->send);
    memset(f->recv, 0xff, sizeof f->recv);
    assert_int_equal(ask(f, 0, 0), TRIB_DROP_NONE);
    struct trib_packet packet = expect(f, TRIB_OFFER, 0);
    assert_int_equal(packet.payload_len, 64);
    assert_memory_equal(packet.payload, block, sizeof block);
    assert_int_equal(packet.lane, lane_of(f, 0, ALL_KEYS));
    assert_int_equal(packet.contributors, RANKS);
    assert_int_equal(packet.digest, f->layout.digest);
    assert_int_equal(packet.boot, BOOT);
    expect_nothing(f);
}

static void ask__for_what_was_never_sent_only_brings_M(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 0, 4), TRIB_DROP_NONE);
    f->mark = 1;
    assert_int_equal(ask(f, 1, UINT64_MAX), TRIB_DROP_NONE);
    expect_nothing(f);
    assert_int_equal(f->verbs->communicator_mark(f->node), 1);
}

/* ---- probes ---- */

static void probe__comes_after_the_timeout_and_says_what_was_sent(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 3);
    expect_contributions(f, 0, 3);
    uint64_t start = f->now_ns;
    f->verbs->on_timeout(f->node, f->now_ns);
    expect_nothing(f);
    time_out(f);
    struct trib_packet packet = expect(f, TRIB_PROBE, 0);
    assert_int_equal(packet.bitmap, 3);
    assert_int_equal(packet.payload_len, 0);
    assert_int_equal(packet.flags, 0);
    assert_in_range(f->now_ns - start, TRIB_RTO_FIRST_NS, 4 * TRIB_RTO_FIRST_NS);
}

static void probe__is_repeated_ever_more_rarely_down_to_once_a_second(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    struct trib_place to;
    uint64_t probes = 0;
    uint64_t start = f->now_ns;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    while (f->now_ns < start + 20 * TRIB_RTO_MAX_NS) {
        time_out(f);
        while (f->verbs->next_packet(f->node, f->now_ns, &packet, &to)) {
            assert_int_equal(packet.kind, TRIB_PROBE);
            probes++;
        }
    }
    assert_in_range(probes, 18, 60);
}

static void probe__is_sent_early_when_later_contributions_are_answered(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 32);
    expect_contributions(f, 0, 32);
    for (uint64_t sequence = 1; sequence < 16; sequence++) {
        assert_int_equal(answer(f, sequence, 1), TRIB_DROP_NONE);
        expect_nothing(f);
    }
    assert_int_equal(answer(f, 16, 1), TRIB_DROP_NONE);
    (void)expect(f, TRIB_PROBE, 0);
    expect_nothing(f);
    assert_int_equal(answer(f, 17, 1), TRIB_DROP_NONE);
    expect_nothing(f); /* one probe per transmission */
    assert_int_equal(f->verbs->counters(f->node)->probes_fast, 1);
}

/* All is answered, M is behind: the window is closed, and nothing outstanding would bring news of it. */
static void probe__asks_for_M_when_the_window_holds_everything_back(void **state)
{
    struct fixture *f = *state;
    submit_blocks(f, SLOTS);
    for (uint64_t from = 0; from < SLOTS; from += WINDOW) {
        expect_contributions(f, from, from + WINDOW);
        for (uint64_t sequence = from; sequence < from + WINDOW; sequence++) {
            assert_int_equal(answer(f, sequence, 1), TRIB_DROP_NONE);
        }
    }
    submit_blocks(f, 8);
    struct trib_packet packet = expect(f, TRIB_PROBE, SLOTS);
    assert_int_equal(packet.flags, TRIB_FLAG_UNWANTED);
    assert_int_equal(packet.mark, SLOTS);
    expect_nothing(f);
    f->mark = 3;
    assert_int_equal(hold(f, SLOTS, 0), TRIB_DROP_NONE);
    expect_contributions(f, SLOTS, SLOTS + 3);
    assert_int_equal(f->verbs->counters(f->node)->probes_blocked, 1);
}

static void probe__tells_the_mark_when_nothing_is_outstanding(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_NONE);
    expect_nothing(f);
    time_out(f);
    struct trib_packet packet = expect(f, TRIB_PROBE, 1);
    assert_int_equal(packet.mark, 1);
    assert_int_equal(packet.flags, TRIB_FLAG_UNWANTED);
    f->verbs->learn_mark(f->node, 1, f->now_ns);
    assert_int_equal(f->verbs->next_timeout(f->node) == TRIB_NEVER || f->verbs->next_timeout(f->node) > f->now_ns,
                     true);
    for (int i = 0; i < 100 && f->verbs->next_timeout(f->node) != TRIB_NEVER; i++) {
        time_out(f);
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->next_timeout(f->node), TRIB_NEVER); /* at rest */
}

static void learn_mark__ignores_nonsense(void **state)
{
    struct fixture *f = *state;

    f->verbs->learn_mark(f->node, 5, f->now_ns);
    assert_int_equal(f->verbs->communicator_mark(f->node), 0);
}

/* ---- restart ---- */

static void restart__is_hinted_silenced_and_then_everything_is_probed(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    submit_blocks(f, 4);
    expect_contributions(f, 0, 4);
    packet = packet_of(f, TRIB_BOOT, 0);
    packet.boot = BOOT + 1;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    struct trib_event event;
    assert_true(f->verbs->next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_BOOT);
    assert_int_equal(event.boot, BOOT + 1);
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_NONE); /* only a hint: the old boot still counts */
    f->verbs->suspend(f->node);
    assert_int_equal(answer(f, 1, 1), TRIB_DROP_BOOT);
    assert_int_equal(f->verbs->next_timeout(f->node), TRIB_NEVER);
    expect_nothing(f);
    f->verbs->registered(f->node, BOOT + 1, 0, f->now_ns);
    for (uint64_t sequence = 1; sequence < 4; sequence++) {
        packet = expect(f, TRIB_PROBE, sequence);
        assert_int_equal(packet.boot, BOOT + 1);
    }
    expect_nothing(f);
    assert_int_equal(answer(f, 1, 1), TRIB_DROP_BOOT); /* of the old one */
}

/* ---- stalls ---- */

static void stall__is_reported_with_who_is_there(void **state)
{
    struct fixture *f = *state;
    struct trib_event event = {.kind = TRIB_EVENT_NONE};
    uint64_t start = f->now_ns;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    for (int i = 0; i < 100 && event.kind == TRIB_EVENT_NONE; i++) {
        struct trib_packet packet;
        struct trib_place to;
        time_out(f);
        while (f->verbs->next_packet(f->node, f->now_ns, &packet, &to)) {
            assert_int_equal(hold(f, 0, 1), TRIB_DROP_NONE);
        }
        (void)f->verbs->next_event(f->node, &event);
    }
    assert_int_equal(event.kind, TRIB_EVENT_STALL);
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.bitmap, 1);
    assert_int_equal(event.since_ns, start);
    assert_true(f->now_ns - start >= 100 * MS);
}

/* ---- broadcast ---- */

static void broadcast__root_gets_a_header_and_retains_its_block(void **state)
{
    struct fixture *f = *state;
    struct trib_operation operation = {
        .send = f->send,
        .count = 3,
        .collective = TRIB_BROADCAST,
        .type = TRIB_FLOAT32,
        .root = 0,
    };

    submit(f, &operation);
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(packet.flags, TRIB_FLAG_UNWANTED);
    assert_int_equal(packet.payload_len, 12);
    packet = packet_of(f, TRIB_RESULT, 0);
    packet.digest = f->layout.digest;
    packet.lane = lane_of(f, 0, ALL_KEYS);
    packet.contributors = 1;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    expect_event(f, TRIB_EVENT_DONE, 0);
    memset(f->send, 0xff, sizeof f->send);
    assert_int_equal(ask(f, 0, 0), TRIB_DROP_NONE);
    packet = expect(f, TRIB_OFFER, 0);
    assert_int_equal(packet.payload_len, 12);
    float kept[3];
    memcpy(kept, packet.payload, sizeof kept);
    assert_float_equal(kept[2], 2, 0);
}

static void broadcast__root_survives_a_payload_that_it_did_not_want(void **state)
{
    struct fixture *f = *state;
    struct trib_operation operation = {
        .send = f->send,
        .count = ELEMENTS,
        .collective = TRIB_BROADCAST,
        .type = TRIB_FLOAT32,
        .root = 0,
    };

    submit(f, &operation);
    (void)expect(f, TRIB_CONTRIBUTION, 0);
    struct trib_packet packet = result_of(f, 0, 9);
    packet.type = TRIB_BYTES;
    packet.reduction = TRIB_REDUCTION_NONE;
    packet.contributors = 1;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    expect_event(f, TRIB_EVENT_DONE, 0);
}

/* ---- memory ---- */

static void state_size__leaves_times_and_counters_out(void **state)
{
    struct fixture *f = *state;
    size_t size = f->verbs->state_size(f->node);
    void *before = malloc(size);

    assert_non_null(before);
    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    memcpy(before, f->node, size);
    f->now_ns += 1;
    assert_int_equal(answer(f, 5, 1), TRIB_DROP_UNASKED);
    assert_memory_equal(before, f->node, size);
    free(before);
}

#define WITH_NODE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Memory that is given back is zeros from then on, and the node goes on. */
static void idle__only_when_nobody_lacks_anything(void **state)
{
    struct fixture *f = *state;
    struct trib_range ranges[TRIB_IDLE_RANGES];

    assert_int_equal(f->verbs->idle(f->node, ranges), 2);
    submit_blocks(f, 1);
    assert_int_equal(f->verbs->idle(f->node, ranges), 0);
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 0, 1.0F), TRIB_DROP_NONE);
    expect_event(f, TRIB_EVENT_DONE, 0);
    assert_int_equal(f->verbs->idle(f->node, ranges), 0); /* another rank may still lack it */
    f->verbs->learn_mark(f->node, 1, f->now_ns);
    assert_int_equal(f->verbs->idle(f->node, ranges), 2);
    memset((char *)f->node + ranges[0].at, 0, ranges[0].bytes);
    submit_blocks(f, 1);
    expect_contributions(f, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(idle__only_when_nobody_lacks_anything),
        WITH_NODE(contribution__is_the_tensor_itself_with_the_own_lane),
        WITH_NODE(contribution__stops_at_the_congestion_window),
        WITH_NODE(contribution__of_a_barrier_has_no_payload),
        WITH_NODE(submit__refuses_more_than_configured),
        WITH_NODE(describe__skips_what_has_ended),
        WITH_NODE(result__is_delivered_once_and_the_last_one_says_DONE),
        WITH_NODE(result__that_nobody_waits_for_is_dropped),
        WITH_NODE(result__with_a_wrong_count_is_probed_and_fails_at_the_third),
        WITH_NODE(result__with_a_wrong_lane_is_probed_and_fails_at_the_third),
        WITH_NODE(result__is_averaged_by_the_worker),
        WITH_NODE(receive__drops_what_is_not_for_this_worker),
        WITH_NODE(ask__is_answered_with_the_contribution_at_most_once_in_a_while),
        WITH_NODE(ask__for_what_is_finished_is_answered_with_the_retained_result),
        WITH_NODE(ask__for_what_was_never_sent_only_brings_M),
        WITH_NODE(probe__comes_after_the_timeout_and_says_what_was_sent),
        WITH_NODE(probe__is_repeated_ever_more_rarely_down_to_once_a_second),
        WITH_NODE(probe__is_sent_early_when_later_contributions_are_answered),
        WITH_NODE(probe__asks_for_M_when_the_window_holds_everything_back),
        WITH_NODE(probe__tells_the_mark_when_nothing_is_outstanding),
        WITH_NODE(learn_mark__ignores_nonsense),
        WITH_NODE(restart__is_hinted_silenced_and_then_everything_is_probed),
        WITH_NODE(stall__is_reported_with_who_is_there),
        WITH_NODE(broadcast__root_gets_a_header_and_retains_its_block),
        WITH_NODE(broadcast__root_survives_a_payload_that_it_did_not_want),
        WITH_NODE(state_size__leaves_times_and_counters_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
