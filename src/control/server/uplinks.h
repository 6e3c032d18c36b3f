/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.h: the connections of this control plane to others: of a relay to its parent's, one for each session from
 * below; of a controller to its agents elsewhere, one for each. Nothing here blocks, and nothing knows what a message
 * means, but PING and PONG: other whole messages go to trib_relay_answer, or trib_switches_answer.
 *
 * Use beside connections.h, in the same poll(2): trib_uplinks_poll, trib_uplinks_ready with the answers,
 * trib_uplinks_on_timeout at trib_uplinks_next_timeout, each followed by trib_uplinks_sweep. One thread at a time per
 * object. Read next: relay.h, server.c (the loop). */
#ifndef TRIB_CONTROL_UPLINKS_H
#define TRIB_CONTROL_UPLINKS_H

#include <poll.h>

#include "control/relay/relay.h"
#include "control/roots/switches.h"
#include "control/server/connections.h"

struct trib_uplink;

struct trib_uplinks {
    uint32_t count;
    struct trib_uplink *all[TRIB_CONNECTIONS_MAX];
    struct trib_jobs *jobs;
    struct trib_address parent;
    struct trib_address local; /* where the data comes from as well; len 0: the kernel chooses */
    bool is_located;           /* the relay knows its own address */
    uint64_t now_ns;           /* of the call under way */
};

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, const struct trib_server_config *config);
/* Lets what was said leave, for a moment, and closes everything. All links and remotes have been ended. */
void trib_uplinks_deinit(struct trib_uplinks *uplinks);

/* Writes what to poll for; fds has room for TRIB_CONNECTIONS_MAX. Returns how many; the order holds until _ready. */
uint32_t trib_uplinks_poll(const struct trib_uplinks *uplinks, struct pollfd *fds);
void trib_uplinks_ready(struct trib_uplinks *uplinks, const struct pollfd *fds, uint32_t count, uint64_t now_ns);
uint64_t trib_uplinks_next_timeout(const struct trib_uplinks *uplinks);
void trib_uplinks_on_timeout(struct trib_uplinks *uplinks, uint64_t now_ns);
/* Tells what was lost, and frees what has ended. */
void trib_uplinks_sweep(struct trib_uplinks *uplinks, uint64_t now_ns);

/* struct trib_relay_output. */
struct trib_link *trib_uplinks_open(void *uplinks);
void trib_uplinks_send(void *uplinks, struct trib_link *link, const struct trib_message *message);
void trib_uplinks_end(void *uplinks, struct trib_link *link);
void trib_uplinks_ping(void *uplinks, struct trib_link *link);
/* struct trib_remote_output. */
bool trib_uplinks_dial(void *uplinks, struct trib_remote *remote);
void trib_uplinks_tell(void *uplinks, struct trib_remote *remote, const struct trib_message *message);
void trib_uplinks_hang_up(void *uplinks, struct trib_remote *remote);
void trib_uplinks_ping_remote(void *uplinks, struct trib_remote *remote);

#endif
