/* SPDX-License-Identifier: Apache-2.0 */
/* goat_throughput.c: GOAT's testbed in the simulator: eight workers and a server on three switches, with and without
 * aggregation. Read next: goat.h, simulate.h. */
#include <math.h>
#include <stdlib.h>

#include "reproduce/goat.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

/* Milliseconds of a batch. ResNet-18 by multiplications: 1.8 of ResNet-50's 4.1 billion. */
static const struct {
    const char *name;
    double megabytes;
    double compute_ms;
} models[] = {{"resnet18", 44, 164 * 1.8 / 4.1}, {"resnet50", 98, 164}};

static const struct {
    const char *name, *scheme;
} ways[] = {{"aggregation", "atp"}, {"one server", "ps"}};

/* One run. False: interrupted, or run->error. */
static bool time_iteration(struct reproduce_run *run, uint32_t model, uint32_t way, double *iteration_ms)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t scale = run->is_quick ? 32 : 4;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = ways[way].name;
    cell->number = model * 2 + way;
    cell->count = 4;
    bool is_good =
        reproduce_open(run, cell,
                       "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                       "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 5\n"
                       "rate = \"100Gbps\"\ndelay = \"1us\"\n"
                       "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                       "[[job]]\nscheme = \"%s\"\nworkers = 8\nhosts = \"0 1 2 3 5 6 7 8 4\"\nmodel = \"%s\"\n"
                       "compute = \"%.0fus\"\niterations = 2\n",
                       scale, ways[way].scheme, models[model].name, models[model].compute_ms * 1e3);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        *iteration_ms = sim_results_job(&cell->sim, 0).iteration_ps / 1e9 * scale;
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

bool goat_throughput(struct reproduce_run *run)
{
    double most = 0;

    (void)reproduce_panel(run, "Iterations a second", "MB", "1/s");
    for (uint32_t model = 0; model < 2; model++) {
        double ms[2] = {1, 1};
        for (uint32_t way = 0; way < 2; way++) {
            if (!time_iteration(run, model, way, &ms[way])) {
                return false;
            }
            reproduce_point(run, ways[way].name, models[model].megabytes, 1e3 / ms[way]);
        }
        most = fmax(most, ms[1] / ms[0]);
    }
    reproduce_got(run, "throughput", 100 * most - 100);
    reproduce_got(run, "accuracy", most);
    return true;
}
