/* SPDX-License-Identifier: Apache-2.0 */
/* root.h: the doing side where no switch is: the process of a rank is a root of its communicator. Takes the ROOT_*
 * messages of that rank's session, has the process's data plane open the root, and says what to send back. No sockets,
 * no threads, no clock. Whom it obeys is its control plane (I7); what cannot be is refused all the same.
 *
 * Use: one object per communicator. trib_root_init; trib_root_receive for each ROOT_* message, and trib_root_mismatch
 * for each TRIB_EVENT_MISMATCH of the communicator; what they write to *answer goes to the session, unless its kind is
 * NONE. trib_root_deinit when the session has ended, however it has: a root lives as long as its rank's session.
 * Read next: roots.h (the asking side), root.c. */
#ifndef TRIB_CONTROL_ROOT_H
#define TRIB_CONTROL_ROOT_H

#include "control/agents/agent.h"
#include "control/words/ranks.h"

struct trib_root_plan;

struct trib_root {
    struct trib_agent *agent;
    struct trib_agent_opening opening;
    struct trib_root_plan *plan; /* the opening that is being put together; NULL: none */
    struct trib_opening_id of;   /* communicator 0: nothing was asked yet */
    uint32_t ranks;
    uint32_t open;       /* roots that are open, as a bitmap of their indexes */
    uint32_t registered; /* ranks */
    struct trib_rank_set joined;
    bool is_ready;    /* ROOT_READY was said */
    bool is_disputed; /* DISPUTE was said */
    bool has_failed;  /* ABORT was said: nothing is taken any more */
};

/* agent: borrowed until deinit; open() of its data plane obeys is_one of struct trib_opening. */
void trib_root_init(struct trib_root *root, struct trib_agent *agent);
/* Takes one message of kind ROOT_*. Not OK: the communicator cannot go on: then *answer is an ABORT with status and
 * cause, for its session and for its own rank. */
TRIB_MUST_USE enum trib_status trib_root_receive(struct trib_root *root, const struct trib_message *message,
                                                 struct trib_message *answer);
/* Slots of this root have seen two operations: the first time that is told. */
void trib_root_mismatch(struct trib_root *root, uint64_t sequence, const uint32_t rank[2], struct trib_message *answer);
/* Closes what is open. The object may be used again after init. */
void trib_root_deinit(struct trib_root *root);
/* Is that message, of kind ROOT_*, about the incarnation that this root is of? */
static inline bool trib_root_is_of(const struct trib_root *root, const struct trib_message *message)
{
    return message->of.communicator == root->of.communicator && message->of.boot == root->of.boot;
}

static inline bool trib_root_is_open(const struct trib_root *root)
{
    return root->open != 0;
}

#endif
