/* SPDX-License-Identifier: Apache-2.0 */
/* spin.h: length of a busy wait before a sleep. For quick answers a busy wait saves the wake-up, which costs more than
 * the wait. On a slow link it would only burn the CPU. So the length follows success: full after a success, halved by
 * each failure down to 0, and retried now and then. This file has only the rule; the caller polls (comm/drive.c,
 * switchd/shard.c). */
#ifndef TRIB_IO_SPIN_H
#define TRIB_IO_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define TRIB_SPIN_RETRY 32 /* sleeps without a busy wait before one is tried again */
/* Between two trains the link is awaited, not an answer: there the longest busy wait is this part of the other. */
#define TRIB_SPIN_TRAIN 10

struct trib_spin {
    uint64_t limit_ns; /* 0: never */
    uint64_t length_ns;
    uint32_t skipped;
};

static inline void trib_spin_init(struct trib_spin *spin, uint64_t limit_ns)
{
    *spin = (struct trib_spin){.limit_ns = limit_ns, .length_ns = limit_ns};
}

/* Length of the next busy wait, ns. */
static inline uint64_t trib_spin_begin(struct trib_spin *spin)
{
    if (spin->length_ns == 0 && ++spin->skipped >= TRIB_SPIN_RETRY) {
        spin->skipped = 0;
        spin->length_ns = spin->limit_ns;
    }
    return spin->length_ns;
}

/* Notes the outcome of a busy wait: `came` is true if a packet arrived. */
static inline void trib_spin_end(struct trib_spin *spin, bool came)
{
    spin->length_ns = came ? spin->limit_ns : spin->length_ns / 2;
    if (spin->length_ns * 16 < spin->limit_ns) {
        spin->length_ns = 0;
    }
}

#endif
