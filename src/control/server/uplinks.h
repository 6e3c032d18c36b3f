/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.h: the connections of this control plane to other control planes. A switch with a parent has one connection
 * to the parent, with a channel for each accepted connection. A controller has one connection to each agent elsewhere.
 * Nothing here blocks. Bytes of channels pass unread, both ways. All other messages go whole to masters.h or
 * switches.h.
 *
 * The connection to the parent begins with this control plane, and stays. When the connection ends, all channels end
 * without a message, and all openings here are shut; the next channel begins another connection. If nothing has come
 * from the parent on a channel yet, the rank is told the cause (AWAY, FAIL). Each channel keeps its waiting bytes, and
 * channels take turns on the connection.
 *
 * Use beside connections.h, in the same poll(2): trib_uplinks_poll, trib_uplinks_ready with the answers,
 * trib_uplinks_on_timeout at trib_uplinks_next_timeout, each followed by trib_uplinks_sweep. One thread at a time per
 * object. Read next: channels.h (the other end), server.c (the loop). */
#ifndef TRIB_CONTROL_UPLINKS_H
#define TRIB_CONTROL_UPLINKS_H

#include <poll.h>

#include "control/server/trunk.h"

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, struct trib_connections *connections,
                       const struct trib_server_config *config);
/* Connects to the parent, if any. So the parent knows this switch, and the log names a wrong parent, before any rank
 * comes. Without an answer, the next rank begins the next try. */
void trib_uplinks_begin(struct trib_uplinks *uplinks, uint64_t now_ns);
/* Sends BYE to the controller above, which tells all ranks and ends the channels. */
void trib_uplinks_say_bye(struct trib_uplinks *uplinks, enum trib_status status, const char *text);
/* Sends waiting messages, for a moment, and closes everything. All remotes have been ended. */
void trib_uplinks_deinit(struct trib_uplinks *uplinks);

/* Writes descriptors and events for poll(2) to fds, TRIB_UPLINKS_MAX at most. Returns how many. The order holds until
 * trib_uplinks_ready. */
uint32_t trib_uplinks_poll(const struct trib_uplinks *uplinks, struct pollfd *fds);
void trib_uplinks_ready(struct trib_uplinks *uplinks, const struct pollfd *fds, uint32_t count, uint64_t now_ns);
uint64_t trib_uplinks_next_timeout(const struct trib_uplinks *uplinks);
void trib_uplinks_on_timeout(struct trib_uplinks *uplinks, uint64_t now_ns);
/* Reports lost connections to the owners, and frees ended connections. */
void trib_uplinks_sweep(struct trib_uplinks *uplinks, uint64_t now_ns);

/* struct trib_masters_above: sends a message of the agent here. */
void trib_uplinks_tell_above(void *uplinks, const struct trib_message *message);
/* struct trib_remote_output. */
bool trib_uplinks_dial(void *uplinks, struct trib_remote *remote);
void trib_uplinks_tell(void *uplinks, struct trib_remote *remote, const struct trib_message *message);
void trib_uplinks_hang_up(void *uplinks, struct trib_remote *remote);
void trib_uplinks_ping_remote(void *uplinks, struct trib_remote *remote);

#endif
