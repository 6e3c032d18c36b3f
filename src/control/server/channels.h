/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: the sessions of a switch below, which come as numbered channels over one connection of it. That begins
 * with HELLO, and is usable once it has said the number of CHALLENGE again: so a switch that is dead never displaces one
 * that lives, and one that lives again displaces its own dead connection. The end of a channel is said in words (END);
 * the end of the connection is silence, for all its channels. Only what is no message there, or has no place there, ends
 * the connection; what a channel says ends that channel.
 *
 * What waits for a channel lies with it (64 KiB at most), and goes onto the connection in turn with the others': one that
 * is not read holds up none. Called by connections.c, by the table and in its thread. uplinks.c is the other end. */
#ifndef TRIB_CONTROL_CHANNELS_H
#define TRIB_CONTROL_CHANNELS_H

#include "control/server/connection.h"

extern const struct trib_channel_verbs TRIB_CHANNELS;

#endif
