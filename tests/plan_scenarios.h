/* SPDX-License-Identifier: Apache-2.0 */
/* plan_scenarios.h: scenarios of the simulator with jobs to plan, drawn from a seed: networks of several kinds with
 * unequal links, in which not all switches add. For tests and measurements of plans in the simulator. */
#ifndef TRIB_TESTS_PLAN_SCENARIOS_H
#define TRIB_TESTS_PLAN_SCENARIOS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/prng.h"
#include "plan/make.h"
#include "plan/simulated.h"

#define SCENARIO_TEXT_MAX 16384U
#define SCENARIO_HOPS UINT64_C(10000000) /* of a call */
#define SCENARIO_ODD_MAX 24U

struct drawn_scenario {
    struct trib_prng prng;
    char text[SCENARIO_TEXT_MAX];
    size_t len;
    uint32_t hosts;      /* of the network */
    const char *tier[3]; /* names; NULL: none */
    uint32_t k;          /* of a fat tree; 0: drawn */
    double over;         /* hosts' rate to that of links up */
};

__attribute__((format(printf, 2, 3))) static inline void scenario_say(struct drawn_scenario *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    d->len += (size_t)vsnprintf(d->text + d->len, sizeof d->text - d->len, format, arguments);
    va_end(arguments);
    if (d->len >= sizeof d->text) {
        abort();
    }
}

static inline uint32_t scenario_draw(struct drawn_scenario *d, uint32_t low, uint32_t high)
{
    return low + (uint32_t)trib_prng_below(&d->prng, high - low + 1);
}

/* A cable with a quarter to nine tenths of its rate, 0: with all of it. */
static inline void scenario_cable(struct drawn_scenario *d, const char *a, uint32_t i, const char *b, uint32_t k,
                                  uint32_t mbps)
{
    scenario_say(d, "[[link]]\nlink = \"%s%u-%s%u\"\nrate = \"%uMbps\"\n", a, i, b, k,
                 (uint32_t)((double)mbps * scenario_draw(d, 25, 90) / 100));
}

/* Of a leaf's hosts times their rate to the rate up, as `over` says. */
static inline void scenario_leaf_spine(struct drawn_scenario *d)
{
    uint32_t leaves = scenario_draw(d, 3, 8), spines = scenario_draw(d, 1, 4), each = scenario_draw(d, 4, 8);
    uint32_t mbps = (uint32_t)(each * 25000 / d->over / spines), odd = 0;
    scenario_say(d,
                 "[topology]\nkind = \"leaf-spine\"\nleaves = %u\nspines = %u\nhosts = %u\nrate = \"25Gbps\"\n"
                 "fabric_rate = \"%uMbps\"\ndelay = \"1us\"\n",
                 leaves, spines, each, mbps);
    for (uint32_t l = 0; l < leaves; l++) {
        for (uint32_t s = 0; s < spines; s++) {
            if (odd < SCENARIO_ODD_MAX && trib_prng_chance(&d->prng, 0.3)) {
                scenario_cable(d, "leaf", l, "spine", s, mbps);
                odd++;
            }
        }
    }
    d->hosts = leaves * each;
    d->tier[0] = "leaf";
    d->tier[1] = "spine";
}

static inline void scenario_fat_tree(struct drawn_scenario *d)
{
    uint32_t drawn = trib_prng_chance(&d->prng, 0.5) ? 4 : 6, k = d->k != 0 ? d->k : drawn, half = k / 2, odd = 0;
    uint32_t mbps = (uint32_t)(25000 / d->over);
    scenario_say(d,
                 "[topology]\nkind = \"fat-tree\"\nk = %u\nrate = \"25Gbps\"\nfabric_rate = \"%uMbps\"\n"
                 "delay = \"1us\"\n",
                 k, mbps);
    for (uint32_t a = 0; a < k * half; a++) {
        for (uint32_t i = 0; i < half; i++) {
            if (odd < SCENARIO_ODD_MAX && trib_prng_chance(&d->prng, 0.2)) {
                scenario_cable(d, "edge", a, "aggregation", a / half * half + i, mbps);
                odd++;
            }
            if (odd < SCENARIO_ODD_MAX && trib_prng_chance(&d->prng, 0.2)) {
                scenario_cable(d, "aggregation", a, "core", a % half * half + i, mbps);
                odd++;
            }
        }
    }
    d->hosts = k * half * half;
    d->tier[0] = "edge";
    d->tier[1] = "aggregation";
    d->tier[2] = "core";
}

