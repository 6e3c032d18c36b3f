/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.h: the connections of this control plane to others. A relay has one connection to the control plane of its
 * parent, with a channel for each link. A controller has one to each of its agents elsewhere. Nothing here blocks. Only
 * messages of the connection to the parent itself are interpreted here (channels.h: the other end). All others go whole
 * to trib_relay_answer or trib_switches_answer.
 *
 * The first link begins the connection to the parent, which then stays. At its end all links are lost, and the next
 * link begins another connection. Each link keeps its waiting bytes, and links take turns on the connection.
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

/* Agents, the parent, and earlier connections that are ending. */
#define TRIB_UPLINKS_MAX (2 * TRIB_LENDERS_MAX + 16)

struct trib_uplink;
struct trib_channel;

struct trib_uplinks {
    uint32_t count;
    struct trib_uplink *all[TRIB_UPLINKS_MAX];
    struct trib_uplink *trunk; /* of `all`: to the parent; NULL: none */
    uint32_t channels;
    uint32_t size;
    struct trib_channel **channel; /* by ascending numbers */
    struct trib_channel *first_queued;
    struct trib_channel **last_queued;
    uint32_t number;   /* of the last channel */
    uint32_t attempts; /* trunks so far */
    struct trib_jobs *jobs;
    struct trib_address parent;
    struct trib_address local; /* source address of the data as well; len 0: the kernel chooses */
    bool is_located;           /* the relay knows its own address */
    uint64_t now_ns;           /* of the call under way */
};

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, const struct trib_server_config *config);
/* Sends waiting messages, for a moment, and closes everything. All links and remotes have been ended. */
void trib_uplinks_deinit(struct trib_uplinks *uplinks);

/* Writes descriptors and events for poll(2) to fds, TRIB_UPLINKS_MAX at most. Returns how many. The order holds until
 * trib_uplinks_ready. */
uint32_t trib_uplinks_poll(const struct trib_uplinks *uplinks, struct pollfd *fds);
void trib_uplinks_ready(struct trib_uplinks *uplinks, const struct pollfd *fds, uint32_t count, uint64_t now_ns);
uint64_t trib_uplinks_next_timeout(const struct trib_uplinks *uplinks);
void trib_uplinks_on_timeout(struct trib_uplinks *uplinks, uint64_t now_ns);
/* Tells the owners of lost connections and channels, and frees ended ones. */
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
