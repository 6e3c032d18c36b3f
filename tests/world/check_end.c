/* SPDX-License-Identifier: Apache-2.0 */
/* check_end.c: when nothing moves any more: all is done or has an error with a cause, no slot is held (I6), every mark
 * has arrived everywhere, no storm has been, and a world without faults shows no recovery. Read next: report.c,
 * main.c. */
#include <inttypes.h>

#include "check_buffers.h"
#include "world.h"

/* ---- ends ---- */

/* Who has lingered in vain is gone too. */
static bool is_lost(const struct comm_rank *rank)
{
    return rank->state == RANK_DEAD || rank->state == RANK_LEFT;
}

static bool has_lost_ranks(const struct world_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        if (is_lost(&comm->ranks[rank])) {
            return true;
        }
    }
    return false;
}

/* An error must have a cause. */
static void check_outcome(const struct world_comm *comm)
{
    bool is_peer =
        comm->outcome == COMM_PEER && (is_lost(&comm->ranks[comm->named]) || comm->named == comm->set.early_rank);
    bool is_late = comm->outcome == COMM_LATE && has_lost_ranks(comm);
    bool closed = comm->outcome == COMM_CLOSED && comm->set.closes;

    if (comm->outcome != COMM_LIVES && !is_peer && !is_late && !closed) {
        world_fail(comm->world, WORLD_CHECK_ERROR, "communicator %u ended without a cause: outcome %d", comm->index,
                   (int)comm->outcome);
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        bool is_named = comm->outcome == COMM_PEER && comm->machine_ns < comm->crash_ns;
        if (r->state == RANK_FAILED && is_named && r->cause != comm->named) {
            world_fail(comm->world, WORLD_CHECK_ERROR, "rank %u's error names %u, not %u", rank, r->cause, comm->named);
        }
    }
}

static void check_finished(const struct world_comm *comm)
{
    if (!comm_is_over(comm)) {
        world_fail(comm->world, WORLD_CHECK_HANG, "nothing moves, and %u of %u operations of communicator %u are done",
                   comm->done_all, comm->set.session.ranks * comm->set.op_count, comm->index);
    }
}

/* What has ended is held nowhere. */
static void check_nothing_held(const struct world_comm *comm)
{
    for (uint32_t at = 0; at < comm->world->switch_count; at++) {
        if (comm->members[at].is_open) {
            world_fail(comm->world, WORLD_CHECK_LEAK, "communicator %u has ended, and switch %u still holds it",
                       comm->index, at);
        }
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        if (unit_of_rank(comm, rank)->is_open) {
            world_fail(comm->world, WORLD_CHECK_HANG, "communicator %u has ended, and rank %u does not know",
                       comm->index, rank);
        }
    }
}

/* ---- rest ---- */

static void check_worker_marks(const struct world_comm *comm, uint64_t end)
{
    const struct trib_worker_verbs *verbs = comm->world->scheme->worker;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        void *node = worker_node(comm, rank);
        if (node == NULL) {
            continue;
        }
        uint64_t mark = verbs->mark(node);
        uint64_t group = verbs->node.communicator_mark(node);
        if (mark != end || group != end) {
            world_fail(comm->world, WORLD_CHECK_MARK,
                       "rank %u rests with mark %" PRIu64 " and M %" PRIu64 ", the end is %" PRIu64, rank, mark, group,
                       end);
        }
    }
}

static void check_switch(const struct world_comm *comm, uint32_t at, uint64_t end)
{
    const struct trib_switch_verbs *verbs = world_switch_verbs(comm->world, at);

    for (uint32_t root = 0; root < comm->set.session.roots; root++) {
        const struct world_unit *unit = unit_of_switch(comm, at, root);
        for (uint32_t i = 0; i < unit->node_count && unit->is_open; i++) {
            void *node = unit->nodes[i].memory;
            uint64_t sequence = 0;
            uint64_t group = verbs->node.communicator_mark(node);
            uint32_t held = verbs->slots_held(node);
            if (group != end || held != 0 || verbs->missing(node, &sequence) != 0) {
                world_fail(comm->world, held != 0 ? WORLD_CHECK_LEAK : WORLD_CHECK_MARK,
                           "switch %u root %u node %u rests with M %" PRIu64 " of %" PRIu64 " and %u slots", at, root,
                           i, group, end, held);
            }
        }
    }
}

static void check_rest(const struct world_comm *comm)
{
    uint64_t end = comm->set.session.first + comm->fragments;

    check_worker_marks(comm, end);
    for (uint32_t at = 0; at < comm->world->switch_count; at++) {
        if (comm->members[at].is_open && !world_has_peers(comm->world)) {
            check_switch(comm, at, end);
        }
    }
}

/* ---- packets ---- */

/* What may be sent at most: each fragment up and down every edge, some packets for each fault, and what probes may do:
 * 16 at once per root, ten doublings each time that somebody is late. */
