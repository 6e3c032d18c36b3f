/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_reference.c: the simulator's engine against the slow one of sim_reference.h: on hundreds of small worlds every packet
 * arrives at every link at the same picosecond, in the same order, with the same mark, or is dropped by both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "sim/run.h"
#include "unit/sim_reference.h"

#define WORLDS 400

struct record {
    struct sim_network *network;
    struct ref_steps sent;
    struct ref_steps hops;
    struct sim_receiver inner;
};

static struct ref_step step_of(const struct record *r, uint32_t link, uint32_t packet)
{
    const struct sim_packet *p = &r->network->packets[packet];

    return (struct ref_step){
        .time = sim_network_now(r->network),
        .link = link,
        .owner = p->owner,
        .sequence = p->sequence,
        .hash = p->hash,
        .to = p->to,
        .size = p->size,
        .kind = p->kind,
        .flags = p->flags,
    };
}

static void on_sent(void *user, uint32_t host, uint32_t packet)
{
    struct record *r = user;

    ref_add(&r->sent, step_of(r, host, packet));
}

static void on_hop(void *user, uint32_t link, uint32_t packet)
{
    struct record *r = user;

    ref_add(&r->hops, step_of(r, link, packet));
}

static void on_arrived(void *user, uint32_t packet)
{
    struct record *r = user;

    r->inner.arrived(r->inner.user, packet);
}

static void on_timer(void *user, uint32_t timer)
{
    struct record *r = user;

    r->inner.timer(r->inner.user, timer);
}

static void on_dropped(void *user, uint32_t packet)
{
    struct record *r = user;

    r->inner.dropped(r->inner.user, packet);
}

/* ---- worlds ---- */

static uint64_t one_of(struct trib_prng *prng, const uint64_t *values, uint64_t count)
{
    return values[trib_prng_below(prng, count)];
}

static void draw_topology(struct sim_topology *t, struct trib_prng *prng)
{
    static const uint64_t rates[] = {UINT64_C(1000000000), UINT64_C(10000000000), UINT64_C(40000000000),
                                     UINT64_C(100000000000)};
    static const uint64_t delays[] = {0, 100000, 1000000, 1234567, 30000000};
    static const uint64_t buffers[] = {1500, 6000, 30000, 300000, SIM_NEVER};
    static const uint64_t marks[] = {0, 1500, 15000, SIM_NEVER};

    t->kind = (enum sim_topology_kind)(1 + trib_prng_below(prng, SIM_FROM_FILE - 1));
    t->k = 4;
    t->routers = 1 + (uint32_t)trib_prng_below(prng, 3);
    t->globals = 1 + (uint32_t)trib_prng_below(prng, 2);
    t->leaves = 2 + (uint32_t)trib_prng_below(prng, 3);
    t->spines = 1 + (uint32_t)trib_prng_below(prng, 3);
    t->hosts = 2 + (uint32_t)trib_prng_below(prng, 4);
    t->edge = (struct sim_wire){one_of(prng, rates, 4), one_of(prng, delays, 5)};
    t->fabric = (struct sim_wire){one_of(prng, rates, 4), one_of(prng, delays, 5)};
    t->buffer_bytes = one_of(prng, buffers, 5);
    t->mark_bytes = one_of(prng, marks, 4);
    t->smallest = 41;
    t->largest = 1500;
    if (t->kind == SIM_CLOS) {
        t->pods = 2 + (uint32_t)trib_prng_below(prng, 2);
        t->hosts = 4;
        t->edges = 2;
        t->fabric.rate_bps = t->edge.rate_bps;
        t->ratio = (struct sim_ratio){1U << trib_prng_below(prng, 3), 1};
        t->core_ratio = (struct sim_ratio){1 + (uint32_t)trib_prng_below(prng, 2), 1};
    }
}

static void draw_traffic(struct sim_scenario *s, struct trib_prng *prng)
{
    uint32_t hosts = sim_topology_size(&s->topology).hosts;

    s->traffic_count = 1 + (uint32_t)trib_prng_below(prng, 3);
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        s->traffic[i] = (struct sim_traffic){
            .kind = (enum sim_traffic_kind)(SIM_PERMUTATION + trib_prng_below(prng, 3)),
            .fan_in = 1 + (uint32_t)trib_prng_below(prng, hosts - 1),
            .to = (uint32_t)trib_prng_below(prng, hosts),
            .repeat = 1 + (uint32_t)trib_prng_below(prng, 3),
            .bytes = 1 + trib_prng_below(prng, 30000),
            .load = 0.5,
            .rate_bps = s->topology.edge.rate_bps,
            .start_ps = trib_prng_below(prng, 2) * 1000000,
            .stop_ps = SIM_NEVER - 1,
            .period_ps = UINT64_C(50000000),
        };
    }
}

