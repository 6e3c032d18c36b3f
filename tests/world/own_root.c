/* SPDX-License-Identifier: Apache-2.0 */
/* own_root.c: where the switches are gone for good, ranks' processes are the roots (src/control/roots). The real
 * struct trib_root takes what the control plane asks of a rank, and this file is the data plane that it opens: one root
 * of the communicator, at the place that was the switch's. It ends with the rank's session. Read next:
 * check_control.c. */
#include <stdlib.h>
#include <string.h>

#include "control/agents/root.h"
#include "world.h"

struct world_own_root {
    struct world_comm *comm;
    uint32_t rank;
    struct trib_data_plane verbs;
    struct trib_agent agent; /* of the verbs */
    struct trib_root root;
};

static enum trib_status open_root(void *owner, const struct trib_opening *opening)
{
    const struct world_own_root *own = owner;
    struct world_comm *comm = own->comm;
    struct comm_member *member = &comm->members[0];

    check_opening(comm, 0, opening);
    if (comm->world->failed != WORLD_CHECK_NONE) {
        return TRIB_ERR_MEMORY;
    }
    member->boot = opening->boot;
    member->owners[opening->root] = own->rank + 1;
    plane_forget_marks(comm, 0, opening->root);
    unit_open_switch(comm, 0, opening->root);
    auth_open(comm, 0, opening);
    member->is_open = true;
    comm->world->report->own_roots++;
    return TRIB_OK;
}

static void close_root(void *owner, uint32_t communicator)
{
    const struct world_own_root *own = owner;
    struct world_comm *comm = own->comm;
    struct comm_member *member = &comm->members[0];
    bool is_open = false;

    (void)communicator;
    for (uint32_t root = 0; root < comm->set.session.roots; root++) {
        if (member->owners[root] == own->rank + 1) {
            unit_close(comm->world, unit_of_switch(comm, 0, root));
            member->owners[root] = 0;
        }
        is_open = is_open || member->owners[root] != 0;
    }
    member->is_open = is_open;
}

static void join_root(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    const struct world_own_root *own = owner;

    (void)communicator;
    for (uint32_t root = 0; root < own->comm->set.session.roots; root++) {
        if (own->comm->members[0].owners[root] == own->rank + 1) {
            plane_join(own->comm, 0, root, rank, mark);
        }
    }
}

static uint32_t missing_at_root(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    const struct world_own_root *own = owner;

    (void)communicator;
    return plane_missing(own->comm, 0, sequence, ranks, max);
}

static struct world_own_root *own_root(struct world_comm *comm, uint32_t rank)
{
    struct world_own_root *own = comm->ranks[rank].own_root;

    if (own == NULL) {
        own = comm->ranks[rank].own_root = world_zeroed(1, sizeof *own);
        own->comm = comm;
        own->rank = rank;
        own->verbs = (struct trib_data_plane){
            .plane = own, .open = open_root, .close = close_root, .join = join_root, .missing = missing_at_root};
        trib_agent_init(&own->agent, &own->verbs, WORLD_ROOTS_MAX);
        trib_root_init(&own->root, &own->agent);
    }
    return own;
}

/* ROOT_OPEN and what follows. The answer's kind is NONE: there is none. */
void own_root_take(struct world_comm *comm, uint32_t rank, const struct trib_message *message,
                   struct trib_message *answer)
{
    if (trib_root_receive(&own_root(comm, rank)->root, message, answer) != TRIB_OK) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "rank %u cannot be a root: %s", rank, answer->fail.text);
    }
}

/* The rank whose root it is tells the control plane. */
void own_root_mismatch(struct world_comm *comm, uint32_t root, uint64_t sequence, const uint32_t rank[2])
{
    uint32_t owner = comm->members[0].owners[root];
    struct trib_message answer = {.kind = TRIB_MESSAGE_NONE};

    if (owner != 0) {
        trib_root_mismatch(&comm->ranks[owner - 1].own_root->root, sequence, rank, &answer);
    }
    if (answer.kind != TRIB_MESSAGE_NONE) {
        session_say(comm, owner - 1, &answer);
    }
}

void own_root_end(struct world_comm *comm, uint32_t rank)
{
    struct world_own_root *own = comm->ranks[rank].own_root;

    if (own != NULL) {
        trib_root_deinit(&own->root);
        free(own);
        comm->ranks[rank].own_root = NULL;
    }
}
