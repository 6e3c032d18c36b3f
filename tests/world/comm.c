/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: a communicator's life in a world: made, started, ended, counted. Read next: unit.c, session.c, work.c. */
#include <stdlib.h>

#include "world.h"

#define WAIT_NS (5 * WORLD_MS)

/* ---- making ---- */

static void choose_kernels(struct world_comm *comm)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    const struct trib_value_kernels *found[3];

    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_value_kernels *kernels = trib_value_kernels_named(names[i]);
        found[i] = kernels != NULL ? kernels : trib_value_kernels();
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        comm->ranks[rank].kernels = found[world_below(comm->world, 3)];
    }
}

static void make_units(struct world_comm *comm)
{
    struct world *world = comm->world;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint32_t unit = unit_create(comm, true);
        comm->ranks[rank].unit = unit;
        world->units[unit].rank = rank;
        world->units[unit].clock_ns = world->set.clock_ns / (rank + 1);
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct comm_member *member = &comm->members[at];
        if (comm->tree[0]->shapes[at].rank_count == 0) {
            continue;
        }
        member->marks = world_zeroed((size_t)comm->set.session.ranks * comm->set.session.roots, sizeof *member->marks);
        member->units = world_zeroed(comm->set.session.roots, sizeof *member->units);
        for (uint32_t root = 0; root < comm->set.session.roots && !world_has_peers(world); root++) {
            uint32_t unit = unit_create(comm, false);
            member->units[root] = unit;
            world->units[unit].at = at;
            world->units[unit].root = root;
            world->units[unit].clock_ns = world->set.clock_ns;
        }
    }
}

/* The same machines, addresses and shards: what was sent to the one before comes to this one. */
static void inherit(struct world_comm *comm)
{
    struct world *world = comm->world;
    const struct world_comm *before = comm->before;

    for (uint32_t rank = 0; rank < comm->set.session.ranks && rank < before->set.session.ranks; rank++) {
        world->units[before->ranks[rank].unit].heir = comm->ranks[rank].unit;
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        if (comm->tree[0]->shapes[at].rank_count == 0 || before->tree[0]->shapes[at].rank_count == 0) {
            continue;
        }
        for (uint32_t root = 0; root < comm->set.session.roots && root < before->set.session.roots; root++) {
            world->units[before->members[at].units[root]].heir = comm->members[at].units[root];
        }
    }
}

struct world_comm *comm_create(struct world *world, const struct comm_settings *set, struct world_comm *before)
{
    struct world_comm *comm = world_zeroed(1, sizeof *comm);

    comm->world = world;
    comm->index = world->comm_count;
    comm->set = *set;
    trib_window_init(&comm->dealt.window, &comm->set.session, comm->dealt.table);
    comm->before = before;
    comm->named = comm->needed = WORLD_NONE;
    (void)snprintf(comm->name, sizeof comm->name, CONTROL_JOB "%u", comm->index);
    comm->rest_ns = TRIB_NEVER;
    comm->ranks = world_zeroed(set->session.ranks, sizeof *comm->ranks);
    world->comms[world->comm_count++] = comm;
    choose_kernels(comm);
    comm_draw_homes(world, comm);
    shape_make(comm);
    make_units(comm);
    if (before != NULL) {
        inherit(comm);
    }
    proof_make(comm);
    work_create(comm);
    world_schedule(world, set->start_ns, (struct world_event){.kind = WORLD_START, .a = comm->index});
    return comm;
}

/* A control plane gives out an id again only when nobody has it any more. */
static bool must_wait(const struct world_comm *comm)
{
    const struct world *world = comm->world;
    bool is_held = false;

    for (uint32_t i = 0; i < world->comm_count; i++) {
        const struct world_comm *other = world->comms[i];
        bool is_same = other->set.session.communicator == comm->set.session.communicator;
        is_held = is_held || (is_same && other != comm && (control_has_wires(other) || agents_wait(world)));
        for (uint32_t at = 0; at < world->switch_count && is_same && other->is_started && other != comm; at++) {
            is_held = is_held || control_job(other, at) != NULL || other->members[at].is_open;
        }
        for (uint32_t rank = 0; rank < other->set.session.ranks && is_same && other != comm; rank++) {
            is_held = is_held || worker_node(other, rank) != NULL; /* it may bring it along */
        }
    }
    return is_held;
}

