/* SPDX-License-Identifier: Apache-2.0 */
/* own_root.h: where no switch is: the root in this process. It is a switch's data plane (switchd/plane.h) with one
 * shard, or one for each network card that was named, or, of ranks whose switch is gone, with as many as that had, for
 * all communicators of the endpoint, without a thread: whoever drives the endpoint drives it too. What it has to open
 * and whom it hears the control plane says over each communicator's session (control/agents/root.h).
 *
 * Why it needs no thread: no fragment completes without this process's own contribution, and what it still owes others
 * when its call has returned, a result again or who is missing, waits for the progress thread's next look
 * (docs/DECISIONS.md). Everything here is called with the endpoint's lock held. Read next: own_root.c, drive.c. */
#ifndef TRIB_COMM_OWN_ROOT_H
#define TRIB_COMM_OWN_ROOT_H

#include <poll.h>

#include "control/agents/root.h"
#include "control/words/words.h"
#include "net/port.h"
#include "switchd/plane.h"

struct trib_comm;
struct trib_endpoint;

#define TRIB_OWN_ROOT_FDS_MAX (TRIB_SHARD_FDS * TRIB_ROOTS_MAX)

struct trib_own_root {
    struct trib_plane *plane; /* NULL: there is none, ranks meet at a switch or on one host */
    struct trib_data_plane verbs;
    struct trib_agent agent;          /* of the verbs; its slots are in no quota */
    uint64_t wake_ns[TRIB_ROOTS_MAX]; /* when to look at a shard although nothing comes */
    uint64_t packets[TRIB_ROOTS_MAX]; /* received when last looked */
    uint32_t hot;                     /* bitmap of the shards that may have something to do */
    bool is_joined; /* one shard's socket and the ranks' are neighbours, which know each other by these: */
    struct trib_address known_as, rank_known_as;
};

/* Opens its sockets, at the endpoint's network cards, else at `local`, any port and those behind it. config: of the
 * endpoint's first communicator. error as in comm.h. ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_own_root_open(struct trib_endpoint *endpoint, const struct trib_config *config,
                                                  const struct trib_address *local, uint32_t shards, char *error);
void trib_own_root_close(struct trib_own_root *root); /* one that is not open: nothing */
static inline bool trib_own_root_is_open(const struct trib_own_root *root)
{
    return root->plane != NULL;
}
uint16_t trib_own_root_port(const struct trib_own_root *root);
/* One round of each shard that may have something to do. True: packets have come. */
bool trib_own_root_drive(struct trib_own_root *root, uint64_t now_ns);
/* When that may be next although nothing comes. */
uint64_t trib_own_root_deadline(const struct trib_own_root *root);
/* All shards are to be looked at. */
void trib_own_root_heat(struct trib_own_root *root);
/* What to poll, and what poll said. Return how many they are; 0: it is not open. */
uint32_t trib_own_root_fds(const struct trib_own_root *root, struct pollfd *fds);
uint32_t trib_own_root_ready(struct trib_own_root *root, const struct pollfd *fds);
void trib_own_root_traffic(const struct trib_own_root *root, struct trib_port_stats *traffic);

/* A ROOT_* message of comm's session. Returns the status that comm fails with; error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_comm_take_root(struct trib_comm *comm, const struct trib_message *message,
                                                   char *error);
/* What this process was asked to be a root of before WELCOME: nothing, or the communicator that is granted. */
bool trib_comm_is_root_of(const struct trib_comm *comm, const struct trib_grant *grant);
/* Packets between this process's ranks and its root need no kernel: joins their sockets, once it is known by what
 * addresses the control plane has made them known to each other. */
void trib_comm_join_root(struct trib_comm *comm);
/* Packets to `to` leave from where the others know this process, whatever the routes would choose. */
void trib_comm_answer_from(const struct trib_comm *comm, struct trib_address *to);
/* The session has ended: what it had opened here is forgotten. */
void trib_comm_forget_root(struct trib_comm *comm);
/* Which host this is, for JOIN: the same number for all ranks here, and no other host's by accident. 0: it cannot be
 * told. */
uint64_t trib_host_digest(const struct trib_config *config);
/* Where packets to `address` come from; port 0. Every address, where that is the loopback: ranks elsewhere reach this
 * host by another. False: no way leads there. */
bool trib_local_towards(const struct trib_address *address, struct trib_address *local);

#endif
