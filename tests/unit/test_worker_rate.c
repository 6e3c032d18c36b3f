/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_rate.c: a worker whose rate the controller has said, by a plan. Mirrors the part of
 * src/protocol/worker_pace.c that keeps it. */
#include "worker_harness.h"

#include "core/packet.h"

#define RATE UINT64_C(2000000) /* bytes per second: bursts of 2,000 bytes, for a millisecond */
#define FRAGMENT (ELEMENTS * sizeof(float) + TRIB_WIRE_EXTRA)
#define BURST ((RATE / 1000 + FRAGMENT - 1) / FRAGMENT) /* fragments */

static int set_up_rate(void **state)
{
    return set_up_with(state, 1, RATE);
}

#define MOST (65536 / FRAGMENT + 2 * BURST) /* fragments at once, with all that may be caught up with */

/* Sends all that may leave at this moment, at most `most` fragments, and answers it. Returns how much that was. */
static uint64_t send_up_to(struct fixture *f, uint64_t *next, uint64_t most)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint64_t sent = 0;

    while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
        assert_int_equal(packet.sequence, *next);
        f->mark = *next;
        (*next)++;
        sent++;
        assert_in_range(sent, 1, most);
        assert_int_equal(answer(f, packet.sequence, 1), TRIB_DROP_NONE);
        if (f->verbs->node.next_event(f->node, &event)) {
            submit_blocks(f, 64); /* the operation is done */
        }
    }
    return sent;
}

static uint64_t send(struct fixture *f, uint64_t *next)
{
    return send_up_to(f, next, MOST);
}

/* Late wake-ups cost no rate, and there are few besides. */
static void rate__is_kept_in_bursts(void **state)
{
    struct fixture *f = *state;
    uint64_t next = 0;

    submit_blocks(f, 64);
    (void)send(f, &next);
    uint64_t start_ns = f->now_ns, first = next;
    uint64_t late_ns = 0, wakes = 0;
    for (uint32_t bursts = 0; bursts < 500; wakes++) {
        uint64_t timeout_ns = f->verbs->node.next_timeout(f->node);
        assert_in_range(timeout_ns, f->now_ns - late_ns, f->now_ns + 2 * MS);
        if (timeout_ns > f->now_ns) {
            f->now_ns = timeout_ns - 1;
            assert_int_equal(send(f, &next), 0);
        }
        late_ns = bursts % 5 * MS / 10;
        f->now_ns = timeout_ns + late_ns > f->now_ns ? timeout_ns + late_ns : f->now_ns;
        f->verbs->node.on_timeout(f->node, f->now_ns);
        uint64_t sent = send(f, &next);
        assert_true(sent == 0 || sent == BURST);
        bursts += sent != 0;
    }
    assert_in_range(wakes, 500, 600); /* some are the deadlines of fragments that are done */
    uint64_t rate = (next - first) * FRAGMENT * 1000 * MS / (f->now_ns - start_ns);
    assert_in_range(rate, RATE * 99 / 100, RATE * 101 / 100);
}

/* Ranks that burst together into a full link are to fit into its buffer: so a burst is what the rate has in 25 us, of
 * slow ranks 16 KiB or a millisecond, and never more than a train. */
static void burst__is_as_short_as_the_rate_is_high(void **state)
{
    static const struct {
        uint64_t rate, bytes; /* per second; of a burst */
    } cases[] = {{2000000, 2000}, {50000000, 16384}, {1000000000, 25000}, {2000000000, 50000}, {12500000000, 65536}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(set_up_with(state, 1, cases[i].rate), 0);
        struct fixture *f = *state;
        uint64_t next = 0;
        uint64_t most = (cases[i].rate / 1000 + 65536 + 2 * cases[i].bytes) / FRAGMENT + 2;
        submit_blocks(f, 64);
        (void)send_up_to(f, &next, most); /* and what the rate had before, of a millisecond or a train */
        for (uint32_t bursts = 0; bursts < 3;) {
            uint64_t timeout_ns = f->verbs->node.next_timeout(f->node);
            f->now_ns = timeout_ns > f->now_ns ? timeout_ns : f->now_ns;
            f->verbs->node.on_timeout(f->node, f->now_ns);
            uint64_t sent = send_up_to(f, &next, most);
            assert_true(sent == 0 || sent == (cases[i].bytes + FRAGMENT - 1) / FRAGMENT);
            bursts += sent != 0;
        }
        assert_int_equal(tear_down(state), 0);
    }
    assert_int_equal(set_up_rate(state), 0); /* for the end */
}

/* In a rest no more is saved up than a train. */
static void rate__is_none_of_the_past(void **state)
{
    struct fixture *f = *state;
    uint64_t next = 0;

    submit_blocks(f, 64);
    (void)send(f, &next);
    f->now_ns += 1000 * MS;
    assert_in_range(send(f, &next), BURST, MOST);
    f->verbs->node.on_timeout(f->node, f->now_ns);
    assert_in_range(f->verbs->node.next_timeout(f->node), f->now_ns + 1, f->now_ns + MS * 12 / 10);
}

/* Others wait for answers: these are not held back. */
static void rate__is_of_contributions_alone(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    struct trib_place to;
    uint64_t sent = 0;

    submit_blocks(f, 64);
    while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        sent++;
    }
    assert_in_range(sent, BURST, WINDOW);
    assert_int_equal(ask(f, 1, 0), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_CONTRIBUTION, 1).flags & TRIB_FLAG_RESEND, TRIB_FLAG_RESEND);
    expect_nothing(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rate__is_kept_in_bursts, set_up_rate, tear_down),
        cmocka_unit_test_teardown(burst__is_as_short_as_the_rate_is_high, tear_down),
        cmocka_unit_test_setup_teardown(rate__is_none_of_the_past, set_up_rate, tear_down),
        cmocka_unit_test_setup_teardown(rate__is_of_contributions_alone, set_up_rate, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
