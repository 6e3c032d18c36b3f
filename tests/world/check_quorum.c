/* SPDX-License-Identifier: Apache-2.0 */
/* check_quorum.c: sums that may lack ranks (core/quorum.h). Of each fragment one list of ranks is the one: that of the
 * first result that a rank has taken. No other may be taken or offered, ever, by anybody, and what is delivered is the
 * sum of these ranks to the bit (oracle.c). It lacks no more than may be, and only what may lack lacks any. A rank takes
 * one result of a fragment, and has no part in it afterwards. Deliberately naive, as the oracle: the list, the rule and
 * the keys are read and counted anew here.
 * Read next: check_packet.c. */
#include <inttypes.h>

#include "core/lane.h"
#include "world.h"

#define LIST 64 /* bytes behind the payload */

/* ---- what a packet says ---- */

static bool may_lack(const struct trib_operation *o)
{
    bool is_float =
        o->type == TRIB_FLOAT32 || o->type == TRIB_FLOAT64 || o->type == TRIB_FLOAT16 || o->type == TRIB_BFLOAT16;

    return o->collective == TRIB_ALLREDUCE && o->count != 0 && is_float &&
           (o->reduction == TRIB_SUM || o->reduction == TRIB_AVERAGE);
}

/* Where lies are told, or nothing may lack, there is nothing to look at; nor at what only a rank with other settings
 * sends. */
static struct world_fragment *known_of(const struct world_comm *comm, uint64_t sequence)
{
    uint64_t at = sequence - comm->set.session.first;
    bool is_true = comm->known != NULL && comm->set.hostility != WORLD_LETHAL;

    return is_true && at < comm->fragments ? &comm->known[at] : NULL;
}

struct world_op *op_of(const struct world_comm *comm, uint64_t sequence)
{
    uint64_t at = sequence - comm->set.session.first;
    uint32_t i = comm->set.op_count - 1;

    while (comm->ops[i].first > at) {
        i--;
    }
    return &comm->ops[i];
}

static void wrong(const struct world_comm *comm, const struct trib_packet *packet, const char *what)
{
    world_fail(comm->world, WORLD_CHECK_LIST, "%s of %" PRIu64 " %s", trib_kind_name((enum trib_kind)packet->kind),
               packet->sequence, what);
}

/* The ranks that are in, of those that may be: all of them where no list says otherwise. */
static struct rank_set list_of(const struct world_comm *comm, const struct rank_set *may,
                               const struct trib_packet *packet)
{
    struct rank_set list = {{0}};

    if ((packet->flags & TRIB_FLAG_QUORUM) == 0) {
        return *may;
    }
    if (packet->payload_len <= LIST) {
        wrong(comm, packet, "has no list");
        return list;
    }
    const uint8_t *bytes = (const uint8_t *)packet->payload + packet->payload_len - LIST;
    for (uint32_t rank = 0; rank < 8 * LIST; rank++) {
        bool is_in = (bytes[rank / 8] >> rank % 8 & 1) != 0;
        if (is_in && (rank >= WORLD_RANKS_MAX || !rank_set_has(may, rank))) {
            wrong(comm, packet, "lists a rank that cannot be in it");
        } else if (is_in) {
            rank_set_add(&list, rank);
        }
    }
    if (rank_set_count(&list) != packet->contributors) {
        wrong(comm, packet, "lists other than it counts");
    }
    return list;
}

/* Of the first so many ranks, how many may lack? */
static uint32_t spare_of_first(const struct world_comm *comm, uint32_t ranks)
{
    const struct trib_session_config *s = &comm->set.session;

    return comm_has_quorum(comm) ? ranks * (uint32_t)(s->quorum_of - s->quorum) / s->quorum_of : 0;
}

/* What the ranks that are children of a node bring it. */
static uint32_t brought(const struct world_comm *comm, const struct shape_node *node)
{
    uint32_t spare = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct shape_child *c = &node->children[i];
        if (c->kind == SHAPE_RANK) {
            spare += spare_of_first(comm, c->index + 1U) - spare_of_first(comm, c->index);
        }
    }
    return spare;
}

/* Ranks that may lack of those below a node: of its own as many as they brought, but not all of its children. */
static uint32_t spare_of(const struct world_comm *comm, uint32_t at, const struct shape_node *node)
{
    uint32_t own = brought(comm, node);
    uint32_t below = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct shape_child *c = &node->children[i];
        below += c->kind == SHAPE_NODE     ? spare_of(comm, at, &comm->tree[0]->shapes[at].nodes[c->index])
                 : c->kind == SHAPE_SWITCH ? spare_of(comm, c->index, &comm->tree[0]->shapes[c->index].nodes[0])
                                           : 0;
    }
    return below + (own < node->child_count ? own : node->child_count - 1);
}

static uint32_t switch_of(const struct world_comm *comm, const struct shape_node *node)
{
    uint32_t at = 0;

    while (node < comm->tree[0]->shapes[at].nodes ||
           node >= comm->tree[0]->shapes[at].nodes + comm->tree[0]->shapes[at].node_count) {
        at++;
    }
    return at;
}

