/* SPDX-License-Identifier: Apache-2.0 */
/* atp_jobs.c: three jobs of eight workers and a server each share the rows of one simulated switch, or have a third
 * each. Read next: atp.h, simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define WORKERS 8U
#define JOBS 3U
#define PAYLOAD 8192U

struct pools {
    uint32_t scale;
    uint32_t iterations;
    uint32_t done, all;
    bool is_static;
};

struct time {
    double ms;   /* mean summing time of all jobs */
    double even; /* Jain's index of the jobs' times */
};

static bool time_jobs(struct reproduce_run *run, struct pools *p, uint32_t jobs, double rows, struct time *time)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char table[1024];
    int len = 0;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = p->is_static ? "static" : "dynamic";
    cell->number = p->done++;
    cell->count = p->all;
    for (uint32_t i = 0; i < jobs; i++) {
        len += snprintf(table + len, sizeof table - (size_t)len,
                        "[[job]]\nscheme = \"atp\"\nworkers = %u\nmodel = \"vgg16\"\njitter = \"2%%\"\n"
                        "iterations = %u\nstart = \"%ums\"\n",
                        WORKERS, p->iterations, i * 266 / JOBS / p->scale);
    }
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                                  "[topology]\nkind = \"star\"\nhosts = %u\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                                  "[switches]\nmemory = \"%.0fB\"\npool = \"%s\"\n%s",
                                  p->scale, JOBS * (WORKERS + 1), rows * PAYLOAD, cell->what, table);
    if (is_good) {
        double sum = 0;
        double squares = 0;
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        for (uint32_t i = 0; i < jobs; i++) {
            double ms = sim_results_job(&cell->sim, i).summing_ps / 1e9 * p->scale;
            sum += ms;
            squares += ms * ms;
        }
        *time = (struct time){sum / jobs, sum * sum / (jobs * squares)};
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

/* PTA: the fewest rows, in steps of a half more, with which a job alone reaches 99 % of its best rate. */
static bool find_peak(struct reproduce_run *run, struct pools *p, double *peak)
{
    struct time best = {0, 0};
    struct time its = {.ms = HUGE_VAL};

    *peak = 4;
    p->is_static = false;
    if (!time_jobs(run, p, 1, 4096, &best)) {
        return false;
    }
    while (its.ms > best.ms / 0.99 && *peak < 4096) {
        if (!time_jobs(run, p, 1, *peak, &its)) {
            return false;
        }
        *peak = its.ms > best.ms / 0.99 ? ceil(*peak * 1.5) : *peak;
    }
    return true;
}

bool atp_jobs(struct reproduce_run *run)
{
    static const double shares[] = {0.25, 0.5, 1, 1.5, 2, 3, 4};
    struct pools p = {.scale = run->is_quick ? 32 : 4, .iterations = run->is_quick ? 4 : 8, .all = 30};
    double enough = HUGE_VAL;
    double little = HUGE_VAL;
    double evenest = HUGE_VAL;
    double peak;

    if (!find_peak(run, &p, &peak)) {
        return false;
    }
    (void)reproduce_panel(run, "Three VGG16 jobs: time of summing, dynamic and static", "pool, in PTA", "ms");
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct time times[2] = {{0, 0}, {0, 0}};
        for (uint32_t is_static = 0; is_static < 2; is_static++) {
            p.is_static = is_static != 0;
            if (!time_jobs(run, &p, JOBS, ceil(shares[i] * peak), &times[is_static])) {
                return false;
            }
            reproduce_point(run, is_static != 0 ? "static" : "dynamic", shares[i], times[is_static].ms);
        }
        double gain = times[1].ms / times[0].ms;
        enough = shares[i] >= JOBS ? fmin(enough, gain) : enough;
        little = shares[i] < JOBS ? fmin(little, gain) : little;
        evenest = fmin(evenest, times[0].even);
    }
    reproduce_got(run, "enough", enough);
    reproduce_got(run, "little", little);
    reproduce_got(run, "even", evenest);
    return true;
}
