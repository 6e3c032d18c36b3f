/* SPDX-License-Identifier: Apache-2.0 */
/* plan_networks.h: networks and jobs for tests and measurements of the planner, drawn from a seed. */
#ifndef TRIB_TESTS_PLAN_NETWORKS_H
#define TRIB_TESTS_PLAN_NETWORKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/prng.h"
#include "plan/jobs.h"

#define GBPS UINT64_C(1000000000)

/* How a network is drawn. */
struct drawn {
    struct trib_prng prng;
    double over;     /* hosts' rate of a leaf to its rate upward */
    double can_add;  /* share of switches */
    double uneven;   /* share of links between switches that have a quarter or half of their rate */
    uint64_t adding; /* bit/s; PLAN_ADDS_ALL */
};

static inline uint64_t drawn_rate(struct drawn *d, double rate)
{
    double share = trib_prng_chance(&d->prng, d->uneven) ? (trib_prng_chance(&d->prng, 0.5) ? 0.25 : 0.5) : 1;
    return (uint64_t)(rate * share);
}

static inline void drawn_cable(struct plan_network *net, uint32_t a, uint32_t b, uint64_t rate)
{
    (void)trib_fabric_add(&net->fabric, a, b, rate);
    (void)trib_fabric_add(&net->fabric, b, a, rate);
}

static inline void drawn_begin(struct plan_network *net, struct drawn *d, uint32_t hosts, uint32_t switches,
                               uint32_t cables)
{
    if (!plan_network_init(net, hosts, switches, 2 * cables)) {
        abort();
    }
    net->paths = PLAN_EXPLICIT;
    for (uint32_t i = 0; i < hosts + switches; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, i < hosts ? "h%u" : "s%u", i < hosts ? i : i - hosts);
        (void)plan_names_add(&net->names, name, (size_t)len);
    }
    for (uint32_t i = 0; i < switches; i++) {
        net->adds_bps[i] = trib_prng_chance(&d->prng, d->can_add) ? d->adding : PLAN_ADDS_NOT;
    }
}

/* At least the switch `sure` adds. */
static inline void drawn_end(struct plan_network *net, struct drawn *d, uint32_t sure)
{
    uint32_t adders = 0;
    for (uint32_t i = 0; i < net->switches; i++) {
        adders += net->adds_bps[i] != PLAN_ADDS_NOT;
    }
    if (adders == 0) {
        net->adds_bps[sure] = d->adding;
    }
    if (!trib_fabric_ready(&net->fabric)) {
        abort();
    }
}

/* Leaves, then spines. */
static inline void draw_leaf_spine(struct plan_network *net, struct drawn *d, uint32_t leaves, uint32_t spines,
                                   uint32_t each)
{
    uint32_t hosts = leaves * each;
    double up = each * 100.0 * (double)GBPS / d->over / spines;
    drawn_begin(net, d, hosts, leaves + spines, hosts + leaves * spines);
    for (uint32_t h = 0; h < hosts; h++) {
        drawn_cable(net, h, hosts + h / each, 100 * GBPS);
    }
    for (uint32_t l = 0; l < leaves; l++) {
        for (uint32_t s = 0; s < spines; s++) {
            drawn_cable(net, hosts + l, hosts + leaves + s, drawn_rate(d, up));
        }
    }
    drawn_end(net, d, leaves);
}

/* Edge switches, aggregation switches, cores. */
static inline void draw_fat_tree(struct plan_network *net, struct drawn *d, uint32_t k)
{
    uint32_t half = k / 2, hosts = k * half * half, edges = k * half, cores = half * half;
    double rate = 100.0 * (double)GBPS / d->over;
    drawn_begin(net, d, hosts, 2 * edges + cores, hosts + 2 * edges * half);
    for (uint32_t h = 0; h < hosts; h++) {
        drawn_cable(net, h, hosts + h / half, 100 * GBPS);
    }
    for (uint32_t e = 0; e < edges; e++) {
        for (uint32_t i = 0; i < half; i++) {
            drawn_cable(net, hosts + e, hosts + edges + e / half * half + i, drawn_rate(d, rate));
        }
    }
    for (uint32_t a = 0; a < edges; a++) {
        for (uint32_t m = 0; m < half; m++) {
            drawn_cable(net, hosts + edges + a, hosts + 2 * edges + a % half * half + m, drawn_rate(d, rate));
        }
    }
    drawn_end(net, d, 2 * edges);
}

static inline void draw_dragonfly(struct plan_network *net, struct drawn *d, uint32_t routers, uint32_t globals,
                                  uint32_t each)
{
    uint32_t groups = routers * globals + 1, switches = groups * routers, hosts = switches * each;
    double rate = 100.0 * (double)GBPS / d->over;
    drawn_begin(net, d, hosts, switches, hosts + groups * routers * (routers - 1) / 2 + groups * (groups - 1) / 2);
    for (uint32_t h = 0; h < hosts; h++) {
        drawn_cable(net, h, hosts + h / each, 100 * GBPS);
    }
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t i = 0; i < routers; i++) {
            for (uint32_t j = i + 1; j < routers; j++) {
                drawn_cable(net, hosts + g * routers + i, hosts + g * routers + j, drawn_rate(d, rate));
            }
        }
        for (uint32_t other = g + 1; other < groups; other++) {
            uint32_t mine = (other - g - 1) / globals, its = (groups - 1 - (other - g)) / globals;
            drawn_cable(net, hosts + g * routers + mine, hosts + other * routers + its, drawn_rate(d, rate));
        }
    }
    drawn_end(net, d, 0);
}

/* Jobs of this size on random hosts, which several jobs may have; is_apart: each host has one job at most, and jobs are
 * as small as that wants. */
static inline void draw_jobs(struct plan_jobs *jobs, const struct plan_network *net, struct drawn *d, uint32_t count,
                             uint32_t size, bool is_apart)
{
    uint32_t *order = calloc(net->hosts, sizeof *order);
    size = size < net->hosts ? size : net->hosts;
    is_apart = is_apart && net->hosts / count >= 2;
    size = is_apart && size * count > net->hosts ? net->hosts / count : size;
    *jobs = (struct plan_jobs){calloc(count, sizeof *jobs->list), count};
    for (uint32_t j = 0; j < count; j++) {
        struct plan_job *job = &jobs->list[j];
        *job = (struct plan_job){.weight = 1, .hosts = calloc(size, sizeof *job->hosts), .host_count = size};
        (void)snprintf(job->name, sizeof job->name, "j%u", j);
        for (uint32_t i = 0; i < net->hosts && (j == 0 || !is_apart); i++) {
            order[i] = i;
        }
        for (uint32_t i = 0; i < size; i++) {
            uint32_t first = is_apart ? j * size + i : i;
            uint32_t with = first + (uint32_t)trib_prng_below(&d->prng, net->hosts - first);
            uint32_t host = order[with];
            order[with] = order[first];
            order[first] = host;
            job->hosts[i] = host;
        }
        if (!plan_job_settle(job, net)) {
            abort();
        }
    }
    free(order);
}

#endif
