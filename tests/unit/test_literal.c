/* SPDX-License-Identifier: Apache-2.0 */
/* test_literal.c: SwitchML's published rule is there as published: right on links that keep the order, and wrong in the
 * ways that model checking found (A3, A4b, A4c, A5: one early resend that is overtaken; a duplicate and a loss; a
 * duplicate and an early resend; a loss and a restart). Every wrong sum is caught by the lane. Packets are carried by
 * hand: one slot, one int32 per packet that matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "node_memory.h"
#include "published/literal/literal.h"
#include "published/published.h"
#include "schemes/schemes.h"

#define WORKERS_MAX 3
#define PAYLOAD 64
#define PER_PACKET (PAYLOAD / 4)
#define FRAGMENTS_MAX 200
#define RTO TRIB_LITERAL_RTO_NS

struct parcel {
    struct trib_packet packet;
    uint8_t payload[PAYLOAD];
};

struct bench {
    uint32_t workers, fragments;
    void *worker[WORKERS_MAX], *switch_node;
    int32_t tensor[WORKERS_MAX][FRAGMENTS_MAX * PER_PACKET];
    int32_t sum[WORKERS_MAX][FRAGMENTS_MAX * PER_PACKET];
    struct trib_switch_config switch_config;
    uint64_t now_ns;
    struct parcel last_result; /* that the switch gave out */
    uint64_t last_receivers;
    uint32_t results; /* packets given out by the switch */
    uint32_t failed;  /* FAILED events */
    uint32_t done;    /* DONE events */
};

static const struct trib_worker_verbs *const W = &trib_literal_worker_verbs;
static const struct trib_switch_verbs *const S = &trib_literal_switch_verbs;

static int32_t value_of(uint32_t rank, uint32_t fragment)
{
    return (int32_t)((rank + 1) * 1000 + fragment);
}

static void start_worker(struct bench *b, struct trib_worker_config *config, uint32_t rank)
{
    struct trib_operation operation = {
        .send = b->tensor[rank],
        .recv = b->sum[rank],
        .count = (uint64_t)b->fragments * PER_PACKET,
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_INT32,
        .reduction = TRIB_SUM,
    };

    for (uint32_t i = 0; i < b->fragments * PER_PACKET; i++) {
        b->tensor[rank][i] = value_of(rank, i / PER_PACKET);
    }
    config->rank = rank;
    b->worker[rank] = node_memory(W->size(config));
    W->init(b->worker[rank], config);
    W->registered(b->worker[rank], 1, 0, b->now_ns);
    S->join(b->switch_node, rank, 0);
    assert_true(W->submit(b->worker[rank], &operation, b->now_ns));
}

static void start(struct bench *b, uint32_t workers, uint32_t fragments, uint32_t slots)
{
    struct trib_session_config session = {.communicator = 7, .ranks = workers, .roots = 1, .train = 1, .slots = slots};

    memset(b, 0, sizeof *b);
    session.payload = PAYLOAD;
    session.wire = TRIB_FLOAT32;
    session.lookahead = 1;
    b->workers = workers;
    b->fragments = fragments;
    b->now_ns = 5 * RTO;
    b->switch_config = (struct trib_switch_config){
        .session = session, .kernels = trib_value_kernels(), .children = workers, .boot = 1};
    b->switch_node = node_memory(S->size(&b->switch_config));
    S->init(b->switch_node, &b->switch_config);
    struct trib_worker_config config = {
        .session = session, .kernels = trib_value_kernels(), .window = slots, .operations = 1, .stall_ns = UINT64_MAX};
    config.session.salt = 42;
    for (uint32_t rank = 0; rank < workers; rank++) {
        start_worker(b, &config, rank);
    }
}

static void stop(struct bench *b)
{
    for (uint32_t rank = 0; rank < b->workers; rank++) {
        free(b->worker[rank]);
    }
    free(b->switch_node);
}

static void keep(struct parcel *parcel, const struct trib_packet *packet)
{
    parcel->packet = *packet;
    if (packet->payload_len != 0) {
        memcpy(parcel->payload, packet->payload, packet->payload_len);
    }
}

static const struct trib_packet *packet_of(struct parcel *parcel)
{
    parcel->packet.payload = parcel->packet.payload_len != 0 ? parcel->payload : NULL;
    return &parcel->packet;
}

