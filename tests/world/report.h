/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: what worlds did, summed. A part of world.h, which includes it behind its constants. Read next: report.c. */
#ifndef TRIB_TESTS_WORLD_REPORT_H
#define TRIB_TESTS_WORLD_REPORT_H

#include "core/counters.h"
#include "core/flow.h"
#include "core/packet.h"
#include "protocol/combiner.h"
#include "tributary/types.h"

#define WORLD_REPORT_MAP(X)                                \
    X(lost, "lost")                                        \
    X(bursts, "bursts")                                    \
    X(partial, "multicast missed some")                    \
    X(duplicated, "duplicated")                            \
    X(reordered, "reordered")                              \
    X(corrupted, "corrupted")                              \
    X(truncated, "truncated")                              \
    X(spiked, "delay spikes")                              \
    X(paused, "pauses")                                    \
    X(replayed, "replayed")                                \
    X(crossed, "replayed into another")                    \
    X(overflowed, "inbox overflowed")                      \
    X(forged, "forged")                                    \
    X(bent, "lanes bent")                                  \
    X(falsified, "values falsified under a right lane")    \
    X(tagged, "communicators with a key")                  \
    X(strays, "packets for nobody")                        \
    X(inherited, "late packets of an old communicator")    \
    X(restarts, "restarts of a root")                      \
    X(inner_restarts, "restarts of an inner switch")       \
    X(stops, "ranks stopped")                              \
    X(switch_stops, "switches stopped")                    \
    X(aways, "control planes away")                        \
    X(cuts, "connections of switches cut")                 \
    X(resets, "sessions of ranks reset")                   \
    X(crashes, "ranks crashed")                            \
    X(deaths, "ranks whose death was known in time")       \
    X(successors, "communicators made anew")               \
    X(wrapped, "generations wrapped")                      \
    X(paced, "communicators with caps on windows")         \
    X(caps_rose, "caps that rose")                         \
    X(caps_fell, "caps that fell")                         \
    X(full_shards, "shards whose memory was full")         \
    X(intruders, "communicators in another's place")       \
    X(lost_incarnations, "trees made anew")                \
    X(moved, "trees that became a star")                   \
    X(own_roots, "roots in ranks' processes")              \
    X(lent_roots, "roots at agents elsewhere")             \
    X(chosen, "communicators over some of the switches")   \
    X(agent_restarts, "restarts of an agent")              \
    X(ambushes, "faults while roots are opened")           \
    X(pools, "pools of rows thrown away")                  \
    X(combined, "communicators behind combiners")          \
    X(agent_losses, "agents lost by their controller")     \
    X(agent_silences, "agents given up as silent")         \
    X(leaves, "switches below known to the root")          \
    X(leaf_losses, "of them: lost again")                  \
    X(displaced, "of them: by a later connection")         \
    X(closed, "communicators closed")                      \
    X(forsaken, "waited for a rank that has left")         \
    X(early, "ranks that closed early")                    \
    X(lingered, "ranks that lingered in vain")             \
    X(failed_peer, "ended: a rank is gone")                \
    X(failed_late, "ended: a rank never came back")        \
    X(failed_refused, "ended: ranks differ")               \
    X(expired, "ended: no promise")                        \
    X(weighted, "communicators whose roots have weights")  \
    X(skewed, "communicators with skewed settings")        \
    X(skewed_done, "of them: completed")                   \
    X(differ, "of them: told by the control plane")        \
    X(boot_events, "boot events")                          \
    X(stall_events, "stall events")                        \
    X(mismatch_events, "mismatch events")                  \
    X(failed_events, "failed events")                      \
    X(session_marks, "marks by session")                   \
    X(messages, "messages of sessions")                    \
    X(missings, "ranks told who is missing")               \
    X(sent_away, "ranks told that a switch is away")       \
    X(recalled, "ranks recalled on a session that stands") \
    X(returns, "communicators older than their world")     \
    X(returned_workers, "memory of idle workers zeroed")   \
    X(returned_switches, "memory of idle switches zeroed") \
    X(limited, "workers held to less than their window")   \
    X(offers_tested, "offers tried")                       \
    X(spot_checks, "spot checks")                          \
    X(allreduces, "allreduces")                            \
    X(broadcasts, "broadcasts")                            \
    X(barriers, "barriers")                                \
    X(reduces, "reduces")                                  \
    X(allgathers, "allgathers")                            \
    X(scatters, "reduce-scatters")                         \
    X(uneven, "operations with uneven shares")             \
    X(sequence_32, "streams across 2^32")                  \
    X(sequence_48, "streams near 2^48")                    \
    X(clean, "clean worlds")                               \
    X(lethal, "communicators lied to")                     \
    X(shared, "worlds with several communicators")         \
    X(deep_1, "communicators on one level")                \
    X(deep_2, "communicators on two levels")               \
    X(deep_3, "communicators on three levels")             \
    X(rings, "communicators without a switch: a ring")     \
    X(hybrids, "communicators without a switch: hybrid")   \
    X(quorums, "communicators whose sums may lack ranks")  \
    X(lacked, "sums that lacked ranks")                    \
    X(lacked_whole, "sums that might have, and did not")   \
    X(late_before, "late parts, before the result")        \
    X(late_after, "late parts, after it")                  \
    X(taken_unsent, "results taken, own part unsent")      \
    X(offers_lacking, "offers of sums that lack")          \
    X(offers_unsent, "offers of what was never sent")      \
    X(stalls_of_mark, "stalls where M waited")             \
    X(grouped, "communicators with inner nodes within a switch")

/* Of communicators with authenticators. */
#define WORLD_AUTH_MAP(X)                         \
    X(communicators, "communicators")             \
    X(lies, "lies")                               \
    X(refused, "packets that were not authentic") \
    X(copies, "copies of authentic packets")      \
    X(late, "authentic packets below the window")

struct world_report {
    struct trib_counters worker, root, inner, peer; /* peer: workers of schemes without a switch */
    struct trib_flow_counters flows;
    struct trib_combiner_counters combiner;
    uint64_t decode[TRIB_DROP_COUNT];
    uint64_t worlds, communicators, operations, fragments, packets, events;
    uint64_t ranks[WORLD_RANKS_MAX + 1];                     /* communicators of that size */
    uint64_t reduced[TRIB_REDUCTION_COUNT][TRIB_TYPE_COUNT]; /* results that were compared, of two ranks and more */
#define X(name, text) uint64_t name;
    WORLD_REPORT_MAP(X)
#undef X
#define X(name, text) uint64_t auth_##name;
    WORLD_AUTH_MAP(X)
#undef X
    uint64_t slowest_ns[WORLD_DEPTH_MAX + 1], slowest_seed[WORLD_DEPTH_MAX + 1]; /* by depth, or more; not summed */
    uint64_t silent_percent, silent_seed;      /* the same of probes of a silent root */
    uint64_t storm_percent, storm_seed, trace; /* the most packets of a communicator, of what the bound allows */
};

void report_add(struct world_report *sum, const struct world_report *own);
void report_counters(struct trib_counters *sum, const struct trib_counters *counters);
unsigned report_print(const struct world_report *report, uint32_t depth_max, const struct trib_scheme *scheme);

#endif
