/* SPDX-License-Identifier: Apache-2.0 */
/* rina_throughput.c: Rina's Fig. 10 and 11: training throughput by scheme, and as switches are replaced one by one.
 * Read next: rina_runs.h, rina_bom.c (the paper's accounts). */
#include <math.h>
#include <stdio.h>

#include "reproduce/rina_runs.h"

#define BATCH 64.0

/* Gradients are float32. Compute times of a batch, ms, are assumed: the paper prints none. */
static const struct {
    const char *name;
    double bytes, compute_ms, batch;
} models[] = {
    {"ResNet50", 4 * 25557032.0, 30, BATCH},    {"VGG16", 4 * 138357544.0, 30, BATCH},
    {"InceptionV3", 4 * 23834568.0, 30, BATCH}, {"ResNet101", 4 * 44549160.0, 200, BATCH},
    {"BERT base", 4 * 109482240.0, 200, 12},
};

#define MODELS (sizeof models / sizeof models[0])

enum { PS, RING, STEPS, HYBRID, ATP_HALF, ATP_BEST, ATP, RINA_HALF, RINA, OUR_HALF, OURS, WAYS };

static const struct rina_way ways[WAYS] = {
    [PS] = {"one server", "ps", RINA_SERVER, PLAN_DEPLOY_BY_WORKERS},
    [RING] = {"ring", "ring", "", PLAN_DEPLOY_BY_WORKERS},
    [STEPS] = {"ring in steps", "ring-steps", "", PLAN_DEPLOY_BY_WORKERS},
    [HYBRID] = {"H-AR", "hybrid:2", "", PLAN_DEPLOY_BY_WORKERS},
    [ATP_HALF] = {"ATP, half: racks first", "atp", RINA_ATP, PLAN_DEPLOY_BY_WORKERS},
    [ATP_BEST] = {"ATP, half: best", "atp", RINA_ATP, PLAN_DEPLOY_BY_BELOW},
    [ATP] = {"ATP, all", "atp", RINA_ATP, PLAN_DEPLOY_BY_WORKERS},
    [RINA_HALF] = {"Rina as published, half", "rina-literal", RINA_TREES, PLAN_DEPLOY_BY_WORKERS},
    [RINA] = {"Rina as published, all", "rina-literal", RINA_TREES, PLAN_DEPLOY_BY_WORKERS},
    [OUR_HALF] = {"rina, half", "rina", RINA_TREES, PLAN_DEPLOY_BY_WORKERS},
    [OURS] = {"rina, all", "rina", RINA_TREES, PLAN_DEPLOY_BY_WORKERS},
};

static const struct rina_network *const networks[] = {&rina_fat_tree, &rina_dragonfly};

/* Returns the switches that add: in the fat tree 6 of 13 on single paths (ATP), and 4 of 8 racks (Rina); in the
 * dragonfly half. */
static uint32_t adders_of(uint32_t way, const struct rina_network *network)
{
    switch (way) {
    case ATP_HALF:
    case ATP_BEST:
        return network == &rina_fat_tree ? 6 : network->racks / 2;
    case RINA_HALF:
    case OUR_HALF:
        return network->racks / 2;
    default:
        return RINA_ALL;
    }
}

/* ---- Fig. 10 ---- */

/* Samples per second by network, model and way, and the largest use of a switch's memory. */
struct rates {
    uint32_t models;
    double list[2][MODELS][WAYS];
    double held_bytes;
};

static bool measure(struct reproduce_run *run, struct rates *r)
{
    struct rina_run it = {.scale = run->is_quick ? 32 : 4};

    r->models = run->is_quick ? 1 : MODELS;
    it.count = 2 * r->models * WAYS;
    for (uint32_t n = 0; n < 2; n++) {
        for (uint32_t m = 0; m < r->models; m++) {
            for (uint32_t w = 0; w < WAYS; w++) {
                it.network = networks[n];
                it.way = &ways[w];
                it.adders = adders_of(w, networks[n]);
                it.bytes = models[m].bytes;
                if (!rina_simulate(run, &it)) {
                    return false;
                }
                double iteration_ms = models[m].compute_ms + it.summing_ms;
                r->list[n][m][w] = networks[n]->workers * models[m].batch / iteration_ms * 1e3;
                r->held_bytes = w >= RINA_HALF ? fmax(r->held_bytes, it.held_bytes) : r->held_bytes;
            }
        }
    }
    return true;
}

