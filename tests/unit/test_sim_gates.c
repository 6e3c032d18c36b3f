/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_gates.c: shared buffers and PFC of the simulator: without limits packets go as in the plain engine; one stop
 * and go to the picosecond; nothing is lost at 64:1 with the headroom that buffers.h states, and something is with a
 * little less; deadlocks are found where there are any, and none on trees. tests/unit/test_sim_reference.c compares
 * whole worlds with another engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "core/prng.h"
#include "sim/network/gates.h"
#include "sim/scenario/scenario.h"
#include "unit/sim_by_hand.h"

/* ---- packets by hand ---- */

struct stream {
    uint32_t from, to, count;
};

/* Streams, each put into its host's port when its timer is due. */
struct world {
    struct hand_world w;
    struct stream streams[128];
};

static void on_timer(void *user, uint32_t timer)
{
    struct world *world = user;
    const struct stream *stream = &world->streams[timer];

    for (uint32_t i = 0; i < stream->count; i++) {
        hand_send(&world->w, stream->from, stream->to, 1500, 0);
    }
}

static void open_star(struct world *world, uint32_t hosts, const struct sim_buffers_config *buffers)
{
    struct sim_topology t = small_network(SIM_STAR, hosts);

    t.buffer_bytes = t.mark_bytes = SIM_NEVER;
    t.buffers = *buffers;
    hand_open(&world->w, &t, on_timer);
}

static void run_world(struct world *world)
{
    struct sim_network *n = &world->w.n;

    hand_run(&world->w);
    for (uint32_t i = 0; i < n->nodes; i++) {
        assert_int_equal(n->gates->pools[i].used, 0);
    }
    assert_int_equal(n->gates->stopped, 0);
}

/* With a threshold of a byte the first of nine packets stops the host: it comes at 2.2 us, the frame of 51.2 ns is
 * there at 3.2512, within the third packet. The last of the three leaves the switch at 5.8, the next frame is there at
 * 6.8512; so every 6.8512 us three packets are sent. */
static void stop__is_there_when_it_must_be(void **state)
{
    static const struct sim_buffers_config buffers = {.is_lossless = true, .xoff_bytes = 1};
    static struct world world;
    struct hand_world *w = &world.w;

    (void)state;
    open_star(&world, 2, &buffers);
    world.streams[0] = (struct stream){0, 1, 9};
    sim_timer_set(&w->n.events, 0, 0);
    run_world(&world);
    assert_int_equal(w->arrived, 9);
    assert_int_equal(w->last_ps, 2 * 6851200 + 3 * 1200000 + US_PS + 1200000 + US_PS);
    assert_int_equal(w->n.gates->frames, 6);
    assert_int_equal(w->n.gates->list[0].stops, 3);
    assert_int_equal(sim_gate_stopped_ps(&w->n, 0), 3 * (6851200 - 3251200));
    assert_int_equal(w->n.gates->ingress[0].over_most, 3000);
    assert_int_equal(w->n.gates->list[1].stops, 0);
    sim_network_deinit(&w->n);
}

/* 64 hosts send to one, and each gets packets all the time, so that the frame must wait; they begin at random times.
 * Returns the most that any headroom took. */
static uint32_t incast(uint64_t seed, uint64_t headroom, uint64_t *lost)
{
    struct sim_buffers_config buffers = {.is_lossless = true,
                                         .shared_bytes = 64 * 7064 + 65 * 7064 + 200000,
                                         .headroom_bytes = headroom,
                                         .below_bytes = 3000,
                                         .alpha_of = 1,
                                         .alpha_by = 8};
    static struct world world;
    struct hand_world *w = &world.w;
    struct trib_prng prng = {.state = seed};
    uint32_t most = 0;

    open_star(&world, 129, &buffers);
    for (uint32_t i = 0; i < 64; i++) {
        world.streams[i] = (struct stream){i, 128, 100};
        world.streams[64 + i] = (struct stream){64 + i, i, 400};
        sim_timer_set(&w->n.events, i, trib_prng_below(&prng, 20 * US_PS));
        sim_timer_set(&w->n.events, 64 + i, trib_prng_below(&prng, US_PS));
    }
    run_world(&world);
    assert_null(sim_gates_check(&w->n));
    for (uint32_t i = 0; i < w->n.link_count; i++) {
        most = w->n.gates->ingress[i].over_most > most ? w->n.gates->ingress[i].over_most : most;
        assert_true(w->n.gates->ingress[i].over_most <= w->n.gates->ingress[i].headroom);
    }
    *lost += w->dropped;
    sim_network_deinit(&w->n);
    return most;
}

