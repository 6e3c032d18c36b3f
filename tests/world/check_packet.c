/* SPDX-License-Identifier: Apache-2.0 */
/* check_packet.c: what every sum that leaves a node must be: the lane of a result proves all ranks, each once, that of
 * a contribution all ranks below (I12); a result's bitmap names children that there are; no mark is above that of a
 * rank which it speaks for; and a mismatch names the two that differ.
 * Read next: check_buffers.c. */
#include <inttypes.h>

#include "core/lane.h"
#include "core/loss.h"
#include "schemes/ring/ring.h"
#include "world.h"

#define REPEAT_NS (500 * WORLD_US)
#define LONG_SILENCE_NS (3 * TRIB_RTO_MIN_NS) /* the waits for results have grown: worker_recover.c */

static uint64_t lane_of(const struct world_comm *comm, uint64_t keys, const struct trib_packet *packet)
{
    return keys * trib_session_odd(&comm->set.session, packet->sequence, packet->attempt, packet->digest);
}

static void check_mark(const struct world_comm *comm, const struct rank_set *ranks, const struct trib_packet *packet)
{
    for (uint32_t rank = rank_set_next(ranks, 0); rank != WORLD_NONE; rank = rank_set_next(ranks, rank + 1)) {
        void *node = worker_node(comm, rank);
        if (node != NULL && comm->world->scheme->worker->mark(node) < packet->mark) {
            world_fail(comm->world, WORLD_CHECK_MARK, "%s of %" PRIu64 " has mark %" PRIu64 ", rank %u is behind",
                       trib_kind_name((enum trib_kind)packet->kind), packet->sequence, packet->mark, rank);
        }
    }
}

/* Repeats are rare, and not only in the mean (I4). A rank repeats a fragment once in half of its shortest timeout; a
 * switch for one neighbour once in a time of its own, counted from the first question, and passes on what others
 * repeat. A switch asks its parent as rarely; how often a rank asks is check_silence's business. */
void check_repeats(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    struct world_unit *unit = &world->units[to];
    bool is_rank = world->units[from].is_worker;
    bool is_probe = packet->kind == TRIB_PROBE;
    bool asks = !is_rank && is_probe && (packet->flags & TRIB_FLAG_UNWANTED) == 0;
    uint64_t span = is_rank ? TRIB_RTO_MIN_NS / 2 : REPEAT_NS;
    uint32_t most = is_rank ? 1 : 3;
    bool passes =
        !is_rank && world_is_combiner(world, world->units[from].at); /* what others repeat, in bursts perhaps */

    bool is_repeat = (packet->flags & TRIB_FLAG_RESEND) != 0 && !is_probe;
    if ((!is_repeat && !asks) || passes || !comm_has_promise(unit->comm)) {
        return;
    }
    if (unit->repeats == NULL) {
        unit->repeats = world_zeroed(WORLD_REPEATS, sizeof *unit->repeats);
    }
    bool is_combiner = !unit->is_worker && world_is_combiner(world, unit->at); /* for one rank of several */
    uint32_t child = is_combiner ? packet->node : 0;
    struct repeat *r = &unit->repeats[(packet->sequence + from + packet->kind + child) % WORLD_REPEATS];
    if (r->sequence != packet->sequence || r->from != from || r->child != child || r->boot != packet->boot ||
        r->kind != packet->kind || world->now_ns - r->since_ns >= span) {
        *r = (struct repeat){.sequence = packet->sequence,
                             .since_ns = world->now_ns,
                             .from = from,
                             .child = child,
                             .boot = packet->boot,
                             .kind = packet->kind};
    }
    if (++r->count > most) {
        world_fail(world, WORLD_CHECK_STORM, "%s of %" PRIu64 " is repeated %u times in %u us",
                   trib_kind_name((enum trib_kind)packet->kind), packet->sequence, r->count,
                   (uint32_t)(span / WORLD_US));
    }
}

/* The rank waits for each root as if it had just asked for the first time. */
void check_silence_begins(struct world_unit *unit)
{
    for (uint32_t root = 0; root < WORLD_ROOTS_MAX; root++) {
        unit->heard_ns[root] = unit->comm->world->now_ns;
        unit->probes[root] = 0;
    }
}