static void draw(struct reproduce_run *run, const struct rates *r)
{
    static const char *const titles[2][2] = {{"Fat tree: without switches that add, and ATP", "Fat tree: Rina"},
                                             {"Dragonfly: without switches that add, and ATP", "Dragonfly: Rina"}};

    for (uint32_t panel = 0; panel < 4; panel++) {
        (void)reproduce_panel(run, titles[panel / 2][panel % 2], "MB of gradients", "samples a second");
        for (uint32_t w = panel % 2 != 0 ? RINA_HALF : PS; w < (panel % 2 != 0 ? (uint32_t)WAYS : RINA_HALF); w++) {
            for (uint32_t m = 0; m < r->models; m++) {
                reproduce_point(run, ways[w].name, models[m].bytes / 1e6, r->list[panel / 2][m][w]);
            }
        }
    }
}

/* Returns the least or largest ratio of two ways over all networks and models. */
static double ratio(const struct rates *r, uint32_t way, uint32_t to, bool is_most)
{
    double result = is_most ? 0 : HUGE_VAL;

    for (uint32_t n = 0; n < 2; n++) {
        for (uint32_t m = 0; m < r->models; m++) {
            double value = r->list[n][m][way] / r->list[n][m][to];
            result = is_most ? fmax(result, value) : fmin(result, value);
        }
    }
    return result;
}

/* The paper's accounts, fat tree, ResNet50. Returns the overhead of a step at which H-AR in racks of two, or Rina with
 * 12 links, is as fast as a ring. */
static double overhead_us(bool is_of_hybrid)
{
    struct rina_model m = {.bytes = models[0].bytes, .rate_bps = 25e9};
    double low = 0;
    double high = 1;

    for (uint32_t i = 0; i < 60; i++) {
        m.overhead_s = (low + high) / 2;
        double ring = rina_model_ring(&m, 16);
        double other = is_of_hybrid ? rina_model_hybrid(&m, 16, 2) : rina_model_chain(&m, 12, 16);
        low = other > ring ? m.overhead_s : low;
        high = other > ring ? high : m.overhead_s;
    }
    return high * 1e6;
}

bool rina_fig10(struct reproduce_run *run)
{
    static struct rates r;

    r = (struct rates){.held_bytes = 0};
    if (!measure(run, &r)) {
        return false;
    }
    draw(run, &r);
    reproduce_got(run, "ring-to-ps", ratio(&r, STEPS, PS, false));
    reproduce_got(run, "hybrid-to-ring", ratio(&r, HYBRID, STEPS, false));
    reproduce_got(run, "half-to-ring", ratio(&r, RINA_HALF, STEPS, false));
    reproduce_got(run, "dragonfly", r.list[1][0][RINA_HALF] / r.list[1][0][STEPS]);
    reproduce_got(run, "half-to-hybrid", ratio(&r, RINA_HALF, HYBRID, false));
    reproduce_got(run, "half-to-atp", ratio(&r, RINA_HALF, ATP_HALF, false));
    reproduce_got(run, "half-to-best-atp", ratio(&r, RINA_HALF, ATP_BEST, false));
    reproduce_got(run, "all-to-atp", ratio(&r, RINA, ATP, false));
    reproduce_got(run, "over-ps", r.list[0][0][RINA] / r.list[0][0][PS]);
    reproduce_got(run, "over-ps-most", ratio(&r, RINA, PS, true));
    reproduce_got(run, "over-ring", ratio(&r, RINA, STEPS, true));
    reproduce_got(run, "ours-half-to-ring", ratio(&r, OUR_HALF, RING, false));
    reproduce_got(run, "ours-half-to-atp", ratio(&r, OUR_HALF, ATP_HALF, false));
    reproduce_got(run, "ours-all-to-atp", ratio(&r, OURS, ATP, false));
    reproduce_got(run, "ours-to-published", ratio(&r, OURS, RINA, false));
    reproduce_got(run, "overhead", overhead_us(false));
    reproduce_got(run, "hybrid-overhead", overhead_us(true));
    reproduce_got(run, "memory", r.held_bytes / 1e6);
    return true;
}

/* ---- Fig. 11 ---- */

#define POINTS_MAX 40U
#define CURVES 4U

/* ResNet50, by number of replaced switches: seconds of an iteration. */
struct curves {
    uint32_t counts[POINTS_MAX];
    uint32_t points;
    double seconds[CURVES][POINTS_MAX];
};

static const uint32_t curve_ways[CURVES] = {ATP_HALF, ATP_BEST, RINA_HALF, OUR_HALF};
static const char *const curve_names[CURVES] = {"ATP, racks first", "ATP, most workers below first",
                                                "Rina as published", "rina"};

