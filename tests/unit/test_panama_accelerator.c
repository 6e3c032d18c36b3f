/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_accelerator.c: PANAMA's accelerator and figure 5 are there as published: right where nothing goes
 * wrong, and stuck in the ways that docs/DECISIONS.md lists. Packets are made by hand. test_panama_ports.c has jobs
 * on some of the ports, test_panama_literal.c workers and several nodes. */
#include "panama_device.h"

#include "core/congestion.h"
#include "core/prng.h"

static void accelerator__adds_heads_with_the_expected_vid(void **state)
{
    struct device device;
    (void)state;

    open_device(&device, 1, 1, 8, 0);
    come_but(&device, 3, 0);
    assert_int_equal(device.sums, 0);
    comes(&device, 3, 0, 0, 0, TRIB_FLAG_ECN);
    assert_int_equal(device.sums, 1);
    assert_int_equal(payload_value(&device.last), 0 + 1 + 2 + 3);
    assert_int_equal(device.last.packet.lane, 0x01010101);
    assert_int_equal(device.last.packet.contributors, PORTS);
    assert_int_equal(device.last.packet.flags, TRIB_FLAG_ECN); /* of one is of all */
    assert_int_equal(device.last.packet.window_cap, 8);        /* its own memory, for one job */
    assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 1);
    for (uint64_t vid = 1; vid < 4; vid++) {
        for (uint32_t port = PORTS; port-- > 0;) {
            comes(&device, port, 0, 0, vid, vid == 3 ? TRIB_FLAG_FIN : 0);
        }
    }
    assert_int_equal(device.sums, 4);
    assert_int_equal(payload_value(&device.last), 4 * 300 + 6);
    assert_int_equal(device.last.packet.flags, TRIB_FLAG_FIN);
    assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 0);
    close_device(&device);
}

/* Floats whose sum depends on the order: ports decide it, not arrivals. */
static void accelerator__sums_have_the_same_bits_in_any_order(void **state)
{
    static const float parts[PORTS] = {1e8F, 1.25F, -1e8F, 3.5F};
    struct trib_prng prng = {.state = 7};
    struct device device;
    float wanted = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    (void)state;

    open_device(&device, 1, 1, 4, 0);
    for (uint64_t vid = 0; vid < 50; vid++) {
        uint32_t left = (1U << PORTS) - 1;
        while (left != 0) {
            uint32_t port = (uint32_t)trib_prng_below(&prng, PORTS);
            float values[PER_PACKET] = {parts[port]};
            struct trib_packet packet = {.bitmap = vid, .type = TRIB_FLOAT32, .reduction = TRIB_SUM};
            packet.payload_len = PAYLOAD;
            packet.payload = values;
            if ((left >> port & 1) != 0) {
                assert_int_equal(gets(&device, port, &packet), TRIB_DROP_NONE);
                left &= ~(1U << port);
            }
        }
        assert_memory_equal(device.last.payload, &wanted, sizeof wanted);
    }
    assert_int_equal(device.sums, 50);
    close_device(&device);
}

static void accelerator__says_the_smallest_cap(void **state)
{
    struct device device;
    struct trib_packet packet = {.payload_len = 0};
    (void)state;

    open_device(&device, 2, 4, 20, 0);
    for (uint32_t port = 0; port < PORTS; port++) {
        packet.window_cap = port == 2 ? 7 : 9;
        gets(&device, port, &packet);
    }
    assert_int_equal(device.last.packet.window_cap, 7);
    packet.window_cap = 0; /* the workers say none */
    packet.bitmap = 1;
    for (uint32_t port = 0; port < PORTS; port++) {
        gets(&device, port, &packet);
    }
    assert_int_equal(device.last.packet.window_cap, 10); /* two jobs */
    close_device(&device);
}

