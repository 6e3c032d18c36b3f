/* SPDX-License-Identifier: Apache-2.0 */
/* results.c: computes the numbers of results.h. Read next: report.c. */
#include "sim/results/results.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t class_begins[SIM_SIZE_CLASSES] = {0, 10000, 100000, 10000000}; /* bytes */

static int compare_times(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return (*x > *y) - (*x < *y);
}

static int compare_slowdowns(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

/* Returns the index of the smallest value that is not below this percentile. */
static uint64_t rank_of(uint64_t count, uint64_t percent)
{
    return (count * percent + 99) / 100 - 1;
}

struct space {
    uint64_t *times;
    double *slowdowns;
};

static void make_times(struct sim_times *t, const struct sim_run *run, uint64_t least, uint64_t below,
                       const struct space *space)
{
    double slowdowns = 0;
    double sum_ps = 0;

    *t = (struct sim_times){.least_bytes = least};
    for (uint64_t i = 0; i < run->end_count; i++) {
        const struct sim_flow_end *end = &run->ends[i];
        if (end->plan.bytes < least || end->plan.bytes >= below) {
            continue;
        }
        uint64_t time_ps = end->end_ps - end->start_ps;
        space->times[t->count] = time_ps;
        space->slowdowns[t->count] = (double)time_ps / (double)end->ideal_ps;
        slowdowns += space->slowdowns[t->count];
        sum_ps += (double)time_ps;
        t->bytes += end->plan.bytes;
        t->count++;
    }
    if (t->count == 0) {
        return;
    }
    qsort(space->times, t->count, sizeof *space->times, compare_times);
    qsort(space->slowdowns, t->count, sizeof *space->slowdowns, compare_slowdowns);
    t->mean_ps = sum_ps / (double)t->count;
    t->median_ps = space->times[rank_of(t->count, 50)];
    t->p99_ps = space->times[rank_of(t->count, 99)];
    t->most_ps = space->times[t->count - 1];
    t->slowdown_mean = slowdowns / (double)t->count;
    t->slowdown_p99 = space->slowdowns[rank_of(t->count, 99)];
}

static void add_links(struct sim_results *results, const struct sim_run *run)
{
    const struct sim_network *n = &run->network;

    for (uint32_t i = 0; i < n->link_count; i++) {
        const struct sim_link *link = &n->links[i];
        results->marked += link->marked;
        if (n->fabric.from[i] >= n->hosts && link->most_ps > results->waited_ps) {
            results->waited_ps = link->most_ps;
        }
    }
}

/* Counts incomplete iterations. With a window, only iterations that began in it: the run does not wait for later
 * ones. */
static uint64_t count_not_done(const struct sim_run *run, const struct sim_job *job)
{
    uint64_t count = 0;

    for (uint32_t i = job->iterations; i < job->config.iterations; i++) {
        uint64_t begun_ps = job->log[i].begun_ps;
        bool is_late = begun_ps == 0 && (i != 0 || job->state == SIM_JOB_WAITS);
        count += run->scenario->window_ps == 0 || (!is_late && sim_run_counts(run->scenario, begun_ps));
    }
    return count;
}

struct sim_job_times sim_results_job(const struct sim_run *run, uint32_t number)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    struct sim_job_times t = {0};
    uint64_t looks = 0;

    for (uint32_t i = 0; i < job->iterations; i++) {
        const struct sim_iteration *log = &job->log[i];
        double time_ps = (double)(log->ended_ps - (i == 0 ? log->begun_ps : job->log[i - 1].ended_ps));
        if (sim_run_counts(run->scenario, log->begun_ps)) {
            t.count++;
            t.iteration_ps += time_ps;
            t.summing_ps += (double)(log->ended_ps - log->computed_ps);
            t.iteration_most_ps = time_ps > t.iteration_most_ps ? time_ps : t.iteration_most_ps;
        }
    }
    t.iteration_ps /= t.count != 0 ? (double)t.count : 1;
    t.summing_ps /= t.count != 0 ? (double)t.count : 1;
    for (uint32_t i = job->first; i < job->first + job->count; i++) {
        const struct sim_slots *slots = &run->jobs.slots[i];
        looks += slots->looks;
        t.slots_mean += (double)slots->sum;
        t.slots_most = slots->most > t.slots_most ? slots->most : t.slots_most;
        t.cap_most = slots->cap_most > t.cap_most ? slots->cap_most : t.cap_most;
    }
    t.slots_mean /= looks != 0 ? (double)looks : 1;
    t.lacking = job->sums != 0 ? (double)job->lacking / (double)job->sums : 0;
    t.late = sim_jobs_counters(&run->jobs, number).workers.late;
    t.not_done = count_not_done(run, job);
    return t;
}

