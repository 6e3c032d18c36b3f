/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c: flows for two simulators: draws flows on a leaf-spine network, runs them here, and prints them with the ways
 * that they took and the times that they needed, for leaf_spine.cc to do the same in ns-3.
 *
 *   flows LEAVES SPINES HOSTS COUNT SEED   COUNT flows of 1 KB to 1 MB, as many in each doubling, at 60 % load
 *   flows LEAVES SPINES HOSTS 0 SEED US    a permutation without end, for so many microseconds
 *   flows 1 1 HOSTS COUNT SEED share       COUNT flows of 4 MB, each from a host of its own, share the last host's link
 *
 * First line: leaves spines hosts packet marks buffer rate delay flows. Then per flow: from to spine spine-back bytes
 * start_ps fct_ps ideal_ps, in the order of their starts. Last line: hops marked dropped cpu_s bytes. Read next:
 * compare.py. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/lane.h"
#include "sim/run.h"

#define RATE UINT64_C(10000000000)
#define DELAY_PS UINT64_C(1000000)
#define MARKS 65U
#define BUFFER 10000U
#define LOAD 0.6
#define LEAST 1000.0
#define MOST 1000000.0
#define SHARER UINT64_C(4000000)     /* bytes of a flow that shares a link, */
#define APART_PS UINT64_C(100000000) /* and the time in which all of these begin */

struct both {
    struct sim_scenario scenario;
    struct sim_run run;
};

static void set_network(struct sim_scenario *s, uint32_t leaves, uint32_t spines, uint32_t hosts)
{
    struct sim_wire wire = {.rate_bps = RATE, .delay_ps = DELAY_PS};

    /* Headers and acknowledgements as of IPv4 and TCP in PPP. */
    s->flows = (struct sim_flows_config){
        .packet = 1500, .header = 42, .ack = 42, .window = 256, .policy = TRIB_CONGESTION_DCTCP};
    s->topology = (struct sim_topology){
        .kind = SIM_LEAF_SPINE,
        .leaves = leaves,
        .spines = spines,
        .hosts = hosts,
        .edge = wire,
        .fabric = wire,
        .mark_bytes = (uint64_t)MARKS * s->flows.packet,
        .buffer_bytes = (uint64_t)BUFFER * s->flows.packet,
        .smallest = s->flows.ack,
        .largest = s->flows.packet,
    };
    s->traffic_count = 1;
}

/* So much load that flows share links all the time, and sizes such that a percent of the flows are a few large ones. */
static void draw(struct sim_scenario *s, uint64_t count, uint32_t hosts)
{
    struct trib_prng prng = {.state = trib_mix64(s->seed)};
    double mean = (MOST - LEAST) / log(MOST / LEAST);
    double gap_ps = 8e12 * mean / (LOAD * (double)RATE * hosts);
    double at_ps = 0;
    struct sim_traffic *t = &s->traffic[0];

    *t = (struct sim_traffic){.kind = SIM_TRACE, .trace_count = count, .trace = calloc(count, sizeof *t->trace)};
    TRIB_ASSERT(t->trace != NULL);
    for (uint64_t i = 0; i < count; i++) {
        double share = (double)(trib_prng_next(&prng) >> 11) / 0x1p53;
        uint32_t from = (uint32_t)trib_prng_below(&prng, hosts);
        uint32_t to = (uint32_t)trib_prng_below(&prng, hosts - 1);
        at_ps += sim_draw_exponential(&prng) * gap_ps;
        t->trace[i] = (struct sim_trace_flow){.start_ps = (uint64_t)at_ps,
                                              .bytes = (uint64_t)(LEAST * pow(MOST / LEAST, share)),
                                              .from = from,
                                              .to = to + (to >= from)};
    }
    s->duration_ps = (uint64_t)at_ps + UINT64_C(1000000000000);
}