static void incast__of_64_loses_nothing(void **state)
{
    uint32_t most = 0;
    uint64_t lost = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint32_t here = incast(seed, 0, &lost);
        most = here > most ? here : most;
    }
    print_message("of 7,064 bytes of headroom %u were used\n", most);
    assert_int_equal(lost, 0);
    assert_true(most + 1500 > 7064); /* one packet more would not be sure to fit */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        (void)incast(seed, most - 1, &lost);
    }
    assert_true(lost > 0);
}

/* ---- whole runs ---- */

static struct sim_scenario scenario;

static void read_scenario(const char *text)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    sim_scenario_free(&scenario);
    if (!sim_scenario_parse(&scenario, text, "x", NULL, error)) {
        fail_msg("%s", error);
    }
}

static void run_to_its_end(struct sim_run *run, uint64_t seed)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    scenario.seed = seed;
    if (!sim_run_init(run, &scenario, error)) {
        fail_msg("%s", error);
    }
    finish_run(run);
}

#define TREE "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define LEAVES \
    "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts = 6\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define LOAD                                                                                          \
    "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-packets\"\nload = \"60%\"\nstop = \"1ms\"\n" \
    "[[traffic]]\nkind = \"incast\"\nsize = \"50KB\"\nfan_in = 12\nrepeat = 5\nperiod = \"300us\"\n"
#define JOB "[[job]]\nscheme = \"switchml\"\nworkers = 8\nsize = \"1MB\"\niterations = 2\nplacement = \"random\"\n"

/* Of runs that have gone on until nothing was left. */
static void expect_same(const struct sim_run *a, const struct sim_run *b)
{
    assert_int_equal(a->network.hops, b->network.hops);
    assert_int_equal(a->network.hash, b->network.hash);
    assert_int_equal(a->flows.bytes, b->flows.bytes);
    for (uint32_t i = 0; i < a->network.link_count; i++) {
        assert_int_equal(a->network.links[i].bytes, b->network.links[i].bytes);
        assert_int_equal(a->network.links[i].marked, b->network.links[i].marked);
        assert_int_equal(a->network.links[i].most_ps, b->network.links[i].most_ps);
    }
}

/* A buffer that is never full: packets go as they do where ports have no limit, which is another way through the
 * program. */
static void gates__without_limits_are_plain(void **state)
{
    static struct sim_run plain;
    static struct sim_run gated;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        read_scenario("duration = \"1s\"\n" TREE "[queues]\nbuffer = \"none\"\n" LOAD JOB);
        run_to_its_end(&plain, seed);
        assert_null(plain.network.gates);
        read_scenario("duration = \"1s\"\n" TREE "[queues]\nshared = \"1GB\"\nalpha = \"128\"\n" LOAD JOB);
        run_to_its_end(&gated, seed);
        assert_non_null(gated.network.gates);
        expect_same(&plain, &gated);
        assert_true(gated.network.hops > 10000);
        sim_run_deinit(&gated);
        sim_run_deinit(&plain);
    }
}

