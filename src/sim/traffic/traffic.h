/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h: sources of flows.
 *
 *   permutation   every host sends one flow to one other host, and receives one
 *   incast        several hosts send to one host at the same time, repeatedly if configured
 *   poisson       flows begin at random times between random hosts; their payload is a share of all hosts' rate
 *   trace         flows from a file in the format of HPCC's flow.txt
 *
 * Each source has its own random number generator, seeded by the run's seed and the source's number, so sources are
 * independent.
 *
 * Read next: flows.h. */
#ifndef TRIB_SIM_TRAFFIC_H
#define TRIB_SIM_TRAFFIC_H

#include "sim/traffic/flows.h"
#include "sim/traffic/sizes.h"

enum sim_traffic_kind { SIM_TRAFFIC_NONE = 0, SIM_PERMUTATION, SIM_INCAST, SIM_POISSON, SIM_TRACE, SIM_TRAFFIC_COUNT };

/* One flow of a trace. */
struct sim_trace_flow {
    uint64_t start_ps;
    uint64_t bytes;
    uint32_t from;
    uint32_t to;
};

struct sim_traffic {
    enum sim_traffic_kind kind;
    uint32_t fan_in;               /* incast: senders */
    uint32_t to;                   /* incast: receiver */
    uint32_t repeat;               /* incast: rounds; at least 1 */
    uint64_t bytes;                /* of one flow, if sizes is NULL; SIM_NEVER: endless */
    const struct sim_sizes *sizes; /* poisson */
    double load;                   /* poisson: share of the hosts' rate, by payload */
    uint64_t rate_bps;             /* poisson: rate of a host */
    uint64_t start_ps;
    uint64_t stop_ps;   /* poisson: last start of a flow */
    uint64_t least;     /* poisson: omit flows of fewer bytes */
    uint64_t below;     /* poisson: omit flows of at least this size; 0: no limit */
    uint64_t period_ps; /* incast: time between rounds */
    /* Ordered by start. Owned by the scenario, which frees it. */
    struct sim_trace_flow *trace;
    uint64_t trace_count;
};

struct sim_source {
    struct sim_traffic traffic;
    struct sim_flows *flows;
    struct trib_prng prng;
    uint64_t done; /* flows begun; incast: rounds */
    double gap_ps; /* poisson: mean time between two flows */
    double due_ps; /* poisson: start of the next flow */
    uint32_t number;
    uint32_t timer;
};

const char *sim_traffic_name(enum sim_traffic_kind kind);
/* Sets the source's timer for its first flows. The caller must have checked that the traffic fits the network. */
void sim_source_init(struct sim_source *s, const struct sim_traffic *traffic, struct sim_flows *flows, uint64_t seed,
                     uint32_t number);
void sim_source_timer(struct sim_source *s);

#endif