/* A packet came from the root. A result after a long wait shortens the waits for all roots. */
void check_silence_ends(struct world_unit *unit, uint32_t root, const struct trib_packet *packet)
{
    uint64_t now_ns = unit->comm->world->now_ns;

    unit->heard_ns[root] = now_ns;
    unit->probes[root] = 0;
    if (packet->kind == TRIB_RESULT) {
        if (now_ns - unit->result_ns[root] >= LONG_SILENCE_NS) {
            check_silence_begins(unit);
        }
        unit->result_ns[root] = now_ns;
    }
}

/* Who hears nothing asks ever more rarely: for each fragment in flight the timeout doubles, to a second. */
void check_silence(struct world_unit *unit, uint32_t root)
{
    const struct world_comm *comm = unit->comm;
    struct world_report *report = comm->world->report;
    uint64_t silence_ns = comm->world->now_ns - unit->heard_ns[root];
    uint32_t once = comm->set.window + 2; /* all that is in flight, the mark, and M */
    uint32_t bound =
        2 * once + once * (uint32_t)(silence_ns / TRIB_RTO_MAX_NS); /* twice: just registered, and overdue */

    for (uint64_t timeout = TRIB_RTO_MIN_NS; timeout < silence_ns; timeout *= 2) {
        bound += once;
    }
    unit->probes[root]++;
    if (comm_has_promise(comm) && 100 * unit->probes[root] / bound >= report->silent_percent) {
        report->silent_percent = 100 * unit->probes[root] / bound;
        report->silent_seed = comm->world->seed;
    }
    if (unit->probes[root] > bound && comm_has_promise(comm)) {
        world_fail(comm->world, WORLD_CHECK_STORM, "rank %u probes root %u %u times in %u ms of silence", unit->rank,
                   root, unit->probes[root], (uint32_t)(silence_ns / WORLD_MS));
    }
}

/* Ranks whose settings differ hold no promise, but what they send is true: no sum may mix their operations with those
 * of others (I10). A rank with another salt makes other lanes, though. With a key lanes prove values, which the oracle
 * checks. */
static bool lanes_are_true(const struct world_comm *comm)
{
    return comm->tag == NULL && comm->set.hostility != WORLD_LETHAL && comm->set.skew != WORLD_SKEW_SALT;
}

/* From a combiner to its parent: whose parts a sum says it has, those it has. What is passed on may be forged, or of a
 * generation before. */
static void check_combined(const struct world_comm *comm, const struct shape_node *node,
                           const struct trib_packet *packet)
{
    const struct rank_set named = combining_named(comm, node, packet);
    uint64_t keys = 0;

    if (comm->set.hostility != WORLD_PEACE || packet->generation != comm->set.session.generation) {
        return;
    }
    if (comm_has_promise(comm)) {
        check_mark(comm, &named, packet);
    }
    for (uint32_t rank = rank_set_next(&named, 0); rank != WORLD_NONE; rank = rank_set_next(&named, rank + 1)) {
        keys += trib_lane_key(comm->set.session.salt, rank);
    }
    if (packet->kind == TRIB_CONTRIBUTION && lanes_are_true(comm) && packet->lane != lane_of(comm, keys, packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "a sum of %" PRIu64 " has another lane than ranks %" PRIx64 " have",
                   packet->sequence, named.bits[0]);
    }
}

/* From an inner node to its parent. */
void check_up(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet)
{
    if (shape->is_combiner) {
        check_combined(comm, shape, packet);
        return;
    }
    if (comm_has_promise(comm)) {
        check_mark(comm, &shape->ranks, packet);
    }
    if (!lanes_are_true(comm)) {
        return;
    }
    if (packet->kind == TRIB_CONTRIBUTION && packet->lane != lane_of(comm, quorum_keys(comm, shape, packet), packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "a contribution of %" PRIu64 " for %u ranks has the wrong lane",
                   packet->sequence, shape->rank_count);
    }
    if (packet->kind == TRIB_OFFER &&
        packet->lane != lane_of(comm, quorum_keys(comm, &comm->tree[0]->shapes[0].nodes[0], packet), packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "an offer of %" PRIu64 " has the wrong lane", packet->sequence);
    }
}

