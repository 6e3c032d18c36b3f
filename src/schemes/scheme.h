/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.h: a scheme, as drivers see one: a row of the table in schemes.h. Read next: switchml/switchml.h. */
#ifndef TRIB_SCHEMES_SCHEME_H
#define TRIB_SCHEMES_SCHEME_H

#include "core/node.h"

/* The scheme of ranks that send to each other, which a switch may want of a job in place of its own. */
#define TRIB_SCHEME_RING "ring"

struct trib_scheme {
    const char *name;
    const char *guarantee; /* one sentence for `tributary info` */
    /* Of a published rule (published/published.h): why no job may run it. NULL in every row of this table. */
    const char *refusal;
    bool can_be_simulated; /* a published rule that the simulator may run, to show its effects */
    /* The reason against a communicator with the settings, or NULL: for the error that a job gets. NULL: it can run
     * all. */
    const char *(*unfit)(const struct trib_session_config *session);
    /* Its windows do: drivers have sockets say when their queues are long (trib_port_set_backlog). */
    bool follows_congestion;
    bool has_groups;    /* its ranks stand in groups, of as many ranks as the name says behind a colon: "hybrid:4" */
    bool has_quorum;    /* its sums may lack ranks, where the name says so behind a colon: "panama:7/8" */
    bool has_servers;   /* roots are on hosts */
    bool has_combiners; /* switches on the way to the roots add as far as memory allows (protocol/combiner.h) */
    bool has_pieces;    /* combiners add the pieces that a plan has placed there (protocol/pieces.h), no others */
    bool is_chain;      /* switches that stand side by side below the root form a chain (rina/rina.h) */
    bool has_agents;    /* of a published rule: a rank of each rack takes the sums of the racks before */
    /* Which parts meet in a combiner differs from run to run, and with that the rounding of floats. So the wire is
     * int32 if none is named: its sums have the same bits in every run. */
    bool sums_by_luck;
    /* Where its sums may lack ranks: which this result has, bit r for rank r. NULL: its list says so (core/quorum.h).
     * */
    uint64_t (*listed)(const struct trib_packet *result);
    const struct trib_worker_verbs *worker;
    const struct trib_switch_verbs *switch_node; /* NULL: its ranks need no switch */
};

/* Switches tell ranks a cap on fragments in flight, so a job needs no promise for its lifetime. */
static inline bool trib_scheme_has_caps(const struct trib_scheme *scheme)
{
    return scheme != NULL && trib_switch_has_caps(scheme->switch_node);
}

/* If the switch that a rank has come to is gone for good, the rank comes to the place of the roots, and the job goes
 * on. */
static inline bool trib_scheme_has_detour(const struct trib_scheme *scheme)
{
    return scheme != NULL && (scheme->has_servers || scheme->is_chain);
}

/* Of a scheme of chains: the parent of rack 1 to racks - 1 in the tree of this root: a rack, or 0, the place of all
 * roots. Racks stand in a ring, which is cut behind another rack for each root. */
static inline uint32_t trib_chain_parent(uint32_t racks, uint32_t root, uint32_t rack)
{
    uint32_t cut = (root / 2 + (root % 2 == 0 ? racks / 2 : 0)) % racks;

    return rack <= cut ? rack - 1 : (rack + 1) % racks;
}

#endif