/* Takes the next packet out of a worker. */
static bool takes(struct bench *b, uint32_t rank, struct parcel *parcel)
{
    struct trib_packet packet;
    struct trib_place to;

    if (!W->node.next_packet(b->worker[rank], b->now_ns, &packet, &to)) {
        return false;
    }
    assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
    keep(parcel, &packet);
    return true;
}

static void sends(struct bench *b, uint32_t rank, uint64_t sequence, struct parcel *parcel)
{
    assert_true(takes(b, rank, parcel));
    assert_int_equal(parcel->packet.sequence, sequence);
}

static void timers_end(struct bench *b)
{
    b->now_ns += RTO;
    for (uint32_t rank = 0; rank < b->workers; rank++) {
        if (W->node.next_timeout(b->worker[rank]) <= b->now_ns) {
            W->node.on_timeout(b->worker[rank], b->now_ns);
        }
    }
}

static void take_events(struct bench *b, uint32_t rank)
{
    struct trib_event event;

    while (W->node.next_event(b->worker[rank], &event)) {
        b->failed += event.kind == TRIB_EVENT_FAILED;
        b->done += event.kind == TRIB_EVENT_DONE;
    }
}

/* A contribution reaches the switch; what the switch gives out is kept, and delivered to those in `to`. */
static enum trib_drop arrives(struct bench *b, uint32_t rank, struct parcel *parcel, uint64_t to)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << rank};
    enum trib_drop drop = S->node.receive(b->switch_node, from, packet_of(parcel), b->now_ns);
    struct trib_packet packet;
    struct trib_place place;

    while (S->node.next_packet(b->switch_node, b->now_ns, &packet, &place)) {
        keep(&b->last_result, &packet);
        b->last_receivers = place.children;
        b->results++;
        for (uint32_t child = 0; child < b->workers; child++) {
            if (place.children & to & UINT64_C(1) << child) {
                struct trib_place root = {.kind = TRIB_PLACE_ROOT};
                (void)W->node.receive(b->worker[child], root, packet_of(&b->last_result), b->now_ns);
                take_events(b, child);
            }
        }
    }
    return drop;
}

static int32_t result_value(const struct bench *b)
{
    int32_t value;

    memcpy(&value, b->last_result.payload, sizeof value);
    return value;
}

static int32_t right_value(const struct bench *b, uint32_t fragment)
{
    int32_t sum = 0;

    for (uint32_t rank = 0; rank < b->workers; rank++) {
        sum += value_of(rank, fragment);
    }
    return sum;
}

/* Fragment 2's first contributions, in a slot that holds something older: the sum is of `got`, the lane is wrong,
 * nobody takes it, and when asking again has not helped the operation fails. */
static void assert_wrong_and_caught(struct bench *b, int32_t got)
{
    uint64_t caught = 0;

    assert_int_equal(b->last_result.packet.sequence, 2);
    assert_int_equal(result_value(b), got);
    assert_int_not_equal(got, right_value(b, 2));
    assert_int_equal(b->last_result.packet.contributors, 2);
    for (uint32_t rank = 0; rank < b->workers; rank++) {
        caught += W->node.counters(b->worker[rank])->dropped[TRIB_DROP_LANE];
        assert_int_equal(b->sum[rank][2 * PER_PACKET], 0); /* never delivered */
    }
    assert_int_equal(caught, b->workers);
    for (int i = 0; i < 10; i++) {
        struct parcel again;
        timers_end(b);
        for (uint32_t rank = 0; rank < b->workers; rank++) {
            while (takes(b, rank, &again)) {
                (void)arrives(b, rank, &again, UINT64_MAX);
            }
        }
    }
    assert_int_not_equal(b->failed, 0);
    assert_int_equal(b->done, 0);
}

/* ---- where it is right ---- */

static void literal__sums_without_faults(void **state)
{
    struct bench b;
    struct parcel p;
    (void)state;

    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        start(&b, workers, 50, 4);
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t rank = 0; rank < workers; rank++) {
                while (takes(&b, rank, &p)) {
                    assert_int_equal(arrives(&b, rank, &p, UINT64_MAX), TRIB_DROP_NONE);
                    moved = true;
                }
            }
        }
        assert_int_equal(b.done, workers);
        for (uint32_t i = 0; i < 50 * PER_PACKET; i++) {
            assert_int_equal(b.sum[workers - 1][i], right_value(&b, i / PER_PACKET));
        }
        assert_int_equal(S->node.counters(b.switch_node)->results, 50);
        assert_int_equal(S->slots_held(b.switch_node), 0);
        stop(&b);
    }
}

