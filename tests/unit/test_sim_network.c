/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_network.c: the simulated network against closed forms: store-and-forward latency, line rate, M/D/1, marks,
 * drops, routes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/traffic/sizes.h"
#include "unit/sim_by_hand.h"

/* A world whose timer sends packets at random times to host 0. */
struct source {
    struct hand_world w;
    struct trib_prng prng;
    double due_ps;
    double gap_ps;
    uint64_t to_send;
};

static void on_timer(void *user, uint32_t timer)
{
    struct source *s = user;

    if (s->to_send-- == 0) {
        return;
    }
    hand_send(&s->w, (uint32_t)trib_prng_below(&s->prng, s->w.n.hosts - 1) + 1, 0, 1500, 0);
    s->due_ps += sim_draw_exponential(&s->prng) * s->gap_ps;
    sim_timer_set(&s->w.n.events, timer, (uint64_t)s->due_ps);
}

/* Ports without limits. */
static struct sim_topology plain_network(enum sim_topology_kind kind, uint32_t hosts)
{
    struct sim_topology t = small_network(kind, hosts);

    t.buffer_bytes = t.mark_bytes = SIM_NEVER;
    return t;
}

static struct sim_topology fat_tree(uint32_t k)
{
    struct sim_topology t = plain_network(SIM_FAT_TREE, 0);

    t.k = k;
    t.fabric = (struct sim_wire){40 * GBPS, 2 * US_PS};
    return t;
}

/* Every link in turn: delay, and the whole packet at its rate. */
static void packet__takes_the_sum_of_its_links(void **state)
{
    static const struct {
        uint32_t to;
        uint64_t edge, fabric; /* links */
    } cases[] = {{1, 2, 0}, {2, 2, 2}, {4, 2, 4}, {15, 2, 4}};
    struct sim_topology t = fat_tree(4);
    struct hand_world w;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hand_open(&w, &t, NULL);
        hand_send(&w, 0, cases[i].to, 1000, 4711);
        hand_run(&w);
        uint64_t expected = cases[i].edge * (1000 * 800 + US_PS) + cases[i].fabric * (1000 * 200 + 2 * US_PS);
        assert_int_equal(w.last_ps, expected);
        sim_network_deinit(&w.n);
    }
}

/* N packets back to back: the first takes all links, each other one more packet's time. */
static void link__carries_its_rate(void **state)
{
    struct sim_topology t = plain_network(SIM_STAR, 2);
    struct hand_world w;

    (void)state;
    t.edge.rate_bps = 100 * GBPS;
    hand_open(&w, &t, NULL);
    for (uint32_t i = 0; i < 10000; i++) {
        hand_send(&w, 0, 1, 1500, 0);
    }
    hand_run(&w);
    assert_int_equal(w.last_ps, 2 * (1500 * 80 + US_PS) + 9999 * 1500 * 80);
    assert_int_equal(w.n.links[0].bytes, 15000000);
    sim_network_deinit(&w.n);
}

/* A link counts what has come over it, not what waits for it: 1.2 us for each packet, and 1 us more. */
static void link__counts_what_has_come(void **state)
{
    struct sim_topology t = plain_network(SIM_STAR, 2);
    static const struct sim_buffers_config buffers[2] = {{0}, {.shared_bytes = 1000000, .alpha_of = 8, .alpha_by = 1}};
    struct hand_world w;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) { /* the other way through the network: gates.h */
        t.buffers = buffers[i];
        hand_open(&w, &t, NULL);
        for (uint32_t packet = 0; packet < 100; packet++) {
            hand_send(&w, 0, 1, 1500, 0);
        }
        assert_int_equal(w.n.links[0].packets, 0);
        assert_false(sim_network_run(&w.n, 10 * 1200000 + US_PS, SIM_NEVER));
        assert_int_equal(w.n.links[0].packets, 10);
        assert_int_equal(w.n.links[0].bytes, 10 * 1500);
        hand_run(&w);
        assert_int_equal(w.n.links[0].bytes, 100 * 1500);
        assert_int_equal(w.n.links[0].packets + w.n.links[3].packets, w.n.hops);
        sim_network_deinit(&w.n);
    }
}

/* Two senders into one port: a limit of four packets keeps four, and marks those that find more than one packet
 * waiting. */
static void port__drops_and_marks_by_what_waits(void **state)
{
    struct sim_topology t = small_network(SIM_STAR, 9);
    struct hand_world w;

    (void)state;
    t.buffer_bytes = 4 * 1500;
    t.mark_bytes = 1500;
    hand_open(&w, &t, NULL);
    for (uint32_t host = 1; host < 9; host++) {
        hand_send(&w, host, 0, 1500, 0); /* all arrive at once */
    }
    hand_run(&w);
    assert_int_equal(w.arrived, 4);
    assert_int_equal(w.dropped, 4);
    assert_int_equal(w.marked, 2); /* waiting: 0, 1, 2, 3 packets */
    assert_int_equal(w.n.links[9].dropped, 4);
    assert_int_equal(w.n.links[9].most_ps, 3 * 1500 * 800);
    sim_network_deinit(&w.n);
}

/* Poisson arrivals of one size: the mean wait is rho / (2 (1 - rho)) packets' times (Pollaczek and Khinchine). Links
 * into the switch are a hundred times as many as the one out of it, so they hardly queue. */
