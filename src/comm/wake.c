/* SPDX-License-Identifier: Apache-2.0 */
/* wake.c: see wake.h. */
#include "comm/wake.h"

#include <unistd.h>

#include "comm/state.h"

void trib_endpoint_kick(const struct trib_pollset *set)
{
    uint64_t one = 1;
    ssize_t wrote = write(set->eventfd, &one, sizeof one);
    (void)wrote; /* full: it will wake anyway */
}

void trib_endpoint_wake(struct trib_endpoint *endpoint)
{
    if (endpoint->leader_set.sleeping) {
        trib_endpoint_kick(&endpoint->leader_set);
    }
    if (endpoint->waiters > (endpoint->has_leader ? 1U : 0U)) {
        (void)pthread_cond_broadcast(&endpoint->followers);
    }
}

void trib_endpoint_changed(struct trib_endpoint *endpoint)
{
    endpoint->generation++;
    if (endpoint->leader_set.sleeping) {
        trib_endpoint_kick(&endpoint->leader_set);
    } else if (endpoint->progress_set.sleeping && endpoint->waiters == 0) {
        trib_endpoint_kick(&endpoint->progress_set);
    }
}

void trib_endpoint_awaken(struct trib_comm *comm)
{
    if (!comm->is_awake) {
        comm->is_awake = true;
        comm->next_awake = comm->endpoint->awake;
        comm->endpoint->awake = comm;
    }
}

void trib_comm_make_dirty(struct trib_comm *comm)
{
    comm->dirty = true;
    trib_endpoint_awaken(comm);
}