void comm_start(struct world_comm *comm)
{
    if (must_wait(comm)) {
        world_schedule(comm->world, comm->world->now_ns + WAIT_NS,
                       (struct world_event){.kind = WORLD_START, .a = comm->index});
        return;
    }
    comm->is_started = true;
    agents_inherit(comm);
    if (comm->world->is_moved && comm->set.skew != WORLD_SKEW_JOIN) {
        comm->set.is_return = true; /* what is new there has other roots */
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        unit_open_worker(comm, rank);
        session_begin(comm, rank);
    }
    work_schedule(comm);
    hostile_schedule(comm);
    if (comm->world->is_healed) {
        comm_watch(comm);
    }
}

/* No fault begins any more, but a switch may still be down for one that has. */
void comm_watch(struct world_comm *comm)
{
    struct world *world = comm->world;
    uint64_t since_ns = world->now_ns;

    if (comm_has_promise(comm)) {
        return;
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        const struct world_switch *s = &world->switches[at];
        since_ns = s->down_until_ns > since_ns ? s->down_until_ns : since_ns;
        since_ns = s->away_until_ns > since_ns ? s->away_until_ns : since_ns;
    }
    world_schedule(world, since_ns + WORLD_WATCH_NS, (struct world_event){.kind = WORLD_END, .a = comm->index});
}

/* ---- ending ---- */

void comm_has_error(struct world_comm *comm, uint32_t rank, uint32_t cause)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (r->state == RANK_LEFT || r->state == RANK_FAILED || r->state == RANK_DEAD) {
        return;
    }
    r->state = RANK_FAILED;
    r->cause = cause;
    session_hang_up(comm, rank);
    work_end_rank(comm, rank);
    unit_close(comm->world, unit_of_rank(comm, rank));
}

/* No promise was made, so it is neither waited for nor judged. */
void comm_end(struct world_comm *comm)
{
    struct world *world = comm->world;

    check_differ(comm);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        comm_has_error(comm, rank, WORLD_NONE);
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        if (comm->tree[0]->shapes[at].rank_count != 0) {
            plane_close(comm, at);
        }
    }
    comm->has_ended = true;
    comm->control = CONTROL_ENDED;
    comm->outcome = comm->outcome == COMM_LIVES ? COMM_EXPIRED : comm->outcome;
}

static void count(const struct world_comm *comm)
{
    struct world_report *report = comm->world->report;
    const struct trib_session_config *s = &comm->set.session;
    bool skewed = comm->set.skew != WORLD_SKEW_NONE;

    report->communicators++;
    report->operations += comm->set.op_count;
    report->fragments += comm->fragments;
    report->ranks[s->ranks]++;
    report->lethal += comm->set.hostility == WORLD_LETHAL;
    report->weighted += comm->dealt.window.turns != 0;
    report->returns += comm->set.is_return;
    report->combined += world_has_servers(comm->world) && comm->depth > 1;
    report->paced += world_has_caps(comm->world);
    report->quorums += comm_has_quorum(comm);
    report->tagged += comm->tag != NULL;
    report->auth_communicators += comm->set.is_sealed;
    report->skewed += skewed;
    report->early += comm->set.early_rank != WORLD_NONE && comm->ranks[comm->set.early_rank].is_closing;
    report->skewed_done += skewed && comm->done_all == s->ranks * comm->set.op_count;
    report->deep_1 += comm->depth == 1;
    report->deep_2 += comm->depth == 2;
    report->deep_3 += comm->depth >= 3;
    report->sequence_32 += s->first <= UINT32_MAX && s->first + comm->fragments > UINT32_MAX;
    report->sequence_48 += s->first > TRIB_SEQUENCE_MAX - 100000;
    report->lost_incarnations += comm->incarnations_lost;
    report->closed += comm->outcome == COMM_CLOSED;
    report->failed_peer += comm->outcome == COMM_PEER;
    report->failed_late += comm->outcome == COMM_LATE;
    report->failed_refused += comm->outcome == COMM_REFUSED;
    report->expired += comm->outcome == COMM_EXPIRED;
    bool grouped = false;
    for (uint32_t at = 0; at < WORLD_SWITCHES_MAX; at++) {
        grouped = grouped || comm->tree[0]->shapes[at].node_count > 1;
    }
    report->grouped += grouped;
    report->hybrids += world_has_groups(comm->world);
    report->rings += world_has_peers(comm->world) && !world_has_groups(comm->world);
}

