/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_worker_recover.c: when a worker node PROBEs, and when it does not. Mirrors
 * src/protocol/worker_recover.c; the rest of the node is in test_switchml_worker.c. */
#include "worker_harness.h"

static void probe__comes_after_the_timeout_and_says_what_was_sent(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 3);
    expect_contributions(f, 0, 3);
    uint64_t start = f->now_ns;
    f->verbs->node.on_timeout(f->node, f->now_ns);
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
        while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
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
    assert_int_equal(expect(f, TRIB_PROBE, 0).flags, TRIB_FLAG_RESEND);
    expect_nothing(f);
    assert_int_equal(answer(f, 17, 1), TRIB_DROP_NONE);
    expect_nothing(f); /* one probe per transmission */
    assert_int_equal(f->verbs->node.counters(f->node)->probes_fast, 1);
}

/* The first packet that time brings. */
static struct trib_packet next_probe(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    do {
        time_out(f);
    } while (!f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, TRIB_PROBE);
    return packet;
}

/* HELD with RESEND is behind the result: if that is not here, it was lost. */
static void probe__says_RESEND_once_HELD_says_that_the_result_was_sent(void **state)
{
    struct fixture *f = *state;
    struct trib_packet sent = packet_of(f, TRIB_HELD, 0);

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    assert_int_equal(next_probe(f).flags, 0);
    assert_int_equal(next_probe(f).flags, 0);
    sent.flags = TRIB_FLAG_RESEND;
    assert_int_equal(down(f, &sent), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_PROBE, 0).flags, TRIB_FLAG_RESEND);
    assert_int_equal(down(f, &sent), TRIB_DROP_NONE); /* no answer to an answer, however often that comes */
    expect_nothing(f);
    uint64_t heard_ns = f->now_ns;
    assert_int_equal(next_probe(f).flags, TRIB_FLAG_RESEND);   /* that may be lost as well */
    assert_int_equal(f->now_ns - heard_ns, TRIB_RTO_FIRST_NS); /* and the root is not one that is silent */
    assert_int_equal(ask(f, 0, 0), TRIB_DROP_NONE);            /* the switch booted meanwhile: nothing was sent */
    assert_int_equal(expect(f, TRIB_CONTRIBUTION, 0).flags, TRIB_FLAG_RESEND);
    assert_int_equal(next_probe(f).flags, 0);
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_NONE);
    assert_int_equal(down(f, &sent), TRIB_DROP_NONE); /* late */
    expect_nothing(f);
}

/* A rank or the switch was off its core for some times what is usual: no result is lost, so nobody asks for one. But
 * for ever nobody waits: order and silence, which tell of losses sooner, say nothing here. */
static void probe__waits_for_what_is_merely_late(void **state)
{
    struct fixture *f = *state;
    uint64_t usual = 4 * MS;

    submit_blocks(f, 20);
    expect_contributions(f, 0, 20);
    f->now_ns += usual;
    for (uint64_t sequence = 0; sequence < 20; sequence++) {
        assert_int_equal(answer(f, sequence, 1), TRIB_DROP_NONE);
    }
    expect_event(f, TRIB_EVENT_DONE, 0);
    submit_blocks(f, 12);
    expect_contributions(f, 20, 32);
    f->now_ns += usual;
    for (uint64_t sequence = 21; sequence < 32; sequence++) {
        assert_int_equal(answer(f, sequence, 1), TRIB_DROP_NONE);
    }
    f->now_ns += 3 * usual - MS;
    f->verbs->node.on_timeout(f->node, f->now_ns);
    expect_nothing(f);
    f->now_ns += 2 * MS;
    f->verbs->node.on_timeout(f->node, f->now_ns);
    (void)expect(f, TRIB_PROBE, 20);
    expect_nothing(f);
}

