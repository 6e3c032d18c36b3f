/* SPDX-License-Identifier: Apache-2.0 */
/* nap.h: length of a sleep during which packets arrive. On a slow link a wake-up finds one or two packets, costs more
 * than they do, and is answered by equally short trains. So a driver that waits for many packets sleeps until a quarter
 * of them has arrived. The link is not idle meanwhile: the rest is on the way. A quarter may also wait at the receiver,
 * which naps as well, so half of the packets in flight are left for the link.
 * On a fast link the quarter arrives within a timer's error, and no driver naps. This file has the rule, with its
 * estimate of the rate; the sleeps are in comm/drive.c and switchd/shard.c.
 * Read next: spin.h (the opposite, for quick answers). */
#ifndef TRIB_IO_NAP_H
#define TRIB_IO_NAP_H

#include <stdint.h>

#define TRIB_NAP_PART 4                    /* fraction of the awaited packets that may arrive during a nap */
#define TRIB_NAP_FEWEST 8                  /* awaited packets; of fewer, each is worth a wake-up */
#define TRIB_NAP_LEAST_NS UINT64_C(200000) /* timers have an error of about a quarter of it */
#define TRIB_NAP_MOST_NS UINT64_C(1000000)
#define TRIB_NAP_SAMPLES 4 /* intervals measured before the first nap */

struct trib_nap {
    uint64_t since_ns;    /* start of the interval under measurement; 0: none */
    uint64_t packets;     /* received before it */
    uint64_t interval_ns; /* from one packet to the next, smoothed */
    uint32_t samples;
};

/* Called before each sleep. packets: received so far. awaited: packets expected for sent ones. Returns the length of
 * the nap, ns; 0: no nap, wake at the first packet. */
static inline uint64_t trib_nap_begin(struct trib_nap *nap, uint64_t packets, uint64_t awaited, uint64_t now_ns)
{
    if (awaited < TRIB_NAP_FEWEST) {
        *nap = (struct trib_nap){0}; /* the time until the next operation is no interval between packets */
        return 0;
    }
    uint64_t came = packets - nap->packets;
    if (nap->since_ns != 0 && came == 0) {
        return 0; /* a packet is late */
    }
    if (nap->since_ns != 0 && now_ns - nap->since_ns > 2 * TRIB_NAP_MOST_NS) {
        nap->samples = 0; /* a rank was late, or the link is so slow that wake-ups do not count */
    } else if (nap->since_ns != 0) {
        uint64_t interval_ns = (now_ns - nap->since_ns) / came;
        nap->interval_ns = nap->samples == 0 ? interval_ns : (3 * nap->interval_ns + interval_ns) / 4;
        nap->samples += nap->samples < TRIB_NAP_SAMPLES;
    }
    nap->since_ns = now_ns;
    nap->packets = packets;
    uint64_t length_ns = awaited / TRIB_NAP_PART * nap->interval_ns;
    if (nap->samples < TRIB_NAP_SAMPLES || length_ns < TRIB_NAP_LEAST_NS) {
        return 0;
    }
    return length_ns < TRIB_NAP_MOST_NS ? length_ns : TRIB_NAP_MOST_NS;
}

/* Called when a driver begins to wait: the time until then is no interval between packets. The estimate stays. */
static inline void trib_nap_pause(struct trib_nap *nap)
{
    nap->since_ns = 0;
}

#endif