/* Trees cannot lock up, whatever little memory they have; every flow ends, and the same seed is the same run. */
static void trees__lose_nothing_and_go_on(void **state)
{
    static const char *const queues[] = {"pfc = true\nshared = \"70KB\"\n",
                                         "pfc = true\nxoff = \"1pkt\"\nxon_below = \"1B\"\n",
                                         "pfc = true\nshared = \"500KB\"\nxoff = \"20pkt\"\necn = \"5pkt\"\n"};
    static struct sim_run run;
    static struct sim_run again;
    char text[1024];
    uint64_t stops = 0;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint64_t seed = 1; seed <= 2; seed++) {
            (void)snprintf(
                text, sizeof text, "duration = \"2s\"\n%s[queues]\n%s%s%s", seed == 1 ? TREE : LEAVES, queues[i],
                "[[traffic]]\nkind = \"permutation\"\nsize = \"200KB\"\n"
                "[[traffic]]\nkind = \"incast\"\nsize = \"50KB\"\nfan_in = 12\nrepeat = 3\nperiod = \"300us\"\n",
                "[flows]\ncongestion = \"fixed\"\nwindow = 64\n");
            read_scenario(text);
            run_to_its_end(&run, seed);
            assert_int_equal(run.flows.started, run.flows.over);
            assert_int_equal(run.network.dropped, 0);
            assert_int_equal(run.deadlock.count, 0);
            assert_int_equal(run.network.gates->stopped, 0);
            stops += run.network.gates->frames;
            run_to_its_end(&again, seed);
            expect_same(&run, &again);
            sim_run_deinit(&again);
            sim_run_deinit(&run);
        }
    }
    assert_true(stops > 1000);
}

/* Nodes of jobs send to all their children what came from one: nothing is lost by that either, nor by what adding
 * costs. */
static void jobs__lose_nothing(void **state)
{
    static const char *const queues[] = {
        "[queues]\npfc = true\nshared = \"120KB\"\n",
        "[queues]\npfc = true\nshared = \"160KB\"\n[switches]\nlatency = \"1us\"\nbypass = \"2us\"\n",
        "[queues]\nshared = \"40KB\"\n[switches]\nadd = \"leaf spine\"\nlatency = \"1us\"\n",
        "[queues]\npfc = true\nshared = \"120KB\"\n[switches]\nadd = \"spine\"\n",
        "[queues]\npfc = true\nxoff = \"3pkt\"\n[switches]\nadd = \"spine\"\nmulticast = true\n"};
    static struct sim_run run;
    char text[2048];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(
            text, sizeof text, "duration = \"50ms\"\n%s%s%s", LEAVES, queues[i],
            JOB "[[traffic]]\nkind = \"permutation\"\nsize = \"2MB\"\n"
                "[[traffic]]\nkind = \"incast\"\nsize = \"50KB\"\nfan_in = 12\nrepeat = 20\nperiod = \"100us\"\n");
        read_scenario(text);
        run_to_its_end(&run, 1);
        assert_int_equal(run.jobs.done_jobs, 1);
        assert_true(i == 2 ? run.network.dropped > 0 : run.network.dropped == 0);
        assert_true(i == 2 || run.network.gates->frames > 0);
        sim_run_deinit(&run);
    }
}

/* The headrooms fit without what bypass adds to the delays, not with it. */
static void bypass__is_in_the_headroom(void **state)
{
    static struct sim_run run;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    read_scenario("duration = \"50ms\"\n" LEAVES "[queues]\npfc = true\nshared = \"60KB\"\n" JOB
                  "[switches]\nadd = \"leaf spine\"\nbypass = \"2us\"\n");
    assert_false(sim_run_init(&run, &scenario, error));
    assert_string_equal(error, "with the bypass of switches that add, shared is less than their headrooms take");
    sim_run_deinit(&run);
}

