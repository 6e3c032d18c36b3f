/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: background traffic: flows of bytes between hosts, on core/flow.h with DCTCP, AIMD or a fixed window. This
 * module turns fragments into packets and back, and reports the arrival of a flow's last byte. Retransmission and rate
 * control are the code that real ranks run.
 *
 * Every packet that arrives is acknowledged. The acknowledgement has its own hash, which chooses its path. A flow is
 * over at the receiver when its last byte has arrived. Its memory is free when the sender knows that and none of the
 * flow's packets is on a link.
 *
 * Read next: core/flow.h, traffic.h. */
#ifndef TRIB_SIM_FLOWS_H
#define TRIB_SIM_FLOWS_H

#include "core/flow.h"
#include "sim/network/memory.h"
#include "sim/network/network.h"

#define SIM_FLOW_CLASSES 13U /* windows of 1, 2, 4 ... 4096 */

struct sim_flows_config {
    uint32_t packet; /* bytes of a full packet */
    uint32_t header; /* headers of a packet, bytes */
    uint32_t ack;    /* bytes of an acknowledgement */
    uint32_t window; /* packets of one flow in flight, at most */
    enum trib_congestion_policy policy;
    uint64_t rto_first_ps; /* timeout before the first RTT sample; 0: TRIB_RTO_FIRST_NS */
    uint64_t rto_min_ps;   /* the smallest timeout; 0: TRIB_RTO_MIN_NS */
};

#define SIM_FLOW_OF_JOB 255U /* source of jobs' flows */

/* A flow as described by its caller. */
struct sim_flow_plan {
    uint64_t bytes; /* payload; SIM_NEVER: endless */
    uint32_t from;
    uint32_t to;
    uint32_t source; /* number of the traffic source */
    uint32_t hash;   /* chooses among equal paths */
};

struct sim_flow {
    void *memory; /* sender, statistics, receiver; NULL: free entry */
    uint64_t timer_ps;
    uint64_t start_ps;
    uint64_t bytes;
    uint32_t fragments;
    uint32_t taken; /* fragments that the receiver has taken */
    uint32_t next;  /* next fragment to send */
    uint32_t in_network;
    uint32_t hash;
    union {
        uint32_t free;    /* next free entry */
        uint32_t message; /* fragments of a message; the last one may be shorter */
    };
    uint32_t from : 20;
    uint32_t size : 4; /* memory class: the window is 2^size */
    uint8_t source;
    uint32_t to : 20;
    uint32_t is_kept : 1; /* further messages may follow */
};

_Static_assert(sizeof(struct sim_flow) == 64, "one cache line");

static inline struct sim_flow_plan sim_flow_plan(const struct sim_flow *flow)
{
    return (struct sim_flow_plan){
        .bytes = flow->bytes, .from = flow->from, .to = flow->to, .source = flow->source, .hash = flow->hash};
}

/* Offsets in the memory of a class. */
struct sim_flow_places {
    uint32_t aside_at;
    uint32_t receiver_at;
};

/* Returns the hash of a flow's acknowledgements. */
static inline uint32_t sim_flow_back(uint32_t hash)
{
    return hash * UINT32_C(0x85ebca6b) + 1;
}

/* Arrival of the last byte of a flow or message. */
struct sim_flow_end {
    struct sim_flow_plan plan;
    uint64_t start_ps;
    uint64_t end_ps;
    uint64_t ideal_ps; /* duration on an empty network */
};

struct sim_flows {
    struct sim_network *network;
    struct sim_flows_config config;
    void (*ended)(void *user, const struct sim_flow_end *end);
    void *user;
    struct sim_flow *flows;
    uint32_t room;
    uint32_t high;
    uint32_t free; /* list of free entries */
    uint32_t first_timer;
    struct sim_arena arena;
    struct sim_flow_places places[SIM_FLOW_CLASSES];
    void *memory[SIM_FLOW_CLASSES]; /* lists of free pieces, by class */
    /* Of all receivers, and of the senders of flows that are over. */
    struct trib_flow_counters counters;
    uint64_t started;
    uint64_t over;
    uint64_t bytes;     /* payload that has arrived, of traffic */
    uint64_t job_bytes; /* payload that has arrived, of jobs */
};

/* The flows use timers from first_timer on. */
void sim_flows_init(struct sim_flows *f, struct sim_network *network, const struct sim_flows_config *config,
                    uint32_t first_timer);
void sim_flows_deinit(struct sim_flows *f);
/* Starts a flow now. Returns its number, which is reused when the flow is over. */
uint32_t sim_flows_start(struct sim_flows *f, const struct sim_flow_plan *plan);
/* Starts a connection for messages of plan->bytes, one after the other; the first message begins now. Returns its
 * number. */
uint32_t sim_flows_connect(struct sim_flows *f, const struct sim_flow_plan *plan);
/* Starts the connection's next message. The previous message must have arrived. Congestion windows carry over. */
void sim_flows_message(struct sim_flows *f, uint32_t number);
/* Ends a connection. Its memory is free when the last message is acknowledged. */
void sim_flows_disconnect(struct sim_flows *f, uint32_t number);
void sim_flows_arrived(struct sim_flows *f, uint32_t packet);
/* Prefetch: the packet will arrive soon, and very soon. */
void sim_flows_soon(const struct sim_flows *f, uint32_t packet);
void sim_flows_sooner(const struct sim_flows *f, uint32_t packet);
/* Counts a packet that is the copy of a duplicated one. */
void sim_flows_copied(struct sim_flows *f, uint32_t packet);
void sim_flows_dropped(struct sim_flows *f, uint32_t packet);
void sim_flows_timer(struct sim_flows *f, uint32_t timer);
/* Returns the counters since the start of the run. */
struct trib_flow_counters sim_flows_counters(const struct sim_flows *f);

#endif
