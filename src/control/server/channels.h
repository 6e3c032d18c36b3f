/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: the sessions of a switch below, which come as numbered channels over one connection of it. That begins
 * with HELLO, and is usable once it has said the number of CHALLENGE again: so a switch that is dead never displaces one
 * that lives, and one that lives again displaces its own dead connection. The end of a channel is said in words (END);
 * the end of the connection is silence, for all its channels. Only what is no message there, or has no place there, ends
 * the connection; what a channel says ends that channel.
 *
 * What waits for a channel lies with it (64 KiB at most), and goes onto the connection in turn with the others': one that
 * is not read holds up none. Called by connections.c alone, in its thread. uplinks.c is the other end. */
#ifndef TRIB_CONTROL_CHANNELS_H
#define TRIB_CONTROL_CHANNELS_H

#include "control/server/connection.h"

/* A message of a switch below; or HELLO, of one that has said nothing. False: out of turn. */
bool trib_channels_receive(struct trib_connections *connections, struct trib_connection *connection,
                           const struct trib_message *message);
/* It may write so much without payment of its own: see trib_connection_pay. False: it says too much. */
bool trib_channels_may_say(const struct trib_connections *connections, struct trib_connection *connection,
                           const struct trib_message *message);
/* The channel has something to say, or has ended. */
void trib_channels_queue(struct trib_connections *connections, struct trib_connection *channel);
/* Moves what waits onto the connection, as far as that is empty enough. */
void trib_channels_fill(struct trib_connections *connections, struct trib_connection *connection);
/* Does anything wait? */
bool trib_channels_wait(const struct trib_connection *connection);
/* Is it a connection of a switch below, and usable? */
bool trib_channels_is_proved(const struct trib_connection *connection);
/* The connection has ended: so have all its channels, without a word. */
void trib_channels_lose(struct trib_connections *connections, struct trib_connection *connection, const char *cause);
/* When to look at a newcomer that waits for the answer of another; TRIB_NEVER: it does not. */
uint64_t trib_channels_timeout(const struct trib_connection *connection);
void trib_channels_on_timeout(struct trib_connections *connections, struct trib_connection *connection);
/* It is about to be freed. */
void trib_channels_forget(struct trib_connections *connections, struct trib_connection *connection);

#endif
