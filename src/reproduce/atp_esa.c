/* SPDX-License-Identifier: Apache-2.0 */
/* atp_esa.c: ESA's rule beside ATP's: three jobs of different sizes share few rows, first come, first served, or by
 * given or equal priorities. Read next: atp.h, protocol/combiner.h (priorities), simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"

#define JOBS 3U
#define PAYLOAD 8192U

/* The shortest first, as in ESA. All jobs sum the same bytes, in more or fewer iterations. */
static const struct {
    uint32_t megabytes, iterations, priority;
} jobs[JOBS] = {{10, 16, 200}, {40, 4, 100}, {160, 1, 0}};

static const uint32_t pools[] = {4, 8, 16, 32, 64};

#define POOLS (sizeof pools / sizeof pools[0])

enum order { FIRST_COME = 0, SHORTEST_FIRST, EQUAL, ORDERS };

static const char *const names[ORDERS] = {"ATP", "ESA", "equal priorities"};

/* Computes the mean time of the jobs, ms. False: interrupted, or run->error. */
static bool time_jobs(struct reproduce_run *run, uint32_t number, uint32_t rows, enum order order, double *mean_ms)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t more = run->is_quick ? 1 : 4; /* iterations */
    char table[1024];
    int len = 0;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = names[order];
    cell->number = number;
    cell->count = ORDERS * POOLS;
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t priority = order == SHORTEST_FIRST ? jobs[i].priority : order == EQUAL ? 255 : 0;
        len += snprintf(table + len, sizeof table - (size_t)len,
                        "[[job]]\nscheme = \"atp\"\nworkers = 8\nsize = \"%uMB\"\niterations = %u\n"
                        "compute = \"200us\"\njitter = \"10%%\"\npriority = %u\n",
                        jobs[i].megabytes, more * jobs[i].iterations, priority);
    }
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\n"
                                  "[topology]\nkind = \"star\"\nhosts = 27\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n[switches]\nmemory = \"%uB\"\n%s",
                                  rows * PAYLOAD, table);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        *mean_ms = 0;
        for (uint32_t i = 0; i < JOBS; i++) {
            *mean_ms += (double)cell->sim.jobs.jobs[i].end_ps / 1e9 / JOBS;
        }
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

bool atp_esa(struct reproduce_run *run)
{
    double most[ORDERS] = {0};
    double least[ORDERS] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};

    (void)reproduce_panel(run, "Mean time of three jobs that share a pool", "rows", "ms");
    for (uint32_t i = 0; i < POOLS; i++) {
        double ms[ORDERS] = {0};
        for (enum order order = FIRST_COME; order < ORDERS; order++) {
            if (!time_jobs(run, ORDERS * i + order, pools[i], order, &ms[order])) {
                return false;
            }
            reproduce_point(run, names[order], pools[i], ms[order]);
            most[order] = fmax(most[order], ms[FIRST_COME] / ms[order]);
            least[order] = fmin(least[order], ms[FIRST_COME] / ms[order]);
        }
    }
    reproduce_got(run, "most", most[SHORTEST_FIRST]);
    reproduce_got(run, "least", least[SHORTEST_FIRST]);
    reproduce_got(run, "equal", most[EQUAL]);
    return true;
}
