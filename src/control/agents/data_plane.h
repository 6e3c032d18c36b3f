/* SPDX-License-Identifier: Apache-2.0 */
/* data_plane.h: slots, as the control plane of a process sees them. A table of functions, so that control can be tested
 * without a data plane, and drive other kinds of it. Read next: agent.h (memory and quotas), switchd/plane.h (the one
 * with shards and sockets). */
#ifndef TRIB_CONTROL_DATA_PLANE_H
#define TRIB_CONTROL_DATA_PLANE_H

#include "control/words/words.h"
#include "net/port.h"
#include "protocol/combiner.h"

/* What sends to this switch as one child: a rank, a host whose ranks are summed there, or a switch with the ranks
 * behind it. */
struct trib_branch {
    const uint16_t *ranks; /* ascending; borrowed */
    uint32_t count;        /* of them */
    bool is_switch;
    bool is_combined;         /* its packets come through a combiner, from an address that other children may share */
    uint16_t sender;          /* id of what sends its packets, in authenticators */
    struct trib_address from; /* source address of its packets to this root */
};

/* One root of a communicator, as the data plane opens it; all borrowed for the call. */
struct trib_opening {
    struct trib_session_config
        session;    /* ranks: members of its sums, ranks or hosts. salt 0: a switch never learns it */
    uint32_t ranks; /* of the whole communicator, behind those members */
    const char *scheme;
    uint32_t boot;                      /* of this incarnation of the communicator's tree, the same at every hop */
    const struct trib_address *parent;  /* NULL: this switch is the root */
    const struct trib_branch *branches; /* in order of their lowest ranks */
    uint32_t count;
    struct trib_rank_set
        numbers; /* not empty: a combiner (protocol/combiner.h), whose children, in order, have these at the root */
    struct trib_pieces
        pieces;       /* that a combiner adds (protocol/pieces.h); count 0: the scheme or its plan names none */
    uint8_t priority; /* of a combiner's rows */
    uint32_t root;    /* of an opening of another root of the communicator only the tree differs, and these */
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
    uint64_t memory_held;          /* bytes that are really there, of those that the slots may take */
    uint64_t flagged;              /* packets that said that their way was congested */
    uint32_t slots_held;
    uint32_t cap;           /* fragments of a rank at a root, the least of all shards; 0: the scheme has no caps */
    uint32_t missing_count; /* ranks missing on `sequence`; 0: no open slot lacks anybody */
    uint64_t sequence;      /* the oldest that lacks somebody */
    uint16_t missing[TRIB_RANKS_MAX];
};

/* The rows in which parts are combined, of all communicators and shards. */
struct trib_plane_rows {
    struct trib_combiner_counters counters;
    uint64_t rows;
    uint64_t held;
};

#define TRIB_MISSING_LATER UINT32_MAX

/* The data plane as the control plane sees it. `plane` is its owner's. Calls come from the server's thread, and return
 * at once: while one lasts no session is served. `communicator` is always one that open() has taken and close() has
 * not. */
struct trib_data_plane {
    void *plane;
    /* Opens a root's slots on its shard, which has no other root of the communicator. ERR_MEMORY: no root of the
     * communicator is open any more. */
    enum trib_status (*open)(void *plane, const struct trib_opening *opening);
    void (*close)(void *plane, uint32_t communicator);
    /* Registration of a rank that is behind this switch, or its mark from the session. A child joins with the last of
     * its ranks, and its mark is the smallest of theirs. */
    void (*join)(void *plane, uint32_t communicator, uint32_t rank, uint64_t mark);
    /* With a parent: M came from the controller. */
    void (*learn_mark)(void *plane, uint32_t communicator, uint64_t mark);
    /* With a parent: one TRIB_PATH packet to it, from every shard, of full size when it has proved its address; and has
     * it sent one of full size back to every shard yet? If not, `silent` (NULL: none wanted) becomes the parent of a
     * root that waits for that. */
    void (*probe_parent)(void *plane, uint32_t communicator);
    bool (*parent_answered)(void *plane, uint32_t communicator, struct trib_address *silent);
    /* The smallest M of its shards, valid for every root (docs/DECISIONS.md). */
    uint64_t (*communicator_mark)(void *plane, uint32_t communicator);
    /* Results by multicast to this group from now on (0: unicast). */
    void (*multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* One TRIB_PATH packet of full size to the group, from every shard. */
    void (*probe_multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* Bytes of slot memory of this root. */
    size_t (*slot_bytes)(void *plane, const struct trib_opening *opening);
    /* For metrics and `jobs`; false when unknown. */
    bool (*report)(void *plane, uint32_t communicator, struct trib_plane_report *report);
    /* Writes the ranks, at most max, ascending, behind those children whose part of `sequence` is not here; returns how
     * many. 0 also when the sequence is complete, or out of the window. TRIB_MISSING_LATER: it is being asked for. */
    uint32_t (*missing)(void *plane, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max);
    void (*traffic)(void *plane, struct trib_port_stats *sum);
    /* Packets dropped before a communicator was found for them: unreadable, or of unknown senders. May be NULL. */
    void (*drops)(void *plane, uint64_t dropped[TRIB_DROP_COUNT]);
    /* May be NULL: nothing is ever combined. */
    void (*rows)(void *plane, struct trib_plane_rows *rows);
};

#endif
