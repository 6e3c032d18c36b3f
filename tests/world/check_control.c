/* SPDX-License-Identifier: Apache-2.0 */
/* check_control.c: invariants of control planes, seen from outside, by their numbers: what one says against what ranks
 * and nodes really are. What its own data promise, src/control/jobs/check.c looks at.
 *   C-2  nodes are open at a switch if and only if its control plane has them open, with its boot
 *   C-3  READY comes after every rank has sent REGISTER in that boot
 *   C-4  all openings of a communicator agree
 *   C-5  the children of an opening part its ranks, in the order of their lowest
 *   C-6  the boot of an incarnation is new
 *   C-7  FAIL names a rank only if that is dead or has closed; check_gone: in time, and to all others
 *   C-11 M, as told, is at most the lowest mark, and never falls within a boot
 *   C-12 CLOSED: no rank needs it, or all have closed, or the job has ended
 *   C-14 bytes that are reserved are those of the nodes
 *   C-15 a grant stays what it was
 *   C-18 an event of one communicator ends no other (control.c)
 *   C-19 after its end nothing of a job is left
 * C-13 is in check.c; C-21 is the trace of each seed that is run twice. Read next: check_time.c. */
#include <inttypes.h>
#include <string.h>

#include "placing.h"
#include "schemes/schemes.h"

/* ---- openings ---- */

static bool is_session(const struct world_comm *comm, const struct trib_session_config *session)
{
    const struct trib_session_config *s = &comm->set.session;

    return session->communicator == s->communicator && session->ranks == s->ranks && session->roots == s->roots &&
           session->train == s->train && session->slots == s->slots && session->payload == s->payload &&
           session->generation == s->generation && session->wire == s->wire && session->quorum == s->quorum &&
           session->quorum_of == s->quorum_of && memcmp(session->weight, s->weight, sizeof s->weight) == 0;
}

/* A switch sends from its shards. */
static bool is_its_place(const struct world *world, uint32_t at, const struct trib_opening *opening,
                         const struct trib_branch *branch)
{
    const struct trib_address *listen = &world->planes[at].config.listen;

    return trib_address_same_host(&branch->from, listen) &&
           trib_address_port(&branch->from) == trib_address_port(listen) + opening->root;
}

static bool is_branch(const struct shape_child *child, const struct trib_branch *branch)
{
    uint32_t at = 0;

    for (uint32_t rank = rank_set_next(&child->ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&child->ranks, rank + 1)) {
        if (at == branch->count || branch->ranks[at++] != rank) {
            return false;
        }
    }
    return at == branch->count && branch->is_switch == (child->kind == SHAPE_SWITCH) &&
           branch->is_combined == (child->via != 0);
}

/* Inner nodes of one switch are over consecutive branches, so the edges come in the order of the branches. */
static bool has_branches(const struct world *world, const struct shape_switch *shape,
                         const struct trib_opening *opening)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < shape->node_count; node++) {
        for (uint32_t i = 0; i < shape->nodes[node].child_count; i++) {
            const struct shape_child *child = &shape->nodes[node].children[i];
            if (child->kind != SHAPE_NODE &&
                (count == opening->count || !is_branch(child, &opening->branches[count]) ||
                 (child->kind == SHAPE_SWITCH &&
                  !is_its_place(world, child->index, opening, &opening->branches[count])) ||
                 (child->via != 0 && !is_its_place(world, child->via - 1U, opening, &opening->branches[count])))) {
                return false;
            }
            count += child->kind != SHAPE_NODE;
        }
    }
    return count == opening->count;
}

/* A combiner is told which pieces it adds: those of the plan. */
static bool has_pieces(const struct world_comm *comm, uint32_t at, const struct trib_opening *opening)
{
    struct trib_pieces placed = {.count = 0};

    if (world_is_combiner(comm->world, at)) {
        placed = placing_of(comm, at);
    }
    return opening->pieces.own == placed.own &&
           (placed.own == 0 || (opening->pieces.count == placed.count && opening->pieces.run == placed.run));
}