static int by_trace_start(const void *a, const void *b)
{
    const struct sim_trace_flow *x = a;
    const struct sim_trace_flow *y = b;

    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

static void share(struct sim_scenario *s, uint64_t count, uint32_t hosts)
{
    struct trib_prng prng = {.state = trib_mix64(s->seed)};
    struct sim_traffic *t = &s->traffic[0];

    *t = (struct sim_traffic){.kind = SIM_TRACE, .trace_count = count, .trace = calloc(count, sizeof *t->trace)};
    TRIB_ASSERT(t->trace != NULL && count < hosts);
    for (uint32_t i = 0; i < count; i++) {
        t->trace[i] = (struct sim_trace_flow){
            .start_ps = trib_prng_below(&prng, APART_PS), .bytes = SHARER, .from = i, .to = hosts - 1};
    }
    qsort(t->trace, count, sizeof *t->trace, by_trace_start);
    s->duration_ps = UINT64_C(1000000000000);
}

/* A leaf's packets to another leaf take the link to a spine second. */
static uint32_t spine_of(const struct both *b, uint32_t from, uint32_t to, uint32_t hash)
{
    const struct sim_network *n = &b->run.network;
    const struct sim_topology *t = &b->scenario.topology;
    struct sim_packet packet = {.hash = hash, .to = (uint16_t)to};
    uint32_t links[SIM_PATH_MAX];

    return sim_network_path(n, from, &packet, links) > 2 ? n->links[links[1]].to - n->hosts - t->leaves : 0;
}

static void print_flow(const struct both *b, const struct sim_flow_plan *plan, const struct sim_flow_end *end)
{
    uint32_t there = spine_of(b, plan->from, plan->to, plan->hash);
    uint32_t back = spine_of(b, plan->to, plan->from, sim_flow_back(plan->hash));

    printf("%u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", plan->from, plan->to, there, back,
           plan->bytes, end == NULL ? 0 : end->start_ps, end == NULL ? 0 : end->end_ps - end->start_ps,
           end == NULL ? 0 : end->ideal_ps);
}

static int by_start(const void *a, const void *b)
{
    const struct sim_flow_end *x = a;
    const struct sim_flow_end *y = b;

    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

static void print_flows(struct both *b, double cpu_s)
{
    const struct sim_topology *t = &b->scenario.topology;
    struct sim_run *run = &b->run;
    uint64_t count = b->scenario.traffic[0].kind == SIM_TRACE ? run->end_count : run->flows.started;
    uint64_t marked = 0;

    printf("%u %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t->leaves, t->spines, t->hosts,
           b->scenario.flows.packet, MARKS, BUFFER, RATE, DELAY_PS, count);
    qsort(run->ends, run->end_count, sizeof *run->ends, by_start);
    for (uint64_t i = 0; i < run->end_count; i++) {
        print_flow(b, &run->ends[i].plan, &run->ends[i]);
    }
    for (uint32_t i = 0; run->end_count == 0 && i < run->flows.high; i++) {
        struct sim_flow_plan plan = sim_flow_plan(&run->flows.flows[i]);
        plan.bytes = UINT64_C(1) << 40;
        print_flow(b, &plan, NULL);
    }
    for (uint32_t i = 0; i < run->network.link_count; i++) {
        marked += run->network.links[i].marked;
    }
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %.4f %" PRIu64 "\n", run->network.hops, marked, run->network.dropped,
           cpu_s, run->flows.bytes);
}

int main(int argc, char **argv)
{
    static struct both b;
    unsigned long numbers[6] = {0};

    for (int i = 1; i < argc && i <= 6; i++) {
        numbers[i - 1] = strtoul(argv[i], NULL, 10);
    }
    bool is_endless = argc == 7 && numbers[3] == 0;
    bool is_shared = argc == 7 && strcmp(argv[6], "share") == 0;
    if ((argc != 6 && !is_endless && !is_shared) || numbers[0] * numbers[2] < 2 || numbers[1] == 0) {
        (void)fprintf(stderr, "flows LEAVES SPINES HOSTS COUNT SEED [share], or flows LEAVES SPINES HOSTS 0 SEED US\n");
        return 2;
    }
    b.scenario.seed = numbers[4];
    set_network(&b.scenario, (uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]);
    if (is_endless) {
        b.scenario.traffic[0] = (struct sim_traffic){.kind = SIM_PERMUTATION, .bytes = SIM_NEVER};
        b.scenario.duration_ps = numbers[5] * UINT64_C(1000000);
    } else if (is_shared) {
        share(&b.scenario, numbers[3], (uint32_t)(numbers[0] * numbers[2]));
    } else {
        draw(&b.scenario, numbers[3], (uint32_t)(numbers[0] * numbers[2]));
    }
    TRIB_ASSERT(sim_run_init(&b.run, &b.scenario, NULL));
    clock_t begin = clock();
    while (sim_run_advance(&b.run, UINT64_C(1000000))) {
    }
    double cpu_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    const char *fault = sim_run_check(&b.run);
    bool is_good = fault == NULL && (is_endless || b.run.end_count == numbers[3]);
    if (!is_good) {
        (void)fprintf(stderr, "flows: %s\n", fault != NULL ? fault : "some flows did not end");
    }
    print_flows(&b, cpu_s);
    free(b.scenario.traffic[0].trace);
    sim_run_deinit(&b.run);
    return is_good ? 0 : 1;
}
