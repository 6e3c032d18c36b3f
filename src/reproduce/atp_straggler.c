/* SPDX-License-Identifier: Apache-2.0 */
/* atp_straggler.c: A2TP's case: a job that waits for one of its workers holds rows that another job needs; and equal
 * jobs. Read next: atp.h, protocol/combiner.h (priorities), simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"
#include "sim/jobs/servers.h"

#define JOBS_MAX 3U
#define WORKERS 4U
#define FLOWS 4U /* from the straggler's host, beside its job */
#define PAYLOAD 1408U
#define STEP_PS UINT64_C(100000000)
#define SETTLED 20U /* steps before rates are measured */

enum jobs { ALONE = 0, BESIDE_LINK, BESIDE_LATE, EQUAL, JOBS_COUNT };

static const struct {
    const char *title;
    uint32_t count;
    uint32_t late; /* first job with a late worker; `count`: none */
} cases[JOBS_COUNT] = {
    {"", 1, 1},
    {"A job beside one with a worker behind a busy link", 2, 2},
    {"A job beside one with a late worker", 2, 1},
    {"Three jobs with a late worker each, in the mean", 3, 0},
};

struct policy {
    const char *name;
    const char *scheme;
    uint32_t priority;
};

static const struct policy policies[] = {
    {"first come, first served", "atp", 0}, {"the same, AIMD", "atp-aimd", 0}, {"priorities", "atp", 255}};

#define POLICIES (sizeof policies / sizeof policies[0])
enum { FIRST_COME = 0, AIMD, PRIORITIES };

/* Results of a run, by job. */
struct rates {
    double gbps[JOBS_MAX]; /* gradients */
    double rows[JOBS_MAX]; /* rows that the job holds, mean */
};

static double results_of(const struct reproduce_cell *cell, uint32_t job)
{
    return (double)sim_jobs_counters(&cell->sim.jobs, job).workers.results / WORKERS;
}

static bool watch(struct reproduce_run *run, struct reproduce_cell *cell, uint32_t jobs, struct rates *rates)
{
    uint32_t steps = SETTLED + (run->is_quick ? 30 : 400);
    double before[JOBS_MAX] = {0};

    for (uint32_t step = 1; step <= steps; step++) {
        if (!reproduce_advance(run, cell, step * STEP_PS)) {
            return false;
        }
        for (uint32_t job = 0; job < jobs; job++) {
            before[job] = step == SETTLED ? results_of(cell, job) : before[job];
            rates->rows[job] += step > SETTLED ? (double)sim_jobs_rows(&cell->sim.jobs, job) / (steps - SETTLED) : 0;
        }
    }
    for (uint32_t job = 0; job < jobs; job++) {
        double seconds = (double)(steps - SETTLED) * (double)STEP_PS / 1e12;
        rates->gbps[job] = (results_of(cell, job) - before[job]) * PAYLOAD * 8 / seconds / 1e9;
    }
    return true;
}

/* False: interrupted, or run->error. */
static bool measure(struct reproduce_run *run, enum jobs which, const struct policy *policy, uint32_t rows,
                    struct rates *rates)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char table[1024];
    int len = 0;

    *rates = (struct rates){{0}, {0}};
    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = policy->name;
    cell->number = (uint32_t)which;
    cell->count = JOBS_COUNT;
    for (uint32_t job = 0; job < cases[which].count; job++) {
        const char *kind = job < cases[which].late ? "size = \"4GB\"\niterations = 1\ncompute = \"0us\"\n"
                                                   : "size = \"2MB\"\niterations = 1000\ncompute = \"100us\"\n"
                                                     "stragglers = 1\nslower = \"100%\"\n";
        len +=
            snprintf(table + len, sizeof table - (size_t)len,
                     "[[job]]\nscheme = \"%s\"\nworkers = %u\nhosts = \"%u-%u\"\npriority = %u\nstart = \"%uus\"\n%s",
                     policy->scheme, WORKERS, job * (WORKERS + 1), job * (WORKERS + 1) + WORKERS, policy->priority,
                     job * 100, kind);
    }
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"1s\"\n"
                                  "[topology]\nkind = \"star\"\nhosts = %u\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\nhost_ecn = true\n"
                                  "[switches]\nmemory = \"%uB\"\n%s",
                                  JOBS_MAX * (WORKERS + 1) + 1, rows * PAYLOAD, table);
    for (uint32_t flow = 0; is_good && which == BESIDE_LINK && flow < FLOWS; flow++) {
        reproduce_flow(cell, 2 * WORKERS, JOBS_MAX * (WORKERS + 1), flow); /* from the last worker of the second job */
    }
    is_good = is_good && watch(run, cell, cases[which].count, rates);
    reproduce_close(cell);
    free(cell);
    return is_good;
}

