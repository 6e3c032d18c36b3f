/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster.h: PANAMA's Fig. 8: training jobs beside flows in a shared cluster, by scheme: simulated jobs
 * (panama_cluster_jobs.c), results of a run (panama_cluster_read.c), and the figure (panama_cluster.c).
 *
 * The jobs are drawn once. A load is the first n of them, so each load has all jobs of lower loads, on the same
 * servers.
 *
 * Read next: panama.h, simulate.h. */
#ifndef TRIB_REPRODUCE_PANAMA_CLUSTER_H
#define TRIB_REPRODUCE_PANAMA_CLUSTER_H

#include "reproduce/reproduce.h"
#include "sim/scenario/scenario.h"

#define CLUSTER_JOBS_MAX 64U
#define CLUSTER_TEXT_MAX 8192U
#define CLUSTER_LOADS_MAX 4U
#define CLUSTER_BASE 0.2              /* load of the flows */
#define CLUSTER_SHORT_BYTES 40000000U /* smaller flows are short, and smaller models are summed on rings */

enum cluster_role {
    CLUSTER_IDEAL = 0, /* one of the dedicated clusters, which form one curve */
    CLUSTER_BASIS,     /* without jobs: the start of all curves */
    CLUSTER_CURVE
};

/* A way to run the cluster: a row of its table. */
struct cluster_way {
    const char *name;
    const char *folder;
    enum cluster_role role;
    const char *job;   /* part of each job's table; NULL: no jobs */
    const char *flows; /* part of each source's table; NULL: no flows */
};

/* Returns the index-th way; NULL after the last. */
const struct cluster_way *cluster_way_at(uint32_t index);

/* Size of a cluster, and its measured time. */
struct cluster {
    uint32_t k; /* fat tree */
    uint32_t least_workers;
    uint32_t most_workers;
    uint32_t mtu;
    uint32_t scale;
    uint32_t warmup_ms;
    uint32_t window_ms;
    uint32_t load_count;
    double aims[CLUSTER_LOADS_MAX]; /* total loads of flows and jobs */
};

/* Returns the number of runs of the figure: each way at each load that affects it. */
uint32_t cluster_runs(const struct cluster *cluster);

struct cluster_job {
    const struct sim_model *model;
    uint32_t workers;
    uint32_t start_us; /* random offset within an iteration, before scaling */
};

/* The jobs of a cluster. */
struct cluster_jobs {
    struct cluster_job list[CLUSTER_JOBS_MAX];
    uint32_t count;
    uint32_t unused;
    uint32_t first[CLUSTER_LOADS_MAX]; /* jobs at each load */
    double loads[CLUSTER_LOADS_MAX];   /* resulting load, with the flows */
};

/* Returns the share of a server's link that a ring of the job uses, on an empty network. */
double cluster_job_load(const struct cluster_job *job);
void cluster_draw(const struct cluster *cluster, struct cluster_jobs *jobs);
/* Writes the scenario with all jobs; a preceding "jobs = N" reduces them. Returns the length. */
uint32_t cluster_scenario(const struct cluster *cluster, const struct cluster_jobs *jobs, const struct cluster_way *way,
                          char text[CLUSTER_TEXT_MAX]);

/* Values of a run in Fig. 8. */
struct cluster_sight {
    double p99_ms; /* of short flows */
    double mean_ms;
    double long_gbps; /* mean rate of long flows: bytes by time */
    double iteration_ms;
    uint64_t flows;
    uint64_t long_flows;
    uint32_t jobs;
    uint32_t unused;
};

/* Adds a run to the values. False: out of memory. */
bool cluster_look(const struct sim_run *run, uint32_t scale, struct cluster_sight *sight);

/* Expected properties of a run's files. */
struct cluster_files {
    uint32_t scale;
    uint32_t jobs; /* jobs in the file; 0: no such file */
};

/* Adds a run from a sweep's files, which must be complete. False: error has the cause, and the values are unchanged. */
bool cluster_look_at(const char *folder, const struct cluster_files *files, struct cluster_sight *sight, char *error);

#endif
