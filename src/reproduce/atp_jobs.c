/* SPDX-License-Identifier: Apache-2.0 */
/* atp_jobs.c: three jobs of eight workers and a server each on one simulated switch, with its rows shared by one of
 * four policies. Read next: atp.h, simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define WORKERS 8U
#define JOBS 3U
#define PAYLOAD 8192U
#define ITERATION_MS 266U /* of a job alone, about */

/* Policies of ATP's rows; behind them the schemes without rows that ATP is compared with. DYNAMIC is a shared pool as
 * jobs have it unless told otherwise: all have the same priority. FIRST_COME is the published rule. */
enum way { STATIC = 0, DYNAMIC, ESA, FIRST_COME, POLICIES, SERVERS = POLICIES, SERVER, RING, WAYS };

static const struct {
    const char *name;
    const char *scheme;
    const char *pool;          /* "": no rows */
    uint32_t priorities[JOBS]; /* 0: the key is left out */
    const char *more;          /* keys of each job */
} ways[WAYS] = {
    [STATIC] = {"static", "atp", "static", {0, 0, 0}, ""},
    [DYNAMIC] = {"dynamic", "atp", "dynamic", {128, 128, 128}, ""},
    [ESA] = {"ESA's order", "atp", "dynamic", {200, 100, 0}, ""},
    [FIRST_COME] = {"first come", "atp", "dynamic", {0, 0, 0}, ""},
    [SERVERS] = {"N servers", "ps", "", {0, 0, 0}, "servers = 8\nservers_at_workers = true\n"},
    [SERVER] = {"one server", "ps", "", {0, 0, 0}, ""},
    [RING] = {"ring", "ring-steps", "", {0, 0, 0}, ""},
};

enum phases { STAGGERED = 0, AT_ONCE, LATE_WORKER, PHASES };

static const char *const titles[PHASES] = {
    "Three VGG16 jobs a third of an iteration apart: time of summing",
    "Three VGG16 jobs that start at once: time of summing",
    "Two of three VGG16 jobs, a worker of the third is late: time of summing",
};

static const double shares[] = {0.25, 0.5, 1, 1.5, 2, 3, 4}; /* pools, in PTA */

#define SHARES (sizeof shares / sizeof shares[0])
#define ONE_PTA 2U /* index in shares */

struct pools {
    uint32_t scale;
    uint32_t iterations;
    uint32_t done, all; /* runs */
    double peak_rows;   /* PTA */
    double peak_ms;     /* time of summing of a job alone with these rows */
};

/* A run. */
struct trial {
    enum phases phases;
    enum way way;
    uint32_t jobs;
    double rows; /* of the pool */
};

struct times {
    double iteration_ms; /* mean of the jobs */
    double summing_ms;   /* mean of the jobs; with a late worker, of the others */
    double even;         /* Jain's index of the jobs' times of summing */
};

static int write_job(char *text, size_t room, const struct pools *p, const struct trial *trial, uint32_t job)
{
    enum phases phases = trial->phases;
    enum way way = trial->way;
    char priority[32] = "";

    if (ways[way].priorities[job] != 0) {
        (void)snprintf(priority, sizeof priority, "priority = %u\n", ways[way].priorities[job]);
    }
    return snprintf(text, room,
                    "[[job]]\nscheme = \"%s\"\nworkers = %u\nmodel = \"vgg16\"\njitter = \"2%%\"\n"
                    "iterations = %u\nstart = \"%ums\"\n%s%s%s",
                    ways[way].scheme, WORKERS, p->iterations,
                    phases == STAGGERED ? job * ITERATION_MS / JOBS / p->scale : 0, priority, ways[way].more,
                    phases == LATE_WORKER && job + 1 == JOBS ? "stragglers = 1\nslower = \"20%\"\n" : "");
}

static void read_times(const struct pools *p, const struct sim_run *sim, const struct trial *trial, struct times *times)
{
    uint32_t counted = trial->phases == LATE_WORKER ? trial->jobs - 1 : trial->jobs;
    double sum = 0;
    double squares = 0;

    *times = (struct times){0, 0, 0};
    for (uint32_t i = 0; i < trial->jobs; i++) {
        struct sim_job_times t = sim_results_job(sim, i);
        double ms = i < counted ? t.summing_ps / 1e9 * p->scale : 0;
        times->iteration_ms += t.iteration_ps / 1e9 * p->scale / trial->jobs;
        sum += ms;
        squares += ms * ms;
    }
    times->summing_ms = sum / counted;
    times->even = sum * sum / (counted * squares);
}

/* False: interrupted, or run->error. */
static bool time_jobs(struct reproduce_run *run, struct pools *p, const struct trial *trial, struct times *times)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char table[1024];
    int len = 0;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    if (trial->way < POLICIES) {
        len = snprintf(table, sizeof table, "[switches]\nmemory = \"%.0fB\"\npool = \"%s\"\n", trial->rows * PAYLOAD,
                       ways[trial->way].pool);
    }
    for (uint32_t i = 0; i < trial->jobs; i++) {
        len += write_job(table + len, sizeof table - (size_t)len, p, trial, i);
    }
    cell->what = ways[trial->way].name;
    cell->number = p->done++;
    cell->count = p->all;
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                                  "[topology]\nkind = \"star\"\nhosts = %u\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n%s",
                                  p->scale, JOBS * (WORKERS + 1), table);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        read_times(p, &cell->sim, trial, times);
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