static void draw_world(struct sim_scenario *s, uint64_t seed)
{
    struct trib_prng prng = {.state = seed};

    *s = (struct sim_scenario){
        .seed = seed,
        .duration_ps = UINT64_C(300000000),
        .flows = {1500, 40, 64, 1 + (uint32_t)trib_prng_below(&prng, 64), TRIB_CONGESTION_DCTCP},
    };
    draw_topology(&s->topology, &prng);
    draw_traffic(s, &prng);
}

static struct ref_engine make_reference(const struct sim_run *run, const uint32_t *salts)
{
    const struct sim_topology *t = &run->scenario->topology;
    const struct sim_network *n = &run->network;
    struct ref_engine e = {.link_count = n->link_count, .nodes = n->nodes, .hosts = n->hosts, .salts = salts};

    e.links = calloc(n->link_count, sizeof *e.links);
    for (uint32_t i = 0; i < n->link_count; i++) {
        bool is_edge = n->from[i] < n->hosts || n->links[i].to < n->hosts;
        bool is_nic = n->from[i] < n->hosts;
        e.links[i] = (struct ref_link){
            .from = n->from[i],
            .to = n->links[i].to,
            .rate = is_edge ? t->edge.rate_bps : t->fabric.rate_bps,
            .delay = is_edge ? t->edge.delay_ps : t->fabric.delay_ps,
            .mark = is_nic ? SIM_NEVER : t->mark_bytes,
            .limit = is_nic ? SIM_NEVER : t->buffer_bytes,
        };
    }
    ref_search(&e);
    return e;
}

static void compare(const struct ref_engine *e, const struct record *r, const struct sim_run *run)
{
    size_t count = 0;

    /* The reference goes on until all has arrived: what the run had no time for is behind its end. */
    while (count < e->trace.count && e->trace.steps[count].time <= run->scenario->duration_ps) {
        count++;
    }
    assert_int_equal(r->hops.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(r->hops.steps[i].time, e->trace.steps[i].time);
        assert_int_equal(r->hops.steps[i].link, e->trace.steps[i].link);
        assert_int_equal(r->hops.steps[i].owner, e->trace.steps[i].owner);
        assert_int_equal(r->hops.steps[i].sequence, e->trace.steps[i].sequence);
        assert_int_equal(r->hops.steps[i].kind, e->trace.steps[i].kind);
        assert_int_equal(r->hops.steps[i].flags, e->trace.steps[i].flags);
    }
}

/* Returns how many packets were dropped, so that the test can say that some were. */
static uint64_t one_world(uint64_t seed, uint64_t *hops, uint64_t *marks)
{
    static struct sim_scenario scenario;
    static struct sim_run run;
    struct record r = {.network = &run.network};

    draw_world(&scenario, seed);
    assert_true(sim_run_init(&run, &scenario, NULL));
    r.inner = run.network.receiver;
    run.network.receiver.arrived = on_arrived;
    run.network.receiver.timer = on_timer;
    run.network.receiver.dropped = on_dropped;
    run.network.receiver.soon = run.network.receiver.sooner = NULL;
    run.network.receiver.sent = on_sent;
    run.network.receiver.hop = on_hop;
    run.network.receiver.user = &r;
    while (sim_run_advance(&run, 1000)) {
    }
    assert_null(sim_run_check(&run));
    uint32_t *salts = malloc(run.network.nodes * sizeof *salts);
    for (uint32_t i = 0; i < run.network.nodes; i++) {
        salts[i] = run.network.routes[i].salt;
    }
    struct ref_engine e = make_reference(&run, salts);
    ref_run(&e, &r.sent);
    compare(&e, &r, &run);
    uint64_t dropped = run.network.dropped;
    *hops += r.hops.count;
    for (uint32_t i = 0; i < run.network.link_count; i++) {
        *marks += run.network.links[i].marked;
    }
    ref_free(&e);
    free(salts);
    free(r.sent.steps);
    free(r.hops.steps);
    sim_run_deinit(&run);
    return dropped;
}

static void run__is_the_reference_s(void **state)
{
    uint64_t dropped = 0;
    uint64_t hops = 0;
    uint64_t marks = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        dropped += one_world(seed, &hops, &marks);
    }
    print_message("%u worlds, %lu hops, %lu marked, %lu dropped\n", WORLDS, (unsigned long)hops, (unsigned long)marks,
                  (unsigned long)dropped);
    assert_true(hops > 100000 && marks > 1000 && dropped > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__is_the_reference_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