/* Links keep the order and lose a tenth: the case that the paper has in mind. */
static void literal__is_right_on_links_that_keep_order(void **state)
{
    struct trib_prng prng = {.state = 20};
    struct bench b;
    struct parcel p;
    (void)state;

    for (int run = 0; run < 50; run++) {
        start(&b, 3, FRAGMENTS_MAX, 4);
        for (int turn = 0; turn < 20000 && b.done < 3; turn++) {
            for (uint32_t rank = 0; rank < 3; rank++) {
                while (takes(&b, rank, &p)) {
                    uint64_t reached = trib_prng_next(&prng) | trib_prng_next(&prng) | trib_prng_next(&prng);
                    if (!trib_prng_chance(&prng, 0.1)) {
                        (void)arrives(&b, rank, &p, reached);
                    }
                }
            }
            timers_end(&b);
        }
        assert_int_equal(b.done, 3);
        assert_int_equal(b.failed, 0);
        for (uint32_t rank = 0; rank < 3; rank++) {
            for (uint32_t i = 0; i < FRAGMENTS_MAX * PER_PACKET; i++) {
                assert_int_equal(b.sum[rank][i], right_value(&b, i / PER_PACKET));
            }
            assert_int_not_equal(W->node.counters(b.worker[rank])->contributions_resent, 0);
        }
        assert_int_not_equal(S->node.counters(b.switch_node)->results_repeated, 0);
        stop(&b);
    }
}

static void literal__gives_the_shadow_copy_to_who_asks(void **state)
{
    struct bench b;
    struct parcel first, second, again;
    (void)state;

    start(&b, 2, 4, 1);
    sends(&b, 0, 0, &first);
    sends(&b, 1, 0, &second);
    assert_int_equal(arrives(&b, 0, &first, 0), TRIB_DROP_NONE);
    assert_int_equal(b.results, 0);
    assert_int_equal(arrives(&b, 0, &first, 0), TRIB_DROP_DUPLICATE); /* seen, not complete */
    assert_int_equal(arrives(&b, 1, &second, 1), TRIB_DROP_NONE);     /* rank 1's copy is lost */
    assert_int_equal(b.last_receivers, 3);
    timers_end(&b);
    sends(&b, 1, 0, &again);
    assert_true(again.packet.flags & TRIB_FLAG_RESEND);
    assert_int_equal(arrives(&b, 1, &again, UINT64_MAX), TRIB_DROP_NONE);
    assert_int_equal(b.last_receivers, 2);
    assert_int_equal(b.results, 2);
    assert_int_equal(b.sum[1][0], right_value(&b, 0));
    stop(&b);
}

/* ---- where it is wrong ---- */

/* Fragments 0 and 1 of two workers, of which rank `late` has a copy of its fragment 0 left over. */
static void two_fragments(struct bench *b, uint32_t late, struct parcel *old)
{
    struct parcel p[2];

    sends(b, 0, 0, &p[0]);
    sends(b, 1, 0, &p[1]);
    timers_end(b); /* early: nothing was lost */
    sends(b, late, 0, old);
    struct parcel other;
    sends(b, 1 - late, 0, &other); /* this one is lost */
    (void)arrives(b, 0, &p[0], UINT64_MAX);
    (void)arrives(b, 1, &p[1], UINT64_MAX);
    assert_int_equal(b->sum[0][0], right_value(b, 0));
}