/* Extreme values so far. */
struct found {
    double kept[POLICIES]; /* least rate of the first job, relative to its rate alone */
    /* Job behind the busy link, with priorities: Gbps, and share of the pool. */
    double straggling, occupied;
    /* With priorities: gain of a job with a late worker; gain of equal jobs, and Jain's index of their rates. */
    double gain, late_gain, even;
};

static void look(struct found *f, enum jobs which, uint32_t rows, double alone, const struct rates rates[POLICIES])
{
    const struct rates *now = &rates[PRIORITIES];
    double sum[POLICIES] = {0};
    double squares = 0;

    for (size_t p = 0; p < POLICIES; p++) {
        f->kept[p] = which != EQUAL ? fmin(f->kept[p], rates[p].gbps[0] / alone) : f->kept[p];
        for (uint32_t job = 0; job < cases[which].count; job++) {
            sum[p] += rates[p].gbps[job];
        }
    }
    if (which == BESIDE_LINK) {
        f->straggling = fmin(f->straggling, now->gbps[1]);
        f->occupied = fmax(f->occupied, now->rows[1] / rows * 100);
    } else if (which == BESIDE_LATE) {
        f->late_gain = fmin(f->late_gain, now->gbps[1] / rates[FIRST_COME].gbps[1]);
    } else {
        for (uint32_t job = 0; job < JOBS_MAX; job++) {
            squares += now->gbps[job] * now->gbps[job];
        }
        f->gain = fmin(f->gain, sum[PRIORITIES] / sum[FIRST_COME]);
        f->even = fmin(f->even, sum[PRIORITIES] * sum[PRIORITIES] / (JOBS_MAX * squares));
    }
}

bool atp_straggler(struct reproduce_run *run)
{
    static const uint32_t pools[] = {16, 64, 256};
    struct found f = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, HUGE_VAL, 0, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    struct rates alone;

    if (!measure(run, ALONE, &policies[FIRST_COME], pools[0], &alone)) {
        return false;
    }
    for (enum jobs which = BESIDE_LINK; which < JOBS_COUNT; which++) {
        (void)reproduce_panel(run, cases[which].title, "rows", "Gbps");
        for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
            struct rates rates[POLICIES];
            for (size_t p = 0; p < POLICIES; p++) {
                if (!measure(run, which, &policies[p], pools[i], &rates[p])) {
                    return false;
                }
                const double *gbps = rates[p].gbps;
                reproduce_point(run, policies[p].name, pools[i],
                                which == EQUAL ? (gbps[0] + gbps[1] + gbps[2]) / JOBS_MAX : gbps[0]);
            }
            look(&f, which, pools[i], alone.gbps[0], rates);
        }
    }
    reproduce_got(run, "kept", f.kept[PRIORITIES]);
    reproduce_got(run, "first-come", f.kept[FIRST_COME]);
    reproduce_got(run, "aimd", f.kept[AIMD]);
    reproduce_got(run, "occupied", f.occupied);
    reproduce_got(run, "straggling", f.straggling);
    reproduce_got(run, "late-gain", f.late_gain);
    reproduce_got(run, "equal-gain", f.gain);
    reproduce_got(run, "even", f.even);
    return true;
}
