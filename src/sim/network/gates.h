/* SPDX-License-Identifier: Apache-2.0 */
/* gates.h: ports that can be stopped (PFC), and switches whose ports share a buffer (buffers.h): the way of packets
 * where a port's backlog does not say when a packet will have left.
 *
 * The port of every link is a *gate*. It sends one packet after the other; what comes while it sends waits behind. A
 * packet costs two events per link: it has left the port (the next one begins, and what it took of the buffer is free),
 * and it has come. A link's list holds those that have begun, then those that wait.
 *
 * Lossless: each cable has two directions, and the gate of one speaks for what its own node holds of the other. When
 * that link becomes full, or is full no more, the gate *owes* whoever sends into it a frame of PAUSE: 64 bytes, sent as
 * soon as the packet that is being sent has left, before all that waits, also while the gate itself is stopped. What it
 * says is what is true when it begins; if nothing has changed since the last one, none is sent. When the frame has come
 * the gate there is stopped: it ends the packet that it is sending, and begins no other; or it goes on. A stop holds
 * until the frame that ends it: real ones last 65,535 x 512 bits and are said again before that, which costs nothing
 * here. Hosts take all that comes, and stop nobody; their own links can be stopped.
 *
 * A cable that is mended begins with what its ends have to say: a link that is full already, because what came before
 * the cut still waits behind it, begins with its sender stopped. Real ports say it in the first frame, and what comes
 * until that is there finds a headroom that is in use: some of it may be lost. Here the cable is whole when that frame
 * has come.
 *
 *   gate      idle            sending             stopped, sending     stopped
 *   packet    it begins       it waits            it waits             it waits
 *   owes      frame begins    -                   -                    frame begins
 *   STOP      stopped         stopped, sending    -                    -
 *   GO        -               -                   sending              the next begins: idle, or sending
 *   left      -               owed frame, or the  owed frame begins,   -
 *                             next one, begins,   or: stopped
 *                             or: idle
 *
 * At one picosecond timers are first, then what comes, then what has left. So a STOP that comes as the next packet
 * would begin stops it, and a packet that comes as another leaves finds that one still in the buffer.
 *
 * Without thresholds in the way, packets go as those of network.c do, to the picosecond: tests/unit/test_sim_gates.c;
 * and they go as those of an engine that shares no code with this one: tests/unit/test_sim_reference.c.
 *
 * Read next: gates.c, deadlock.h. */
#ifndef TRIB_SIM_GATES_H
#define TRIB_SIM_GATES_H

#include <stddef.h>

#include "sim/network/buffers.h"

/* The port of a link. */
struct sim_gate {
    uint64_t waiting_ps; /* what waits takes so long */
    uint64_t since_ps;   /* stopped since then */
    uint64_t stopped_ps; /* before that */
    uint64_t told_ps;    /* when its last frame began */
    uint32_t waiting;    /* the first packet that has not begun; SIM_NONE: none waits */
    uint32_t last;       /* the last one that has begun */
    uint32_t from;       /* the link that the packet being sent came by; SIM_NONE: none, or it is counted nowhere */
    uint32_t opposite;   /* link */
    uint32_t held;       /* lossy: bytes that its switch holds for it */
    uint32_t stops;      /* frames that have stopped it */
    uint16_t bytes;      /* of the packet being sent; a frame: 0 */
    bool is_sending;
    bool is_stopped;
    bool is_lossy; /* what it sends is counted at it */
    bool owes;     /* what the opposite link's sender must be told: to stop, */
    bool told;     /* and what it was told last */
    bool is_cut;   /* since it was, sim_gates_mended has not found it whole */
};

_Static_assert(sizeof(struct sim_gate) == 64, "one cache line");

/* Of a network. */
struct sim_gates {
    struct sim_gate *list;       /* by link */
    struct sim_ingress *ingress; /* by link */
    struct sim_pool *pools;      /* by node; hosts have none */
    struct sim_thresholds thresholds;
    struct sim_buffers_config config;
    uint64_t overflowed;    /* packets dropped for want of memory */
    uint64_t frames;        /* that have begun */
    uint32_t stopped;       /* gates that are */
    uint32_t arriving;      /* the link by which came what its node is looking at, */
    uint32_t passing;       /* and the one that what it gives next is counted for; SIM_NONE: none */
    uint32_t watch;         /* a timer that is set when a gate is stopped and it is not set; SIM_NONE: none */
    uint64_t watch_ps;      /* so long after */
    uint64_t headroom_most; /* of any link, before it was made what fits */
    bool is_short;          /* a headroom is smaller than buffers.h says that it must be */
};

/* All links are there. False: out of memory. */
bool sim_gates_init(struct sim_network *n, const struct sim_buffers_config *config);
/* Divides the memory of switches, anew, when all delays are known: sim_network_ready calls it. */
void sim_gates_ready(struct sim_network *n, uint32_t largest);
/* A switch whose memory has no room for its links' headrooms and a packet; SIM_NONE: there is none. */
uint32_t sim_gates_unfit(const struct sim_network *n, uint32_t largest);
void sim_gates_deinit(struct sim_network *n);
/* As sim_network_give and sim_network_run, which call them; end: of n->hops. */
void sim_gates_give(struct sim_network *n, uint32_t link, uint32_t packet);
bool sim_gates_run(struct sim_network *n, uint64_t until_ps, uint64_t end);
/* What the node gives next is what has just come to it, which takes memory as what is only forwarded does; copies of it
 * take none. */
static inline void sim_gates_pass(const struct sim_network *n)
{
    if (n->gates != NULL) {
        n->gates->passing = n->gates->arriving;
    }
}

/* The link is cut now: what has begun, but the first, and what waits is lost, and nobody is stopped by it any more
 * (failures.h). */
void sim_gates_cut(struct sim_network *n, uint32_t link);
/* It may be whole again: if it is, and the other direction's sender has to be told to stop, it is, at once. */
void sim_gates_mended(struct sim_network *n, uint32_t link);
/* What must hold at any time: NULL, or what does not. */
const char *sim_gates_check(const struct sim_network *n);

/* A packet that waits has in next_due_ps the time when it came, without its highest bits, and the link that it came
 * by. */
#define SIM_CAME_BITS 22U
#define SIM_CAME_NONE ((UINT32_C(1) << SIM_CAME_BITS) - 1)

static inline uint32_t sim_gate_came_by(const struct sim_packet *p)
{
    uint32_t link = (uint32_t)p->next_due_ps & SIM_CAME_NONE;

    return link == SIM_CAME_NONE ? SIM_NONE : link;
}

/* How long this link's gate has been stopped in all. */
static inline uint64_t sim_gate_stopped_ps(const struct sim_network *n, uint32_t link)
{
    const struct sim_gate *gate = &n->gates->list[link];

    return gate->stopped_ps + (gate->is_stopped ? n->events.now_ps - gate->since_ps : 0);
}

#endif
