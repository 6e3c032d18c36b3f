/* SPDX-License-Identifier: Apache-2.0 */
/* atp_esa.c: ESA's rule beside ATP's: three jobs of different sizes share few rows, first come, first served, or by
 * priority. Read next: atp.h, simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"

#define JOBS 3U
#define PAYLOAD 8192U

/* The shortest first, as ESA has it. All sum the same bytes, in more or fewer iterations. */
static const struct {
    uint32_t megabytes, iterations, priority;
} jobs[JOBS] = {{10, 16, 200}, {40, 4, 100}, {160, 1, 0}};

static const uint32_t pools[] = {4, 8, 16, 32, 64};

#define POOLS (sizeof pools / sizeof pools[0])

/* The mean time of the jobs, in ms. False: interrupted, or run->error. */
static bool time_jobs(struct reproduce_run *run, uint32_t number, uint32_t rows, bool has_priorities, double *mean_ms)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t more = run->is_quick ? 1 : 4; /* iterations */
    char table[1024];
    int len = 0;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = has_priorities ? "by priority" : "first come, first served";
    cell->number = number;
    cell->count = 2 * POOLS;
    for (uint32_t i = 0; i < JOBS; i++) {
        len += snprintf(table + len, sizeof table - (size_t)len,
                        "[[job]]\nscheme = \"atp\"\nworkers = 8\nsize = \"%uMB\"\niterations = %u\n"
                        "compute = \"200us\"\njitter = \"10%%\"\npriority = %u\n",
                        jobs[i].megabytes, more * jobs[i].iterations, has_priorities ? jobs[i].priority : 0);
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
    double most = 0;
    double least = HUGE_VAL;

    (void)reproduce_panel(run, "Mean time of three jobs that share a pool", "rows", "ms");
    for (uint32_t i = 0; i < POOLS; i++) {
        double first_ms = 0;
        double by_priority_ms = 0;
        if (!time_jobs(run, 2 * i, pools[i], false, &first_ms) ||
            !time_jobs(run, 2 * i + 1, pools[i], true, &by_priority_ms)) {
            return false;
        }
        reproduce_point(run, "ATP", pools[i], first_ms);
        reproduce_point(run, "ESA", pools[i], by_priority_ms);
        most = fmax(most, first_ms / by_priority_ms);
        least = fmin(least, first_ms / by_priority_ms);
    }
    reproduce_got(run, "most", most);
    reproduce_got(run, "least", least);
    return true;
}
