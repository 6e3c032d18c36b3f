/* SPDX-License-Identifier: Apache-2.0 */
/* accept.h: new connections, and room for them. Read next: accept.c. */
#ifndef TRIB_CONTROL_SERVER_ACCEPT_H
#define TRIB_CONTROL_SERVER_ACCEPT_H

#include "control/server/connection.h"

/* Number of sessions within the limit of open files. may_raise: raises the limit first, as far as allowed. */
uint32_t trib_connections_limit(bool may_raise);
/* True if there is no room for another session of the peer. *is_share: the peer has used up its share. */
bool trib_connections_lack_room(struct trib_connections *connections, const struct trib_address *peer, bool *is_share);
void trib_connections_explain_room(const struct trib_connections *connections, const struct trib_address *local,
                                   bool is_share, char *text);

/* Omits and counts lines of INFO beyond a limit, so that a peer with many connections does not fill the log. */
void trib_connections_say(void *connections, enum trib_log_level level, const char *line);

#endif
