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

/* Sends all that may leave at this moment, and answers it. Returns how much that was. */
static uint64_t send(struct fixture *f, uint64_t *next)
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
        assert_in_range(sent, 1, 65536 / FRAGMENT + 2 * BURST);
        assert_int_equal(answer(f, packet.sequence, 1), TRIB_DROP_NONE);
        if (f->verbs->node.next_event(f->node, &event)) {
            submit_blocks(f, 64); /* the operation is done */
        }
    }
    return sent;
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

/* In a rest no more is saved up than a train. */
static void rate__is_none_of_the_past(void **state)
{
    struct fixture *f = *state;
    uint64_t next = 0;

    submit_blocks(f, 64);
    (void)send(f, &next);
    f->now_ns += 1000 * MS;
    assert_in_range(send(f, &next), BURST, 65536 / FRAGMENT + 2 * BURST);
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
        cmocka_unit_test_setup_teardown(rate__is_none_of_the_past, set_up_rate, tear_down),
        cmocka_unit_test_setup_teardown(rate__is_of_contributions_alone, set_up_rate, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
