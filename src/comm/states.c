/* SPDX-License-Identifier: Apache-2.0 */
/* states.c: which state of a communicator may follow which, and which transport.
 *
 *   state        leaves on                     to
 *   NONE         join; met on one host         CONNECTING; RUNNING
 *   CONNECTING   TCP connected, JOIN sent      JOINING
 *   JOINING      WELCOME                       PROBING; first MEETING, of ranks of this host; REGISTERING at a return
 *   PROBING      all paths tried               REGISTERING
 *   REGISTERING  READY                         RUNNING
 *   RUNNING      CLOSED                        CLOSED
 *   JOINING      AWAY, RING                    CONNECTING, with the deadline that it had there
 *   any          RECALL, JOIN sent again       JOINING
 *   any          session lost                  CONNECTING, until its deadline
 *   any          FAIL, deadline                FAILED; of a switch that is gone for good CONNECTING, elsewhere (move.c)
 *   any          closed, and no answer         CLOSED
 * Read next: turn.c (the deadline of each), join.c (the dialogue). */
#include "comm/states.h"

#include "comm/queue.h"
#include "core/assert.h"

#define BIT(state) (1U << TRIB_COMM_##state)
#define KIND(kind) (1U << TRIB_TRANSPORT_##kind)
/* A session that stands is lost, or ends. */
#define OUT (BIT(CONNECTING) | BIT(CLOSED) | BIT(FAILED))

static const unsigned may_follow[] = {
    [TRIB_COMM_NONE] = BIT(CONNECTING) | BIT(RUNNING) | BIT(FAILED),
    [TRIB_COMM_CONNECTING] = BIT(JOINING) | OUT,
    [TRIB_COMM_JOINING] = BIT(JOINING) | BIT(MEETING) | BIT(PROBING) | BIT(REGISTERING) | OUT,
    [TRIB_COMM_MEETING] = BIT(JOINING) | BIT(PROBING) | BIT(REGISTERING) | OUT,
    [TRIB_COMM_PROBING] = BIT(JOINING) | BIT(REGISTERING) | OUT,
    [TRIB_COMM_REGISTERING] = BIT(JOINING) | BIT(RUNNING) | OUT,
    [TRIB_COMM_RUNNING] = BIT(JOINING) | OUT,
    [TRIB_COMM_CLOSED] = BIT(FAILED), /* a call after another rank has closed it, or a fork */
    [TRIB_COMM_FAILED] = BIT(FAILED), /* a fork */
};

void trib_comm_enter(struct trib_comm *comm, enum trib_comm_state state)
{
    TRIB_ASSERT((may_follow[comm->state] >> state & 1) != 0);
    TRIB_ASSERT(state != TRIB_COMM_RUNNING || comm->host != NULL || comm->grant.communicator != 0);
    TRIB_ASSERT(state != TRIB_COMM_MEETING || comm->level0 != NULL);
    TRIB_ASSERT(state != TRIB_COMM_PROBING || comm->node != NULL);        /* a rank that is led receives no packet */
    TRIB_ASSERT(state >= TRIB_COMM_RUNNING || !trib_comm_is_local(comm)); /* one host has no session */
    comm->state = state;
}

/* By the kind that comm has. RANKS begins with the scheme, or when the switch makes a ring of the job. LEVEL0 begins at
 * the first WELCOME: members of a sum never change, and ranks that send to each other know each other as ranks. */
static const unsigned transport_may_follow[] = {
    [TRIB_TRANSPORT_NONE] = KIND(NETWORK) | KIND(RANKS),
    [TRIB_TRANSPORT_NETWORK] = KIND(RANKS) | KIND(HOST) | KIND(LEVEL0),
    [TRIB_TRANSPORT_RANKS] = KIND(HOST),
    [TRIB_TRANSPORT_HOST] = 0,
    [TRIB_TRANSPORT_LEVEL0] = 0,
};

bool trib_comm_may_take(const struct trib_comm *comm, enum trib_transport_kind kind)
{
    enum trib_transport_kind before = comm->transport != NULL ? comm->transport->kind : TRIB_TRANSPORT_NONE;
    return (transport_may_follow[before] >> kind & 1) != 0;
}

void trib_comm_take_transport(struct trib_comm *comm, const struct trib_transport *transport)
{
    TRIB_ASSERT(trib_comm_may_take(comm, transport->kind));
    TRIB_ASSERT(trib_comm_is_idle(comm) && comm->node == NULL);
    TRIB_ASSERT(transport->run != NULL && transport->deadline != NULL && transport->tell != NULL);
    TRIB_ASSERT(transport->on_timeout != NULL && transport->find_operation != NULL && transport->explain != NULL);
    TRIB_ASSERT((transport->kind == TRIB_TRANSPORT_LEVEL0) == (comm->level0 != NULL));
    comm->transport = transport;
}
