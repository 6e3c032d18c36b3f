/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: the upper end of a switch's connection to its parent, at the controller of the root. The connection
 * carries each session of the switch below as a numbered channel. The connection of a lower switch is a channel as
 * well. A connection begins with HELLO, and is usable once PROOF has repeated the nonce of CHALLENGE. So a dead switch
 * never displaces a live one, and a restarted switch displaces its own dead connection. END ends one channel. The end
 * of the connection ends all channels without a message. A malformed message, or a message out of turn, ends the
 * connection if sent on the connection itself, and else only the channel.
 *
 * Each channel keeps its waiting bytes (64 KiB at most). Channels take turns on the connection, so an unread channel
 * delays no other channel. connections.c calls the table, in its thread. passes.c is the other end. */
#ifndef TRIB_CONTROL_CHANNELS_H
#define TRIB_CONTROL_CHANNELS_H

#include "control/server/connection.h"

extern const struct trib_channel_verbs trib_channels;

/* struct trib_remote_output of switches below; owner: the connections. */
void trib_channels_tell(void *connections, struct trib_remote *remote, const struct trib_message *message);
void trib_channels_ping(void *connections, struct trib_remote *remote);

#endif
