/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_worker.c: scripted exchanges with one worker node: a test for each row of its state table
 * (docs/ARCHITECTURE.md). Packets are made by hand here; the switch has its own file, and both together run in
 * tests/world. */
#include "worker_harness.h"

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

/* As many as are in flight, or more. What is sent again does not say so. */
static void contribution__says_that_more_will_follow(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 40);
    for (uint64_t sequence = 0; sequence < WINDOW; sequence++) {
        struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, sequence);
        assert_int_equal(packet.flags, sequence < 20 ? TRIB_FLAG_MORE : 0);
    }
    submit_blocks(f, 20);
    struct trib_packet ask = packet_of(f, TRIB_ASK, 0);
    assert_int_equal(down(f, &ask), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_CONTRIBUTION, 0).flags, TRIB_FLAG_RESEND);
}

static void contribution__of_a_barrier_has_no_payload(void **state)
{
    struct fixture *f = *state;
    struct trib_operation barrier = {.collective = TRIB_BARRIER, .type = TRIB_BYTES, .token = 3, .priority = 260};

    submit(f, &barrier);
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(packet.payload_len, 0);
    assert_int_equal(packet.window_cap, 260); /* the operation's priority */
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

static size_t past_caches; /* bytes that count_nontemporal has copied */
static uint32_t orders;    /* calls of count_order */

static void count_nontemporal(void *dst, const void *src, size_t len)
{
    past_caches += len;
    memcpy(dst, src, len);
}

static void count_order(void)
{
    orders++;
}

/* Takes two results of an operation on tensors of `bytes`. Returns how many bytes bypassed the caches. */
static size_t take_results(struct fixture *f, size_t bytes, bool in_place)
{
    float *send = calloc(1, bytes);
    float *recv = in_place ? send : calloc(1, bytes);
    struct trib_operation operation = {
        .send = send,
        .recv = recv,
        .count = bytes / sizeof *send,
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
    };

    assert_true(send != NULL && recv != NULL);
    f->kernels.copy_nontemporal = count_nontemporal;
    f->kernels.order_nontemporal = count_order;
    past_caches = 0;
    orders = 0;
    submit(f, &operation);
    (void)expect(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(answer(f, 0, 5), TRIB_DROP_NONE);
    assert_float_equal(recv[0], 5, 0);
    assert_float_equal(recv[ELEMENTS - 1], 5, 0);
    assert_float_equal(recv[ELEMENTS], 0, 0);
    assert_int_equal(orders, 0);
    expect_no_event(f); /* one would name the results */
    assert_int_equal(orders, past_caches > 0);
    struct trib_packet packet = expect(f, TRIB_CONTRIBUTION, 1);
    assert_int_equal(answer(f, 1, 5), TRIB_DROP_NONE);
    packet = expect(f, TRIB_CONTRIBUTION, 2); /* a packet can refer to them */
    assert_int_equal(packet.payload_len, 64);
    assert_int_equal(orders, past_caches > 0 ? 2 : 0);
    (void)expect(f, TRIB_CONTRIBUTION, 3);
    assert_int_equal(orders, past_caches > 0 ? 2 : 0);
    free(in_place ? NULL : recv);
    free(send);
    return past_caches;
}

static void result__of_a_large_tensor_bypasses_the_caches(void **state)
{
    assert_int_equal(take_results(*state, TRIB_LARGE_TENSOR, false), 2 * ELEMENTS * sizeof(float));
}

static void result__of_a_smaller_tensor_does_not(void **state)
{
    assert_int_equal(take_results(*state, TRIB_LARGE_TENSOR - ELEMENTS * sizeof(float), false), 0);
}

static void result__in_place_does_not(void **state)
{
    assert_int_equal(take_results(*state, TRIB_LARGE_TENSOR, true), 0);
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
    assert_int_equal(f->verbs->node.receive(f->node, elsewhere, &packet, f->now_ns), TRIB_DROP_SOURCE);
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
    assert_int_equal(f->verbs->node.counters(f->node)->contributions_resent, 3);
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
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 1);
}

static void learn_mark__ignores_nonsense(void **state)
{
    struct fixture *f = *state;

    f->verbs->learn_mark(f->node, 5, f->now_ns);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
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
    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_BOOT);
    assert_int_equal(event.boot, BOOT + 1);
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_NONE); /* only a hint: the old boot still counts */
    f->verbs->suspend(f->node);
    assert_int_equal(answer(f, 1, 1), TRIB_DROP_BOOT);
    assert_int_equal(f->verbs->node.next_timeout(f->node), TRIB_NEVER);
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
        while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
            assert_int_equal(hold(f, 0, 1), TRIB_DROP_NONE);
        }
        (void)f->verbs->node.next_event(f->node, &event);
    }
    assert_int_equal(event.kind, TRIB_EVENT_STALL);
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.bitmap, 1);
    assert_int_equal(event.since_ns, start);
    assert_true(f->now_ns - start >= 100 * MS);
}

