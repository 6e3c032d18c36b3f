/* SPDX-License-Identifier: Apache-2.0 */
/* spin.h: how long to look for packets before sleeping. Where answers come quickly a busy wait saves the wake-up, which
 * costs more than the wait; on a slow link it would only burn the CPU. So its length follows what it has brought: whole
 * after a success, halved by each failure down to nothing, and tried again now and then. Only the rule; the looking is
 * the caller's (comm/drive.c, switchd/shard.c). */
#ifndef TRIB_IO_SPIN_H
#define TRIB_IO_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define TRIB_SPIN_RETRY 32 /* sleeps without a busy wait before one is tried again */

struct trib_spin {
    uint64_t limit_ns; /* 0: never */
    uint64_t length_ns;
    uint32_t skipped;
};

/* How long to spin now. */
static inline uint64_t trib_spin_begin(struct trib_spin *spin)
{
    if (spin->length_ns == 0 && ++spin->skipped >= TRIB_SPIN_RETRY) {
        spin->skipped = 0;
        spin->length_ns = spin->limit_ns;
    }
    return spin->length_ns;
}

/* What it brought. */
static inline void trib_spin_end(struct trib_spin *spin, bool came)
{
    spin->length_ns = came ? spin->limit_ns : spin->length_ns / 2;
    if (spin->length_ns * 16 < spin->limit_ns) {
        spin->length_ns = 0;
    }
}

#endif
