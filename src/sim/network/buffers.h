/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.h: accounting of the packet memory that all ports of a switch share. Numbers only: gates.h acts on them.
 *
 * Lossy: a packet counts at its output port. The switch drops a packet that would raise the port above its threshold,
 * or the switch above its memory.
 *
 * Lossless (PFC): a packet counts at its input link. It counts in the shared part if the link then holds no more than
 * its threshold there, else in the link's own headroom. The switch drops a packet only if the headroom is full as well.
 * - A link is *full* when its headroom is in use or its share reaches the threshold. The sender into a full link is
 *   stopped.
 * - A departing packet frees headroom first. A link with empty headroom stops being full when it holds nothing, or when
 *   it is below_bytes under its threshold. These are the rules of the MMU in HPCC's simulator.
 *
 * The threshold is a number of bytes, or alpha times the free bytes of the shared part, rounded down (Choudhury and
 * Hahne, ToN'98). In the second case the threshold falls as other links fill the memory.
 *
 * A packet occupies its whole size from the arrival of its last bit to the departure of its last bit. A packet that a
 * switch makes itself, as node of a job, has no input link. A lossless switch keeps such a packet in the memory of its
 * slots, and does not count it here. Of copies that a switch makes, only the first occupies memory.
 *
 * The headroom must hold all bytes that can arrive after a packet has made the link full:
 * - that packet itself (1 packet);
 * - bytes sent while the PAUSE frame waits behind a packet that has just begun (1 packet);
 * - bytes sent during the frame's own time (64 bytes) and during its delay, and bytes under way (2 delays at the rate);
 * - a packet that has just begun when the frame arrives (1 packet).
 *     2 x delay x rate + 3 packets + 64 bytes.
 * IEEE 802.1Qbb's annex on buffers has the same sum with two packets, one for each end. The third packet is added here
 * because a packet counts when it is complete. The headroom holds this sum once per PAUSE. So a cable that was cut
 * while its headroom was in use begins stopped after its repair (gates.h). Interfaces take no time here.
 * tests/unit/test_sim_gates.c comes within one packet of the bound.
 *
 * Read next: gates.h. */
#ifndef TRIB_SIM_BUFFERS_H
#define TRIB_SIM_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/network/state.h"

#define SIM_PAUSE_BYTES 64U
#define SIM_BUFFER_MAX (UINT64_C(1) << 30)

/* All zero: ports do not share memory, and no port is ever stopped. */
struct sim_buffers_config {
    /* Memory of a switch, bytes. 0: as much as its links can fill. */
    uint64_t shared_bytes;
    /* Threshold of each link, bytes. 0: by alpha. */
    uint64_t xoff_bytes;
    /* A full link must fall this far below its threshold, bytes. */
    uint64_t below_bytes;
    /* Headroom of each link, bytes. 0: by rate and delay. */
    uint64_t headroom_bytes;
    /* alpha = alpha_of / alpha_by. */
    uint32_t alpha_of;
    uint32_t alpha_by;
    bool is_lossless;
};

static inline bool sim_buffers_are_any(const struct sim_buffers_config *c)
{
    return c->shared_bytes != 0 || c->is_lossless;
}

/* Thresholds, all multiplied by alpha's divisor: base + of x free bytes. */
struct sim_thresholds {
    uint64_t base;
    uint64_t of;
    uint64_t by;
    uint64_t below;
};

/* Shared part of a switch's memory, bytes. */
struct sim_pool {
    uint64_t size;
    uint64_t used;
    uint64_t most;
    uint64_t headrooms; /* sum over the links; not part of size */
};

/* Bytes that a switch holds of packets from one input link. */
struct sim_ingress {
    uint32_t held; /* in the shared part */
    uint32_t over; /* in the headroom */
    uint32_t headroom;
    uint32_t over_most : 31;
    uint32_t is_full : 1;
};

_Static_assert(sizeof(struct sim_ingress) == 16, "four in a cache line");

struct sim_thresholds sim_buffers_thresholds(const struct sim_buffers_config *c);
/* Returns the headroom that a link with this port needs, bytes. back_ps: delay of the opposite direction. largest:
 * bytes of the largest packet. */
uint64_t sim_buffers_headroom(const struct sim_port *port, uint64_t back_ps, uint32_t largest);

static inline bool sim_buffers_fits(const struct sim_thresholds *t, const struct sim_pool *pool, uint64_t held,
                                    uint64_t bytes)
{
    uint64_t left = pool->size - pool->used;

    return bytes <= left && (held + bytes) * t->by <= t->base + t->of * left;
}

static inline void sim_buffers_use(struct sim_pool *pool, uint64_t bytes)
{
    pool->used += bytes;
    pool->most = pool->used > pool->most ? pool->used : pool->most;
}

/* Lossy: counts `bytes` at a port that holds *held. False: above a limit, nothing is counted. */
static inline bool sim_buffers_queue(const struct sim_thresholds *t, struct sim_pool *pool, uint32_t *held,
                                     uint32_t bytes)
{
    if (!sim_buffers_fits(t, pool, *held, bytes)) {
        return false;
    }
    *held += bytes;
    sim_buffers_use(pool, bytes);
    return true;
}

/* Lossless: counts an arriving packet, and sets is_full. False: no room, the packet must be dropped. */
static inline bool sim_buffers_take(const struct sim_thresholds *t, struct sim_pool *pool, struct sim_ingress *in,
                                    uint32_t bytes)
{
    if (sim_buffers_fits(t, pool, in->held, bytes)) {
        in->held += bytes;
        sim_buffers_use(pool, bytes);
        uint64_t least = t->base + t->of * (pool->size - pool->used);
        in->is_full |= (in->held + 1) * t->by > least; /* held >= threshold, rounded down */
        return true;
    }
    in->is_full = 1;
    if (in->over + bytes > in->headroom) {
        return false;
    }
    in->over += bytes;
    in->over_most = (in->over > in->over_most ? in->over : in->over_most) & INT32_MAX;
    return true;
}

/* Lossless: a packet from this link has left. */
static inline void sim_buffers_give(const struct sim_thresholds *t, struct sim_pool *pool, struct sim_ingress *in,
                                    uint32_t bytes)
{
    uint32_t over = in->over < bytes ? in->over : bytes;

    in->over -= over;
    in->held -= bytes - over;
    pool->used -= bytes - over;
    if (in->is_full && in->over == 0) {
        uint64_t most = t->base + t->of * (pool->size - pool->used);
        in->is_full = in->held != 0 && (in->held + t->below) * t->by > most;
    }
}

#endif