/* A cable is cut while ports on both of its sides are stopped, and mended: nobody stays stopped by it. */
static void cut__ends_what_was_stopped(void **state)
{
    static struct sim_run run;
    uint64_t lost = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        read_scenario("duration = \"2s\"\n" LEAVES "[queues]\npfc = true\nxoff = \"2pkt\"\n"
                      "[flows]\ncongestion = \"fixed\"\nwindow = 64\n"
                      "[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n"
                      "[[traffic]]\nkind = \"incast\"\nsize = \"50KB\"\nfan_in = 12\nrepeat = 20\nperiod = \"100us\"\n"
                      "[[failure]]\nlink = \"leaf0-spine0\"\nat = \"200us\"\nuntil = \"700us\"\nreact = \"20us\"\n"
                      "[[failure]]\nlink = \"leaf1-host7\"\nat = \"300us\"\nuntil = \"301us\"\n");
        run_to_its_end(&run, seed);
        assert_int_equal(run.flows.started, run.flows.over);
        assert_int_equal(run.network.gates->stopped, 0);
        assert_int_equal(run.network.gates->overflowed, 0);
        assert_int_equal(run.network.dropped, run.network.cut_off);
        lost += run.network.cut_off;
        sim_run_deinit(&run);
    }
    assert_true(lost > 100);
}

/* A cable is cut for less than a round trip while the headroom behind it is in use: mended, it begins with its sender
 * stopped, so that nothing comes into what is left of the headroom. Before that, packets were dropped for want of
 * memory. */
static void cut__finds_its_headroom_in_use(void **state)
{
    static struct sim_run run;
    char text[1024];
    uint64_t stops = 0;

    (void)state;
    for (uint32_t at = 16500; at < 19000; at += 70) {
        (void)snprintf(text, sizeof text,
                       "duration = \"120us\"\n%s[queues]\npfc = true\nxoff = \"5KB\"\necn = \"none\"\n"
                       "[flows]\ncongestion = \"fixed\"\n%s"
                       "[[failure]]\nlink = \"host5-switch0\"\nat = \"%uns\"\nuntil = \"%uns\"\n",
                       "[topology]\nkind = \"star\"\nhosts = 65\nrate = \"10Gbps\"\ndelay = \"1us\"\n",
                       "[[traffic]]\nkind = \"incast\"\nfan_in = 64\nto = 64\nsize = \"2KB\"\nrepeat = 300\n"
                       "period = \"1us\"\n[[traffic]]\nkind = \"incast\"\nfan_in = 5\nto = 5\nsize = \"1MB\"\n",
                       at, at + 500);
        read_scenario(text);
        run_to_its_end(&run, 1);
        assert_int_equal(run.network.gates->overflowed, 0);
        assert_int_equal(run.network.dropped, run.network.cut_off);
        stops += run.network.gates->list[5].stops;
        sim_run_deinit(&run);
    }
    assert_true(stops > 36); /* some were stopped before the cut, and again */
}

/* ---- deadlocks ---- */

/* Five switches in a circle, two hosts each; the shortest way to the switch after next is over the next. */
static void make_ring(struct sim_scenario *s)
{
    struct sim_wire wire = {10 * GBPS, US_PS};
    struct sim_cable *list = calloc(15, sizeof *list);

    assert_non_null(list);
    for (uint32_t i = 0; i < 10; i++) {
        list[i] = (struct sim_cable){.ends = {i, 10 + i / 2}, .wire = wire};
    }
    for (uint32_t i = 0; i < 5; i++) {
        list[10 + i] = (struct sim_cable){.ends = {10 + i, 10 + (i + 1) % 5}, .wire = wire};
    }
    sim_scenario_free(s);
    sim_scenario_init(s);
    s->duration_ps = 100 * MS_PS;
    s->flows.policy = TRIB_CONGESTION_FIXED;
    s->topology = (struct sim_topology){
        .kind = SIM_FROM_FILE,
        .cables = {.list = list, .count = 15, .hosts = 10, .switches = 5},
        .edge = wire,
        .buffer_bytes = SIM_NEVER,
        .mark_bytes = SIM_NEVER,
        .smallest = 41,
        .largest = 1500,
        .buffers = {.is_lossless = true, .below_bytes = 3000, .shared_bytes = 300000, .alpha_of = 1, .alpha_by = 8},
    };
}

