/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the clock of all code that runs in real time: nanoseconds, monotonic, unrelated to the time of day; and CPU
 * time. Nodes never read a clock: their drivers pass the time (core/node.h). */
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

/* CPU time of the process with this clock, ns; CLOCK_PROCESS_CPUTIME_ID: the calling process. -1: no such process. */
static inline int64_t trib_cpu_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * (int64_t)TRIB_SECOND_NS + now.tv_nsec : -1;
}

static inline double trib_cpu_s(void)
{
    return (double)trib_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) / (double)TRIB_SECOND_NS;
}

/* UINT64_MAX is never: an endless time limit stays endless. */
static inline uint64_t trib_time_after(uint64_t now_ns, uint64_t duration_ns)
{
    return duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
}

static inline uint64_t trib_time_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Extra wait of a rank after its own limit_ns, so that the control plane, or rank 0 of the host, gives up first: it can
 * name the missing ranks. It has the same limit but may have begun to wait later, and on a busy machine its message
 * takes a while. */
static inline uint64_t trib_time_to_hear(uint64_t limit_ns)
{
    return limit_ns / 8 + TRIB_SECOND_NS / 2;
}

#endif