static void port__waits_as_m_d_1(void **state)
{
    static const double loads[] = {0.3, 0.6, 0.8, 0.9};
    struct sim_topology t = plain_network(SIM_STAR, 401);
    const double service_ps = 1500 * 800;

    (void)state;
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        static struct source s;
        double expected = loads[i] / (2 * (1 - loads[i])) * service_ps;
        hand_open(&s.w, &t, on_timer);
        s.prng.state = 42 + i;
        s.due_ps = 0;
        s.gap_ps = service_ps / loads[i];
        s.to_send = 400000;
        sim_timer_set(&s.w.n.events, 0, 1);
        hand_run(&s.w);
        double wait = s.w.sum_ps / (double)s.w.arrived - 2 * (service_ps + (double)US_PS);
        print_message("load %.1f: mean wait %.3f us, M/D/1 %.3f us\n", loads[i], wait / 1e6, expected / 1e6);
        assert_true(fabs(wait / expected - 1) < 0.05);
        sim_network_deinit(&s.w.n);
    }
}

/* From each host to each: it arrives, over as many links as the shortest way has. */
static void routes__are_shortest(void **state)
{
    const struct sim_topology trees[] = {
        fat_tree(4),
        fat_tree(6),
        {.kind = SIM_LEAF_SPINE, .hosts = 3, .leaves = 5, .spines = 3, .edge = {GBPS, 0}, .fabric = {GBPS, 0}},
        {.kind = SIM_STAR, .hosts = 7, .edge = {GBPS, 0}, .fabric = {GBPS, 0}},
    };
    static const uint32_t each[] = {2, 3, 3, 7}; /* hosts of a switch */
    static const uint32_t pod[] = {4, 9, 15, 7};

    (void)state;
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        struct sim_network n;
        uint32_t links[SIM_PATH_MAX];
        assert_true(sim_topology_build(&trees[i], &n));
        for (uint32_t from = 0; from < n.hosts; from++) {
            for (uint32_t to = 0; to < n.hosts; to++) {
                struct sim_packet p = {.to = (uint16_t)to, .hash = from * 2654435761U + to};
                uint32_t expected = from / each[i] == to / each[i] ? 2 : from / pod[i] == to / pod[i] ? 4 : 6;
                if (from != to) {
                    assert_int_equal(sim_network_path(&n, from, &p, links), expected);
                    assert_int_equal(n.links[links[expected - 1]].to, to);
                }
            }
        }
        sim_network_deinit(&n);
    }
}

/* A dragonfly of 4 routers, 2 global cables and 2 hosts each: 9 groups, 72 hosts, 36 routers (Rina's), and no way
 * longer than local, global, local. */
static void dragonfly__is_what_it_is(void **state)
{
    struct sim_topology t = {
        .kind = SIM_DRAGONFLY, .hosts = 2, .routers = 4, .globals = 2, .edge = {GBPS, 0}, .fabric = {GBPS, 0}};
    struct sim_network n;
    uint32_t links[SIM_PATH_MAX];
    uint32_t counts[SIM_PATH_MAX] = {0};

    (void)state;
    assert_true(sim_topology_build(&t, &n));
    assert_int_equal(n.hosts, 72);
    assert_int_equal(n.nodes - n.hosts, 36);
    assert_int_equal(n.link_count, 2 * 72 + 2 * 54 + 2 * 36);
    for (uint32_t from = 0; from < n.hosts; from++) {
        for (uint32_t to = 0; to < n.hosts; to++) {
            struct sim_packet p = {.to = (uint16_t)to, .hash = from * 2654435761U + to};
            if (from != to) {
                uint32_t count = sim_network_path(&n, from, &p, links);
                assert_true(count >= 2 && count <= 5 && n.links[links[count - 1]].to == to);
                assert_true(from / 8 != to / 8 || count <= 3);
                counts[count]++;
            }
        }
    }
    assert_int_equal(counts[2], 72); /* the other host of the same router */
    assert_int_equal(counts[3],
                     72 * (6 + 2 * 2)); /* the group's other routers, and those that a global cable leads to */
    sim_network_deinit(&n);
}

/* Many flows between two pods: every way is taken by about as many, and tiers choose independently of each other. */
static void routes__spread_flows(void **state)
{
    enum { FLOWS = 160000 };
    struct sim_topology t = fat_tree(8);
    struct trib_prng prng = {.state = 5};
    uint32_t links[SIM_PATH_MAX];
    struct sim_network n;
    uint32_t *taken = NULL;

    (void)state;
    assert_true(sim_topology_build(&t, &n));
    taken = calloc(n.link_count, sizeof *taken);
    for (uint32_t i = 0; i < FLOWS; i++) {
        struct sim_packet p = {.to = 127, .hash = (uint32_t)trib_prng_next(&prng)};
        assert_int_equal(sim_network_path(&n, 0, &p, links), 6);
        for (uint32_t j = 0; j < 6; j++) {
            taken[links[j]]++;
        }
    }
    uint32_t ways = 0;
    for (uint32_t i = 0; i < n.link_count; i++) {
        if (n.links[i].to >= n.nodes - 16) { /* into a core switch: 16 ways */
            ways += taken[i] != 0;
            assert_true(taken[i] == 0 || (taken[i] > FLOWS / 16 * 95 / 100 && taken[i] < FLOWS / 16 * 105 / 100));
        }
    }
    assert_int_equal(ways, 16);
    free(taken);
    sim_network_deinit(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packet__takes_the_sum_of_its_links),
        cmocka_unit_test(link__carries_its_rate),
        cmocka_unit_test(link__counts_what_has_come),
        cmocka_unit_test(port__drops_and_marks_by_what_waits),
        cmocka_unit_test(port__waits_as_m_d_1),
        cmocka_unit_test(routes__are_shortest),
        cmocka_unit_test(dragonfly__is_what_it_is),
        cmocka_unit_test(routes__spread_flows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
