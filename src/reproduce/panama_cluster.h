/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster.h: PANAMA's Fig. 8: training jobs beside flows in a shared cluster, by each scheme. What is simulated
 * (panama_cluster_jobs.c), what comes out of one run (panama_cluster_read.c), and the figure (panama_cluster.c).
 *
 * The jobs are drawn once. A load is the first so many of them, so that each load has all jobs of those below it, on
 * the same servers.
 * Read next: panama.h, simulate.h. */
#ifndef TRIB_REPRODUCE_PANAMA_CLUSTER_H
#define TRIB_REPRODUCE_PANAMA_CLUSTER_H

#include "reproduce/reproduce.h"
#include "sim/scenario/scenario.h"

#define CLUSTER_JOBS_MAX 64U
#define CLUSTER_TEXT_MAX 8192U
#define CLUSTER_LOADS_MAX 4U
#define CLUSTER_BASE 0.2              /* load of the flows */
#define CLUSTER_SHORT_BYTES 40000000U /* flows of fewer are short, and models are summed on rings */

enum cluster_role {
    CLUSTER_IDEAL = 0, /* one of the dedicated clusters, together one curve */
    CLUSTER_BASIS,     /* without jobs: where all curves begin */
    CLUSTER_CURVE
};

/* One way to run the cluster: a line of its table. */
struct cluster_way {
    const char *name;
    const char *folder;
    enum cluster_role role;
    const char *job;   /* of each job's table; NULL: there are no jobs */
    const char *flows; /* of each source's table; NULL: there are no flows */
};

/* The index-th; NULL behind the last. */
const struct cluster_way *cluster_way_at(uint32_t index);

/* How large a cluster, and how long it is looked at. */
struct cluster {
    uint32_t k; /* of the fat tree */
    uint32_t least_workers;
    uint32_t most_workers;
    uint32_t mtu;
    uint32_t scale;
    uint32_t warmup_ms;
    uint32_t window_ms;
    uint32_t load_count;
    double aims[CLUSTER_LOADS_MAX]; /* loads of flows and jobs together */
};

/* How many runs the figure is of: each way at each load that it depends on. */
uint32_t cluster_runs(const struct cluster *cluster);

struct cluster_job {
    const struct sim_model *model;
    uint32_t workers;
    uint32_t start_us; /* somewhere in an iteration, before scaling */
};

/* The jobs of a cluster. */
struct cluster_jobs {
    struct cluster_job list[CLUSTER_JOBS_MAX];
    uint32_t count;
    uint32_t unused;
    uint32_t first[CLUSTER_LOADS_MAX]; /* how many of them are there at each load */
    double loads[CLUSTER_LOADS_MAX];   /* which these make, with the flows */
};

/* The share of its servers' links that a ring of the job takes, on an empty network. */
double cluster_job_load(const struct cluster_job *job);
void cluster_draw(const struct cluster *cluster, struct cluster_jobs *jobs);
/* The scenario, with all jobs: "jobs = N" before it makes them fewer. Returns its length. */
uint32_t cluster_scenario(const struct cluster *cluster, const struct cluster_jobs *jobs, const struct cluster_way *way,
                          char text[CLUSTER_TEXT_MAX]);

/* What Fig. 8 shows of one run. */
struct cluster_sight {
    double p99_ms; /* of short flows */
    double mean_ms;
    double long_gbps; /* the mean of long flows' bytes by their times */
    double iteration_ms;
    uint64_t flows;
    uint64_t long_flows;
    uint32_t jobs;
    uint32_t unused;
};

/* Adds what this run has to the sight. False: out of memory. */
bool cluster_look(const struct sim_run *run, uint32_t scale, struct cluster_sight *sight);

/* What a run's files must be of. */
struct cluster_files {
    uint32_t scale;
    uint32_t jobs; /* that it has; 0: it has no file of them */
};

/* The same from the files of a run of a sweep, each with all of its lines. False: error says what is missing, and the
 * sight is as it was. */
bool cluster_look_at(const char *folder, const struct cluster_files *files, struct cluster_sight *sight, char *error);

#endif
