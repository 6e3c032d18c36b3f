/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the one clock of everything that runs for real: nanoseconds, steady, with no relation to the time of day.
 * Nodes never read it: their drivers hand the time in (core/node.h). */
#ifndef TRIB_IO_CLOCK_H
#define TRIB_IO_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TRIB_MICROSECOND_NS UINT64_C(1000)
#define TRIB_MILLISECOND_NS UINT64_C(1000000)
#define TRIB_SECOND_NS UINT64_C(1000000000)

static inline uint64_t trib_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * TRIB_SECOND_NS + (uint64_t)now.tv_nsec;
}

#endif
