/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c: see traffic.h. A source's timer has its number. Read next: flows.c. */
#include "sim/traffic/traffic.h"

#include <stdlib.h>

#include "core/lane.h"

static const char *const names[SIM_TRAFFIC_COUNT] = {"none", "permutation", "incast", "poisson", "trace"};

const char *sim_traffic_name(enum sim_traffic_kind kind)
{
    return names[kind];
}

static uint64_t whole_ps(double ps)
{
    return ps < 0x1p62 ? (uint64_t)ps : SIM_NEVER;
}

static void set_timer(struct sim_source *s, uint64_t due_ps)
{
    sim_timer_set(&s->flows->network->events, s->timer, due_ps);
}

/* Poisson: draws the start of the next flow. */
static void draw_next(struct sim_source *s)
{
    s->due_ps += sim_draw_exponential(&s->prng) * s->gap_ps;
    uint64_t due_ps = whole_ps(s->due_ps);
    set_timer(s, due_ps <= s->traffic.stop_ps ? due_ps : SIM_NEVER);
}

static void init_poisson(struct sim_source *s)
{
    const struct sim_traffic *t = &s->traffic;
    double mean = t->sizes != NULL ? sim_sizes_mean(t->sizes) : (double)t->bytes;
    double bits = t->load * (double)t->rate_bps * s->flows->network->hosts; /* per second */

    s->gap_ps = 8 * mean / bits * 1e12;
    s->due_ps = (double)t->start_ps;
    draw_next(s);
}

void sim_source_init(struct sim_source *s, const struct sim_traffic *traffic, struct sim_flows *flows, uint64_t seed,
                     uint32_t number)
{
    *s = (struct sim_source){
        .traffic = *traffic,
        .flows = flows,
        .prng = {.state = trib_mix64(trib_mix64(seed) + number)},
        .number = number,
        .timer = number,
    };
    if (traffic->kind == SIM_POISSON) {
        init_poisson(s);
    } else if (traffic->kind == SIM_TRACE) {
        set_timer(s, traffic->trace_count != 0 ? traffic->trace[0].start_ps : SIM_NEVER);
    } else {
        set_timer(s, traffic->start_ps);
    }
}

static void start(struct sim_source *s, uint32_t from, uint32_t to, uint64_t bytes)
{
    struct sim_flow_plan plan = {
        .bytes = bytes,
        .from = from,
        .to = to,
        .source = s->number,
        .hash = (uint32_t)trib_prng_next(&s->prng),
    };

    (void)sim_flows_start(s->flows, &plan);
}

/* One cycle through all hosts (Sattolo), so no host sends to itself. */
static void permutation(struct sim_source *s)
{
    uint32_t hosts = s->flows->network->hosts;
    uint32_t *to = malloc(hosts * sizeof *to);

    TRIB_ASSERT(to != NULL);
    for (uint32_t i = 0; i < hosts; i++) {
        to[i] = i;
    }
    for (uint32_t i = hosts - 1; i > 0; i--) {
        uint32_t j = (uint32_t)trib_prng_below(&s->prng, i);
        uint32_t other = to[i];
        to[i] = to[j];
        to[j] = other;
    }
    for (uint32_t i = 0; i < hosts; i++) {
        start(s, i, to[i], s->traffic.bytes);
    }
    free(to);
    s->done++;
}

/* The senders are evenly spaced among the other hosts, counted from the receiver. */
static void incast(struct sim_source *s)
{
    const struct sim_traffic *t = &s->traffic;
    uint64_t others = s->flows->network->hosts - 1;

    for (uint64_t i = 0; i < t->fan_in; i++) {
        uint64_t step = 1 + i * others / t->fan_in;
        start(s, (uint32_t)((t->to + step) % s->flows->network->hosts), t->to, t->bytes);
    }
    if (++s->done < t->repeat) {
        set_timer(s, t->start_ps + s->done * t->period_ps);
    }
}

static void poisson(struct sim_source *s)
{
    const struct sim_traffic *t = &s->traffic;
    uint32_t hosts = s->flows->network->hosts;
    uint32_t from = (uint32_t)trib_prng_below(&s->prng, hosts);
    uint32_t to = (uint32_t)trib_prng_below(&s->prng, hosts - 1);
    uint64_t bytes = t->sizes != NULL ? sim_sizes_draw(t->sizes, &s->prng) : t->bytes;

    if (bytes >= t->least && (t->below == 0 || bytes < t->below)) {
        start(s, from, to + (to >= from), bytes);
    } else {
        (void)trib_prng_next(&s->prng); /* a path, drawn so that the other flows do not change */
    }
    s->done++;
    draw_next(s);
}

static void trace(struct sim_source *s)
{
    const struct sim_traffic *t = &s->traffic;
    const struct sim_trace_flow *flow = &t->trace[s->done++];

    start(s, flow->from, flow->to, flow->bytes);
    set_timer(s, s->done < t->trace_count ? t->trace[s->done].start_ps : SIM_NEVER);
}

void sim_source_timer(struct sim_source *s)
{
    switch (s->traffic.kind) {
    case SIM_PERMUTATION:
        permutation(s);
        break;
    case SIM_INCAST:
        incast(s);
        break;
    case SIM_POISSON:
        poisson(s);
        break;
    case SIM_TRACE:
        trace(s);
        break;
    case SIM_TRAFFIC_NONE:
    case SIM_TRAFFIC_COUNT:
        break;
    }
}