/* Two jobs share four ports. Workers of ports 0 and 1 send A then B, those of ports 2 and 3 B then A. */
static uint32_t two_jobs_in_opposite_order(uint32_t readings)
{
    struct device device;

    open_device(&device, JOBS, 1, 16, readings);
    for (uint64_t vid = 0; vid < 3; vid++) {
        for (uint32_t port = 0; port < PORTS; port++) {
            comes(&device, port, port < 2 ? 0 : 1, 0, vid, 0);
            comes(&device, port, port < 2 ? 1 : 0, 0, vid, 0);
        }
    }
    uint32_t sums = device.sums;
    assert_int_equal(trib_accelerator_waiting(device.memory, 0), 6 - sums);
    close_device(&device);
    return sums;
}

static void one_fifo__two_jobs_in_opposite_order_wait_for_ever(void **state)
{
    (void)state;
    assert_int_equal(two_jobs_in_opposite_order(0), 0);
    assert_int_equal(two_jobs_in_opposite_order(TRIB_PANAMA_QUEUES), 6);
}

/* One job is enough, if its workers do not send to its two trees in the same order: as when each sends where its own
 * windows are open. */
static void one_fifo__two_trees_in_opposite_order_wait_for_ever(void **state)
{
    (void)state;
    for (uint32_t queues = 0; queues < 2; queues++) {
        struct device device;
        open_device(&device, 1, 2, 16, queues != 0 ? TRIB_PANAMA_QUEUES : 0);
        for (uint32_t port = 0; port < PORTS; port++) {
            comes(&device, port, 0, port == 0, 0, 0);
            comes(&device, port, 0, port != 0, 0, 0);
        }
        assert_int_equal(device.sums, queues != 0 ? 2 : 0);
        close_device(&device);
    }
}

/* In the same order one FIFO will do, whichever job a port's head belongs to. */
static void one_fifo__serves_jobs_in_one_order(void **state)
{
    struct device device;
    (void)state;

    open_device(&device, JOBS, 2, 16, 0);
    for (uint64_t vid = 0; vid < 4; vid++) {
        for (uint32_t port = PORTS; port-- > 0;) {
            for (uint32_t stream = 0; stream < 4; stream++) {
                comes(&device, port, stream % 2, stream / 2, vid, 0);
            }
        }
    }
    assert_int_equal(device.sums, 16);
    close_device(&device);
}

/* VID 1 of port 2 is lost: those of the others are dropped, and VID 1 never has a sum. */
static void a_loss__drops_its_siblings(void **state)
{
    struct device device;
    (void)state;

    open_device(&device, 1, 1, 8, TRIB_PANAMA_QUEUES);
    for (uint64_t vid = 0; vid < 4; vid++) {
        come_but(&device, vid == 1 ? 2 : PORTS, vid);
    }
    assert_int_equal(device.sums, 3);
    assert_int_equal(payload_value(&device.last), 4 * 300 + 6);
    assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 3);
    assert_int_equal(trib_accelerator_waiting(device.memory, 0), 0);
    close_device(&device);
}

/* The same at an accelerator below another: the gap in its stream makes the upper one drop what came by its other
 * ports. */
static void a_loss__is_a_gap_at_the_accelerator_above(void **state)
{
    struct device below, above;
    (void)state;

    open_device(&below, 1, 1, 8, TRIB_PANAMA_QUEUES);
    open_device(&above, 1, 1, 8, TRIB_PANAMA_QUEUES);
    for (uint64_t vid = 0; vid < 3; vid++) {
        uint32_t before = below.sums;
        come_but(&above, 0, vid);
        come_but(&below, vid == 1 ? 3 : PORTS, vid);
        if (below.sums != before) {
            gets(&above, 0, packet_of(&below.last));
        }
    }
    assert_int_equal(above.sums, 2);
    assert_int_equal(above.last.packet.bitmap, 2);
    assert_int_equal(above.last.packet.contributors, 3 + PORTS);
    assert_int_equal(trib_accelerator_counters(above.memory)->dropped, 3);
    close_device(&below);
    close_device(&above);
}