/* A probe, or its answer, is lost as easily as anything: only the fourth wait is longer. */
static void probe__is_sent_three_times_before_the_wait_doubles(void **state)
{
    static const uint64_t waits[] = {1, 1, 1, 2, 2, 2, 4};
    struct fixture *f = *state;

    submit_blocks(f, 1);
    expect_contributions(f, 0, 1);
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        uint64_t last_ns = f->now_ns;
        (void)next_probe(f);
        assert_int_equal(f->now_ns - last_ns, waits[i] * TRIB_RTO_FIRST_NS);
    }
}

static int set_up_two_roots(void **state)
{
    return set_up_roots(state, 2);
}

/* A rank was away for seconds, and all roots were silent. It is back, one root says: the other hears the mark now, and
 * not after the timeout that has grown there. Without that M of each root waits for the slowest timer of all ranks. */
static void probe__goes_at_once_to_roots_that_were_silent_together(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    struct trib_place to;

    submit_blocks(f, 2);
    for (uint64_t sequence = 0; sequence < 2; sequence++) {
        assert_true(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
        assert_int_equal(to.index, sequence);
    }
    while (f->verbs->node.next_timeout(f->node) < f->now_ns + 4 * TRIB_RTO_FIRST_NS) {
        (void)next_probe(f);
        while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        }
    }
    assert_int_equal(answer(f, 0, 1), TRIB_DROP_NONE);
    f->now_ns += TRIB_RTO_FIRST_NS;
    f->verbs->node.on_timeout(f->node, f->now_ns);
    bool heard = false;
    while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        heard = heard || (packet.kind == TRIB_PROBE && to.index == 1 && packet.mark == 1);
    }
    assert_true(heard);
}

/* Answers to other probes are no sign that what everybody waits for is on its way. */
static void probe__of_the_mark_is_not_put_off_by_what_other_probes_bring(void **state)
{
    struct fixture *f = *state;

    submit_blocks(f, 8);
    expect_contributions(f, 0, 8);
    for (int i = 0; i < 2; i++) { /* later what is overdue is probed besides */
        f->now_ns += TRIB_RTO_FIRST_NS - MS;
        f->verbs->node.on_timeout(f->node, f->now_ns);
        expect_nothing(f);
        assert_int_equal(hold(f, 5, 1), TRIB_DROP_NONE);
        assert_int_equal(ask(f, (uint64_t)i + 1, 0), TRIB_DROP_NONE);
        (void)expect(f, TRIB_CONTRIBUTION, (uint64_t)i + 1); /* nor is what is sent again */
        f->now_ns += MS;
        f->verbs->node.on_timeout(f->node, f->now_ns);
        (void)expect(f, TRIB_PROBE, 0);
        expect_nothing(f);
    }
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
    assert_int_equal(f->verbs->node.counters(f->node)->probes_blocked, 1);
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
    assert_int_equal(
        f->verbs->node.next_timeout(f->node) == TRIB_NEVER || f->verbs->node.next_timeout(f->node) > f->now_ns, true);
    for (int i = 0; i < 100 && f->verbs->node.next_timeout(f->node) != TRIB_NEVER; i++) {
        time_out(f);
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->node.next_timeout(f->node), TRIB_NEVER); /* at rest */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(probe__comes_after_the_timeout_and_says_what_was_sent),
        WITH_NODE(probe__waits_for_what_is_merely_late),
        WITH_NODE(probe__says_RESEND_once_HELD_says_that_the_result_was_sent),
        WITH_NODE(probe__is_repeated_ever_more_rarely_down_to_once_a_second),
        WITH_NODE(probe__is_sent_three_times_before_the_wait_doubles),
        cmocka_unit_test_setup_teardown(probe__goes_at_once_to_roots_that_were_silent_together, set_up_two_roots,
                                        tear_down),
        WITH_NODE(probe__of_the_mark_is_not_put_off_by_what_other_probes_bring),
        WITH_NODE(probe__is_sent_early_when_later_contributions_are_answered),
        WITH_NODE(probe__asks_for_M_when_the_window_holds_everything_back),
        WITH_NODE(probe__tells_the_mark_when_nothing_is_outstanding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