static void check_storm(const struct world_comm *comm)
{
    struct world_report *r = comm->world->report;
    uint64_t edges = world_has_peers(comm->world) ? comm->set.session.ranks : comm->edges;
    uint64_t faults = r->lost + r->duplicated + r->reordered + r->corrupted + r->truncated + r->replayed +
                      r->overflowed + r->forged + r->bent + r->partial;
    uint64_t late = 1 + comm->set.op_count + r->paused + r->spiked + r->stops + r->switch_stops;
    uint64_t bound = 4 * comm->fragments * edges + 32 * comm->depth * faults +
                     160 * late * edges * comm->set.session.roots +
                     4 * (comm->incarnations_lost + 1) * edges * comm->set.session.roots * comm->set.session.slots;
    uint64_t most = comm->sent[0] > comm->sent[1] ? comm->sent[0] : comm->sent[1];

    if (100 * most / bound >= r->storm_percent) {
        r->storm_percent = 100 * most / bound;
        r->storm_seed = comm->world->seed;
    }
    if (most > bound) {
        world_fail(comm->world, WORLD_CHECK_STORM,
                   "a storm: %" PRIu64 " packets up and %" PRIu64 " down for %" PRIu64 " fragments on %u edges",
                   comm->sent[0], comm->sent[1], comm->fragments, comm->edges);
    }
}

static uint64_t recoveries(const struct trib_counters *c)
{
    return c->contributions_resent + c->contributions_again + c->offers + c->boots + c->probes_fast + c->asks_gap +
           c->asks_finished + c->dropped[TRIB_DROP_WINDOW];
}

/* Where sums may lack ranks: parts that came late, or too late even for that, or that nobody needed any more. (And a sum
 * that waits for all is overtaken by those that do not, which looks like a loss.) */
static uint64_t lacking(const struct world_report *r)
{
    return r->root.late + r->inner.late + r->root.dropped[TRIB_DROP_STALE] + r->inner.dropped[TRIB_DROP_STALE] +
           r->taken_unsent;
}

static void check_clean(const struct world *world)
{
    const struct world_report *r = world->report;
    uint64_t contributions = 0;
    uint64_t results = 0;
    bool may_lack = false;
    bool may_overtake = world_passes_on(world); /* what is passed on leaves before the node's own */

    for (uint32_t i = 0; i < world->comm_count; i++) {
        const struct world_comm *comm = world->comms[i];
        for (uint64_t fragment = 0; fragment < comm->fragments; fragment++) {
            contributions += comm->tree[comm_root_of(comm, comm->set.session.first + fragment)]->edges;
        }
        results += comm->fragments;
        may_lack = may_lack || comm->known != NULL;
    }
    bool combines = world_has_servers(world); /* each part comes alone or in a sum: lanes show that all have come */
    uint64_t all = recoveries(&r->worker) + recoveries(&r->root) + recoveries(&r->inner);
    all -= may_lack || may_overtake ? r->worker.probes_fast : 0;
    uint64_t taken = r->root.contributions + r->inner.contributions + (may_lack ? lacking(r) : 0);
    if ((taken != contributions && !combines) || r->root.results != results || all != 0) {
        world_fail((struct world *)(uintptr_t)world, WORLD_CHECK_CLEAN,
                   "without faults: %" PRIu64 " of %" PRIu64 " contributions, %" PRIu64 " of %" PRIu64
                   " results, %" PRIu64 " recoveries",
                   taken, contributions, r->root.results, results, all);
    }
}

/* A ring: each fragment is finished at each rank, sent once on each way, and taken as often. */
static void check_clean_peers(const struct world *world)
{
    const struct world_report *r = world->report;
    const struct trib_flow_counters *f = &r->flows;
    uint64_t results = 0;

    for (uint32_t i = 0; i < world->comm_count; i++) {
        results += world->comms[i]->fragments * world->comms[i]->set.session.ranks;
    }
    uint64_t again = f->resent_order + f->resent_timeout + f->repeated + f->timeouts + f->cut_lost + f->cut_marked;
    if (r->peer.results != results || f->sent != f->taken || again != 0) {
        world_fail((struct world *)(uintptr_t)world, WORLD_CHECK_CLEAN,
                   "without faults: %" PRIu64 " of %" PRIu64 " results, %" PRIu64 " sent, %" PRIu64 " taken, %" PRIu64
                   " recoveries",
                   r->peer.results, results, f->sent, f->taken, again);
    }
}

static void close_all(struct world_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        unit_close(comm->world, unit_of_rank(comm, rank));
    }
    for (uint32_t at = 0; at < comm->world->switch_count; at++) {
        plane_close(comm, at);
    }
}

void check_end(struct world *world)
{
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        if (comm_has_promise(comm)) {
            check_finished(comm);
            check_outcome(comm);
            if (comm->control == CONTROL_ENDED) {
                check_nothing_held(comm);
            } else {
                check_rest(comm);
            }
            check_storm(comm);
            check_lent_end(comm);
        }
        close_all(comm);
    }
    check_left(world);
    control_shut(world);
    if (world->set.is_clean && world_has_peers(world)) {
        check_clean_peers(world);
    } else if (world->set.is_clean) {
        check_clean(world);
    }
}
