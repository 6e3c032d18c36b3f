/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c: which transport may follow which. Read next: transport.h. */
#include "comm/transport.h"

#include "comm/communicator.h"
#include "comm/queue.h"
#include "core/assert.h"

#define BIT(kind) (1U << TRIB_TRANSPORT_##kind)

/* By the kind that comm has. RANKS begins with the scheme, or when the switch makes a ring of the job. LEVEL0 begins at
 * the first WELCOME: members of a sum never change, and ranks that send to each other know each other as ranks. */
static const unsigned may_follow[] = {
    [TRIB_TRANSPORT_NONE] = BIT(NETWORK) | BIT(RANKS),
    [TRIB_TRANSPORT_NETWORK] = BIT(RANKS) | BIT(HOST) | BIT(LEVEL0),
    [TRIB_TRANSPORT_RANKS] = BIT(HOST),
    [TRIB_TRANSPORT_HOST] = 0,
    [TRIB_TRANSPORT_LEVEL0] = 0,
};

bool trib_comm_may_take(const struct trib_comm *comm, enum trib_transport_kind kind)
{
    enum trib_transport_kind before = comm->transport != NULL ? comm->transport->kind : TRIB_TRANSPORT_NONE;
    return (may_follow[before] >> kind & 1) != 0;
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