/* A combiner is told which numbers its ranks have at the root, which are the ranks, and the priority of the job. */
static bool has_numbers(const struct world_comm *comm, uint32_t at, const struct trib_opening *opening)
{
    bool is_combiner = world_is_combiner(comm->world, at);
    bool are_same = true;

    for (uint32_t word = 0; word < WORLD_RANKS_MAX / 64; word++) {
        uint64_t ranks = is_combiner ? comm->tree[0]->shapes[at].ranks.bits[word] : 0;
        are_same = are_same && opening->numbers.word[word] == ranks;
    }
    return has_pieces(comm, at, opening) && are_same && (!is_combiner || opening->priority == comm->set.priority);
}

void check_opening(struct world_comm *comm, uint32_t at, const struct trib_opening *opening)
{
    struct world *world = comm->world;
    char scheme[32];
    struct trib_session_config session = opening->session;

    session_scheme(comm, scheme);
    trib_scheme_settle(opening->scheme, &session); /* as data planes do */
    if (unit_of_switch(comm, at, opening->root)->is_open || world_has_peers(world)) {
        world_fail(world, WORLD_CHECK_CONTROL, "C-2: communicator %u is opened twice at switch %u", comm->index, at);
    } else if (!is_session(comm, &session) || strcmp(opening->scheme, scheme) != 0 ||
               opening->ranks != comm->set.session.ranks || (opening->parent != NULL) != (world_seat(world, at) != 0)) {
        world_fail(world, WORLD_CHECK_CONTROL, "C-4: switch %u opens communicator %u otherwise than it is", at,
                   comm->index);
    } else if (!has_branches(world, &comm->tree[opening->root]->shapes[at], opening) ||
               !has_numbers(comm, at, opening)) {
        world_fail(world, WORLD_CHECK_CONTROL, "C-5: switch %u opens communicator %u over other children", at,
                   comm->index);
    }
}

void check_incarnation(struct world_comm *comm, uint32_t boot)
{
    for (uint32_t i = 0; i < comm->incarnation && i < WORLD_BOOTS_MAX; i++) {
        if (comm->boots[i] == boot) {
            world_fail(comm->world, WORLD_CHECK_CONTROL, "C-6: communicator %u has had boot %08x", comm->index, boot);
        }
    }
    comm->boots[comm->incarnation % WORLD_BOOTS_MAX] = boot;
}

/* ---- what the root says ---- */

static bool has_closed(const struct comm_rank *r)
{
    return r->is_closing || r->state == RANK_LEFT;
}

/* Where ranks' processes are the roots: each is open, or its rank has gone. */
static void check_own_roots(struct world_comm *comm, uint32_t boot)
{
    const struct trib_job *job = control_job(comm, 0);

    for (uint32_t root = 0; root < comm->set.session.roots && comm->world->is_moved && job != NULL; root++) {
        uint32_t rank = job->placement[job->root[root].placement].rank;
        const struct comm_rank *owner = &comm->ranks[rank];
        bool is_open = unit_of_switch(comm, 0, root)->is_open && comm->members[0].boot == boot &&
                       comm->members[0].owners[root] == rank + 1U;
        if (!is_open && owner->wire != NULL) {
            world_fail(comm->world, WORLD_CHECK_CONTROL, "C-2: READY of communicator %u, and root %u is not open",
                       comm->index, root);
        }
    }
}

static void check_ready(struct world_comm *comm, const struct trib_message *message)
{
    if (!world_has_peers(comm->world)) {
        check_own_roots(comm, message->ready.boot);
        check_lent_ready(comm, message->ready.boot);
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        if (r->registered_boot != message->ready.boot && !has_closed(r)) {
            world_fail(comm->world, WORLD_CHECK_CONTROL,
                       "C-3: READY of communicator %u, but rank %u has not registered", comm->index, rank);
        }
    }
}

/* The rank that it is for, or one that has gone. */
static void check_fail(struct world_comm *comm, const struct trib_message *message)
{
    uint32_t named = session_named(message->fail.text);

    if (message->fail.status != TRIB_ERR_PEER || named >= comm->set.session.ranks) {
        return;
    }
    const struct comm_rank *r = &comm->ranks[named];
    comm->named = comm->named == WORLD_NONE ? named : comm->named;
    if (!has_closed(r) && r->state != RANK_DEAD && r->state != RANK_FAILED) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-7: rank %u of communicator %u lives, and is called dead: %s",
                   named, comm->index, message->fail.text);
    }
}