/* PTA: the fewest rows, in steps of a half more, with which a job alone reaches 99 % of its best rate. */
static bool find_peak(struct reproduce_run *run, struct pools *p)
{
    struct trial trial = {STAGGERED, DYNAMIC, 1, 4096};
    struct times best = {0, 0, 0};
    struct times now = {.summing_ms = HUGE_VAL};

    if (!time_jobs(run, p, &trial, &best)) {
        return false;
    }
    trial.rows = 4;
    while (now.summing_ms > best.summing_ms / 0.99 && trial.rows < 4096) {
        if (!time_jobs(run, p, &trial, &now)) {
            return false;
        }
        p->peak_rows = trial.rows;
        trial.rows = ceil(trial.rows * 1.5);
    }
    p->peak_ms = now.summing_ms;
    return true;
}

/* Least values of all pools. */
struct least {
    double enough; /* static's time, relative to the policy's: three PTA and more */
    double little; /* less memory */
    double all;
    double even;
};

/* All runs of a panel. */
struct found {
    struct least least[POLICIES];
    double same;  /* least of first come's time, relative to the longer time with priorities */
    double alone; /* with one PTA: time of a job alone, relative to dynamic's */
};

static void look(struct found *f, double share, const struct times times[POLICIES])
{
    for (enum way way = STATIC; way < POLICIES; way++) {
        struct least *least = &f->least[way];
        double gain = times[STATIC].summing_ms / times[way].summing_ms;
        double *part = share >= JOBS ? &least->enough : &least->little;
        *part = fmin(*part, gain);
        least->all = fmin(least->all, gain);
        least->even = fmin(least->even, times[way].even);
    }
    f->same = fmin(f->same, times[FIRST_COME].summing_ms / fmax(times[ESA].summing_ms, times[DYNAMIC].summing_ms));
}

/* One panel: all policies with all pools. */
static bool vary(struct reproduce_run *run, struct pools *p, enum phases phases, struct found *f)
{
    struct times times[POLICIES] = {{0, 0, 0}};

    *f = (struct found){.same = HUGE_VAL};
    for (enum way way = STATIC; way < POLICIES; way++) {
        f->least[way] = (struct least){HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    }
    (void)reproduce_panel(run, titles[phases], "pool, in PTA", "ms");
    for (size_t i = 0; i < SHARES; i++) {
        for (enum way way = STATIC; way < POLICIES; way++) {
            struct trial trial = {phases, way, JOBS, ceil(shares[i] * p->peak_rows)};
            if (!time_jobs(run, p, &trial, &times[way])) {
                return false;
            }
            reproduce_point(run, ways[way].name, shares[i], times[way].summing_ms);
        }
        look(f, shares[i], times);
        f->alone = i == ONE_PTA ? p->peak_ms / times[DYNAMIC].summing_ms : f->alone;
    }
    return true;
}

/* Throughput of training with enough memory, relative to the schemes without rows. */
static bool compare(struct reproduce_run *run, struct pools *p)
{
    struct trial trial = {STAGGERED, DYNAMIC, JOBS, JOBS * p->peak_rows};
    struct times ours = {0, 0, 0};
    struct times theirs = {0, 0, 0};
    double least = HUGE_VAL;
    double most = 0;

    if (!time_jobs(run, p, &trial, &ours)) {
        return false;
    }
    for (trial.way = SERVERS; trial.way < WAYS; trial.way++) {
        if (!time_jobs(run, p, &trial, &theirs)) {
            return false;
        }
        least = fmin(least, 100 * (theirs.iteration_ms / ours.iteration_ms - 1));
        most = fmax(most, 100 * (theirs.iteration_ms / ours.iteration_ms - 1));
    }
    reproduce_got(run, "training-least", least);
    reproduce_got(run, "training-most", most);
    return true;
}

bool atp_jobs(struct reproduce_run *run)
{
    struct pools p = {.scale = run->is_quick ? 32 : 4,
                      .iterations = run->is_quick ? 4 : 8,
                      .all = 15 + PHASES * SHARES * POLICIES + 1 + WAYS - POLICIES};
    struct found f[PHASES];

    if (!find_peak(run, &p)) {
        return false;
    }
    for (enum phases phases = STAGGERED; phases < PHASES; phases++) {
        if (!vary(run, &p, phases, &f[phases])) {
            return false;
        }
    }
    reproduce_got(run, "enough", f[STAGGERED].least[DYNAMIC].enough);
    reproduce_got(run, "little", f[STAGGERED].least[DYNAMIC].little);
    reproduce_got(run, "even", f[STAGGERED].least[DYNAMIC].even);
    reproduce_got(run, "alone", f[STAGGERED].alone);
    reproduce_got(run, "priorities", f[STAGGERED].same);
    reproduce_got(run, "at-once-enough", f[AT_ONCE].least[DYNAMIC].enough);
    reproduce_got(run, "at-once-little", f[AT_ONCE].least[DYNAMIC].little);
    reproduce_got(run, "at-once-even", f[AT_ONCE].least[DYNAMIC].even);
    reproduce_got(run, "esa-enough", f[AT_ONCE].least[ESA].enough);
    reproduce_got(run, "esa-little", f[AT_ONCE].least[ESA].little);
    reproduce_got(run, "esa-even", f[AT_ONCE].least[ESA].even);
    reproduce_got(run, "first-come-enough", f[AT_ONCE].least[FIRST_COME].enough);
    reproduce_got(run, "first-come-little", f[AT_ONCE].least[FIRST_COME].little);
    reproduce_got(run, "first-come-even", f[AT_ONCE].least[FIRST_COME].even);
    reproduce_got(run, "late-first-come", f[LATE_WORKER].least[FIRST_COME].all);
    reproduce_got(run, "late-esa", f[LATE_WORKER].least[ESA].all);
    reproduce_got(run, "late-dynamic", f[LATE_WORKER].least[DYNAMIC].all);
    return compare(run, &p);
}
