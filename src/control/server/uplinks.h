/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.h: the connections of this control plane to others: of a relay to its parent's, one, on which each link is a
 * channel; of a controller to its agents elsewhere, one for each. Nothing here blocks, and nothing knows what a message
 * means, but those of the connection itself (channels.h: the other end): whole messages go to trib_relay_answer, or
 * trib_switches_answer.
 *
 * The connection to the parent is begun when the first link wants it, and stays; when it has ended all links are lost,
 * and the next one begins another. What waits for a link lies with it, and goes onto the connection in turn.
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

/* Agents, the parent, and those of before that are ending. */
#define TRIB_UPLINKS_MAX (2 * TRIB_LENDERS_MAX + 16)

struct trib_uplink;
struct trib_channel;

struct trib_uplinks {
    uint32_t count;
    struct trib_uplink *all[TRIB_UPLINKS_MAX];
    struct trib_uplink *trunk; /* of all: the one to the parent; NULL: there is none */
    uint32_t channels;
    uint32_t size;
    struct trib_channel **channel; /* by ascending numbers */
    struct trib_channel *first_queued;
    struct trib_channel **last_queued;
    uint32_t number;   /* of the last channel */
    uint32_t attempts; /* trunks so far */
    struct trib_jobs *jobs;
    struct trib_address parent;
    struct trib_address local; /* where the data comes from as well; len 0: the kernel chooses */
    bool is_located;           /* the relay knows its own address */
    uint64_t now_ns;           /* of the call under way */
};

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, const struct trib_server_config *config);
/* Lets what was said leave, for a moment, and closes everything. All links and remotes have been ended. */
void trib_uplinks_deinit(struct trib_uplinks *uplinks);

/* Writes what to poll for; fds has room for TRIB_UPLINKS_MAX. Returns how many; the order holds until _ready. */
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