/* CLOSED to one of several: nobody needs it any more. */
static void check_closed(struct world_comm *comm, uint32_t rank)
{
    const struct trib_job *job = control_job(comm, 0);
    bool all = true;

    for (uint32_t i = 0; i < comm->set.session.ranks; i++) {
        all = all && has_closed(&comm->ranks[i]);
    }
    if (!has_closed(&comm->ranks[rank])) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-12: CLOSED to rank %u, which has not closed", rank);
    } else if (job != NULL && !all && !comm->has_ended && comm_true_mark(comm) < job->ranks[rank].mark) {
        comm->needed = rank; /* unless the job ends */
    }
}

static void check_mark(struct world_comm *comm, uint64_t mark)
{
    if (comm_true_mark(comm) < mark) {
        world_fail(comm->world, WORLD_CHECK_CONTROL,
                   "C-11: M of communicator %u is told as %" PRIu64 ", and is %" PRIu64, comm->index, mark,
                   comm_true_mark(comm));
    }
}

void check_told(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    if (!comm_has_promise(comm)) {
        return;
    }
    if (message->kind == TRIB_MESSAGE_READY) {
        check_ready(comm, message);
        check_mark(comm, message->ready.mark);
    } else if (message->kind == TRIB_MESSAGE_MARK) {
        check_mark(comm, message->mark.mark);
    } else if (message->kind == TRIB_MESSAGE_CLOSED) {
        check_closed(comm, rank);
    } else if (message->kind == TRIB_MESSAGE_FAIL) {
        check_fail(comm, message);
    }
}

/* ---- what a rank hears ---- */

static bool is_grant(const struct world_comm *comm, const struct trib_grant *was, const struct trib_grant *grant)
{
    const struct trib_session_config *s = &comm->set.session;
    bool is_same = was->communicator == 0 ||
                   (was->token == grant->token && was->key == grant->key && was->job_token == grant->job_token &&
                    memcmp(was->switches, grant->switches, sizeof was->switches) == 0);

    return is_same && grant->salt == s->salt && grant->communicator == s->communicator && grant->roots == s->roots &&
           grant->train == s->train && grant->slots == s->slots && grant->window == comm->set.window &&
           grant->generation == s->generation && memcmp(grant->weight, s->weight, sizeof s->weight) == 0;
}

static bool names_peers(const struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    uint16_t peers[TRIB_PEERS_MAX];
    uint32_t count =
        world_has_peers(comm->world) ? comm->world->scheme->worker->peers(&comm->set.session, rank, peers) : 0;
    bool is_right = message->welcome.peer_count == count;

    for (uint32_t i = 0; is_right && i < count; i++) {
        is_right = message->welcome.peer[i].rank == peers[i];
    }
    return is_right;
}

static void check_welcome(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    const struct comm_rank *r = &comm->ranks[rank];
    const struct trib_grant *grant = &message->welcome.grant;

    if (!is_grant(comm, &r->grant, grant)) {
        world_fail(comm->world, WORLD_CHECK_CONTROL,
                   "C-15: rank %u of communicator %u is granted %u roots, train %u, slots %u, window %u", rank,
                   comm->index, grant->roots, grant->train, grant->slots, grant->window);
    } else if (grant->boot == r->heard_boot || grant->boot == r->grant.boot) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-6: WELCOME with a boot that rank %u knows", rank);
    } else if (!names_peers(comm, rank, message)) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-5: rank %u is told other peers than it has", rank);
    }
}

void check_heard(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct comm_rank *r = &comm->ranks[rank];
    bool is_ready = message->kind == TRIB_MESSAGE_READY;
    uint64_t mark = is_ready ? message->ready.mark : message->mark.mark;

    if (!comm_has_promise(comm)) {
        return;
    }
    if (message->kind == TRIB_MESSAGE_WELCOME) {
        check_welcome(comm, rank, message);
        return;
    }
    if (!is_ready && message->kind != TRIB_MESSAGE_MARK) {
        return;
    }
    if (is_ready && message->ready.boot != r->grant.boot) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-6: READY of another boot than WELCOME had");
    }
    if (r->heard_boot == r->grant.boot && mark < r->heard_mark) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-11: M falls from %" PRIu64 " to %" PRIu64, r->heard_mark, mark);
    }
    r->heard_boot = r->grant.boot;
    r->heard_mark = mark;
}

