/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h: the worker node of a communicator. Locked. */
#ifndef TRIB_COMM_WORKER_H
#define TRIB_COMM_WORKER_H

#include "comm/state.h"

/* Fills *session, of the node for this grant. */
void trib_comm_describe_grant(const struct trib_comm *comm, const struct trib_grant *grant,
                              struct trib_session_config *session);
/* Makes the node for the grant of its WELCOME. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_comm_make_node(struct trib_comm *comm, const struct trib_grant *grant);
/* Shrinks the window to the grant of another place. */
void trib_comm_shrink_window(struct trib_comm *comm, const struct trib_grant *grant);

#endif