static void miss__goes_up_in_the_sums_place(void **state)
{
    struct device below, above;
    uint32_t readings = TRIB_PANAMA_QUEUES | TRIB_PANAMA_DISCARD | TRIB_PANAMA_MISS;
    (void)state;

    open_device(&below, 1, 1, 8, readings);
    open_device(&above, 1, 1, 8, readings);
    come_but(&above, 0, 0);
    come_but(&below, 3, 0);
    assert_int_equal(below.misses, 0);
    comes(&below, 3, 0, 0, 1, 0);
    assert_int_equal(below.misses, 1);
    assert_int_equal(below.last.packet.bitmap, 0);
    assert_int_equal(below.last.packet.payload_len, 0);
    gets(&above, 0, packet_of(&below.last));
    assert_int_equal(above.misses, 1);
    assert_int_equal(above.sums, 0);
    assert_int_equal(trib_accelerator_expected(above.memory, 0, 0), 1);
    close_device(&below);
    close_device(&above);
}

/* VID 1 of port 1 comes twice. The second is at the head and never matches: the Expected VID runs ahead of
 * everything that the other ports bring, and drops it. */
static void a_duplicate__makes_the_expected_vid_run_away(void **state)
{
    struct device device;
    (void)state;

    open_device(&device, 1, 1, 64, TRIB_PANAMA_QUEUES);
    for (uint64_t vid = 0; vid < 50; vid++) {
        come_but(&device, PORTS, vid);
        if (vid == 1) {
            comes(&device, 1, 0, 0, 1, 0);
        }
    }
    assert_int_equal(device.sums, 2); /* 2 to 49 never come */
    assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 50);
    assert_int_equal(trib_accelerator_waiting(device.memory, 1), 49);
    assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 48 * 3);
    close_device(&device);
    open_device(&device, 1, 1, 64, TRIB_PANAMA_QUEUES | TRIB_PANAMA_DISCARD);
    for (uint64_t vid = 0; vid < 50; vid++) {
        come_but(&device, PORTS, vid);
        if (vid == 1) {
            comes(&device, 1, 0, 0, 1, 0);
        }
    }
    assert_int_equal(device.sums, 50);
    assert_int_equal(trib_accelerator_counters(device.memory)->stale, 1);
    close_device(&device);
}

/* An operation of 3 packets, then another one. Port 0's last packet of the first comes without FIN, or not at all.
 * Returns the sums of the second. */
static uint32_t fin_is_missing(struct device *device, uint32_t readings, bool is_lost)
{
    open_device(device, 1, 1, 16, TRIB_PANAMA_QUEUES | readings);
    for (uint32_t port = 0; port < PORTS; port++) {
        for (uint64_t vid = 0; vid < (port == 0 && is_lost ? 2 : 3); vid++) {
            comes(device, port, 0, 0, vid, vid == 2 && port != 0 ? TRIB_FLAG_FIN : 0);
        }
    }
    assert_int_equal(device->sums, is_lost ? 2 : 3);
    uint32_t before = device->sums;
    for (uint64_t vid = 0; vid < 3; vid++) {
        come_but(device, PORTS, vid);
    }
    assert_int_equal(trib_accelerator_expected(device->memory, 0, 0), 3);
    close_device(device);
    return device->sums - before;
}

static void a_missing_fin__makes_the_next_operation_old(void **state)
{
    struct device device;
    (void)state;

    assert_int_equal(fin_is_missing(&device, 0, false), 0);
    assert_int_equal(fin_is_missing(&device, TRIB_PANAMA_DISCARD, false), 0); /* dropped, all of it */
    assert_int_equal(fin_is_missing(&device, 0, true), 0);
    /* Who drops what is old makes a sum of the two operations: port 0's VID 2 of the second, and the others' of the
     * first. */
    assert_int_equal(fin_is_missing(&device, TRIB_PANAMA_DISCARD, true), 1);
    assert_int_equal(device.last.packet.bitmap, 2);
}

