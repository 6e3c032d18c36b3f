/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: flows of bytes between hosts, on the flows of core/flow.h with DCTCP (or AIMD, or a fixed window):
 * background traffic. The simulator's part is small: it turns fragments into packets and back, and says when a flow's
 * bytes have all come. What is sent again, when, and how fast, is the code that real ranks run.
 *
 * Every packet that comes is acknowledged. An acknowledgement takes the way of its own hash back. A flow is over for
 * its receiver when its last byte has come; its memory is free when its sender knows that, and none of its packets is
 * on a link any more.
 *
 * Read next: core/flow.h, traffic.h (who begins flows). */
#ifndef TRIB_SIM_FLOWS_H
#define TRIB_SIM_FLOWS_H

#include "core/flow.h"
#include "sim/network/memory.h"
#include "sim/network/network.h"

#define SIM_FLOW_CLASSES 13U /* windows of 1, 2, 4 ... 4096 */

struct sim_flows_config {
    uint32_t packet; /* bytes of a full packet */
    uint32_t header; /* bytes of it that are no payload */
    uint32_t ack;    /* bytes of an acknowledgement */
    uint32_t window; /* packets of one flow under way at most */
    enum trib_congestion_policy policy;
    uint64_t rto_first_ps; /* timeout before the first round trip is known; 0: TRIB_RTO_FIRST_NS */
    uint64_t rto_min_ps;   /* the smallest timeout; 0: TRIB_RTO_MIN_NS */
};

#define SIM_FLOW_OF_JOB 255U /* source of what jobs send */

/* One flow, as it stands in tables. */
struct sim_flow_plan {
    uint64_t bytes; /* of payload; SIM_NEVER: without end */
    uint32_t from;
    uint32_t to;
    uint32_t source; /* which traffic it belongs to */
    uint32_t hash;   /* which of equal ways */
};

struct sim_flow {
    void *memory; /* sender, aside, receiver; NULL: this place is free */
    uint64_t timer_ps;
    uint64_t start_ps;
    uint64_t bytes;
    uint32_t fragments;
    uint32_t taken; /* by the receiver */
    uint32_t next;  /* fragment */
    uint32_t in_network;
    uint32_t hash;
    union {
        uint32_t free;    /* the next free place */
        uint32_t message; /* fragments of each message; the last of them may be shorter */
    };
    uint32_t from : 20;
    uint32_t size : 4; /* of the memory: 2^class is the window */
    uint8_t source;
    uint32_t to : 20;
    uint32_t is_kept : 1; /* it is not over with its last byte: more messages may follow */
};

_Static_assert(sizeof(struct sim_flow) == 64, "one cache line");

static inline struct sim_flow_plan sim_flow_plan(const struct sim_flow *flow)
{
    return (struct sim_flow_plan){
        .bytes = flow->bytes, .from = flow->from, .to = flow->to, .source = flow->source, .hash = flow->hash};
}

/* Of a class: where in the memory what begins. */
struct sim_flow_places {
    uint32_t aside_at;
    uint32_t receiver_at;
};

/* The hash of a flow's acknowledgements. */
static inline uint32_t sim_flow_back(uint32_t hash)
{
    return hash * UINT32_C(0x85ebca6b) + 1;
}

/* A flow's, or message's, last byte has come. */
struct sim_flow_end {
    struct sim_flow_plan plan;
    uint64_t start_ps;
    uint64_t end_ps;
    uint64_t ideal_ps; /* how long it takes on an empty network */
};

struct sim_flows {
    struct sim_network *network;
    struct sim_flows_config config;
    void (*ended)(void *user, const struct sim_flow_end *end);
    void *user;
    struct sim_flow *flows;
    uint32_t room;
    uint32_t high;
    uint32_t free; /* places, a list */
    uint32_t first_timer;
    struct sim_arena arena;
    struct sim_flow_places places[SIM_FLOW_CLASSES];
    void *memory[SIM_FLOW_CLASSES];     /* free pieces of it, lists */
    struct trib_flow_counters counters; /* of the receivers, and of the senders of flows that are over */
    uint64_t started;
    uint64_t over;
    uint64_t bytes;     /* of payload that has come, of traffic */
    uint64_t job_bytes; /* and of jobs */
};

/* Timers from first_timer on are the flows'. */
void sim_flows_init(struct sim_flows *f, struct sim_network *network, const struct sim_flows_config *config,
                    uint32_t first_timer);
void sim_flows_deinit(struct sim_flows *f);
/* Begins a flow now. Returns its number, which is another's when it is over. */
uint32_t sim_flows_start(struct sim_flows *f, const struct sim_flow_plan *plan);
/* The same for a connection over which messages of plan->bytes go, one after the other: this is the first. */
uint32_t sim_flows_connect(struct sim_flows *f, const struct sim_flow_plan *plan);
/* The next one, when the last has come: windows are what they were then. */
void sim_flows_message(struct sim_flows *f, uint32_t number);
/* No other follows: its memory is free when the last is acknowledged. */
void sim_flows_disconnect(struct sim_flows *f, uint32_t number);
void sim_flows_arrived(struct sim_flows *f, uint32_t packet);
/* The packet will arrive soon, and sooner: fetch what that needs. */
void sim_flows_soon(const struct sim_flows *f, uint32_t packet);
void sim_flows_sooner(const struct sim_flows *f, uint32_t packet);
/* This one is the second of a packet that comes twice. */
void sim_flows_copied(struct sim_flows *f, uint32_t packet);
void sim_flows_dropped(struct sim_flows *f, uint32_t packet);
void sim_flows_timer(struct sim_flows *f, uint32_t timer);
/* Counters of everything so far. */
struct trib_flow_counters sim_flows_counters(const struct sim_flows *f);

#endif