/* Brings the results of as much as may be sent; with two roots, root 1 lacks the mark of a rank. */
static void bring_results(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        if (packet.kind == TRIB_CONTRIBUTION) {
            packet = result_of(f, packet.sequence, 0);
            packet.mark = to.index == 0 ? f->mark : 0;
            assert_int_equal(f->verbs->node.receive(f->node, to, &packet, f->now_ns), TRIB_DROP_NONE);
        }
    }
}

/* Brings the results of a whole window, and submits more. */
static void fill_the_window(struct fixture *f)
{
    uint64_t mark = f->verbs->mark(f->node);

    submit_blocks(f, SLOTS);
    bring_results(f);
    expect_event(f, TRIB_EVENT_DONE, mark);
    submit_blocks(f, SLOTS);
    bring_results(f);
    assert_int_equal(f->verbs->mark(f->node), mark + SLOTS);
}

/* Lets time pass until then, or to a stall. */
static struct trib_event wait_until(struct fixture *f, uint64_t end_ns)
{
    struct trib_event event = {.kind = TRIB_EVENT_NONE};
    struct trib_packet packet;
    struct trib_place to;

    while (event.kind == TRIB_EVENT_NONE && f->verbs->node.next_timeout(f->node) <= end_ns) {
        time_out(f);
        while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
            assert_int_equal(packet.kind, TRIB_PROBE);
            assert_int_equal(packet.flags & TRIB_FLAG_UNWANTED, TRIB_FLAG_UNWANTED);
        }
        (void)f->verbs->node.next_event(f->node, &event);
    }
    return event;
}

/* The other rank has sent all that may be sent, lacks one result, and is stopped: here nothing is outstanding, and M
 * stands. */
static void stall__is_reported_when_the_mark_alone_is_awaited(void **state)
{
    struct fixture *f = *state;
    uint64_t start = f->now_ns;

    fill_the_window(f);
    for (uint32_t i = 1; i < 4; i++) { /* again and again */
        struct trib_event event = wait_until(f, f->now_ns + 1000 * MS);
        assert_int_equal(event.kind, TRIB_EVENT_STALL);
        assert_int_equal(event.sequence, 0);
        assert_int_equal(event.since_ns, start);
        assert_true(f->now_ns - start >= i * 100 * MS);
    }
    f->mark = 2; /* one rank goes on a little, and stops again */
    start = f->now_ns;
    assert_int_equal(hold(f, SLOTS, 0), TRIB_DROP_NONE);
    bring_results(f);
    assert_int_equal(f->verbs->mark(f->node), SLOTS + 2);
    struct trib_event event = wait_until(f, f->now_ns + 1000 * MS);
    assert_int_equal(event.kind, TRIB_EVENT_STALL);
    assert_int_equal(event.sequence, 2);
    assert_true(f->now_ns - start >= 100 * MS);
}

/* M was last heard to rise long ago, as nothing was under way. */
static void stall__of_the_mark_counts_from_the_last_fragment(void **state)
{
    struct fixture *f = *state;

    fill_the_window(f);
    f->verbs->learn_mark(f->node, SLOTS, f->now_ns);
    bring_results(f);
    expect_event(f, TRIB_EVENT_DONE, SLOTS);
    f->verbs->learn_mark(f->node, 2 * SLOTS, f->now_ns);
    f->now_ns += 10000 * MS;
    fill_the_window(f);
    assert_int_equal(wait_until(f, f->now_ns + 99 * MS).kind, TRIB_EVENT_NONE);
    assert_int_equal(wait_until(f, f->now_ns + 1000 * MS).kind, TRIB_EVENT_STALL);
}

