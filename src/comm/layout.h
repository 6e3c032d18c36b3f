/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: how the tensors of a communicator become payloads. Locked. */
#ifndef TRIB_COMM_LAYOUT_H
#define TRIB_COMM_LAYOUT_H

#include "comm/state.h"

/* Fills *session from the settings of all ranks. The grant adds the rest. */
void trib_comm_describe_session(const struct trib_comm *comm, struct trib_session_config *session);

#endif
