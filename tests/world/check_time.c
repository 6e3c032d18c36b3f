/* SPDX-License-Identifier: Apache-2.0 */
/* check_time.c: the promises about time: after the faults everything ends within a bound, then everything rests, and
 * what a dead communicator held is free, and its other ranks know why, within a second. Read next: check_end.c. */
#include <inttypes.h>

#include "core/loss.h"
#include "world.h"

/* When this communicator must be over, if nothing disturbs it from now on. */
static uint64_t deadline(const struct world_comm *comm)
{
    uint64_t bound = WORLD_BOUND_RTOS * TRIB_RTO_MAX_NS + comm_transfer_ns(comm);

    /* Who waits for a rank that has closed says so when that lasts. */
    if (comm->set.early_rank != WORLD_NONE || comm_has_left(comm)) {
        bound += WORLD_LEFT_NS + comm->set.stall_ns + TRIB_RTO_MAX_NS;
    }
    /* Somebody is waited for who may never come. */
    if (comm->control == CONTROL_GATHERING || comm->control == CONTROL_STARTING || comm->control == CONTROL_ENDED) {
        bound += WORLD_JOIN_NS;
    }
    return comm->quiet_from_ns + bound;
}

static void check_comm(struct world_comm *comm, uint64_t *next_ns)
{
    struct world *world = comm->world;

    if (comm_is_over(comm)) {
        uint64_t from = comm->last_done_ns > comm->quiet_from_ns ? comm->last_done_ns : comm->quiet_from_ns;
        comm->rest_ns = from + WORLD_QUIET_NS;
        return;
    }
    uint64_t when = deadline(comm);
    if (world->now_ns > when) {
        world_fail(world, WORLD_CHECK_HANG,
                   "communicator %u is not live: %u of %u done %" PRIu64 " ms after the faults, control %d",
                   comm->index, comm->done_all, comm->set.session.ranks * comm->set.op_count,
                   (when - comm->quiet_from_ns) / WORLD_MS, (int)comm->control);
    }
    *next_ns = when + 1 < *next_ns ? when + 1 : *next_ns;
}

void check_time(struct world *world)
{
    world->check_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < world->comm_count && world->is_healed; i++) {
        struct world_comm *comm = world->comms[i];
        if (comm_has_promise(comm) && comm->is_started) {
            check_comm(comm, &world->check_ns);
        }
    }
}

static void check_held(const struct world_comm *comm)
{
    for (uint32_t at = 0; at < comm->world->switch_count; at++) {
        if (comm->members[at].is_open) {
            world_fail(comm->world, WORLD_CHECK_LEAK, "communicator %u ended %u ms ago, and switch %u still holds it",
                       comm->index, (uint32_t)(WORLD_GONE_NS / WORLD_MS), at);
        }
    }
}

/* A rank has crashed a second ago. If no machine has failed meanwhile, which would make news late, then everybody
 * knows. */
void check_gone(struct world_comm *comm)
{
    if (comm->machine_ns >= comm->crash_ns || comm->outcome != COMM_PEER) {
        return;
    }
    check_held(comm);
    comm->world->report->deaths++;
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        bool knows = r->state == RANK_FAILED && r->cause == comm->named;
        if (!knows && r->state != RANK_DEAD && r->state != RANK_LEFT) {
            world_fail(comm->world, WORLD_CHECK_ERROR, "rank %u of communicator %u has no error that names rank %u",
                       rank, comm->index, comm->named);
        }
    }
}