/* The keys of the ranks that a sum of this node's says it holds: it must lack no more than may lack. */
uint64_t quorum_keys(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet)
{
    uint64_t keys = 0;

    if ((packet->flags & TRIB_FLAG_QUORUM) == 0 || known_of(comm, packet->sequence) == NULL) {
        return shape->keys;
    }
    struct rank_set list = list_of(comm, &shape->ranks, packet);
    for (uint32_t rank = rank_set_next(&list, 0); rank != WORLD_NONE; rank = rank_set_next(&list, rank + 1)) {
        keys += trib_lane_key(comm->set.session.salt, rank);
    }
    uint32_t spare = packet->kind == TRIB_CONTRIBUTION ? spare_of(comm, switch_of(comm, shape), shape)
                                                       : spare_of_first(comm, comm->set.session.ranks);
    if (rank_set_count(&list) + spare < shape->rank_count) {
        wrong(comm, packet, "lacks more ranks than may lack");
    }
    if (!may_lack(&op_of(comm, packet->sequence)->operation)) {
        wrong(comm, packet, "may lack ranks, and its operation may not");
    }
    return keys;
}

/* ---- the one list ---- */

static bool are_same(const struct rank_set *one, const struct rank_set *other)
{
    bool same = true;

    for (uint32_t i = 0; i < WORLD_RANKS_MAX / 64; i++) {
        same = same && one->bits[i] == other->bits[i];
    }
    return same;
}

/* The part of an operation's buffers that a fragment fills. */
static void copy_block(const struct world_comm *comm, const struct world_op *op, uint64_t fragment, const uint8_t *from,
                       uint8_t *to)
{
    uint64_t block = oracle_block(comm, op) * trib_type_size(op->operation.type);
    uint64_t at = fragment * block;

    for (uint64_t i = at; i < at + block && i < op->bytes; i++) {
        to[i] = from[i];
    }
}

/* The first that was taken. What it must be is known only now. */
static void settle(struct world_comm *comm, struct world_fragment *known, const struct trib_packet *packet,
                   const struct rank_set *list)
{
    struct world_op *op = op_of(comm, packet->sequence);
    uint64_t fragment = packet->sequence - comm->set.session.first - op->first;

    known->list = *list;
    known->count = rank_set_count(list);
    if (!may_lack(&op->operation)) {
        return;
    }
    comm->world->report->lacked += known->count < comm->set.session.ranks;
    comm->world->report->lacked_whole += known->count == comm->set.session.ranks;
    if (known->count < comm->set.session.ranks) {
        oracle_expect_of(comm, op, fragment, list);
    }
    if (op->earlier != NULL) {
        copy_block(comm, op, fragment, op->expected, op->earlier);
    }
}

/* The ranks have become a star, and all is expected anew: but for what some rank has taken already. */
void check_settled(const struct world_comm *comm, struct world_op *op)
{
    uint64_t block = oracle_block(comm, op) * trib_type_size(op->operation.type);

    if (comm->known == NULL || !may_lack(&op->operation)) {
        return;
    }
    for (uint64_t i = 0; i * block < op->bytes; i++) {
        if (comm->known[op->first + i].count != 0) {
            copy_block(comm, op, i, op->earlier, op->expected);
        }
    }
}

static void check_taken(struct world_comm *comm, uint32_t rank, const struct trib_packet *packet)
{
    struct world_fragment *known = known_of(comm, packet->sequence);

    if (known == NULL) {
        return;
    }
    struct rank_set list = list_of(comm, &comm->tree[0]->shapes[0].ranks, packet);
    (void)quorum_keys(comm, &comm->tree[0]->shapes[0].nodes[0], packet);
    if (known->count == 0) {
        settle(comm, known, packet, &list);
    } else if (!are_same(&known->list, &list)) {
        wrong(comm, packet, "has another list than the one that a rank has taken");
    }
    if (rank_set_has(&known->took, rank)) {
        wrong(comm, packet, "was taken twice by a rank");
    }
    if (rank_set_has(&list, rank) && !rank_set_has(&known->sent, rank)) {
        wrong(comm, packet, "lists a rank that takes it and has not contributed");
    }
    rank_set_add(&known->took, rank);
    comm->world->report->taken_unsent += !rank_set_has(&known->sent, rank);
}

void check_kept(struct world_comm *comm, uint32_t rank, const struct trib_packet *offer)
{
    const struct world_fragment *known = known_of(comm, offer->sequence);

    if (known == NULL || offer->kind != TRIB_OFFER) {
        return;
    }
    struct rank_set list = list_of(comm, &comm->tree[0]->shapes[0].ranks, offer);
    if (!rank_set_has(&known->took, rank) || !are_same(&known->list, &list)) {
        wrong(comm, offer, "is not what this rank has taken");
    }
}