static inline void scenario_dragonfly(struct drawn_scenario *d)
{
    uint32_t routers = scenario_draw(d, 2, 4), each = scenario_draw(d, 2, 3);
    scenario_say(d,
                 "[topology]\nkind = \"dragonfly\"\nrouters = %u\nglobals = 1\nhosts = %u\nrate = \"25Gbps\"\n"
                 "fabric_rate = \"%uMbps\"\ndelay = \"1us\"\n",
                 routers, each, (uint32_t)(25000 / d->over));
    for (uint32_t g = 0, odd = 0; g <= routers && odd < SCENARIO_ODD_MAX; g++) {
        if (trib_prng_chance(&d->prng, 0.5)) {
            scenario_cable(d, "router", g * routers, "router", g * routers + 1, (uint32_t)(25000 / d->over));
            odd++;
        }
    }
    d->hosts = (routers + 1) * routers * each;
    d->tier[0] = "router";
}

static inline void scenario_star(struct drawn_scenario *d)
{
    d->hosts = scenario_draw(d, 8, 24);
    scenario_say(d, "[topology]\nkind = \"star\"\nhosts = %u\nrate = \"25Gbps\"\ndelay = \"1us\"\n", d->hosts);
    for (uint32_t h = 0; h < d->hosts; h++) {
        if (trib_prng_chance(&d->prng, 0.3)) {
            scenario_cable(d, "host", h, "switch", 0, 25000);
        }
    }
    d->tier[0] = "switch";
}

static inline void scenario_jobs(struct drawn_scenario *d, uint32_t count)
{
    uint32_t *order = calloc(d->hosts, sizeof *order), at = 0;
    uint32_t each = d->hosts / count;
    for (uint32_t i = 0; i < d->hosts; i++) {
        order[i] = i;
    }
    for (uint32_t j = 0; j < count; j++) {
        uint32_t workers = scenario_draw(d, 2, each < 16 ? each : 16);
        scenario_say(d,
                     "[[job]]\nname = \"j%u\"\nscheme = \"switchml\"\nsize = \"1MB\"\niterations = 1\nworkers = %u\n"
                     "hosts = \"",
                     j, workers);
        for (uint32_t i = 0; i < workers; i++, at++) {
            uint32_t with = at + (uint32_t)trib_prng_below(&d->prng, d->hosts - at), host = order[with];
            order[with] = order[at];
            scenario_say(d, "%s%u", i > 0 ? " " : "", host);
        }
        scenario_say(d, "\"\n");
    }
    free(order);
}

/* How a scenario is drawn. */
struct scenario_wish {
    uint32_t k;         /* of a fat tree, the only kind then; 0: 4 or 6 */
    double over;        /* 0: drawn from 1, 2, 4 */
    uint32_t kinds;     /* of those below, the first so many; 0: all */
    uint32_t jobs;      /* 0: 1 to 6 */
    const char *adds;   /* switches that add; NULL: drawn */
    const char *buffer; /* of a port */
    const char *paths;  /* "explicit" */
};