static void note_slowest(const struct world_comm *comm)
{
    struct world_report *report = comm->world->report;
    uint64_t usual = comm->quiet_from_ns + comm_transfer_ns(comm);
    uint32_t depth = comm->depth < WORLD_DEPTH_MAX ? comm->depth : WORLD_DEPTH_MAX;

    if (comm->done_all == comm->set.session.ranks * comm->set.op_count && comm_has_promise(comm) &&
        comm->last_done_ns > usual + report->slowest_ns[depth]) {
        report->slowest_ns[depth] = comm->last_done_ns - usual;
        report->slowest_seed[depth] = comm->world->seed;
    }
}

void comm_free(struct world_comm *comm)
{
    struct world *world = comm->world;

    count(comm);
    note_slowest(comm);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        unit_close(world, unit_of_rank(comm, rank));
        free(comm->ranks[rank].bent);
        own_root_end(comm, rank);
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        for (uint32_t root = 0; root < comm->set.session.roots && comm->tree[0]->shapes[at].rank_count != 0; root++) {
            unit_close(world, unit_of_switch(comm, at, root));
        }
        free(comm->members[at].marks);
        free(comm->members[at].units);
    }
    work_destroy(comm);
    shape_free(comm);
    free(comm->tag);
    free(comm->ranks);
    free(comm);
}

/* ---- asking ---- */

bool comm_has_promise(const struct world_comm *comm)
{
    return comm->set.hostility != WORLD_LETHAL &&
           (comm->set.skew == WORLD_SKEW_NONE || comm->set.skew == WORLD_SKEW_WINDOW);
}

bool comm_has_left(const struct world_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        if (comm->ranks[rank].state == RANK_LEFT) {
            return true;
        }
    }
    return false;
}

uint32_t comm_ops(const struct world_comm *comm, uint32_t rank)
{
    return rank == comm->set.early_rank ? comm->set.early_ops : comm->set.op_count;
}

bool comm_is_over(const struct world_comm *comm)
{
    if (comm->done_all == comm->set.session.ranks * comm->set.op_count) {
        return true;
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        if (r->state != RANK_FAILED && r->state != RANK_DEAD && r->done < comm_ops(comm, rank)) {
            return false;
        }
    }
    return true;
}

/* All fragments, a window at a time, each with a probe for M: three round trips per level. On a ring each goes round
 * twice. */
uint64_t comm_transfer_ns(const struct world_comm *comm)
{
    const struct world_settings *set = &comm->world->set;
    uint64_t rounds = comm->fragments / comm->set.window + 1;

    if (world_has_caps(comm->world)) { /* at worst with the first cap, and one fragment in flight at first */
        uint64_t cap = caps_first(comm);
        rounds = comm->fragments / (cap < comm->set.window ? cap : comm->set.window) + 1 + comm->set.window;
    }
    uint64_t hops = world_has_peers(comm->world) ? 2 * comm->set.session.ranks : comm->depth;

    return rounds * 6 * hops * (set->delay_ns + set->jitter_ns + set->turn_ns);
}

uint64_t comm_true_mark(const struct world_comm *comm)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        void *node = worker_node(comm, rank);
        if (node != NULL) {
            uint64_t mark = comm->world->scheme->worker->mark(node);
            lowest = mark < lowest ? mark : lowest;
        }
    }
    return lowest;
}

void comm_disturbed(struct world_comm *comm, uint64_t until_ns)
{
    comm->quiet_from_ns = until_ns > comm->quiet_from_ns ? until_ns : comm->quiet_from_ns;
    comm->rest_ns = TRIB_NEVER;
    comm->world->check_ns = 0;
}

void comm_submit_due(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (r->due == comm_ops(comm, rank)) {
        return;
    }
    r->due++;
    comm_disturbed(comm, comm->world->now_ns);
    unit_wake(comm->world, r->unit, comm->world->now_ns);
}