void check_sent(struct world_comm *comm, uint32_t rank, const struct trib_packet *packet)
{
    struct world_fragment *known = known_of(comm, packet->sequence);

    if (known == NULL || (packet->kind != TRIB_CONTRIBUTION && packet->kind != TRIB_OFFER)) {
        return;
    }
    check_kept(comm, rank, packet);
    if (packet->kind == TRIB_OFFER) {
        comm->world->report->offers_lacking += (packet->flags & TRIB_FLAG_QUORUM) != 0;
        comm->world->report->offers_unsent += !rank_set_has(&known->sent, rank);
        return;
    }
    if (rank_set_has(&known->took, rank) && may_lack(&op_of(comm, packet->sequence)->operation)) {
        wrong(comm, packet, "comes from a rank that has taken the result");
    }
    rank_set_add(&known->sent, rank);
}

/* ---- what happened ---- */

static uint64_t bit_of(uint32_t at, uint32_t node)
{
    return UINT64_C(1) << (at + WORLD_SWITCHES_MAX * node) % 64;
}

void note_result(struct world_comm *comm, uint32_t at, uint32_t node, const struct trib_packet *packet)
{
    struct world_fragment *known = known_of(comm, packet->sequence);

    if (known == NULL || packet->kind != TRIB_RESULT) {
        return;
    }
    known->answered = known->incarnation == comm->incarnation ? known->answered : 0;
    known->incarnation = comm->incarnation;
    known->answered |= bit_of(at, node);
}

static void note_late(struct world_comm *comm, uint32_t at, uint32_t node, const struct trib_packet *packet)
{
    const struct world_fragment *known = known_of(comm, packet->sequence);
    struct world_report *report = comm->world->report;

    if (known == NULL) {
        return;
    }
    bool is_after = known->incarnation == comm->incarnation && (known->answered & bit_of(at, node)) != 0;
    report->late_after += is_after;
    report->late_before += !is_after;
}

/* What the node has made of a packet. */
void check_received(const struct world_unit *unit, const struct world_unit *from, const struct trib_packet *packet,
                    enum trib_drop drop)
{
    if (unit->is_worker && packet->kind == TRIB_RESULT && drop == TRIB_DROP_NONE) {
        check_taken(unit->comm, unit->rank, packet);
    } else if (!unit->is_worker && drop == TRIB_DROP_LATE) {
        note_late(unit->comm, unit->at, unit->comm->tree[unit->root]->places[from->rank].node, packet);
    }
}

/* Has the node sent the result on, in this incarnation? Of sums that hold all ranks nothing is kept: it has, if nothing
 * was lost since; but not a combiner, which keeps no results. */
static bool is_sent_on(const struct world_comm *comm, uint64_t sequence, uint32_t at, uint64_t bit)
{
    const struct world_fragment *known = known_of(comm, sequence);

    if (!comm->members[at].is_open) {
        return false;
    }
    return known == NULL ? comm->incarnation == 1 && !world_is_combiner(comm->world, at)
                         : known->incarnation == comm->incarnation && (known->answered & bit) != 0;
}

/* The switch at which both ranks' ways meet, and where the late one's branch hangs there: has it sent the result on? */
static bool has_answered(const struct world_comm *comm, uint64_t sequence, uint32_t waiting, uint32_t rank)
{
    uint32_t root = comm_root_of(comm, sequence); /* trees may differ */
    for (uint32_t place = 1; place <= session_places(comm, waiting); place++) {
        uint32_t at = comm_top(comm, session_switch(comm, waiting, place), root);
        const struct shape_switch *shape = &comm->tree[root]->shapes[at];
        if (rank_set_has(&shape->ranks, rank)) {
            uint64_t bit = bit_of(at, shape_place_at(comm, rank, at, root).node);
            bool is_sure = shape->node_count <= 64 / WORLD_SWITCHES_MAX;
            return is_sure && is_sent_on(comm, sequence, at, bit);
        }
    }
    return false;
}

/* M waits, where nothing is outstanding any more: who has not taken the result that the others have must be named. */
void check_stall(const struct world_comm *comm, uint32_t rank, const struct trib_event *event)
{
    const struct trib_worker_verbs *verbs = comm->world->scheme->worker;
    bool is_true = comm->set.hostility != WORLD_LETHAL;

    if (!is_true || !comm_has_promise(comm) || event->sequence >= verbs->mark(worker_node(comm, rank))) {
        return;
    }
    comm->world->report->stalls_of_mark++;
    for (uint32_t late = 0; late < comm->set.session.ranks; late++) {
        const void *node = worker_node(comm, late);
        if (node != NULL && verbs->mark(node) <= event->sequence && has_answered(comm, event->sequence, rank, late) &&
            !plane_is_missing(comm, rank, late, event->sequence)) {
            world_fail(comm->world, WORLD_CHECK_ERROR, "M waits on %" PRIu64 " for rank %u, and that is not named",
                       event->sequence, late);
        }
    }
}
