/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h: how long to wait for an answer. Round-trip samples in, a retransmission timeout (RTO) out, as RFC 6298
 * smooths them. It is told facts and gives a number; retransmission is the scheme's business (worker_recover.c). Units:
 * nanoseconds. */
#ifndef TRIB_CORE_LOSS_H
#define TRIB_CORE_LOSS_H

#include <stdint.h>

#define TRIB_RTO_MIN_NS UINT64_C(2000000)
#define TRIB_RTO_FIRST_NS UINT64_C(20000000) /* before the first sample */
#define TRIB_RTO_MAX_NS UINT64_C(1000000000)

struct trib_loss {
    uint64_t smoothed_ns; /* 0: no sample yet */
    uint64_t variation_ns;
    uint64_t first_ns; /* The timeout before the first sample. 0: TRIB_RTO_FIRST_NS. */
    uint64_t min_ns;   /* The smallest timeout. 0: TRIB_RTO_MIN_NS. */
};

/* An answer came this long after the question was first sent. */
static inline void trib_loss_sampled(struct trib_loss *loss, uint64_t round_trip_ns)
{
    if (loss->smoothed_ns == 0) {
        loss->smoothed_ns = round_trip_ns + 1;
        loss->variation_ns = round_trip_ns / 2;
        return;
    }
    uint64_t smoothed = loss->smoothed_ns;
    uint64_t error = round_trip_ns > smoothed ? round_trip_ns - smoothed : smoothed - round_trip_ns;
    loss->variation_ns = loss->variation_ns - loss->variation_ns / 4 + error / 4;
    loss->smoothed_ns = smoothed - smoothed / 8 + round_trip_ns / 8 + 1;
}

/* The timeout after `backoff` timeouts in a row: doubled each time, never above TRIB_RTO_MAX_NS. */
static inline uint64_t trib_loss_timeout(const struct trib_loss *loss, uint32_t backoff)
{
    uint64_t first = loss->first_ns != 0 ? loss->first_ns : TRIB_RTO_FIRST_NS;
    uint64_t least = loss->min_ns != 0 ? loss->min_ns : TRIB_RTO_MIN_NS;
    uint64_t rto = loss->smoothed_ns == 0 ? first : loss->smoothed_ns + 4 * loss->variation_ns;
    if (rto < least) {
        rto = least;
    }
    while (backoff > 0 && rto < TRIB_RTO_MAX_NS) {
        rto *= 2;
        backoff--;
    }
    return rto < TRIB_RTO_MAX_NS ? rto : TRIB_RTO_MAX_NS;
}

#endif
