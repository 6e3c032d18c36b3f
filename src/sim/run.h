/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: one simulation: a scenario's network with its traffic, from its beginning to its end.
 *
 * Use: sim_run_init, sim_run_advance until it returns false (each call simulates so many packet-hops: between calls
 * progress can be shown, or the run be given up), sim_run_check, then results.h; sim_run_deinit. A run that was given
 * up has results as well: those of the time until then.
 * Read next: scenario.h (from files), results.h. */
#ifndef TRIB_SIM_RUN_H
#define TRIB_SIM_RUN_H

#include <tributary/comm.h>

#include "sim/jobs/jobs.h"
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

/* Switches that add, where not all do: so much of a run of nodes, drawn by the seed. */
struct sim_adders {
    uint32_t first;
    uint32_t count;
    double share;
};

/* What adds in a switch. */
struct sim_accelerators {
    uint64_t memory_bytes; /* for sums; SIM_NEVER: as much as windows want */
    uint64_t bypass_ps;    /* what every packet takes longer through a switch that has one */
    bool is_pool_static;   /* of combiners: each job has an equal share of the pool */
};

struct sim_scenario {
    char name[SIM_NAME_MAX];
    uint64_t seed;
    uint64_t duration_ps; /* of simulated time at most */
    uint64_t warmup_ps;   /* flows and iterations that begin earlier, and bytes that come earlier, are in no result */
    uint64_t window_ps;   /* nor are those that begin so long after that: it ends when the others have; 0: none */
    uint32_t mtu;         /* bytes of packets where flows and jobs say nothing else */
    uint32_t jobs_most;   /* of the list of jobs the first so many are there; 0: all */
    uint32_t scale;       /* jobs sum, compute and follow each other so many times less; 0 is taken as 1 */
    struct sim_topology topology;
    struct sim_flows_config flows;
    struct sim_traffic traffic[SIM_SOURCES_MAX];
    struct sim_job_config jobs[SIM_JOB_TABLES_MAX]; /* each may stand for several jobs */
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
    bool is_multicast;         /* switches that do not add copy results where ways part */
    bool is_ideal;             /* flows and jobs are to run alone as well: see ideal.h */
    struct sim_places *places; /* where a file says what of it (scenario.h); NULL: it has been in none */
    char *text; /* as a file that is the same scenario, name and seed as well; NULL: it has been in none */
};

/* What of a scenario can not be, although all values fit: it takes the network, and seeds, to know. */
enum sim_unfit { SIM_FITS = 0, SIM_UNFIT_JOB, SIM_UNFIT_RESTART, SIM_UNFIT_MEMORY, SIM_UNFIT_BYPASS };

/* Jobs that wait for hosts, and hosts that are free, by number. */
struct sim_queue {
    uint32_t *jobs;   /* those before `at` have hosts */
    uint32_t *tables; /* of the scenario's jobs, by job */
    uint32_t *hosts;
    uint32_t count;
    uint32_t at;
    uint32_t host_count;
    uint32_t unused;
    struct trib_prng prng; /* of random placements */
};

struct sim_run {
    const struct sim_scenario *scenario;
    enum sim_unfit unfit;  /* what sim_run_init has refused, */
    uint32_t unfit_number; /* and which of them */
    struct sim_network network;
    struct sim_flows flows;
    struct sim_jobs jobs;
    struct sim_queue queue;
    char refusal[TRIB_ERROR_TEXT_MAX]; /* why a job that had waited cannot be; then the run is over */
    struct sim_failures failures;
    struct sim_restarts restarts;
    struct sim_faults faults;
    struct sim_deadlock deadlock; /* if one was found, the run is over */
    struct sim_source sources[SIM_SOURCES_MAX];
    uint8_t *adds;             /* by node; NULL: every switch adds */
    struct sim_flow_end *ends; /* of flows that began after the warm-up */
    uint64_t end_count;
    uint64_t end_room;
    uint64_t begun;      /* flows that began after the warm-up */
    uint64_t warm_bytes; /* of payload that came before its end */
    uint64_t end_bytes;  /* and before the window's */
    uint64_t quiet_ps;   /* since then no payload has come that should have */
    uint64_t quiet_bytes;
    uint64_t until_ps; /* the next sim_run_advance ends then at the latest */
    bool is_warm;
    bool is_behind; /* the window */
    bool is_over;
};

/* Draws the switches that add. adds: by node, room for all; 1 for each of these. */
void sim_run_draw_adders(const struct sim_scenario *scenario, uint8_t *adds);
/* scenario must live as long as the run. False: error (TRIB_ERROR_TEXT_MAX bytes) says why it cannot be; deinit it all
 * the same. */
bool sim_run_init(struct sim_run *run, const struct sim_scenario *scenario, char *error);
void sim_run_deinit(struct sim_run *run);
/* Simulates about so many packet-hops, of a second of simulated time at most. False: the run is over: its time, or all
 * jobs where there are any, or there is nothing left to happen. */
bool sim_run_advance(struct sim_run *run, uint64_t hops);
static inline uint64_t sim_run_now(const struct sim_run *run)
{
    return sim_network_now(&run->network);
}
/* Do flows and iterations that begin then count? */
static inline bool sim_run_counts(const struct sim_scenario *s, uint64_t start_ps)
{
    return start_ps >= s->warmup_ps && (s->window_ps == 0 || start_ps - s->warmup_ps < s->window_ps);
}
/* Flows that have not ended though no payload has come for this long: a hang, or a network that loses everything. 0:
 * there are none. */
uint64_t sim_run_stalled(const struct sim_run *run, uint64_t for_ps);
/* What must hold at any time, whatever the scenario: NULL, or what does not. */
const char *sim_run_check(const struct sim_run *run);

#endif