uint64_t sim_results_not_done(const struct sim_run *run, uint32_t *jobs)
{
    uint64_t count = 0;

    *jobs = 0;
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        uint64_t of_job = count_not_done(run, &run->jobs.jobs[i]);
        count += of_job;
        *jobs += of_job != 0;
    }
    return count;
}

/* True if the run ended before its time: all jobs are done, the window's flows have ended, no event is left, or ports
 * are deadlocked. */
static bool is_at_its_end(const struct sim_run *run)
{
    bool is_done = run->jobs.count != 0 && run->jobs.done_jobs == run->jobs.count;
    bool is_measured = run->is_behind && run->end_count == run->begun && sim_run_now(run) < run->scenario->duration_ps;
    bool is_empty = run->network.events.heap_count == 0 && sim_network_count(&run->network) == 0;

    return run->is_over && (is_done || is_measured || is_empty || run->deadlock.count != 0);
}

bool sim_results_make(struct sim_results *results, const struct sim_run *run)
{
    uint64_t now_ps = run->is_over ? run->scenario->duration_ps : sim_run_now(run);
    uint64_t warm_ps = run->scenario->warmup_ps;
    struct space space = {
        .times = malloc((run->end_count + 1) * sizeof *space.times),
        .slowdowns = malloc((run->end_count + 1) * sizeof *space.slowdowns),
    };

    *results = (struct sim_results){.simulated_ps = now_ps, .begun = run->begun, .ended = run->end_count};
    bool is_good = space.times != NULL && space.slowdowns != NULL;
    if (is_at_its_end(run)) {
        results->simulated_ps = now_ps = sim_run_now(run);
    }
    if (is_good) {
        make_times(&results->all, run, 0, SIM_NEVER, &space);
        for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
            uint64_t below = i + 1 < SIM_SIZE_CLASSES ? class_begins[i + 1] : SIM_NEVER;
            make_times(&results->classes[i], run, class_begins[i], below, &space);
        }
    }
    results->measured_ps = run->is_behind                     ? run->scenario->window_ps
                           : run->is_warm && now_ps > warm_ps ? now_ps - warm_ps
                                                              : 0;
    if (results->measured_ps != 0) {
        double bytes = (double)((run->is_behind ? run->end_bytes : run->flows.bytes) - run->warm_bytes);
        results->goodput_bps = bytes * 8e12 / (double)results->measured_ps / run->network.hosts;
    }
    results->counters = sim_flows_counters(&run->flows);
    add_links(results, run);
    free(space.times);
    free(space.slowdowns);
    return is_good;
}

double sim_results_rate(const struct sim_run *run, uint32_t number)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    struct sim_job_times t = sim_results_job(run, number);
    double bytes = (double)job->fragments * (job->data + SIM_JOB_HEADERS);

    return t.count != 0 && job->config.buckets == 1 ? 8 * bytes / (t.summing_ps / 1e12) : 0;
}

double sim_results_saved(const struct sim_run *run, uint32_t number)
{
    struct sim_job_counters counters = sim_jobs_counters(&run->jobs, number);
    double sent = (double)counters.workers.contributions;

    return sent != 0 ? 1 - (double)counters.switches.contributions / sent : 0;
}
