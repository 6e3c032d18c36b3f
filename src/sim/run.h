/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: a simulation of a scenario's network and traffic.
 *
 * Use: sim_run_init; sim_run_advance until it returns false; sim_run_check; results.h; sim_run_deinit. Each
 * sim_run_advance simulates a limited number of packet-hops, so the caller can show progress or abort between calls. An
 * aborted run has results for the time until then.
 *
 * Read next: scenario.h (scenarios from files), results.h. */
#ifndef TRIB_SIM_RUN_H
#define TRIB_SIM_RUN_H

#include <tributary/comm.h>

#include "sim/jobs/jobs.h"
#include "sim/jobs/open.h"
#include "sim/jobs/restarts.h"
#include "sim/network/deadlock.h"
#include "sim/network/failures.h"
#include "sim/network/faults.h"
#include "sim/network/topology.h"
#include "sim/traffic/flows.h"
#include "sim/traffic/traffic.h"

#define SIM_SOURCES_MAX 64U
#define SIM_NAME_MAX 64U
#define SIM_ADDERS_MAX 64U
#define SIM_JOB_TABLES_MAX 1024U

/* Restricts adding to a share of a run of nodes, drawn by the seed. */
struct sim_adders {
    uint32_t first;
    uint32_t count;
    double share;
};

/* Accelerators: the adding hardware of switches. */
struct sim_accelerators {
    uint64_t memory_bytes; /* memory for sums; 0, SIM_NEVER: no bound */
    uint64_t bypass_ps;    /* extra time of every packet through a switch with an accelerator */
    bool is_pool_static;   /* combiners: each job has an equal share of the pool */
};

struct sim_scenario {
    char name[SIM_NAME_MAX];
    uint64_t seed;
    uint64_t duration_ps; /* maximum simulated time */
    /* Flows and iterations that begin earlier, and bytes that arrive earlier, are excluded from results. */
    uint64_t warmup_ps;
    /* Flows and iterations that begin this long after the warm-up are excluded. The run ends when the included flows
     * and iterations have ended. 0: no window. */
    uint64_t window_ps;
    uint32_t mtu; /* default packet size of flows and jobs, bytes */
    /* Number of entries of `jobs` that are used, from the first. 0: all. */
    uint32_t jobs_most;
    /* Divides job sizes, compute times and inter-arrival times. 0: 1. */
    uint32_t scale;
    struct sim_topology topology;
    struct sim_flows_config flows;
    struct sim_traffic traffic[SIM_SOURCES_MAX];
    struct sim_job_config jobs[SIM_JOB_TABLES_MAX]; /* an entry can represent several jobs */
    struct sim_failure failures[SIM_FAILURES_MAX];
    struct sim_restart restarts[SIM_RESTARTS_MAX];
    struct sim_faults_config faults;
    uint32_t traffic_count;
    uint32_t job_count;
    uint32_t failure_count;
    uint32_t restart_count;
    uint32_t adder_count; /* 0: all switches add */
    struct sim_adders adders[SIM_ADDERS_MAX];
    struct sim_accelerators accelerators;
    bool is_multicast;         /* switches that do not add copy results where paths part */
    bool is_ideal;             /* also run flows and jobs alone: see ideal.h */
    struct sim_places *places; /* places of values in the file (scenario.c); NULL: not from a file */
    /* Text of a file that gives the same scenario, with name and seed. NULL: not from a file. */
    char *text;
};

/* Reasons to refuse a scenario with valid values. They depend on the network and the seed. */
enum sim_unfit { SIM_FITS = 0, SIM_UNFIT_JOB, SIM_UNFIT_RESTART, SIM_UNFIT_MEMORY, SIM_UNFIT_BYPASS };

/* Jobs that wait for hosts, and the free hosts in ascending order. */
struct sim_queue {
    uint32_t *jobs;   /* jobs before `at` have hosts */
    uint32_t *tables; /* entry of the scenario's jobs, by job */
    uint32_t *hosts;
    uint32_t count;
    uint32_t at;
    uint32_t host_count;
    uint32_t unused;
    struct trib_prng prng; /* for random placements */
};

struct sim_run {
    const struct sim_scenario *scenario;
    /* Reason of a failed sim_run_init, and the number of the refused entry. */
    enum sim_unfit unfit;
    uint32_t unfit_number;
    struct sim_network network;
    struct sim_flows flows;
    struct sim_jobs jobs;
    struct sim_queue queue;
    /* Reason why a waiting job was refused; the run is then over. */
    char refusal[TRIB_ERROR_TEXT_MAX];
    struct sim_failures failures;
    struct sim_restarts restarts;
    struct sim_faults faults;
    struct sim_deadlock deadlock; /* the run is over if one was found */
    struct sim_source sources[SIM_SOURCES_MAX];
    uint8_t *adds;             /* by node; NULL: every switch adds */
    struct sim_flow_end *ends; /* flows that count and have ended */
    uint64_t end_count;
    uint64_t end_room;
    uint64_t begun;      /* flows that began after the warm-up, within the window */
    uint64_t warm_bytes; /* payload that arrived before the end of the warm-up */
    uint64_t end_bytes;  /* payload that arrived before the end of the window */
    /* Since this time no payload has arrived although some was outstanding. */
    uint64_t quiet_ps;
    uint64_t quiet_bytes;
    uint64_t until_ps; /* limit of the next sim_run_advance */
    bool is_warm;
    bool is_behind; /* the window has ended */
    bool is_over;
};

/* Draws the switches that add. Sets adds[node] to 1 for each; adds must have an entry for each node, all 0. */
void sim_run_draw_adders(const struct sim_scenario *scenario, uint8_t *adds);
/* scenario must outlive the run. False: error (TRIB_ERROR_TEXT_MAX bytes) has the reason. Call sim_run_deinit in either
 * case. */
bool sim_run_init(struct sim_run *run, const struct sim_scenario *scenario, char *error);
void sim_run_deinit(struct sim_run *run);
/* Simulates about `hops` packet-hops, at most one second of simulated time. False: the run is over, because its time
 * has passed, all jobs have ended, or no event is left. */
bool sim_run_advance(struct sim_run *run, uint64_t hops);
static inline uint64_t sim_run_now(const struct sim_run *run)
{
    return sim_network_now(&run->network);
}
/* True if flows and iterations that begin at start_ps count in results. */
static inline bool sim_run_counts(const struct sim_scenario *s, uint64_t start_ps)
{
    return start_ps >= s->warmup_ps && (s->window_ps == 0 || start_ps - s->warmup_ps < s->window_ps);
}
/* Returns the number of unfinished flows and jobs if no payload has arrived for for_ps: a hang, or a network that loses
 * every packet. Otherwise 0. */
uint64_t sim_run_stalled(const struct sim_run *run, uint64_t for_ps);
/* Checks invariants of any scenario. Returns NULL, or the one that does not hold. */
const char *sim_run_check(const struct sim_run *run);

#endif
