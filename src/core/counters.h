/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h: the counters of a node. Free-running, never reset, outside the hashed state. One list gives the struct,
 * JSON names and the metrics. */
#ifndef TRIB_CORE_COUNTERS_H
#define TRIB_CORE_COUNTERS_H

#include <stdint.h>

#include "core/packet.h"

/* name, help. A worker counts its own events, a switch its own, the last three only one with a parent; the rest
 * stays 0. */
#define TRIB_COUNTER_MAP(X)                                                                            \
    X(contributions, "contributions sent (worker) or added (switch)")                                  \
    X(contributions_resent, "contributions sent again because they were asked for")                    \
    X(contributions_again, "contributions to what the rank had finished, with a header only")          \
    X(results, "results taken (worker) or completed (switch)")                                         \
    X(results_repeated, "results sent again to one child that probed")                                 \
    X(probes, "probes sent (worker) or taken (switch)")                                                \
    X(probes_fast, "of the probes sent: because later results came first")                             \
    X(probes_blocked, "of the probes sent: because the window held everything back")                   \
    X(asks, "asks taken (worker) or sent (switch)")                                                    \
    X(asks_gap, "of the asks sent: because of a gap in a child's stream")                              \
    X(asks_finished, "of the asks sent: to a child that has already finished it")                      \
    X(held, "held answers taken (worker) or sent (switch)")                                            \
    X(offers, "offers sent (worker) or taken (switch)")                                                \
    X(boots, "boot hints taken (worker) or sent (switch)")                                             \
    X(registrations, "registrations with a boot id")                                                   \
    X(mismatches, "contributions of another operation than the slot's")                                \
    X(results_lacking, "of the results: of a sum that lacks ranks, as a quorum may")                   \
    X(late, "of those taken: own part was late and is not in (worker); parts that came late (switch)") \
    X(results_marked, "marks of congestion, of results and held answers taken, that a window follows") \
    X(raw_blocks, "blocks that travelled as float32 because of infinity or NaN")                       \
    X(stalls, "stall reports")                                                                         \
    X(partials, "sums of a subtree sent to the parent")                                                \
    X(probes_up, "probes sent to the parent")                                                          \
    X(offers_up, "offers sent to the parent")

struct trib_counters {
#define X(name, help) uint64_t name;
    TRIB_COUNTER_MAP(X)
#undef X
    uint64_t dropped[TRIB_DROP_COUNT];
};

static inline void trib_counters_add(struct trib_counters *sum, const struct trib_counters *counters)
{
#define X(name, help) sum->name += counters->name;
    TRIB_COUNTER_MAP(X)
#undef X
    for (unsigned i = 0; i < TRIB_DROP_COUNT; i++) {
        sum->dropped[i] += counters->dropped[i];
    }
}

#endif
