/* SPDX-License-Identifier: Apache-2.0 */
/* rina_testbed.c: Rina's Fig. 12 in the simulator: two racks of four hosts, one or both switches add, with and without
 * the adding rate of a Tofino 1. Read next: rina_runs.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/rina_runs.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define HOSTS 8U
#define RACK 4U
#define BYTES (4 * 25557032.0)

struct way {
    const char *name, *scheme, *more;
    uint32_t adders; /* leaves that add */
};

enum { RING, ATP_HALF, ATP, RINA_HALF, RINA, OUR_HALF, OURS, WAYS };

static const struct way ways[WAYS] = {
    [RING] = {"ring in steps", "ring-steps", "", 0},
    [ATP_HALF] = {"ATP, one switch", "atp", RINA_ATP, 1},
    [ATP] = {"ATP, both", "atp", RINA_ATP, 2},
    [RINA_HALF] = {"Rina as published, one", "rina-literal", RINA_TREES, 1},
    [RINA] = {"Rina as published, both", "rina-literal", RINA_TREES, 2},
    [OUR_HALF] = {"rina, one", "rina", RINA_TREES, 1},
    [OURS] = {"rina, both", "rina", RINA_TREES, 2},
};

/* With the cap, hosts below switches that add send at 20 of 100 Gbps. */
static void name_links(const struct way *way, bool is_capped, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t host = 0; is_capped && host < way->adders * RACK; host++) {
        len += (size_t)snprintf(text + len, size - len, "[[link]]\nlink = \"host%u-leaf%u\"\nrate = \"20Gbps\"\n",
                                (unsigned)host, (unsigned)(host / RACK));
    }
}

/* Measures the time of a sum, ms. False: interrupted, or run->error. */
static bool time_way(struct reproduce_run *run, uint32_t number, uint32_t w, bool is_capped, double *summing_ms)
{
    static const char *const adders[] = {"", "[switches]\nadd = \"leaf0\"\n", "[switches]\nadd = \"leaf\"\n"};
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t scale = run->is_quick ? 16 : 1;
    char links[1024];

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = ways[w].name;
    cell->number = number;
    cell->count = 2 * WAYS;
    name_links(&ways[w], is_capped, links, sizeof links);
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\n[topology]\nkind = \"leaf-spine\"\n"
                                  "leaves = 2\nspines = 1\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n%s"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                                  "[[job]]\nscheme = \"%s\"\nworkers = %u\nsize = \"%.0fB\"\niterations = 2\n%s%s",
                                  links, ways[w].scheme, HOSTS, BYTES / scale, ways[w].more, adders[ways[w].adders]);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        *summing_ms = sim_results_job(&cell->sim, 0).summing_ps / 1e9 * scale;
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

bool rina_fig12(struct reproduce_run *run)
{
    double ms[2][WAYS] = {{0}};

    for (uint32_t cap = 0; cap < 2; cap++) {
        (void)reproduce_panel(run, cap == 0 ? "Gradients of ResNet50, 100 Gbps" : "Hosts below switches that add: 20",
                              "switches that add", "Gbps");
        for (uint32_t w = 0; w < WAYS; w++) {
            if (!time_way(run, cap * WAYS + w, w, cap != 0, &ms[cap][w])) {
                return false;
            }
            reproduce_point(run, ways[w].name, ways[w].adders, BYTES * 8 / ms[cap][w] / 1e6);
        }
    }
    reproduce_got(run, "half", ms[0][ATP_HALF] / ms[0][RINA_HALF]);
    reproduce_got(run, "both", ms[0][ATP] / ms[0][RINA]);
    reproduce_got(run, "ours-half", ms[0][ATP_HALF] / ms[0][OUR_HALF]);
    reproduce_got(run, "ours-both", ms[0][ATP] / ms[0][OURS]);
    reproduce_got(run, "capped-half", ms[1][ATP_HALF] / ms[1][RINA_HALF]);
    reproduce_got(run, "capped-both", ms[1][ATP] / ms[1][RINA]);
    reproduce_got(run, "capped-to-ring", ms[1][RING] / ms[1][RINA]);
    reproduce_got(run, "ours-capped-to-ring", ms[1][RING] / ms[1][OURS]);
    return true;
}
