/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h: authenticators of a communicator's packets (keys/auth.h). Each WELCOME of a job with a key brings sender keys
 * of one incarnation. Locked. */
#ifndef TRIB_COMM_AUTH_H
#define TRIB_COMM_AUTH_H

#include "comm/state.h"

/* Takes the sender keys of a WELCOME in place of the last ones. comm knows its roots or peers already. A rank that
 * has a leader needs none. ERR_REFUSED: a rank with a key got none, or the reverse, or the last one again; ERR_MEMORY.
 * error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_comm_take_auth(struct trib_comm *comm, const struct trib_message *welcome,
                                                   char *error);
/* Bytes of a packet behind its payload. */
static inline uint32_t trib_comm_behind_payload(const struct trib_comm *comm)
{
    return comm->auth != NULL ? TRIB_AUTHENTICATOR_SIZE : 0;
}
/* comm has ended. */
void trib_comm_drop_auth(struct trib_comm *comm);

#endif
