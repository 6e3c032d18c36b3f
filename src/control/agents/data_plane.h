/* SPDX-License-Identifier: Apache-2.0 */
/* data_plane.h: the interface of a data plane to the control plane of the same process. A table of functions, so that
 * control can be tested without a data plane, and can drive different data planes. Read next: agent.h (memory and
 * quotas), switchd/plane.h (the data plane with shards and sockets). */
#ifndef TRIB_CONTROL_DATA_PLANE_H
#define TRIB_CONTROL_DATA_PLANE_H

#include "control/words/words.h"
#include "net/port.h"
#include "protocol/combiner.h"

/* One child of this switch: a rank, a host that sums several ranks, or a switch with the ranks behind the switch. */
struct trib_branch {
    const uint16_t *ranks; /* ascending; borrowed */
    uint32_t count;        /* of ranks */
    bool is_switch;
    bool is_combined;         /* packets come through a combiner, from an address shared with other children */
    uint16_t sender;          /* id of the sender in authenticators */
    struct trib_address from; /* source address of packets to this root */
};

/* One root of a communicator, to be opened. All pointers are borrowed for the call. */
struct trib_opening {
    /* ranks: members of the sums, ranks or hosts. salt 0: a switch never learns the salt. */
    struct trib_session_config session;
    uint32_t ranks; /* ranks of the whole communicator, behind the members */
    const char *scheme;
    uint32_t boot;                      /* boot id of the incarnation, the same at every hop */
    const struct trib_address *parent;  /* NULL: this switch is the root */
    const struct trib_branch *branches; /* in order of their lowest ranks */
    uint32_t count;
    /* Numbers of the children at the root, in order, at a combiner (protocol/combiner.h). Empty: no combiner. */
    struct trib_rank_set numbers;
    /* Pieces added by a combiner (protocol/pieces.h). count 0: neither the scheme nor the plan names pieces. */
    struct trib_pieces pieces;
    uint8_t priority; /* of a combiner's rows */
    uint32_t root;    /* differs per root of a communicator, like `shard` and the tree; all other fields are equal */
    uint32_t shard;   /* sums this root */
    const struct trib_auth_key *auth; /* all 0: packets have no authenticators */
};

static inline bool trib_opening_is_combiner(const struct trib_opening *opening)
{
    return trib_rank_set_count(&opening->numbers) != 0;
}

/* Counters of a communicator's nodes, for metrics and `jobs`. */
struct trib_plane_report {
    struct trib_counters counters; /* all shards together */
    uint64_t memory_held;          /* bytes allocated, of the slots' maximum */
    uint64_t flagged;              /* packets with TRIB_FLAG_ECN: congestion on the way */
    uint32_t slots_held;
    uint32_t cap;           /* fragments of a rank at a root, the least of all shards; 0: the scheme has no caps */
    uint32_t missing_count; /* ranks missing on `sequence`; 0: every open slot is complete */
    uint64_t sequence;      /* oldest incomplete sequence */
    uint16_t missing[TRIB_RANKS_MAX];
};

/* Rows of combiners, of all communicators and shards. */
struct trib_plane_rows {
    struct trib_combiner_counters counters;
    uint64_t rows;
    uint64_t held;
};

#define TRIB_MISSING_LATER UINT32_MAX

/* Functions of a data plane. `plane` is passed to each function. The server's thread calls, and each function returns
 * at once: no session is served during a call. `communicator` is open: open() has returned OK, and close() has not been
 * called since. */
struct trib_data_plane {
    void *plane;
    /* Opens the slots of a root on opening->shard, which has no other root of the communicator. ERR_MEMORY, or
     * ERR_REFUSED for a combiner with too many communicators: no root of the communicator is open any more. */
    enum trib_status (*open)(void *plane, const struct trib_opening *opening);
    void (*close)(void *plane, uint32_t communicator);
    /* Registration of a rank behind this switch, or a mark that the rank has sent on the session. A child joins with
     * its last rank. The mark of a child is the smallest mark of the child's ranks. */
    void (*join)(void *plane, uint32_t communicator, uint32_t rank, uint64_t mark);
    /* With a parent: M came from the controller. */
    void (*learn_mark)(void *plane, uint32_t communicator, uint64_t mark);
    /* With a parent. probe_parent sends one TRIB_PATH packet from every shard to the parent, of full size once the
     * parent has proved its address. parent_answered returns true if a packet of full size has come back to every
     * shard. If not, *silent (NULL: not wanted) becomes the parent's address of a waiting root. */
    void (*probe_parent)(void *plane, uint32_t communicator);
    bool (*parent_answered)(void *plane, uint32_t communicator, struct trib_address *silent);
    /* The smallest M of all shards, valid for every root (docs/DECISIONS.md). */
    uint64_t (*communicator_mark)(void *plane, uint32_t communicator);
    /* From now on, results go by multicast to the group (0: unicast). */
    void (*multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* One TRIB_PATH packet of full size to the group, from every shard. */
    void (*probe_multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* Bytes of slot memory of one root. */
    size_t (*slot_bytes)(void *plane, const struct trib_opening *opening);
    /* For metrics and `jobs`; false when unknown. */
    bool (*report)(void *plane, uint32_t communicator, struct trib_plane_report *report);
    /* Writes the ranks, at most max, ascending, behind the children without a contribution to `sequence`. Returns the
     * number of ranks; 0 also if the sequence is complete, or out of the window. TRIB_MISSING_LATER: the answer is not
     * known yet. */
    uint32_t (*missing)(void *plane, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max);
    void (*traffic)(void *plane, struct trib_port_stats *sum);
    /* Packets dropped before a communicator was found: unreadable, or of unknown senders. May be NULL. */
    void (*drops)(void *plane, uint64_t dropped[TRIB_DROP_COUNT]);
    /* May be NULL: nothing is ever combined. */
    void (*rows)(void *plane, struct trib_plane_rows *rows);
};

#endif