/* ---- after each event ---- */

static uint64_t bytes_of(const struct world_comm *comm, uint32_t at)
{
    uint64_t bytes = 0;

    for (uint32_t root = 0; root < comm->set.session.roots; root++) {
        const struct world_unit *unit = unit_of_switch(comm, at, root);
        for (uint32_t i = 0; i < unit->node_count && unit->is_open; i++) {
            bytes += unit->nodes[i].size;
        }
    }
    return bytes;
}

void check_plane(const struct world_plane *plane)
{
    struct world *world = plane->world;
    uint64_t bytes = 0;
    bool has_promise = true;

    if (plane->at == 0 && world->is_moved) {
        return; /* ranks' processes have the nodes */
    }
    if (plane->at != 0) {
        check_lent(plane);
        return;
    }
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        const struct comm_member *member = &comm->members[plane->at];
        const struct trib_job *job = comm->is_started ? control_job(comm, plane->at) : NULL;
        bool is_open = job != NULL && job->here.is_open;
        has_promise = has_promise && (comm_has_promise(comm) || !is_open);
        bytes += member->is_open ? bytes_of(comm, plane->at) : 0;
        if (comm_has_promise(comm) && (is_open != member->is_open || (is_open && member->boot != job->grant.boot))) {
            world_fail(world, WORLD_CHECK_CONTROL, "C-2: communicator %u is %s at switch %u", comm->index,
                       is_open ? "not open" : "open", plane->at);
        }
        if (comm->needed != WORLD_NONE && plane->at == 0 && job != NULL) {
            world_fail(world, WORLD_CHECK_CONTROL, "C-12: CLOSED to rank %u, whose results others lack", comm->needed);
        }
        comm->needed = plane->at == 0 ? WORLD_NONE : comm->needed;
    }
    if (has_promise && bytes != plane->jobs.agent.memory_used) {
        world_fail(world, WORLD_CHECK_CONTROL, "C-14: switch %u has %" PRIu64 " bytes reserved, and %" PRIu64 " open",
                   plane->at, plane->jobs.agent.memory_used, bytes);
    }
}

/* Ranks that say different settings have never been summed together, and if nothing else happens all are told soon. */
void check_differ(struct world_comm *comm)
{
    if (comm->set.skew != WORLD_SKEW_JOIN) {
        return;
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        bool is_told = r->state == RANK_FAILED && r->failure == TRIB_ERR_SETTINGS;
        comm->world->report->differ += is_told && rank == 0;
        if (comm->incarnation != 0 || (!is_told && comm->is_started && comm->machine_ns == 0 && comm->crash_ns == 0)) {
            world_fail(comm->world, WORLD_CHECK_CONTROL, "settings differ, and rank %u of communicator %u is not told",
                       rank, comm->index);
        }
    }
}

/* At the end of the world. */
void check_left(struct world *world)
{
    for (uint32_t i = 0; i < world->comm_count; i++) {
        const struct world_comm *comm = world->comms[i];
        bool is_over = comm->control == CONTROL_ENDED;
        for (uint32_t rank = 0, left = 0; rank < comm->set.session.ranks; rank++) {
            left += comm->ranks[rank].state > RANK_RUNNING;
            is_over = is_over || left == comm->set.session.ranks;
        }
        for (uint32_t at = 0; at < world->switch_count && comm->is_started; at++) {
            if (is_over && comm_has_promise(comm) && control_job(comm, at) != NULL) {
                world_fail(world, WORLD_CHECK_CONTROL, "C-19: communicator %u has ended, and switch %u knows it",
                           comm->index, at);
            }
        }
    }
    for (uint32_t i = 0; i < world->wire_count; i++) {
        const struct world_wire *wire = world->wires[i];
        bool is_held = wire != NULL && wire->is_of_rank && wire->comm->control == CONTROL_ENDED;
        if (is_held && comm_has_promise(wire->comm)) {
            world_fail(world, WORLD_CHECK_CONTROL, "C-19: communicator %u has ended, and rank %u has a session",
                       wire->comm->index, wire->rank);
        }
    }
}
