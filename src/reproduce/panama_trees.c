/* SPDX-License-Identifier: Apache-2.0 */
/* panama_trees.c: PANAMA's Fig. 9: one job on four trees, on each tree alone, and on a ring, beside an increasing
 * number of long flows. Read next: panama.h, simulate.h. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/panama.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define WORKERS 8U
#define SENDERS_MAX 8U

struct way {
    const char *name;
    const char *scheme;
    const char *more; /* of the scenario: the job's trees, and the switches that may add */
};

#define ONE_TREE(core) REPRODUCE_MARKS_OF_ALL "[switches]\nadd = \"edge aggregation core" #core "\"\n"

/* The first way is the paper's; the next four are each of its trees alone. */
static const struct way ways[] = {
    {"PANAMA, 4 trees", "panama", REPRODUCE_MARKS_OF_ALL "trees = 4\n"},
    {"PANAMA-Agg1", "panama", ONE_TREE(0)},
    {"PANAMA-Agg2", "panama", ONE_TREE(1)},
    {"PANAMA-Agg3", "panama", ONE_TREE(2)},
    {"PANAMA-Agg4", "panama", ONE_TREE(3)},
    {"ring", "ring-steps", ""},
    {"SwitchML*, 4 trees", "switchml", "trees = 4\nwindow = 32\n"},
    {"own marks, 4 trees", "panama", "trees = 4\n"}, /* ours */
    {"scheme ring", "ring", ""},                     /* not with --quick */
};

#define WAYS (sizeof ways / sizeof ways[0])
#define ALL_TREES 0U
#define FIRST_ALONE 1U
#define LAST_ALONE 4U
#define RING 5U
#define OURS 7U /* from here on */
#define OWN_MARKS 7U
_Static_assert(OURS <= REPORT_PLOT_LINES_MAX && WAYS - OURS + 2 <= REPORT_PLOT_LINES_MAX, "a panel has so many lines");

/* Hosts without workers, in the order in which they begin to send: pod after pod, each to the opposite pod. */
static const uint32_t senders[SENDERS_MAX] = {1, 5, 9, 13, 3, 7, 11, 15};

struct grid {
    uint32_t ways;
    uint32_t kilobytes;
    uint32_t seeds;
    uint32_t step; /* in the number of senders */
    uint32_t done;
    uint32_t all;
    double latency_ms[SENDERS_MAX + 1][WAYS]; /* mean of all seeds */
};

static bool open_cell(struct reproduce_run *run, struct reproduce_cell *cell, const struct grid *g,
                      const struct way *way, uint64_t seed)
{
    return reproduce_open(run, cell,
                          "seed = %u\nduration = \"1000s\"\n"
                          "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
                          "[queues]\nbuffer = \"none\"\necn = \"85pkt\"\n"
                          "[[job]]\nscheme = \"%s\"\nworkers = %u\nhosts = \"0 2 4 6 8 10 12 14\"\n"
                          "size = \"%uKB\"\ncompute = \"5ms\"\niterations = 2\n%s",
                          (unsigned)seed, way->scheme, WORKERS, g->kilobytes, way->more);
}

/* One run. False: interrupted, or run->error. */
static bool simulate(struct reproduce_run *run, struct grid *g, const struct way *way, uint32_t count, uint64_t seed,
                     double *latency_ms)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = way->name;
    cell->number = g->done++;
    cell->count = g->all;
    bool is_good = open_cell(run, cell, g, way, seed);
    for (uint32_t i = 0; is_good && i < count; i++) {
        reproduce_flow(cell, senders[i], (senders[i] + 8) % 16, (uint32_t)trib_mix64(seed * 100 + i));
    }
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        *latency_ms = sim_results_job(&cell->sim, 0).summing_ps / 1e9;
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

static bool simulate_all(struct reproduce_run *run, struct grid *g)
{
    g->all = (1 + SENDERS_MAX / g->step * g->seeds) * g->ways;
    for (uint32_t count = 0; count <= SENDERS_MAX; count += g->step) {
        uint32_t seeds = count == 0 ? 1 : g->seeds; /* without flows all draws are equal */
        for (uint32_t w = 0; w < g->ways; w++) {
            for (uint32_t seed = 1; seed <= seeds; seed++) {
                double latency_ms = 0;
                if (!simulate(run, g, &ways[w], count, seed, &latency_ms)) {
                    return false;
                }
                g->latency_ms[count][w] += latency_ms / seeds;
            }
        }
    }
    return true;
}

/* Draws the paper's ways, or ours beside the paper's ways for comparison. */
static void draw(struct reproduce_run *run, const struct grid *g, bool is_ours)
{
    (void)reproduce_panel(run, is_ours ? "The same, ours" : "Aggregation latency of an iteration",
                          "hosts that send long flows", "ms");
    for (uint32_t w = 0; w < g->ways; w++) {
        bool is_shown = is_ours ? w == ALL_TREES || w == RING || w >= OURS : w < OURS;
        for (uint32_t count = 0; is_shown && count <= SENDERS_MAX; count += g->step) {
            reproduce_point(run, ways[w].name, count, g->latency_ms[count][w]);
        }
    }
}

bool panama_fig9(struct reproduce_run *run)
{
    static struct grid g;
    double all_to_best = 0;
    double all_to_ring = 0;
    double worst_to_ring = 0;
    double own_to_all = 0;

    g = run->is_quick ? (struct grid){.ways = WAYS - 1, .kilobytes = 8000, .seeds = 8, .step = 4}
                      : (struct grid){.ways = WAYS, .kilobytes = 102228, .seeds = 8, .step = 1};
    if (!simulate_all(run, &g)) {
        return false;
    }
    draw(run, &g, false);
    draw(run, &g, true);
    for (uint32_t count = 0; count <= SENDERS_MAX; count += g.step) {
        const double *ms = g.latency_ms[count];
        double best = ms[FIRST_ALONE];
        double worst = ms[FIRST_ALONE];
        for (uint32_t w = FIRST_ALONE; w <= LAST_ALONE; w++) {
            best = fmin(best, ms[w]);
            worst = fmax(worst, ms[w]);
        }
        all_to_best = fmax(all_to_best, count != 0 ? ms[ALL_TREES] / best : 0);
        all_to_ring = fmax(all_to_ring, ms[ALL_TREES] / ms[RING]);
        worst_to_ring = fmax(worst_to_ring, worst / ms[RING]);
        own_to_all = fmax(own_to_all, count != 0 ? ms[OWN_MARKS] / ms[ALL_TREES] : 0);
    }
    reproduce_got(run, "to-single-trees", all_to_best);
    reproduce_got(run, "to-ring", all_to_ring);
    reproduce_got(run, "single-tree-to-ring", worst_to_ring);
    reproduce_got(run, "own-marks", own_to_all);
    return true;
}
