/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the one clock of everything that runs for real: nanoseconds, steady, with no relation to the time of day;
 * and CPU time. Nodes never read it: their drivers hand the time in (core/node.h). */
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

/* CPU time that a process has used, by its clock: CLOCK_PROCESS_CPUTIME_ID is one's own. -1: there is no such
 * process. */
static inline int64_t trib_cpu_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * (int64_t)TRIB_SECOND_NS + now.tv_nsec : -1;
}

static inline double trib_cpu_s(void)
{
    return (double)trib_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) / (double)TRIB_SECOND_NS;
}

/* An endless time limit stays endless: UINT64_MAX is never. */
static inline uint64_t trib_time_after(uint64_t now_ns, uint64_t duration_ns)
{
    return duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
}

static inline uint64_t trib_time_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* How long a rank waits on after its own limit_ns, so that the control plane, or rank 0 of its host, is the first to
 * give up: it has the same limit, may have begun to wait later, and can name the missing ranks. On a busy machine its
 * message takes a while. */
static inline uint64_t trib_time_to_hear(uint64_t limit_ns)
{
    return limit_ns / 8 + TRIB_SECOND_NS / 2;
}

#endif
