/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_reference.c: the simulator's engine against the slow one of sim_reference.h: on hundreds of small worlds
 * every packet arrives at every link at the same picosecond, in the same order, with the same mark, or is dropped by
 * both; also where switches share a buffer among ports, and where they stop each other (PFC). */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "sim/network/gates.h"
#include "sim/run.h"
#include "unit/sim_reference.h"

#define WORLDS 400
#define SHARED_WORLDS 300

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
        .value = p->kind == REF_FRAME ? p->value : 0,
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
        .flows = {.packet = 1500,
                  .header = 40,
                  .ack = 64,
                  .window = 1 + (uint32_t)trib_prng_below(&prng, 64),
                  .policy = TRIB_CONGESTION_DCTCP},
    };
    draw_topology(&s->topology, &prng);
    draw_traffic(s, &prng);
}

/* A switch's memory: the headrooms of the one with most of them, and so much to share. */
static uint64_t shared_of(const struct sim_topology *t, uint64_t shared)
{
    static struct sim_network n;
    uint64_t headrooms = 0;

    assert_true(sim_topology_build(t, &n));
    for (uint32_t i = n.hosts; i < n.nodes; i++) {
        headrooms = n.gates->pools[i].headrooms > headrooms ? n.gates->pools[i].headrooms : headrooms;
    }
    sim_network_deinit(&n);
    return headrooms + shared;
}

static void draw_buffers(struct sim_topology *t, uint64_t seed)
{
    static const uint64_t shares[] = {1500, 8000, 40000, 400000};
    static const uint64_t xoffs[] = {1, 1500, 6000, 50000};
    static const uint64_t headrooms[] = {0, 0, 0, 0, 1000, 4000};
    static const uint64_t below[] = {0, 1, 3000};
    static const uint32_t alphas[][2] = {{1, 8}, {1, 1}, {1, 3}, {2, 1}, {8, 1}};
    struct trib_prng prng = {.state = trib_mix64(seed)};
    uint64_t alpha = trib_prng_below(&prng, 5);

    t->buffer_bytes = SIM_NEVER;
    t->buffers = (struct sim_buffers_config){
        .is_lossless = trib_prng_below(&prng, 4) != 0,
        .below_bytes = one_of(&prng, below, 3),
        .alpha_of = alphas[alpha][0],
        .alpha_by = alphas[alpha][1],
    };
    uint64_t shared = one_of(&prng, shares, 4);
    if (!t->buffers.is_lossless) {
        t->buffers.shared_bytes = shared;
        return;
    }
    t->buffers.headroom_bytes = one_of(&prng, headrooms, 6);
    t->buffers.xoff_bytes = trib_prng_below(&prng, 2) != 0 ? one_of(&prng, xoffs, 4) : 0;
    if (t->buffers.xoff_bytes == 0 || trib_prng_below(&prng, 2) != 0) {
        t->buffers.shared_bytes = shared_of(t, shared);
    }
}

/* So much of the rest as hosts and headrooms need: by rate and delay, in words of buffers.h. */
static void make_buffers(struct ref_engine *e, const struct sim_buffers_config *c)
{
    if (!sim_buffers_are_any(c)) {
        return;
    }
    e->mode = c->is_lossless ? REF_LOSSLESS : REF_LOSSY;
    e->shared = c->shared_bytes != 0 ? c->shared_bytes : UINT64_MAX;
    e->xoff = c->xoff_bytes;
    e->below = c->below_bytes;
    e->of = c->alpha_of;
    e->by = c->alpha_by;
    for (uint32_t i = 0; i < e->link_count; i++) {
        struct ref_link *link = &e->links[i];
        for (uint32_t k = 0; k < e->link_count; k++) {
            link->opposite = e->links[k].from == link->to && e->links[k].to == link->from ? k : link->opposite;
        }
        if (link->to >= e->hosts && c->is_lossless) {
            double on_way = 2 * (double)link->delay * (double)link->rate / 8e12;
            link->headroom = c->headroom_bytes != 0 ? c->headroom_bytes : (uint64_t)ceil(on_way) + 3 * 1500 + 64;
        }
    }
}

static struct ref_engine make_reference(const struct sim_run *run, const uint32_t *salts)
{
    const struct sim_topology *t = &run->scenario->topology;
    const struct sim_network *n = &run->network;
    struct ref_engine e = {.link_count = n->link_count, .nodes = n->nodes, .hosts = n->hosts, .salts = salts};