static bool measure_curves(struct reproduce_run *run, uint32_t n, uint32_t step, struct curves *c)
{
    const struct rina_network *network = networks[n];
    uint32_t all = n == 0 ? 13 : network->racks;
    struct rina_run it = {.network = network,
                          .scale = run->is_quick ? 64 : 4,
                          .bytes = models[0].bytes,
                          .number = n == 0 ? 0 : 14 * CURVES,
                          .count = 14 * CURVES + (rina_dragonfly.racks / step + 1) * CURVES};

    c->points = 0;
    for (uint32_t k = 0; k <= all; k += step) {
        c->counts[c->points] = k;
        for (uint32_t i = 0; i < CURVES; i++) {
            bool is_rina = i >= 2;
            it.way = &ways[k == 0 && !is_rina ? (uint32_t)PS : curve_ways[i]];
            it.adders = is_rina && k > network->racks ? network->racks : k;
            if (!rina_simulate(run, &it)) {
                return false;
            }
            c->seconds[i][c->points] = (models[0].compute_ms + it.summing_ms) / 1e3;
        }
        c->points++;
    }
    return true;
}

/* Draws the paper's accounts, with a step overhead of a millisecond. *first: gain by the first rack's switch; *least:
 * least gain by another one. */
static void draw_model(struct reproduce_run *run, const struct rina_network *network, double *first, double *least)
{
    struct rina_model m = {.bytes = models[0].bytes, .rate_bps = 25e9, .overhead_s = 1e-3};
    uint32_t workers = sim_topology_size(&network->topology).hosts;
    struct plan_deploy deploy;
    double rates[POINTS_MAX];
    bool adds[POINTS_MAX] = {false};
    uint32_t list[POINTS_MAX];
    double last = 0;

    if (!rina_tree(run, network, workers, &deploy)) {
        return;
    }
    run->is_out_of_memory |= !plan_deploy_curve(&deploy, PLAN_DEPLOY_BY_WORKERS, deploy.count, rates);
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_BY_WORKERS, deploy.count, list);
    for (uint32_t k = 0; k <= deploy.count; k++) {
        uint32_t links = plan_deploy_links(&deploy, adds, 2);
        double rina = BATCH * workers / (models[0].compute_ms / 1e3 + rina_model_chain(&m, links, workers));
        bool is_rack = k > 1 && deploy.switches[list[k - 1]].workers >= 2;
        reproduce_point(run, "Rina", k, rina);
        reproduce_point(run, "ATP, racks first", k,
                        BATCH * workers / (models[0].compute_ms / 1e3 + rina_model_tree(&m, rates[k])));
        *first = k == 1 ? fmin(*first, rina / last) : *first;
        *least = is_rack ? fmin(*least, rina / last) : *least;
        last = rina;
        adds[k < deploy.count ? list[k] : 0] = true;
    }
    plan_deploy_free(&deploy);
}

static void draw_curves(struct reproduce_run *run, const struct curves *c, uint32_t n)
{
    for (uint32_t i = 0; i < CURVES; i++) {
        for (uint32_t k = 0; k < c->points; k++) {
            reproduce_point(run, curve_names[i], c->counts[k], BATCH * networks[n]->workers / c->seconds[i][k]);
        }
    }
}

/* Returns the least gain by one more replaced rack. */
static double least_step(const struct curves *c, uint32_t curve, uint32_t racks)
{
    double least = HUGE_VAL;

    for (uint32_t k = 1; k < c->points && c->counts[k] <= racks; k++) {
        least = fmin(least, c->seconds[curve][k - 1] / c->seconds[curve][k]);
    }
    return least;
}

bool rina_fig11(struct reproduce_run *run)
{
    static struct curves c[2];
    double first = HUGE_VAL;
    double least = HUGE_VAL;

    for (uint32_t n = 0; n < 2; n++) {
        if (!measure_curves(run, n, n == 0 ? 1 : run->is_quick ? 32 : 4, &c[n])) {
            return false;
        }
        (void)reproduce_panel(run, n == 0 ? "Fat tree, simulated" : "Dragonfly, simulated", "switches that add",
                              "images a second");
        draw_curves(run, &c[n], n);
        (void)reproduce_panel(run,
                              n == 0 ? "Fat tree, by the paper's accounts, 1 ms a step"
                                     : "Dragonfly, by the paper's accounts, 1 ms a step",
                              "switches that add", "images a second");
        draw_model(run, networks[n], &first, &least);
    }
    const struct curves *t = &c[0];
    reproduce_got(run, "atp-before", t->seconds[0][13] / t->seconds[0][9]);
    reproduce_got(run, "atp-tenth", t->seconds[0][9] / t->seconds[0][10]);
    reproduce_got(run, "atp-best", t->seconds[1][13] / t->seconds[1][9]);
    reproduce_got(run, "rina-first", first);
    reproduce_got(run, "rina-accounts", least);
    reproduce_got(run, "rina-rises", least_step(t, 2, 8));
    reproduce_got(run, "ours-rises", least_step(t, 3, 8));
    reproduce_got(run, "ours-last", t->seconds[3][7] / t->seconds[3][8]);
    return true;
}
