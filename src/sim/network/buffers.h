/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.h: memory that all ports of a switch share: who may have how much of it. Numbers only: what follows from them
 * is gates.h's.
 *
 * Lossy: a packet is counted at the port that it leaves by, and dropped if that port would then have more than its
 * threshold, or the switch more than it has.
 *
 * Lossless (PFC): a packet is counted at the link that it came by, in the shared part if that link would then have no
 * more than its threshold there, else in the link's headroom, which is its own; dropped only if that is full too. A
 * link that has something in its headroom, or its threshold in the shared part, is *full*: whoever sends into it is
 * told to stop. What leaves is taken from the headroom first; when that is empty, and the link is so much below its
 * threshold, or has nothing, it is full no more. (The rules of the MMU in HPCC's simulator.)
 *
 * The threshold is a number of bytes, or alpha times what is free of the shared part, rounded down (Choudhury and
 * Hahne, ToN'98): it falls as others take. A packet takes its whole size from when its last bit has come until its last
 * bit has left. What a switch makes itself, as node of a job, came by no link: lossless switches keep it in the memory
 * of their slots, and count it nowhere here. Of what a switch copies the first copy takes memory.
 *
 * The headroom must hold what can still come when a packet has made a link full. That packet may be in it (1 packet).
 * The frame of PAUSE waits for a packet that has just begun (1), takes its own time and the delay; what is sent until
 * it is there comes (2 delays at the rate), and last the packet that has just begun then (1):
 *     2 x delay x rate + 3 packets + 64 bytes.
 * That is the sum of IEEE 802.1Qbb's annex on buffers, whose two packets are those on the two ends; the third one is
 * here because a packet is counted when it is whole. It holds that once per PAUSE: a cable that was cut while its
 * headroom is in use begins stopped when it is mended (gates.h). Interfaces take no time here.
 * tests/unit/test_sim_gates.c comes within one packet of it.
 *
 * Read next: gates.h. */
#ifndef TRIB_SIM_BUFFERS_H
#define TRIB_SIM_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/network/network.h"

#define SIM_PAUSE_BYTES 64U
#define SIM_BUFFER_MAX (UINT64_C(1) << 30)

/* All zero: ports have memory of their own, and nobody is stopped. */
struct sim_buffers_config {
    uint64_t shared_bytes;   /* memory of a switch; 0: as much as its links may have */
    uint64_t xoff_bytes;     /* the threshold of each link; 0: alpha says it */
    uint64_t below_bytes;    /* a link that is so much below its threshold is full no more */
    uint64_t headroom_bytes; /* of each link; 0: by its rate and delay */
    uint32_t alpha_of;       /* alpha = of / by */
    uint32_t alpha_by;
    bool is_lossless;
};

static inline bool sim_buffers_are_any(const struct sim_buffers_config *c)
{
    return c->shared_bytes != 0 || c->is_lossless;
}

/* Thresholds, all multiplied by alpha's divisor: base + of x free. */
struct sim_thresholds {
    uint64_t base;
    uint64_t of;
    uint64_t by;
    uint64_t below;
};

/* The shared part of a switch's memory. */
struct sim_pool {
    uint64_t size;
    uint64_t used;
    uint64_t most;
    uint64_t headrooms; /* of its links: not part of size */
};

/* What a switch holds of what came by a link. */
struct sim_ingress {
    uint32_t held; /* in the shared part */
    uint32_t over; /* in its headroom */
    uint32_t headroom;
    uint32_t over_most : 31;
    uint32_t is_full : 1;
};

_Static_assert(sizeof(struct sim_ingress) == 16, "four in a cache line");

struct sim_thresholds sim_buffers_thresholds(const struct sim_buffers_config *c);
/* What a link with this port needs, whose way back takes so long. */
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

/* Lossy: may a port that has `held` have so much more? */
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

/* Lossless: a packet has come. False: there is no room, and it is dropped. In any case is_full says what the link is
 * now. */
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

/* Lossless: a packet of this link has left. */
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