/* Memory for 32 packets at each port, one job of 4 trees. Rank 3 is late; the others send what the cap lets them. */
static uint64_t lost_for_lack_of_memory(uint32_t readings)
{
    struct device device;

    open_device(&device, 1, 4, 32, TRIB_PANAMA_QUEUES | readings);
    for (uint32_t port = 0; port < PORTS; port++) {
        for (uint32_t tree = 0; tree < 4; tree++) {
            comes(&device, port, 0, tree, 0, 0);
        }
    }
    uint32_t cap = device.last.packet.window_cap;
    for (uint64_t vid = 1; vid <= cap; vid++) {
        for (uint32_t tree = 0; tree < 4; tree++) {
            comes(&device, 0, 0, tree, vid, 0);
        }
    }
    uint64_t full = trib_accelerator_counters(device.memory)->full;
    close_device(&device);
    return full;
}

static void the_cap__is_too_large_by_the_number_of_trees(void **state)
{
    (void)state;
    assert_int_equal(lost_for_lack_of_memory(0), 32 * 4 - 32);
    assert_int_equal(lost_for_lack_of_memory(TRIB_PANAMA_CAP_BY_TREE), 0);
}

static void accelerator__drops_what_it_cannot_take(void **state)
{
    struct trib_packet packet = {.type = TRIB_INT32, .payload_len = 6, .payload = "abcdef"};
    struct device device;
    (void)state;

    open_device(&device, 1, 1, 2, 0);
    assert_int_equal(gets(&device, 0, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = PAYLOAD + 4;
    assert_int_equal(gets(&device, 0, &packet), TRIB_DROP_SHAPE);
    assert_int_equal(comes(&device, PORTS, 0, 0, 0, 0), TRIB_DROP_SOURCE);
    assert_int_equal(comes(&device, 0, 1, 0, 0, 0), TRIB_DROP_SOURCE); /* no such job, no such tree */
    assert_int_equal(comes(&device, 0, 0, 1, 0, 0), TRIB_DROP_SOURCE);
    assert_int_equal(comes(&device, 0, 0, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(comes(&device, 0, 0, 0, 1, 0), TRIB_DROP_NONE);
    assert_int_equal(comes(&device, 0, 0, 0, 2, 0), TRIB_DROP_FULL);
    packet.payload_len = 4; /* another shape than its siblings': they cannot be added */
    for (uint32_t port = 1; port < PORTS; port++) {
        assert_int_equal(gets(&device, port, &packet), TRIB_DROP_NONE);
    }
    assert_int_equal(device.sums, 0);
    assert_int_equal(trib_accelerator_counters(device.memory)->dropped, PORTS);
    close_device(&device);
}

/* ---- figure 5 ---- */

static double real(uint64_t fixed)
{
    return (double)fixed / (double)TRIB_PANAMA_ONE;
}

static void results(struct trib_panama_window *window, uint32_t count, uint32_t marked, uint16_t cap)
{
    for (uint32_t i = 0; i < count; i++) {
        trib_panama_window_result(window, i < marked, cap);
    }
}

static void window__grows_without_marks(void **state)
{
    struct trib_panama_window window;
    (void)state;

    trib_panama_window_init(&window);
    for (uint32_t packets = 2; packets < 64; packets *= 2) {
        assert_int_equal(trib_panama_window_packets(&window), packets);
        results(&window, packets, 0, 0);
    }
    results(&window, 64, 0, 0);
    assert_int_equal(trib_panama_window_packets(&window), 65);
    results(&window, 65, 0, 66);
    assert_int_equal(trib_panama_window_packets(&window), 66);
    results(&window, 66, 0, 66);
    assert_int_equal(trib_panama_window_packets(&window), 66); /* the cap */
    results(&window, 1, 0, 5);
    assert_int_equal(trib_panama_window_packets(&window), 5);
}

/* One mark in the first two results: alpha 31/32, cwnd 2 x (1 - 31/64) = 1.03125. No number of results is ever equal to
 * that. The repaired window goes on from there. */
static void window__is_frozen_by_the_first_mark(void **state)
{
    struct trib_panama_window window;
    struct trib_congestion_tree repaired;
    (void)state;

    trib_panama_window_init(&window);
    results(&window, 2, 1, 0);
    assert_true(real(window.alpha) == 31.0 / 32);
    assert_true(real(window.cwnd) == 1.03125);
    results(&window, 10000, 0, 0);
    assert_true(real(window.cwnd) == 1.03125);
    assert_int_equal(window.rcvd, 10000);

    trib_congestion_tree_init(&repaired, 256);
    for (uint32_t i = 0; i < 10002; i++) {
        uint32_t full = trib_congestion_tree_fragments(&repaired);
        struct trib_congestion_sign sign = {.in_flight = full, .allowed = full, .is_marked = i == 0, .is_full = true};
        trib_congestion_tree_result(&repaired, &sign);
    }
    assert_in_range(trib_congestion_tree_fragments(&repaired), 100, 256);
}

/* A cap that falls below what was counted in this round freezes it as well, without any mark. */
static void window__is_frozen_by_a_cap(void **state)
{
    struct trib_panama_window window;
    (void)state;

    trib_panama_window_init(&window);
    results(&window, 2 + 4 + 8 + 16 + 10, 0, 100);
    assert_int_equal(trib_panama_window_packets(&window), 32);
    results(&window, 1, 0, 10);
    results(&window, 1000000, 0, 100);
    assert_int_equal(trib_panama_window_packets(&window), 10);
}

/* ecn_count is never set back: rounds without a mark shrink the window as well, and alpha, a share, exceeds 1. */
static void window__never_forgets_a_mark(void **state)
{
    struct trib_panama_window window;
    (void)state;

    trib_panama_window_init(&window);
    results(&window, 2, 2, 0);
    assert_true(real(window.cwnd) == 1);
    results(&window, 1, 0, 0);
    assert_true(real(window.alpha) == 15.0 / 16 + 2.0 / 16);
    assert_true(real(window.cwnd) == 0.46875);
    assert_int_equal(trib_panama_window_packets(&window), 1);
}

/* Any VID at any port: the rules come to an end, and nothing is given out more often than it came in and a port has
 * room. */
static void accelerator__ends_whatever_comes(void **state)
{
    struct trib_prng prng = {.state = 11};
    (void)state;

    for (uint32_t readings = 0; readings < 16; readings++) {
        struct device device;
        open_device(&device, 1, 2, 8, readings);
        for (uint32_t i = 0; i < 20000; i++) {
            uint64_t vid = trib_prng_next(&prng) >> (trib_prng_chance(&prng, 0.02) ? 0 : 61);
            uint32_t port = (uint32_t)trib_prng_below(&prng, PORTS), tree = (uint32_t)trib_prng_below(&prng, 2);
            (void)comes(&device, port, 0, tree, vid, trib_prng_chance(&prng, 0.1) ? TRIB_FLAG_FIN : 0);
        }
        assert_in_range(device.sums + device.misses, 0, 20000 * 9);
        close_device(&device);
    }
}

/* ---- partial aggregation ---- */

static const struct trib_accelerator_config one_spare = {
    .jobs = 1, .trees = 1, .room = 8, .readings = TRIB_PANAMA_QUEUES, .spare = 1, .may_lack = 1};

static void partial__waits_for_no_more_than_its_share(void **state)
{
    struct device device;
    (void)state;

    open_lacking(&device, &one_spare);
    comes(&device, 0, 0, 0, 0, 0);
    comes(&device, 3, 0, 0, 0, TRIB_FLAG_ECN);
    assert_int_equal(device.sums, 0);
    comes(&device, 1, 0, 0, 0, 0);
    assert_int_equal(device.sums, 1);
    assert_int_equal(payload_value(&device.last), 0 + 1 + 3);
    assert_int_equal(device.last.packet.contributors, 3);
    assert_int_equal(device.last.packet.lane, 0x01000101);
    comes(&device, 2, 0, 0, 0, TRIB_FLAG_ECN); /* in vain, and its mark too */
    assert_int_equal(trib_accelerator_waiting(device.memory, 2), 0);
    come_but(&device, 0, 1);
    assert_int_equal(device.sums, 2);
    assert_int_equal(device.last.packet.flags, 0);
    assert_int_equal(payload_value(&device.last), 300 + 1 + 2 + 3);
    const struct trib_accelerator_counters *counters = trib_accelerator_counters(device.memory);
    assert_int_equal(counters->late, 1);
    assert_int_equal(counters->lead, 1);
    assert_int_equal(counters->lacking, 2);
    assert_int_equal(counters->absent[2], 1);
    assert_int_equal(counters->absent[0], 1);
    close_device(&device);
}

/* A port has memory for 8, and others are 1,000 ahead. */
static void partial__is_ahead_without_limit(void **state)
{
    struct device device;
    (void)state;

    open_lacking(&device, &one_spare);
    for (uint64_t vid = 0; vid < 1000; vid++) {
        come_but(&device, 3, vid);
        assert_int_equal(device.sums, vid + 1);
    }
    comes(&device, 3, 0, 0, 0, 0);
    assert_int_equal(trib_accelerator_counters(device.memory)->lead, 1000);
    assert_int_equal(trib_accelerator_counters(device.memory)->absent[3], 1000);
    assert_int_equal(trib_accelerator_counters(device.memory)->full, 0);
    close_device(&device);
}

/* What is late by more than its operation is taken for a part of the next: VIDs begin anew, and nothing else says which
 * operation a packet is of. */
static void partial__sums_late_packets_into_the_next_operation(void **state)
{
    struct device device;
    (void)state;

    open_lacking(&device, &one_spare);
    for (uint64_t vid = 0; vid < 2; vid++) {
        for (uint32_t port = 0; port < 3; port++) {
            comes(&device, port, 0, 0, vid, vid == 1 ? TRIB_FLAG_FIN : 0);
        }
    }
    assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 0);
    comes(&device, 3, 0, 0, 0, 0); /* of the first operation */
    comes(&device, 0, 0, 0, 0, 0);
    comes(&device, 1, 0, 0, 0, 0);
    assert_int_equal(device.sums, 3);
    assert_int_equal(payload_value(&device.last), 0 + 1 + 3);
    comes(&device, 2, 0, 0, 0, 0);
    assert_int_equal(trib_accelerator_counters(device.memory)->late, 1); /* the one that belonged there */
    close_device(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accelerator__adds_heads_with_the_expected_vid),
        cmocka_unit_test(accelerator__sums_have_the_same_bits_in_any_order),
        cmocka_unit_test(accelerator__says_the_smallest_cap),
        cmocka_unit_test(one_fifo__two_jobs_in_opposite_order_wait_for_ever),
        cmocka_unit_test(one_fifo__two_trees_in_opposite_order_wait_for_ever),
        cmocka_unit_test(one_fifo__serves_jobs_in_one_order),
        cmocka_unit_test(a_loss__drops_its_siblings),
        cmocka_unit_test(a_loss__is_a_gap_at_the_accelerator_above),
        cmocka_unit_test(miss__goes_up_in_the_sums_place),
        cmocka_unit_test(a_duplicate__makes_the_expected_vid_run_away),
        cmocka_unit_test(a_missing_fin__makes_the_next_operation_old),
        cmocka_unit_test(the_cap__is_too_large_by_the_number_of_trees),
        cmocka_unit_test(accelerator__drops_what_it_cannot_take),
        cmocka_unit_test(window__grows_without_marks),
        cmocka_unit_test(window__is_frozen_by_the_first_mark),
        cmocka_unit_test(window__is_frozen_by_a_cap),
        cmocka_unit_test(window__never_forgets_a_mark),
        cmocka_unit_test(accelerator__ends_whatever_comes),
        cmocka_unit_test(partial__waits_for_no_more_than_its_share),
        cmocka_unit_test(partial__is_ahead_without_limit),
        cmocka_unit_test(partial__sums_late_packets_into_the_next_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
