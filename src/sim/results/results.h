/* SPDX-License-Identifier: Apache-2.0 */
/* results.h: what came out of a run, as numbers; and as JSON, CSV and a summary for people.
 *
 * Only flows that began after the warm-up count. Of those that had not ended nothing is known but their number: a
 * window that is short against the longest flows leaves these out, and says how many they are.
 * Read next: run.h, results.c. */
#ifndef TRIB_SIM_RESULTS_H
#define TRIB_SIM_RESULTS_H

#include <stdio.h>

#include "sim/run.h"

#define SIM_SIZE_CLASSES 4U

/* Completion times of flows of some sizes. slowdown: by how much longer than on an empty network. */
struct sim_times {
    uint64_t least_bytes; /* from this size on, up to the next class's */
    uint64_t count;
    uint64_t bytes;
    double mean_ps;
    uint64_t median_ps;
    uint64_t p99_ps;
    uint64_t most_ps;
    double slowdown_mean;
    double slowdown_p99;
};

/* Of a job's iterations that count. Without one (count 0) there are no times, and tables have none. */
struct sim_job_times {
    uint64_t count;
    uint64_t not_done;   /* iterations that would count, and had not ended when the run was over */
    double iteration_ps; /* the mean, from one's end to the next one's */
    double summing_ps;   /* of it, what computing does not hide */
    double iteration_most_ps;
    double slots_mean;   /* of one switch */
    uint32_t slots_most; /* of any switch */
    uint32_t cap_most;   /* that any of its switches told its ranks; 0: none */
    double lacking;      /* of all sums: the share that lacked ranks, as a quorum may */
    uint64_t late;       /* parts of ranks that are not in the sums that these took */
};

struct sim_results {
    uint64_t simulated_ps;
    uint64_t measured_ps; /* behind the warm-up */
    uint64_t begun;
    uint64_t ended;
    uint64_t marked;    /* packets, by ports */
    uint64_t waited_ps; /* the longest that a packet waited at a switch's port */
    double goodput_bps; /* payload that came per host */
    struct sim_times all;
    struct sim_times classes[SIM_SIZE_CLASSES];
    struct trib_flow_counters counters;
};

/* Sorts the run's list of flows that have ended by size and time; false: out of memory. */
bool sim_results_make(struct sim_results *results, const struct sim_run *run);
/* bit/s that a worker of the job sent in its iterations, headers included, while it summed. 0: none has ended,
 * or gradients come in buckets, so that computing hides some of it. */
double sim_results_rate(const struct sim_run *run, uint32_t job);
/* Share of the contributions of a job's workers that its servers did not receive: sums came in their place. */
double sim_results_saved(const struct sim_run *run, uint32_t job);
struct sim_job_times sim_results_job(const struct sim_run *run, uint32_t job);
/* Iterations of all jobs that were not done; *jobs: of how many jobs. Means are of the others. */
uint64_t sim_results_not_done(const struct sim_run *run, uint32_t *jobs);
/* What a figure is called that says so of a run. */
#define SIM_FIGURE_NOT_DONE "jobs: iterations not done"

struct report_json;
struct sim_ideal; /* ideal.h */

/* What the caller knows of a run. */
struct sim_story {
    const char *version;
    const struct sim_ideal *ideal; /* NULL: not asked for, or not reached */
    double cpu_s;
    bool was_interrupted;
    bool was_stalled;
};

void sim_results_json(FILE *out, const struct sim_run *run, const struct sim_results *results,
                      const struct sim_story *story);
void sim_results_summary(FILE *out, const struct sim_run *run, const struct sim_results *results,
                         const struct sim_story *story);
/* A page of its own, with plots. */
void sim_results_html(FILE *out, const struct sim_run *run, const struct sim_results *results,
                      const struct sim_story *story);

/* Writes results.json, flows.csv, links.csv, figures.csv, and of jobs jobs.csv and iterations.csv, into the folder; or
 * the page. False: error names the file. */
bool sim_results_write(const char *folder, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story, char *error);
bool sim_results_write_page(const char *path, const struct sim_run *run, const struct sim_results *results,
                            const struct sim_story *story, char *error);

/* Tables as CSV. Each begins with what says where it is from, in lines that begin with #: version, seed, trace, and the
 * scenario, as a file that is the same run again; then the names of its columns. */
/* A line per flow that has ended, in the order of their ends; columns as in HPCC's fct.txt. */
void sim_results_flows(FILE *out, const struct sim_run *run, const struct sim_story *story);
void sim_results_links(FILE *out, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story);
/* A line per job, and a line per iteration that has ended. */
void sim_results_jobs(FILE *out, const struct sim_run *run, const struct sim_story *story);
void sim_results_iterations(FILE *out, const struct sim_run *run, const struct sim_story *story);
/* What a sweep shows over its keys: a name with its unit, in quotes, and a number in each line. */
void sim_results_figures(FILE *out, const struct sim_run *run, const struct sim_results *results,
                         const struct sim_story *story);
/* The text, each line of it behind "# ". */
void sim_results_comment(FILE *out, const char *text);
/* Mean use of a link over the simulated time, as a share of the link's rate. */
double sim_results_use(const struct sim_run *run, const struct sim_results *results, uint32_t link);

/* Parts of report_queues.c: of [queues] and of what buffers and PFC did; the circle of a deadlock, in one line. */
void sim__json_queues(struct report_json *json, const struct sim_topology *topology);
void sim__json_buffers(struct report_json *json, const struct sim_run *run);
void sim__tell_buffers(void (*tell)(FILE *out, const char *what, const char *text), FILE *out,
                       const struct sim_run *run);
void sim__deadlock_text(const struct sim_run *run, char *text, size_t size);

#endif