/* From a node to its children. */
void check_down(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet)
{
    if (shape->is_combiner) { /* it passes on what comes, forged or not; the root's own has been looked at */
        return;
    }
    if (comm_has_promise(comm)) {
        check_mark(comm, &comm->tree[0]->shapes[0].ranks, packet);
    }
    if (packet->kind != TRIB_RESULT || !lanes_are_true(comm)) {
        return;
    }
    if (packet->lane != lane_of(comm, quorum_keys(comm, &comm->tree[0]->shapes[0].nodes[0], packet), packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "a result of %" PRIu64 " has the wrong lane", packet->sequence);
    }
    if (comm_has_promise(comm) && (packet->bitmap & ~trib_all_children(shape->child_count)) != 0) {
        world_fail(comm->world, WORLD_CHECK_BITMAP, "a result of %" PRIu64 " names children that are not, %" PRIx64,
                   packet->sequence, packet->bitmap);
    }
}

/* Who differs and with whom (I8): the rank whose settings are other is below one of the two that are named, and not
 * below the other. A node with one child has no other: that sent to another shard than its sequence's. */
void check_mismatch(const struct world_comm *comm, const struct shape_node *shape, const struct trib_event *event)
{
    if (comm->set.hostility == WORLD_LETHAL || comm->set.skew == WORLD_SKEW_NONE) {
        return; /* whose name a lie bears is the liar's choice */
    }
    bool are_children = event->child < shape->child_count && event->other < shape->child_count;
    bool is_first = are_children && rank_set_has(&shape->children[event->child].ranks, comm->set.skewed_rank);
    bool is_other = are_children && rank_set_has(&shape->children[event->other].ranks, comm->set.skewed_rank);
    bool is_alone = shape->child_count == 1 && event->child == event->other;

    if (!are_children || (is_alone ? !is_first : is_first == is_other)) {
        world_fail(comm->world, WORLD_CHECK_ERROR, "a mismatch on %" PRIu64 " names children %u and %u, not rank %u",
                   event->sequence, event->child, event->other, comm->set.skewed_rank);
    }
}

/* Is b at most as far behind `first` on a ring of so many as c is? */
static bool is_between(uint32_t ranks, uint32_t first, uint32_t b, uint32_t c)
{
    return (b + ranks - first % ranks) % ranks <= (c + ranks - first % ranks) % ranks;
}

/* Must this rank's part be in what another one sends? */
static bool is_in(const struct world_comm *comm, uint32_t rank, uint32_t from, uint64_t label, uint32_t owner)
{
    uint32_t m = comm->set.session.group;
    uint32_t groups = comm->set.session.ranks / m;
    bool is_inside = rank / m == from / m;
    bool is_behind = is_between(m, owner + 1, rank % m, from % m); /* no further from the owner's place */
    bool has_place = rank % m == owner % m;

    switch (trib_ring_leg(label)) {
    case TRIB_RING_SUMMING:
        return from % m == owner % m ? is_between(groups, owner / m + 1, rank / m, from / m) : is_inside && is_behind;
    case TRIB_RING_CARRYING:
        return has_place ? is_between(groups, owner / m, rank / m, from / m)
                         : from % m != owner % m && is_inside && is_behind;
    default:
        return true;
    }
}

/* The keys of all that are. */
uint64_t peer_keys(const struct world_comm *comm, uint32_t from, uint64_t label, uint32_t owner)
{
    uint64_t keys = 0;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        keys += is_in(comm, rank, from, label, owner) ? trib_lane_key(comm->set.session.salt, rank) : 0;
    }
    return keys;
}

/* From a rank to the next: whose parts are in it, from where it began to here, or all; never more or less. */
void check_peer(const struct world_comm *comm, uint32_t rank, const struct trib_packet *packet)
{
    struct trib_packet named = *packet; /* lanes belong to fragments, not to places in a flow */

    if (!comm_has_promise(comm) || packet->kind != TRIB_FLOW || (packet->flags & TRIB_FLAG_UNWANTED) != 0) {
        return;
    }
    named.sequence = trib_ring_sequence(packet->bitmap);
    if (packet->lane != lane_of(comm, peer_keys(comm, rank, packet->bitmap, packet->last_rank), &named)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "rank %u sends fragment %" PRIu64 " with the lane of other ranks",
                   rank, named.sequence);
    }
}