/* The text of a scenario, with hosts that no two jobs have. */
static inline void scenario_text(struct drawn_scenario *d, uint64_t seed, const struct scenario_wish *wish)
{
    static void (*const kinds[])(struct drawn_scenario *) = {scenario_leaf_spine, scenario_fat_tree,
                                                             scenario_leaf_spine, scenario_dragonfly, scenario_star};
    *d = (struct drawn_scenario){.prng = {trib_mix64(seed)}, .k = wish->k};
    uint32_t count = wish->kinds != 0 ? wish->kinds : sizeof kinds / sizeof kinds[0];
    d->over = wish->over != 0 ? wish->over : (double)(1U << scenario_draw(d, 0, 2));
    bool is_multicast = trib_prng_chance(&d->prng, 0.3) && strcmp(wish->paths, "explicit") == 0;
    scenario_say(d, "duration = \"10s\"\nseed = %lu\n", (unsigned long)seed);
    kinds[wish->k != 0 ? 1 : seed % count](d);
    size_t end = (size_t)(strstr(d->text, "delay = \"1us\"\n") - d->text) + strlen("delay = \"1us\"\n");
    char rest[SCENARIO_TEXT_MAX];
    (void)snprintf(rest, sizeof rest, "%s", d->text + end);
    d->len = end;
    scenario_say(d, "paths = \"%s\"\n%s[queues]\nbuffer = \"%s\"\n[switches]\nmulticast = %s\n", wish->paths, rest,
                 wish->buffer, is_multicast ? "true" : "false");
    if (wish->adds != NULL) {
        scenario_say(d, "add = \"%s\"\n", wish->adds);
    } else if (d->tier[1] != NULL) {
        const char *top = d->tier[2] != NULL ? d->tier[2] : d->tier[1];
        scenario_say(d, "add = \"%u%% %s %u%% %s\"\n", scenario_draw(d, 4, 10) * 10, top, scenario_draw(d, 0, 10) * 10,
                     d->tier[0]);
    }
    uint32_t most = d->hosts / 3 < 6 ? d->hosts / 3 : 6;
    scenario_jobs(d, wish->jobs != 0 ? wish->jobs : scenario_draw(d, 1, most));
}

/* All jobs last about as long, at these rates. */
static inline void scenario_sizes(struct sim_scenario *s, const double *bps, double seconds)
{
    for (uint32_t i = 0; i < s->job_count; i++) {
        double share = (double)s->jobs[i].payload / (s->jobs[i].payload + SIM_JOB_HEADERS);
        s->jobs[i].bytes = (uint64_t)(bps[i] / 8 * seconds * share) + s->jobs[i].payload;
    }
}

/* Runs it to its end; rates: by job. False: why. */
static inline bool scenario_run(const struct sim_scenario *scenario, double *rates, uint64_t *dropped, char *error)
{
    struct sim_run *run = calloc(1, sizeof *run);
    bool is_good = sim_scenario_run(run, scenario, error);
    while (is_good && sim_run_advance(run, SCENARIO_HOPS)) {
    }
    const char *fault = is_good ? sim_run_check(run) : NULL;
    for (uint32_t j = 0; is_good && j < run->jobs.count; j++) {
        const struct sim_job *job = &run->jobs.jobs[j];
        double bytes = (double)job->fragments * (job->data + SIM_JOB_HEADERS);
        is_good = job->iterations == 1;
        if (!is_good) {
            (void)snprintf(error, TRIB_ERROR_TEXT_MAX, "job %u: its iteration has not ended", j);
        }
        rates[j] = is_good ? 8 * bytes / (job->summing_ps / 1e12) : 0;
    }
    *dropped = run->network.dropped;
    if (fault != NULL) {
        (void)snprintf(error, TRIB_ERROR_TEXT_MAX, "%s", fault);
    }
    sim_run_deinit(run);
    free(run);
    return is_good && fault == NULL;
}

/* Makes the plan of a scenario, with so many trees of a job at most, and gives it to the jobs. False: error. */
static inline bool scenario_plan(struct plan_simulated *it, struct sim_scenario *scenario, uint32_t most, char *error)
{
    if (!plan_simulated_init(it, scenario, error)) {
        return false;
    }
    const struct plan_options options = {.family = plan_family_of(&it->net), .most = most};
    return plan_make(&it->plan, &it->net, &it->jobs, &options, error) == TRIB_OK && plan_simulated_give(it, error);
}

#endif