/* Every host sends to one at the switch after next. */
static void run_ring(struct sim_run *run, uint64_t bytes)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    assert_true(sim_run_init(run, &scenario, error));
    for (uint32_t i = 0; i < 10; i++) {
        struct sim_flow_plan plan = {.bytes = bytes, .from = i, .to = (i + 4) % 10, .hash = i};
        (void)sim_flows_start(&run->flows, &plan);
    }
    while (sim_run_advance(run, 100000)) {
    }
    assert_null(sim_run_check(run));
    assert_int_equal(run->network.dropped, run->network.cut_off);
}

/* All hosts at once fill the circle, with either kind of threshold: it is named, the run ends, and nothing has been
 * lost. Where less is sent than the switches hold, or the circle is cut open, there is none. */
static void circle__is_found(void **state)
{
    static struct sim_run run;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        make_ring(&scenario);
        scenario.topology.buffers.xoff_bytes = i * 30000;
        run_ring(&run, UINT64_C(20000000));
        assert_int_equal(run.deadlock.count, 5);
        assert_int_equal(run.deadlock.length, 5);
        assert_int_equal(run.deadlock.stopped, 15); /* and the hosts' ports */
        assert_int_equal(run.network.gates->stopped, 15);
        assert_true(run.deadlock.since_ps > 0 && run.deadlock.since_ps < MS_PS);
        for (uint32_t k = 0; k < 5; k++) {
            uint32_t link = run.deadlock.links[k];
            uint32_t next = run.deadlock.links[(k + 1) % 5];
            assert_int_equal(run.network.links[link].to, run.network.fabric.from[next]);
            assert_true(run.network.fabric.from[link] >= 10 && run.network.links[link].to >= 10);
        }
        assert_true(sim_run_now(&run) < scenario.duration_ps);
        sim_run_deinit(&run);
    }
}

/* The circle is cut open, later than a deadlock would be told: it moves again. Mended, it may close for good. */
static void circle__that_is_cut_open_is_not_one(void **state)
{
    static struct sim_run run;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        make_ring(&scenario);
        scenario.failure_count = 1;
        scenario.failures[0] = (struct sim_failure){.link = 20, .at_ps = 4 * MS_PS, .until_ps = SIM_NEVER};
        scenario.failures[0].at_ps += i * scenario.duration_ps; /* never, here */
        run_ring(&run, UINT64_C(2000000));
        assert_int_equal(run.deadlock.count != 0, i);
        assert_true(i == 1 || run.flows.over == 10);
        assert_true(i == 0 || sim_run_now(&run) < 2 * MS_PS);
        sim_run_deinit(&run);
    }
}

static void circle__that_moves_is_not_one(void **state)
{
    static struct sim_run run;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        make_ring(&scenario);
        scenario.topology.cables.count -= i; /* a row */
        run_ring(&run, i == 0 ? 10000 : 2000000);
        assert_int_equal(run.deadlock.count, 0);
        assert_int_equal(run.flows.over, 10);
        assert_int_equal(run.network.gates->stopped, 0);
        assert_true(i == 0 || run.network.gates->frames > 100);
        sim_run_deinit(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop__is_there_when_it_must_be),
        cmocka_unit_test(incast__of_64_loses_nothing),
        cmocka_unit_test(gates__without_limits_are_plain),
        cmocka_unit_test(trees__lose_nothing_and_go_on),
        cmocka_unit_test(jobs__lose_nothing),
        cmocka_unit_test(bypass__is_in_the_headroom),
        cmocka_unit_test(cut__ends_what_was_stopped),
        cmocka_unit_test(cut__finds_its_headroom_in_use),
        cmocka_unit_test(circle__is_found),
        cmocka_unit_test(circle__that_is_cut_open_is_not_one),
        cmocka_unit_test(circle__that_moves_is_not_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
