/* SPDX-License-Identifier: Apache-2.0 */
/* trees.c: families of trees against all trees, on networks of up to 6 switches:  bench-plan-trees [NETWORKS [SEED]]
 * For each kind of network the share of draws in which a family's level is within 1 % of the best with all trees, which
 * brute force finds, and the worst ratio. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/pack.h"
#include "plan_networks.h"
#include "plan_trees.h"

#define KINDS 3U

static const char *const names[KINDS] = {"leaf-spine, even links", "leaf-spine, uneven links", "dragonfly, 6 routers"};

struct count {
    uint32_t near[PLAN_FAMILIES];
    double worst[PLAN_FAMILIES];
};

static void draw(struct plan_network *net, struct plan_jobs *jobs, uint32_t kind, uint64_t seed)
{
    struct drawn d = {.prng = {seed}, .over = seed % 2 == 0 ? 1 : 4};
    d.can_add = 0.4 + 0.2 * (double)trib_prng_below(&d.prng, 4);
    d.uneven = kind == 0 ? 0 : 0.4;
    d.adding = trib_prng_chance(&d.prng, 0.3) ? 300 * GBPS : PLAN_ADDS_ALL;
    if (kind == 2) {
        draw_dragonfly(net, &d, 2, 1, 2);
    } else {
        uint32_t leaves = 2 + (uint32_t)trib_prng_below(&d.prng, 3);
        draw_leaf_spine(net, &d, leaves, 2 + (uint32_t)trib_prng_below(&d.prng, 5 - leaves), 3);
    }
    net->has_multicast = trib_prng_chance(&d.prng, 0.5);
    draw_jobs(jobs, net, &d, 1 + (uint32_t)trib_prng_below(&d.prng, 3), 4, false);
}

static double level_of(const struct plan_network *net, const struct plan_jobs *jobs, enum plan_family family)
{
    struct plan_pricer pricer;
    struct plan_pack pack = {.pricer = NULL};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    double level = 0; /* also where the family has no tree */
    if (plan_pricer_init(&pricer, net, jobs, family, error) == TRIB_OK && plan_pack_init(&pack, &pricer) &&
        plan_pack_solve(&pack, error) == TRIB_OK) {
        level = (double)pack.stages[0].level_bps;
    }
    plan_pack_free(&pack);
    plan_pricer_free(&pricer);
    return level;
}

int main(int argc, char **argv)
{
    uint32_t networks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    (void)printf("| network | skeletons: within 1 %%, worst | free | middle |\n|---|---|---|---|\n");
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        struct count count = {{0}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
        for (uint32_t i = 0; i < networks; i++) {
            struct plan_network net;
            struct plan_jobs jobs;
            draw(&net, &jobs, kind, seed + i);
            double all = every_level(&net, &jobs);
            for (unsigned family = 0; family < PLAN_FAMILIES; family++) {
                double ratio = level_of(&net, &jobs, (enum plan_family)family) / all;
                count.near[family] += ratio >= 0.99;
                count.worst[family] = fmin(count.worst[family], ratio);
            }
            plan_jobs_free(&jobs);
            plan_network_free(&net);
        }
        (void)printf("| %s |", names[kind]);
        for (unsigned family = 0; family < PLAN_FAMILIES; family++) {
            (void)printf(" %.1f %%, %.2f |", 100.0 * count.near[family] / networks, count.worst[family]);
        }
        (void)printf("\n");
        (void)fflush(stdout);
    }
    return 0;
}
