/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h: the worker node of a communicator. Locked. */
#ifndef TRIB_COMM_WORKER_H
#define TRIB_COMM_WORKER_H

#include "comm/communicator.h"

/* Fills *session, of the node for this grant. */
void trib_comm_describe_grant(const struct trib_comm *comm, const struct trib_grant *grant,
                              struct trib_session_config *session);
/* Makes the node for the grant of its WELCOME. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_comm_make_node(struct trib_comm *comm, const struct trib_grant *grant);
/* Shrinks the window to the grant of another place. */
void trib_comm_shrink_window(struct trib_comm *comm, const struct trib_grant *grant);

/* Without a node, the following do nothing, and return 0 or NULL. */

/* Packets count again from the next READY on. */
static inline void trib_comm_suspend(struct trib_comm *comm)
{
    if (comm->node != NULL) {
        comm->verbs->suspend(comm->node);
    }
}

/* The rank's own mark. */
static inline uint64_t trib_comm_mark(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->mark(comm->node) : 0;
}

/* The communicator's mark M, as far as this rank knows. */
static inline uint64_t trib_comm_common_mark(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->node.communicator_mark(comm->node) : 0;
}

/* Fragments under way to all roots. */
static inline uint64_t trib_comm_in_flight(const struct trib_comm *comm)
{
    uint64_t count = 0;
    for (uint32_t root = 0; comm->node != NULL && root < comm->grant.roots; root++) {
        count += comm->verbs->in_flight(comm->node, root);
    }
    return count;
}

static inline const struct trib_counters *trib_comm_counters(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->node.counters(comm->node) : NULL;
}

#endif
