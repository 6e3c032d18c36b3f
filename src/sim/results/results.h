/* SPDX-License-Identifier: Apache-2.0 */
/* results.h: results of a run as numbers, JSON, CSV and a text summary.
 *
 * Only flows that began after the warm-up count. Flows that have not ended are only counted. A window that is short
 * compared with the longest flows excludes their times, and the results say how many there are.
 *
 * Read next: run.h, results.c. */
#ifndef TRIB_SIM_RESULTS_H
#define TRIB_SIM_RESULTS_H

#include <stdio.h>

#include "sim/run.h"

#define SIM_SIZE_CLASSES 4U

/* Completion times of flows in a size class. slowdown: time relative to an empty network. */
struct sim_times {
    uint64_t least_bytes; /* smallest size; the next class's is the limit */
    uint64_t count;
    uint64_t bytes;
    double mean_ps;
    uint64_t median_ps;
    uint64_t p99_ps;
    uint64_t most_ps;
    double slowdown_mean;
    double slowdown_p99;
};

/* Times of a job's iterations that count. If count is 0, there are no times, and tables show none. */
struct sim_job_times {
    uint64_t count;
    uint64_t not_done;   /* iterations that would count but had not ended at the end of the run */
    double iteration_ps; /* mean, from end to end */
    double summing_ps;   /* mean summing time that computing does not hide */
    double iteration_most_ps;
    double slots_mean;   /* of one switch */
    uint32_t slots_most; /* of any switch */
    uint32_t cap_most;   /* highest cap that a switch told its ranks; 0: none */
    double lacking;      /* share of sums that lacked ranks (quorum) */
    uint64_t late;       /* contributions of ranks that are missing in the sums taken */
};

struct sim_results {
    uint64_t simulated_ps;
    uint64_t measured_ps; /* after the warm-up */
    uint64_t begun;
    uint64_t ended;
    uint64_t marked;    /* packets marked by ports */
    uint64_t waited_ps; /* longest wait of a packet at a switch's port */
    double goodput_bps; /* payload that arrived, per host */
    struct sim_times all;
    struct sim_times classes[SIM_SIZE_CLASSES];
    struct trib_flow_counters counters;
};

/* Computes the results. Sorts the run's list of ended flows by size and time. False: out of memory. */
bool sim_results_make(struct sim_results *results, const struct sim_run *run);
/* Returns the rate at which a worker of the job sent while summing, bit/s, headers included. 0: no iteration counts, or
 * gradients come in buckets, so computing hides part of the summing. */
double sim_results_rate(const struct sim_run *run, uint32_t job);
/* Returns the share of the workers' contributions that the job's servers did not receive, because sums replaced
 * them. */
double sim_results_saved(const struct sim_run *run, uint32_t job);
struct sim_job_times sim_results_job(const struct sim_run *run, uint32_t job);
/* Returns the incomplete iterations of all jobs; *jobs: the number of these jobs. Means exclude them. */
uint64_t sim_results_not_done(const struct sim_run *run, uint32_t *jobs);
/* Name of the figure for incomplete iterations. */
#define SIM_FIGURE_NOT_DONE "jobs: iterations not done"

struct report_json;
struct sim_ideal; /* ideal.h */

/* Facts about a run that only the caller knows. */
struct sim_story {
    const char *version;
    const struct sim_ideal *ideal; /* NULL: not requested, or not completed */
    double cpu_s;
    bool was_interrupted;
    bool was_stalled;
};

void sim_results_json(FILE *out, const struct sim_run *run, const struct sim_results *results,
                      const struct sim_story *story);
void sim_results_summary(FILE *out, const struct sim_run *run, const struct sim_results *results,
                         const struct sim_story *story);
/* Writes a self-contained page with plots. */
void sim_results_html(FILE *out, const struct sim_run *run, const struct sim_results *results,
                      const struct sim_story *story);

/* Write results.json, flows.csv, links.csv, figures.csv and, with jobs, jobs.csv and iterations.csv into the folder; or
 * the page. False: error names the file. */
bool sim_results_write(const char *folder, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story, char *error);
bool sim_results_write_page(const char *path, const struct sim_run *run, const struct sim_results *results,
                            const struct sim_story *story, char *error);

/* Tables as CSV. A table begins with comment lines (#): version, seed, trace, and the scenario as a file that
 * reproduces the run. The names of the columns follow. */
/* One line per ended flow, in the order of ends; columns as in HPCC's fct.txt. */
void sim_results_flows(FILE *out, const struct sim_run *run, const struct sim_story *story);
void sim_results_links(FILE *out, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story);
/* One line per job, and one line per ended iteration. */
void sim_results_jobs(FILE *out, const struct sim_run *run, const struct sim_story *story);
void sim_results_iterations(FILE *out, const struct sim_run *run, const struct sim_story *story);
/* Figures that a sweep plots: per line a quoted name with its unit, and a number. */
void sim_results_figures(FILE *out, const struct sim_run *run, const struct sim_results *results,
                         const struct sim_story *story);
/* Prints the text with "# " before each line. */
void sim_results_comment(FILE *out, const char *text);
/* Returns the mean use of a link over the simulated time, as a share of its rate. */
double sim_results_use(const struct sim_run *run, const struct sim_results *results, uint32_t link);

/* report_queues.c: JSON of [queues]; JSON and text about buffers and PFC; the circle of a deadlock, in one line. */
void sim__json_queues(struct report_json *json, const struct sim_topology *topology);
void sim__json_buffers(struct report_json *json, const struct sim_run *run);
void sim__tell_buffers(void (*tell)(FILE *out, const char *what, const char *text), FILE *out,
                       const struct sim_run *run);
void sim__deadlock_text(const struct sim_run *run, char *text, size_t size);

#endif