/* A3: one early resend is overtaken by the next fragment. */
static void literal__one_overtaken_resend_makes_a_wrong_sum(void **state)
{
    struct bench b;
    struct parcel old, p[2];
    (void)state;

    start(&b, 2, 6, 1);
    two_fragments(&b, 0, &old);
    sends(&b, 0, 1, &p[0]);
    sends(&b, 1, 1, &p[1]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    assert_int_equal(b.sum[1][PER_PACKET], right_value(&b, 1));
    (void)arrives(&b, 0, &old, UINT64_MAX);
    assert_int_equal(S->slots_held(b.switch_node), 1);
    sends(&b, 0, 2, &p[0]);
    sends(&b, 1, 2, &p[1]);
    assert_int_equal(arrives(&b, 0, &p[0], UINT64_MAX), TRIB_DROP_DUPLICATE); /* its bit is set, by fragment 0 */
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    assert_wrong_and_caught(&b, value_of(0, 0) + value_of(1, 2));
    stop(&b);
}

/* The other half of A3: the late copy clears a bit of the next fragment, whose copy is then added twice. */
static void literal__one_overtaken_resend_makes_a_double_sum(void **state)
{
    struct bench b;
    struct parcel old, p[3], again;
    (void)state;

    start(&b, 3, 6, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        sends(&b, rank, 0, &p[rank]);
    }
    timers_end(&b);
    sends(&b, 0, 0, &old);
    for (uint32_t rank = 0; rank < 3; rank++) {
        (void)arrives(&b, rank, &p[rank], UINT64_MAX);
    }
    sends(&b, 0, 1, &p[0]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    (void)arrives(&b, 0, &old, UINT64_MAX);
    timers_end(&b);
    sends(&b, 0, 1, &again);
    (void)arrives(&b, 0, &again, UINT64_MAX);
    sends(&b, 1, 1, &p[1]);
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    assert_int_equal(b.last_result.packet.sequence, 1);
    assert_int_equal(result_value(&b), 2 * value_of(0, 1) + value_of(1, 1));
    assert_int_equal(W->node.counters(b.worker[2])->dropped[TRIB_DROP_LANE] +
                         W->node.counters(b.worker[2])->dropped[TRIB_DROP_UNASKED],
                     1);
    assert_int_equal(W->node.counters(b.worker[0])->dropped[TRIB_DROP_LANE], 1);
    assert_int_equal(b.sum[0][PER_PACKET], 0);
    stop(&b);
}

/* A4b: no packet overtakes another of its link. A loss makes both resend; the network doubles one of the resends,
 * behind fragment 1. */
static void literal__a_loss_and_a_duplicate_make_a_wrong_sum(void **state)
{
    struct bench b;
    struct parcel p[2], again[2];
    (void)state;

    start(&b, 2, 6, 1);
    sends(&b, 0, 0, &p[0]); /* lost */
    sends(&b, 1, 0, &p[1]);
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    timers_end(&b);
    sends(&b, 0, 0, &again[0]);
    sends(&b, 1, 0, &again[1]);
    (void)arrives(&b, 0, &again[0], UINT64_MAX); /* complete */
    sends(&b, 0, 1, &p[0]);
    sends(&b, 1, 1, &p[1]);
    (void)arrives(&b, 1, &again[1], UINT64_MAX); /* gets the shadow copy; its double waits behind p[1] */
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    (void)arrives(&b, 1, &again[1], UINT64_MAX);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    assert_int_equal(b.sum[0][PER_PACKET], right_value(&b, 1));
    sends(&b, 0, 2, &p[0]);
    sends(&b, 1, 2, &p[1]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    assert_wrong_and_caught(&b, value_of(1, 0) + value_of(0, 2));
    stop(&b);
}

/* A4c: the same with an early resend instead of the loss. */
static void literal__an_early_resend_and_a_duplicate_make_a_wrong_sum(void **state)
{
    struct bench b;
    struct parcel old, p[2];
    (void)state;

    start(&b, 2, 6, 1);
    two_fragments(&b, 1, &old);
    sends(&b, 0, 1, &p[0]);
    sends(&b, 1, 1, &p[1]);
    (void)arrives(&b, 1, &old, UINT64_MAX); /* in order; its double is not */
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    (void)arrives(&b, 1, &old, UINT64_MAX);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    sends(&b, 0, 2, &p[0]);
    sends(&b, 1, 2, &p[1]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    assert_wrong_and_caught(&b, value_of(1, 0) + value_of(0, 2));
    stop(&b);
}

static void restart(struct bench *b)
{
    b->switch_config.boot++;
    S->init(b->switch_node, &b->switch_config);
    for (uint32_t rank = 0; rank < b->workers; rank++) {
        W->suspend(b->worker[rank]);
        S->join(b->switch_node, rank, W->mark(b->worker[rank]));
        W->registered(b->worker[rank], b->switch_config.boot, 0, b->now_ns);
    }
}

/* A5: a resend of fragment 0 meets a switch that has restarted: the counter keeps it, the bitmap forgets it. */
static void literal__a_loss_and_a_restart_make_a_wrong_sum(void **state)
{
    struct bench b;
    struct parcel p[2], again[2];
    (void)state;

    start(&b, 2, 6, 1);
    sends(&b, 0, 0, &p[0]); /* lost */
    sends(&b, 1, 0, &p[1]);
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    timers_end(&b);
    sends(&b, 0, 0, &again[0]);
    sends(&b, 1, 0, &again[1]);
    (void)arrives(&b, 0, &again[0], UINT64_MAX);
    restart(&b);
    (void)arrives(&b, 1, &again[1], UINT64_MAX);
    sends(&b, 0, 1, &p[0]);
    sends(&b, 1, 1, &p[1]);
    (void)arrives(&b, 1, &p[1], UINT64_MAX);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    sends(&b, 0, 2, &p[0]);
    sends(&b, 1, 2, &p[1]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    assert_wrong_and_caught(&b, value_of(1, 0) + value_of(0, 2));
    stop(&b);
}

/* A result that was lost with the switch is lost for good: who has it never contributes again. */
static void literal__a_restart_can_hang_it(void **state)
{
    struct bench b;
    struct parcel p[2];
    (void)state;

    start(&b, 2, 6, 1);
    sends(&b, 0, 0, &p[0]);
    sends(&b, 1, 0, &p[1]);
    (void)arrives(&b, 0, &p[0], UINT64_MAX);
    (void)arrives(&b, 1, &p[1], 1); /* rank 1's copy is lost */
    restart(&b);
    for (int i = 0; i < 1000; i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            while (takes(&b, rank, &p[rank])) {
                (void)arrives(&b, rank, &p[rank], UINT64_MAX);
            }
        }
        timers_end(&b);
    }
    uint64_t sequence = 0;
    assert_int_equal(b.done, 0);
    assert_int_equal(W->mark(b.worker[1]), 0);
    assert_int_equal(S->missing(b.switch_node, &sequence), 1);
    assert_int_equal(sequence, 0);
    assert_int_equal(S->missing_on(b.switch_node, 1), 2);
    stop(&b);
}

/* ---- what must not hurt it ---- */

static void literal__drops_what_it_cannot_add(void **state)
{
    struct bench b;
    struct parcel p, bad;
    (void)state;

    start(&b, 2, 6, 1);
    sends(&b, 0, 0, &p);
    bad = p;
    bad.packet.communicator++;
    assert_int_equal(arrives(&b, 0, &bad, 0), TRIB_DROP_SOURCE);
    assert_int_equal(arrives(&b, 5, &p, 0), TRIB_DROP_SOURCE);
    bad = p;
    bad.packet.generation++;
    assert_int_equal(arrives(&b, 0, &bad, 0), TRIB_DROP_GENERATION);
    bad = p;
    bad.packet.kind = TRIB_PROBE;
    assert_int_equal(arrives(&b, 0, &bad, 0), TRIB_DROP_KIND);
    bad = p;
    bad.packet.payload_len = 6;
    assert_int_equal(arrives(&b, 0, &bad, 0), TRIB_DROP_SHAPE);
    (void)arrives(&b, 0, &p, 0);
    bad = p;
    bad.packet.payload_len = 32;
    assert_int_equal(arrives(&b, 1, &bad, 0), TRIB_DROP_SHAPE); /* another shape than what is there */
    assert_int_equal(S->node.counters(b.switch_node)->contributions, 1);
    stop(&b);
}

static void literal__no_job_may_run_it(void **state)
{
    (void)state;
    assert_ptr_equal(trib_published_find("switchml-literal"), &trib_literal);
    assert_non_null(trib_literal.refusal);
    assert_null(trib_scheme_find("switchml-literal"));
    assert_ptr_equal(trib_scheme_at(0), trib_scheme_find("switchml"));
    for (unsigned i = 0; trib_scheme_at(i) != NULL; i++) {
        assert_null(trib_scheme_at(i)->refusal);
        assert_ptr_equal(trib_published_find(trib_scheme_at(i)->name), trib_scheme_at(i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal__sums_without_faults),
        cmocka_unit_test(literal__is_right_on_links_that_keep_order),
        cmocka_unit_test(literal__gives_the_shadow_copy_to_who_asks),
        cmocka_unit_test(literal__one_overtaken_resend_makes_a_wrong_sum),
        cmocka_unit_test(literal__one_overtaken_resend_makes_a_double_sum),
        cmocka_unit_test(literal__a_loss_and_a_duplicate_make_a_wrong_sum),
        cmocka_unit_test(literal__an_early_resend_and_a_duplicate_make_a_wrong_sum),
        cmocka_unit_test(literal__a_loss_and_a_restart_make_a_wrong_sum),
        cmocka_unit_test(literal__a_restart_can_hang_it),
        cmocka_unit_test(literal__drops_what_it_cannot_add),
        cmocka_unit_test(literal__no_job_may_run_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
