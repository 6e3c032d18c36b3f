/* SPDX-License-Identifier: Apache-2.0 */
/* gates.h: ports that can be stopped (PFC), and switches with shared buffers (buffers.h). Here a port's backlog does
 * not determine when a packet leaves, so packets take another path than in network.c.
 *
 * The port of every link is a *gate*. A gate sends one packet after the other; arriving packets wait. A packet costs
 * two events per link: it has left the port, which frees buffer memory and lets the next packet begin; and it has
 * arrived. A link's list holds first the packets that have begun, then the packets that wait.
 *
 * Lossless: a cable has two directions. The gate of one direction sends PAUSE frames about the buffer state of the
 * other. When that other link becomes full, or stops being full, the gate *owes* that link's sender a frame.
 * - A frame is 64 bytes. It is sent when the current packet has left, before all waiting packets, and even while the
 *   gate itself is stopped.
 * - A frame carries the state at the time when it begins. If that equals the last frame's state, no frame is sent.
 * - When a STOP arrives, the gate there finishes its packet and begins no other until a GO arrives. Real stops last
 *   65,535 x 512 bits and are renewed before that; renewal costs nothing here.
 * - Hosts take all packets and stop no sender. Their own links can be stopped.
 *
 * After the repair of a cable, a link can be full at once, because packets from before the cut still wait behind it.
 * Its sender then begins stopped. Real ports send this state in their first frame. Packets sent before that frame
 * arrives meet a used headroom, and some may be lost. Here the repair takes effect when that frame has arrived.
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
 * At one picosecond timers come first, then arrivals, then departures. So a STOP that arrives when the next packet
 * would begin stops that packet. A packet that arrives when another leaves finds the other one still in the buffer.
 *
 * When no threshold is reached, packets move exactly as in network.c, to the picosecond (tests/unit/test_sim_gates.c).
 * They also move as in an engine that shares no code with this one (tests/unit/test_sim_reference.c).
 *
 * Read next: gates.c, deadlock.h. */
#ifndef TRIB_SIM_GATES_H
#define TRIB_SIM_GATES_H

#include <stddef.h>

#include "sim/network/buffers.h"

/* Port of a link. */
struct sim_gate {
    /* Transmission time of all waiting packets. */
    uint64_t waiting_ps;
    uint64_t since_ps;   /* start of the current stop */
    uint64_t stopped_ps; /* total time of earlier stops */
    uint64_t told_ps;    /* start of the last frame */
    /* First packet that has not begun. SIM_NONE: none waits. */
    uint32_t waiting;
    uint32_t last; /* last packet that has begun */
    /* Input link of the packet being sent. SIM_NONE: none, or the packet is counted nowhere. */
    uint32_t from;
    uint32_t opposite; /* link of the other direction */
    /* Lossy: bytes that the switch holds for this port. */
    uint32_t held;
    uint32_t stops; /* number of STOP frames received */
    uint16_t bytes; /* size of the packet being sent; 0: a frame */
    bool is_sending;
    bool is_stopped;
    bool is_lossy; /* packets count at this output port */
    /* Stop state that the opposite link's sender must know, and the state in the last frame. */
    bool owes;
    bool told;
    bool is_cut; /* cut, and not yet found whole by sim_gates_mended */
};

_Static_assert(sizeof(struct sim_gate) == 64, "one cache line");

/* Gates of a network. */
struct sim_gates {
    struct sim_gate *list;       /* by link */
    struct sim_ingress *ingress; /* by link */
    struct sim_pool *pools;      /* by node; hosts have none */
    struct sim_thresholds thresholds;
    struct sim_buffers_config config;
    uint64_t overflowed; /* packets dropped for lack of memory */
    uint64_t frames;     /* PAUSE frames begun */
    uint32_t stopped;    /* gates stopped now */
    /* Input link of the packet being handled. */
    uint32_t arriving;
    /* Input link that the next packet given counts for. SIM_NONE: none. */
    uint32_t passing;
    /* Timer that a stop sets unless it is set already. SIM_NONE: none. */
    uint32_t watch;
    uint64_t watch_ps;      /* delay of the watch timer */
    uint64_t headroom_most; /* largest headroom of a link, before it was limited */
    /* A headroom is smaller than buffers.h requires. */
    bool is_short;
};

/* Call when all links exist. False: out of memory. */
bool sim_gates_init(struct sim_network *n, const struct sim_buffers_config *config);
/* Divides the memory of switches again when all delays are known. Called by sim_network_ready. */
void sim_gates_ready(struct sim_network *n, uint32_t largest);
/* Returns a switch without room for its links' headrooms and one packet of size largest. SIM_NONE: every switch has
 * room. */
uint32_t sim_gates_unfit(const struct sim_network *n, uint32_t largest);
void sim_gates_deinit(struct sim_network *n);
/* Versions of sim_network_give and sim_network_run for networks with gates. end: value of n->hops at which to
 * return. */
void sim_gates_give(struct sim_network *n, uint32_t link, uint32_t packet);
bool sim_gates_run(struct sim_network *n, uint64_t until_ps, uint64_t end);
/* Counts the next packet given as the packet that has just arrived, so the next packet takes memory like a forwarded
 * one. Copies take none. */
static inline void sim_gates_pass(const struct sim_network *n)
{
    if (n->gates != NULL) {
        n->gates->passing = n->gates->arriving;
    }
}

/* Cuts the link now. Loses the waiting packets and the packets that have begun, except the first. The link's gate is
 * not stopped any more (failures.h). */
void sim_gates_cut(struct sim_network *n, uint32_t link);
/* If the cable is whole again and the link's gate owes a stop, stops the opposite sender at once. */
void sim_gates_mended(struct sim_network *n, uint32_t link);
/* Checks invariants. Returns NULL, or the one that does not hold. */
const char *sim_gates_check(const struct sim_network *n);

/* next_due_ps of a waiting packet holds its arrival time, without the highest bits, and its input link. */
#define SIM_CAME_BITS 22U
#define SIM_CAME_NONE ((UINT32_C(1) << SIM_CAME_BITS) - 1)

static inline uint32_t sim_gate_came_by(const struct sim_packet *p)
{
    uint32_t link = (uint32_t)p->next_due_ps & SIM_CAME_NONE;

    return link == SIM_CAME_NONE ? SIM_NONE : link;
}

/* Total time that this link's gate has been stopped. */
static inline uint64_t sim_gate_stopped_ps(const struct sim_network *n, uint32_t link)
{
    const struct sim_gate *gate = &n->gates->list[link];

    return gate->stopped_ps + (gate->is_stopped ? n->events.now_ps - gate->since_ps : 0);
}

#endif
