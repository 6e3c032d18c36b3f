/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h: who sends how much to whom, and when: sources of flows.
 *
 *   permutation   every host sends one flow to one other, and gets one
 *   incast        some hosts send to one host at the same time, again and again if asked to
 *   poisson       flows begin at random times between random hosts, so many that their payload is a share of what all
 *                 hosts could send
 *   trace         flows from a file in the form of HPCC's flow.txt
 *
 * Each source has a generator of random numbers of its own, made of the run's seed and its number: sources do not
 * disturb each other.
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
    uint32_t repeat;               /* incast: how often; at least 1 */
    uint64_t bytes;                /* of one flow, where sizes is NULL; SIM_NEVER: without end */
    const struct sim_sizes *sizes; /* poisson */
    double load;                   /* poisson: of the hosts' rate, by payload */
    uint64_t rate_bps;             /* poisson: a host's */
    uint64_t start_ps;
    uint64_t stop_ps;             /* poisson: no flow begins later */
    uint64_t least;               /* poisson: flows of fewer bytes are drawn, and left out */
    uint64_t below;               /* poisson: and flows of so many, or more; 0: none are */
    uint64_t period_ps;           /* incast */
    struct sim_trace_flow *trace; /* in the order of their starts; the source's, freed with it */
    uint64_t trace_count;
};

struct sim_source {
    struct sim_traffic traffic;
    struct sim_flows *flows;
    struct trib_prng prng;
    uint64_t done; /* flows begun; incast: rounds */
    double gap_ps; /* poisson: mean time between two flows */
    double due_ps; /* poisson: of the next one */
    uint32_t number;
    uint32_t timer;
};

const char *sim_traffic_name(enum sim_traffic_kind kind);
/* Sets the source's timer for its first flows. The traffic fits the network: whoever made it has checked that. */
void sim_source_init(struct sim_source *s, const struct sim_traffic *traffic, struct sim_flows *flows, uint64_t seed,
                     uint32_t number);
void sim_source_timer(struct sim_source *s);

#endif
