/* SPDX-License-Identifier: Apache-2.0 */
/* congestion.h: how many fragments a rank keeps in flight towards one root. Told facts ("sent", "result"), asked one question.
 * The only policy so far is SwitchML's: a fixed window (NSDI'21, section 3.4: the pool is the window, it clocks itself). */
#ifndef TRIB_CORE_CONGESTION_H
#define TRIB_CORE_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct trib_congestion {
    uint32_t window; /* fragments */
    uint32_t in_flight;
};

static inline void trib_congestion_sent(struct trib_congestion *congestion)
{
    congestion->in_flight++;
}

static inline void trib_congestion_result(struct trib_congestion *congestion)
{
    congestion->in_flight--;
}

static inline bool trib_congestion_admits(const struct trib_congestion *congestion)
{
    return congestion->in_flight < congestion->window;
}

#endif
