/* SPDX-License-Identifier: Apache-2.0 */
/* root.h: an agent's side of one communicator of a controller elsewhere: in the process of a rank, in another switch,
 * or in a switch below that sends sums to a parent. Takes the ROOT_* messages of the controller, has the data plane
 * open the roots, and returns the answer. No sockets, no threads, no clock. Impossible requests are refused (I7).
 *
 * Use: one object per communicator. trib_root_init; trib_root_receive for each ROOT_* message, and trib_root_mismatch
 * for each TRIB_EVENT_MISMATCH of the communicator; the caller sends *answer on the session, unless the kind is NONE.
 * The caller calls trib_root_deinit when the session has ended for any cause: a root lives as long as the session.
 * Read next: roots.h (the asking side), root.c. */
#ifndef TRIB_CONTROL_ROOT_H
#define TRIB_CONTROL_ROOT_H

#include "control/agents/agent.h"
#include "control/words/ranks.h"

struct trib_root_plan;

struct trib_root {
    struct trib_agent *agent;
    struct trib_agent_opening opening;
    struct trib_root_plan *plan; /* opening that is being received; NULL: none */
    struct trib_opening_id of;   /* communicator 0: nothing was asked yet */
    uint32_t ranks;
    uint32_t open;       /* bitmap of the indexes of open roots */
    uint32_t behind;     /* ranks summed here, at some root; without a parent: all */
    uint32_t registered; /* of the ranks behind */
    struct trib_rank_set named;
    struct trib_rank_set joined;
    /* Of a switch below. */
    bool has_parent;
    bool has_path;  /* full size passes to the parent and back, on every root */
    bool is_return; /* ranks had a READY before: the path is tried for as long as the opening lasts */
    uint32_t group; /* for results; 0: none */
    uint16_t group_port;
    uint64_t probe_ns; /* when the parent is probed next; TRIB_NEVER: not */
    uint64_t probe_gap_ns;
    uint64_t path_limit_ns; /* 0: not probed yet */
    uint32_t path_tries;
    uint32_t payload;
    uint64_t mark;    /* the latest M from the controller; 0: none yet */
    bool is_ready;    /* ROOT_READY was sent */
    bool is_disputed; /* DISPUTE was sent */
    bool has_failed;  /* ABORT was sent: no message is taken any more */
};

/* agent: borrowed until deinit. */
void trib_root_init(struct trib_root *root, struct trib_agent *agent);
/* Takes one message of kind ROOT_*. Not OK: the communicator cannot go on, and *answer is an ABORT with status and
 * cause, for the session and for the local rank. */
TRIB_MUST_USE enum trib_status trib_root_receive(struct trib_root *root, const struct trib_message *message,
                                                 struct trib_message *answer);
/* Time of the next probe of the parent; TRIB_NEVER: none. */
static inline uint64_t trib_root_timeout(const struct trib_root *root)
{
    return root->probe_ns;
}
/* Sends the due probe. ERR_UNREACHABLE: the parent has not answered for too long; else as trib_root_receive. */
TRIB_MUST_USE enum trib_status trib_root_on_timeout(struct trib_root *root, uint64_t now_ns,
                                                    struct trib_message *answer);
/* Slots of the root have seen two operations. The first call writes DISPUTE to *answer. */
void trib_root_mismatch(struct trib_root *root, uint64_t sequence, const uint32_t rank[2], struct trib_message *answer);
/* Closes the open root. The object may be used again after init. */
void trib_root_deinit(struct trib_root *root);
/* True if the ROOT_* message is about the incarnation of the root. */
static inline bool trib_root_is_of(const struct trib_root *root, const struct trib_message *message)
{
    return message->of.communicator == root->of.communicator && message->of.boot == root->of.boot;
}

static inline bool trib_root_is_open(const struct trib_root *root)
{
    return root->open != 0;
}

#endif