/* This process was off its core for long: M may be in its socket. */
static void stall__of_the_mark_comes_after_some_probes(void **state)
{
    struct fixture *f = *state;

    fill_the_window(f);
    f->now_ns += 5000 * MS;
    f->verbs->node.on_timeout(f->node, f->now_ns);
    expect_no_event(f);
    assert_int_equal(expect(f, TRIB_PROBE, SLOTS).flags, TRIB_FLAG_UNWANTED);
    time_out(f);
    expect_no_event(f);
    time_out(f);
    expect_event(f, TRIB_EVENT_STALL, 0);
}

static int set_up_two(void **state)
{
    return set_up_with(state, 2, 0);
}

/* Who has not finished the sequence whose slot the next fragment needs, only its own root knows. */
static void stall__of_the_mark_asks_the_root_that_holds_back(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 3; i++) {
        submit_blocks(f, SLOTS);
        bring_results(f);
        f->mark = 1;
        if (i < 2) {
            expect_event(f, TRIB_EVENT_DONE, i * SLOTS);
        }
    }
    assert_int_equal(f->verbs->mark(f->node), 2 * SLOTS + 1);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
    struct trib_event event = wait_until(f, f->now_ns + 1000 * MS);
    assert_int_equal(event.kind, TRIB_EVENT_STALL);
    assert_int_equal(event.sequence, 1);
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
    size_t size = f->verbs->node.state_size(f->node);
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

/* Memory that is given back is zeros from then on, and the node goes on. */
static void idle__only_when_nobody_lacks_anything(void **state)
{
    struct fixture *f = *state;
    struct trib_range ranges[TRIB_IDLE_RANGES];

    assert_int_equal(f->verbs->node.idle(f->node, ranges), 2);
    submit_blocks(f, 1);
    assert_int_equal(f->verbs->node.idle(f->node, ranges), 0);
    expect_contributions(f, 0, 1);
    assert_int_equal(answer(f, 0, 1.0F), TRIB_DROP_NONE);
    expect_event(f, TRIB_EVENT_DONE, 0);
    assert_int_equal(f->verbs->node.idle(f->node, ranges), 0); /* another rank may still lack it */
    f->verbs->learn_mark(f->node, 1, f->now_ns);
    assert_int_equal(f->verbs->node.idle(f->node, ranges), 2);
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
        WITH_NODE(contribution__says_that_more_will_follow),
        WITH_NODE(contribution__of_a_barrier_has_no_payload),
        WITH_NODE(submit__refuses_more_than_configured),
        WITH_NODE(describe__skips_what_has_ended),
        WITH_NODE(result__is_delivered_once_and_the_last_one_says_DONE),
        WITH_NODE(result__of_a_large_tensor_bypasses_the_caches),
        WITH_NODE(result__of_a_smaller_tensor_does_not),
        WITH_NODE(result__in_place_does_not),
        WITH_NODE(result__that_nobody_waits_for_is_dropped),
        WITH_NODE(result__with_a_wrong_count_is_probed_and_fails_at_the_third),
        WITH_NODE(result__with_a_wrong_lane_is_probed_and_fails_at_the_third),
        WITH_NODE(result__is_averaged_by_the_worker),
        WITH_NODE(receive__drops_what_is_not_for_this_worker),
        WITH_NODE(ask__is_answered_with_the_contribution_at_most_once_in_a_while),
        WITH_NODE(ask__for_what_is_finished_is_answered_with_the_retained_result),
        WITH_NODE(ask__for_what_was_never_sent_only_brings_M),
        WITH_NODE(learn_mark__ignores_nonsense),
        WITH_NODE(restart__is_hinted_silenced_and_then_everything_is_probed),
        WITH_NODE(stall__is_reported_with_who_is_there),
        WITH_NODE(stall__is_reported_when_the_mark_alone_is_awaited),
        WITH_NODE(stall__of_the_mark_counts_from_the_last_fragment),
        WITH_NODE(stall__of_the_mark_comes_after_some_probes),
        cmocka_unit_test_setup_teardown(stall__of_the_mark_asks_the_root_that_holds_back, set_up_two, tear_down),
        WITH_NODE(broadcast__root_gets_a_header_and_retains_its_block),
        WITH_NODE(broadcast__root_survives_a_payload_that_it_did_not_want),
        WITH_NODE(state_size__leaves_times_and_counters_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