    e.links = calloc(n->link_count, sizeof *e.links);
    for (uint32_t i = 0; i < n->link_count; i++) {
        bool is_edge = n->fabric.from[i] < n->hosts || n->links[i].to < n->hosts;
        bool is_nic = n->fabric.from[i] < n->hosts;
        e.links[i] = (struct ref_link){
            .from = n->fabric.from[i],
            .to = n->links[i].to,
            .rate = is_edge ? t->edge.rate_bps : t->fabric.rate_bps,
            .delay = is_edge ? t->edge.delay_ps : t->fabric.delay_ps,
            .mark = is_nic ? SIM_NEVER : t->mark_bytes,
            .limit = is_nic ? SIM_NEVER : t->buffer_bytes,
        };
    }
    make_buffers(&e, &t->buffers);
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
        assert_int_equal(r->hops.steps[i].value, e->trace.steps[i].kind == REF_FRAME ? e->trace.steps[i].value : 0);
    }
}

/* What all worlds did together. */
struct sums {
    uint64_t hops, marks, dropped, frames, overflowed, lossless;
};

static void record_run(struct sim_run *run, struct record *r)
{
    r->inner = run->network.receiver;
    run->network.receiver.arrived = on_arrived;
    run->network.receiver.timer = on_timer;
    run->network.receiver.dropped = on_dropped;
    run->network.receiver.soon = run->network.receiver.sooner = NULL;
    run->network.receiver.sent = on_sent;
    run->network.receiver.hop = on_hop;
    run->network.receiver.user = r;
}

static void add_sums(struct sums *sums, const struct sim_network *n, const struct record *r)
{
    sums->hops += r->hops.count;
    sums->dropped += n->dropped;
    for (uint32_t i = 0; i < n->link_count; i++) {
        sums->marks += n->links[i].marked;
    }
    sums->frames += n->gates != NULL ? n->gates->frames : 0;
    sums->overflowed += n->gates != NULL && n->gates->config.is_lossless ? n->gates->overflowed : 0;
    sums->lossless += n->gates != NULL && n->gates->config.is_lossless && n->gates->overflowed == 0;
}

static void one_world(uint64_t seed, bool is_shared, struct sums *sums)
{
    static struct sim_scenario scenario;
    static struct sim_run run;
    struct record r = {.network = &run.network};

    draw_world(&scenario, seed);
    if (is_shared) {
        scenario.duration_ps /= 2;
        draw_buffers(&scenario.topology, seed);
    }
    assert_true(sim_run_init(&run, &scenario, NULL));
    record_run(&run, &r);
    while (sim_run_advance(&run, 50000)) { /* the check walks over all packets; what is lost once stays lost */
        assert_null(sim_run_check(&run));
    }
    assert_null(sim_run_check(&run));
    uint32_t *salts = malloc(run.network.nodes * sizeof *salts);
    for (uint32_t i = 0; i < run.network.nodes; i++) {
        salts[i] = run.network.routes[i].salt;
    }
    struct ref_engine e = make_reference(&run, salts);
    ref_run(&e, &r.sent);
    compare(&e, &r, &run);
    add_sums(sums, &run.network, &r);
    ref_free(&e);
    free(salts);
    free(r.sent.steps);
    free(r.hops.steps);
    sim_run_deinit(&run);
}

static void run__is_the_reference_s(void **state)
{
    struct sums sums = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        one_world(seed, false, &sums);
    }
    print_message("%u worlds, %lu hops, %lu marked, %lu dropped\n", WORLDS, (unsigned long)sums.hops,
                  (unsigned long)sums.marks, (unsigned long)sums.dropped);
    assert_true(sums.hops > 100000 && sums.marks > 1000 && sums.dropped > 1000);
}

static void shared_run__is_the_reference_s(void **state)
{
    struct sums sums = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= SHARED_WORLDS; seed++) {
        one_world(seed, true, &sums);
    }
    print_message(
        "%u worlds, %lu hops, %lu marked, %lu dropped, %lu of them although there is PFC, %lu frames of it; %lu "
        "worlds lost nothing by it\n",
        SHARED_WORLDS, (unsigned long)sums.hops, (unsigned long)sums.marks, (unsigned long)sums.dropped,
        (unsigned long)sums.overflowed, (unsigned long)sums.frames, (unsigned long)sums.lossless);
    assert_true(sums.hops > 100000 && sums.marks > 1000 && sums.dropped > 1000 && sums.overflowed > 100);
    assert_true(sums.frames > 10000 && sums.lossless > SHARED_WORLDS / 3);
}

int main(void)
{
    /* The kernel would get the memory of each world back, and clear it anew. */
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__is_the_reference_s),
        cmocka_unit_test(shared_run__is_the_reference_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
