/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: what must hold at every step of one node: what is in the callers' buffers and when (I11), what workers hand
 * out, whose parts are in a switch's sums (I12), which operations meet (I10), and which drops no fault explains. Values
 * are such that a contribution that lacks, comes twice, or is of another operation shows in the sum.
 * Read next: marks.c. */
#include <string.h>

#include "core/lane.h"
#include "core/slot.h"
#include "model.h"
#include "schemes/ring/ring.h"

#define GARBAGE 0xa5
#define OLD 0x5a
#define NAN_F32 UINT32_C(0x7fc00000) /* the only one that a sum may hold (I9) */

/* ---- values ---- */

/* Added to 2^24, 1 is rounded away, once or twice; 1 + 1 is not. Odd elements are NaN, each rank's another. */
static uint32_t rough_word(uint32_t rank, uint32_t op, uint32_t element)
{
    float value = rank % 3 == 0 ? 16777216.0F + 4.0F * (float)(op * 37 + element) : 1.0F;
    uint32_t word = UINT32_C(0x7fc00001) + rank;

    if (element % 2 == 0) {
        memcpy(&word, &value, sizeof word);
    }
    return word;
}

/* Of one rank. On wire int32 small whole numbers, so that the sum is exact. */
static uint32_t own_word(const struct model *model, uint32_t rank, uint32_t op, uint32_t element)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t number = (rank + 1) * 1000 + op * 37 + element;

    if (model->scenario->is_rough) {
        return rough_word(rank, op, element);
    }
    if (model->scenario->type == TRIB_FLOAT32) {
        float value = (float)number;
        memcpy(&number, &value, sizeof number);
        return number;
    }
    return (uint32_t)trib_mix64((uint64_t)job << 32 | number);
}

/* Whose an element is, counted within the job: of shares, or of the root. */
static uint32_t owner_of(const struct model *model, uint32_t rank, uint32_t op, uint32_t element)
{
    const struct model_op *o = scenario_op(model, rank, op);
    struct trib_operation operation = {.collective = o->collective};
    uint32_t ranks = model->scenario->job[model_job_of(model, rank)].ranks;

    return trib_operation_has_shares(&operation) ? element / (o->elements / ranks) : o->root;
}

/* The sum of the parts of some ranks of a job: a bitmap. */
static uint32_t part_word(const struct model *model, uint32_t job, uint32_t ranks, uint32_t op, uint32_t element)
{
    uint32_t sum = 0;
    float sum_float = 0;

    for (uint32_t bits = ranks; bits != 0; bits &= bits - 1) {
        uint32_t word = own_word(model, model->first_rank[job] + trib_lowest(bits), op, element);
        float value;
        memcpy(&value, &word, sizeof value);
        sum += word;
        sum_float += value;
    }
    if (model->scenario->type == TRIB_FLOAT32) {
        memcpy(&sum, &sum_float, sizeof sum);
    }
    return model->scenario->is_rough && sum_float != sum_float ? NAN_F32 : sum;
}

/* The sum over the ranks that contribute; of one without reduction the one rank's value. */
static uint32_t sum_word(const struct model *model, uint32_t rank, uint32_t op, uint32_t element, bool is_on_wire)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t all = (1U << model->scenario->job[job].ranks) - 1;
    struct trib_operation operation = {.collective = scenario_op(model, rank, op)->collective};
    uint32_t owner = owner_of(model, rank, op, element);

    if (!trib_operation_reduces(&operation)) {
        return own_word(model, model->first_rank[job] + owner, op, element);
    }
    if (is_on_wire && operation.collective == TRIB_REDUCE_SCATTER) { /* who owns the share adds its part itself */
        return part_word(model, job, all & ~(1U << owner), op, element);
    }
    return part_word(model, job, all, op, element);
}

/* ---- which ranks ---- */

/* May the operation's sums lack ranks? */
static bool may_lack(const struct model *model, uint32_t rank, uint32_t op)
{
    struct trib_operation operation = scenario_operation(model, rank, op);

    return model->scenario->quorum_of != 0 && operation.collective == TRIB_ALLREDUCE && operation.count != 0 &&
           operation.type == TRIB_FLOAT32;
}

/* May these make a sum of the rank's operation? All of them run it, and no more of a job lack than may. */
static bool may_be_sum(const struct model *model, uint32_t rank, uint32_t op, uint32_t parts)
{
    const struct model_scenario *s = model->scenario;
    uint32_t job = model_job_of(model, rank);
    uint32_t ranks = s->job[job].ranks;
    uint32_t lack = ranks - (uint32_t)__builtin_popcount(parts);

    for (uint32_t bits = parts; bits != 0; bits &= bits - 1) {
        uint32_t other = model->first_rank[job] + trib_lowest(bits);
        if (scenario_op(model, other, op) != scenario_op(model, rank, op)) {
            return false;
        }
    }
    return lack == 0 || (may_lack(model, rank, op) && lack * s->quorum_of <= ranks * (s->quorum_of - s->quorum));
}

/* Who is in the sum that a packet carries: `all`, where no list says otherwise. 0: the list is nonsense. */
static uint32_t parts_of(const struct trib_packet *packet, uint32_t all)
{
    uint32_t beyond = 0;

    if ((packet->flags & TRIB_FLAG_QUORUM) == 0) {
        return all;
    }
    if (packet->payload_len <= MODEL_LIST) {
        return 0;
    }
    const uint8_t *list = (const uint8_t *)packet->payload + packet->payload_len - MODEL_LIST;
    for (uint32_t i = 1; i < MODEL_LIST; i++) {
        beyond |= list[i];
    }
    bool is_right =
        beyond == 0 && (list[0] & ~all) == 0 && packet->contributors == (uint32_t)__builtin_popcount(list[0]);
    return is_right ? list[0] : 0;
}

/* Bytes of a sum's payload without its list. */
static uint32_t data_of(const struct trib_packet *packet)
{
    bool has_list = (packet->flags & TRIB_FLAG_QUORUM) != 0 && packet->payload_len > MODEL_LIST;

    return packet->payload_len - (has_list ? MODEL_LIST : 0U);
}

uint8_t check_lists(struct model *model, const struct state *state, uint32_t rank)
{
    const struct facts *own = machine_facts(model, state->node[rank]);

    for (uint32_t other = 0; other < model->ranks; other++) {
        const struct facts *facts = machine_facts(model, state->node[other]);
        for (uint32_t i = 0; i < MODEL_SEQUENCES && model_job_of(model, other) == model_job_of(model, rank); i++) {
            if (own->list[i] != 0 && facts->list[i] != 0 && own->list[i] != facts->list[i]) {
                return model_violated(model, "list", "sequence %u holds the ranks 0x%x at rank %u, 0x%x at rank %u", i,
                                      own->list[i], rank, facts->list[i], other);
            }
        }
    }
    return 0;
}

static bool gets(const struct model *model, uint32_t rank, uint32_t op, uint32_t element)
{
    struct trib_operation operation = {.collective = scenario_op(model, rank, op)->collective};
    uint32_t number = rank - model->first_rank[model_job_of(model, rank)];

    return operation.collective == TRIB_ALLGATHER ||
           trib_operation_wants(&operation, owner_of(model, rank, op, element), number);
}

static uint32_t filled(uint8_t byte)
{
    return byte * 0x01010101U;
}

static uint32_t word_at(const uint8_t *bytes, uint32_t element)
{
    uint32_t word;

    memcpy(&word, bytes + 4 * (size_t)element, sizeof word);
    return word;
}

/* ---- buffers ---- */

static uint32_t elements(const struct model *model, uint32_t rank, uint32_t op)
{
    const struct model_op *o = scenario_op(model, rank, op);

    return o->collective == TRIB_BARRIER ? 0 : o->elements;
}

void buffers_fill(const struct model *model, uint32_t rank, uint32_t op, struct buffers *buffers)
{
    memset(buffers->recv, OLD, sizeof buffers->recv);
    for (uint32_t i = 0; i < elements(model, rank, op); i++) {
        uint32_t word = own_word(model, rank, op, i);
        memcpy(buffers->send + 4 * (size_t)i, &word, sizeof word);
        if (model->scenario->in_place) {
            memcpy(buffers->recv + 4 * (size_t)i, &word, sizeof word);
        }
    }
}

void buffers_scribble(struct buffers *buffers)
{
    memset(buffers, GARBAGE, sizeof *buffers);
}

uint8_t buffers_check_idle(struct model *model, uint32_t rank, const struct buffers *buffers)
{
    const uint8_t *bytes = (const uint8_t *)buffers;

    for (size_t i = 0; i < sizeof *buffers; i++) {
        if (bytes[i] != GARBAGE) {
            return model_violated(model, "buffer", "rank %u: a buffer was written to after DONE, at byte %zu", rank, i);
        }
    }
    return 0;
}

/* The sum of those ranks that make the element what it is, where sums may lack ranks; else of all. Which ranks are in
 * the packet that brought it is check_switch_packet's business. */
static uint32_t part_that_is(const struct model *model, uint32_t rank, uint32_t op, uint32_t element, uint32_t is)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t all = (1U << model->scenario->job[job].ranks) - 1;

    for (uint32_t parts = 1; parts < all; parts++) {
        uint32_t word = part_word(model, job, parts, op, element);
        if (word == is && may_be_sum(model, rank, op, parts)) {
            return word;
        }
    }
    return part_word(model, job, all, op, element);
}

static uint8_t check_element(struct model *model, uint32_t rank, uint32_t op, const struct buffers *buffers,
                             uint32_t element)
{
    uint32_t own = own_word(model, rank, op, element);
    uint32_t was = model->scenario->in_place ? own : filled(OLD);
    uint32_t is = word_at(buffers->recv, element);
    uint32_t sum = sum_word(model, rank, op, element, false);

    if (may_lack(model, rank, op)) {
        sum = part_that_is(model, rank, op, element, is);
    }
    if (word_at(buffers->send, element) != own) {
        return model_violated(model, "buffer", "rank %u: operation %u: the send buffer was written to", rank, op);
    }
    if (is == was || (gets(model, rank, op, element) && is == sum)) {
        return 0;
    }
    return model_violated(model, "oracle", "rank %u: operation %u, element %u: is 0x%08x, must be 0x%08x", rank, op,
                          element, is, sum);
}

uint8_t buffers_check(struct model *model, uint32_t rank, uint32_t op, const struct buffers *buffers, bool is_done)
{
    /* Who is late may run another operation, and will be told so: the others are done by then. */
    bool differs = scenario_differs(&model->scenario->job[model_job_of(model, rank)], op) && !may_lack(model, rank, op);
    uint32_t count = elements(model, rank, op);

    if (is_done && differs) {
        return model_violated(model, "oracle", "rank %u: operation %u is DONE, and others run another", rank, op);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t violation = check_element(model, rank, op, buffers, i);
        if (violation != 0) {
            return violation;
        }
        uint32_t is = word_at(buffers->recv, i);
        uint32_t sum =
            may_lack(model, rank, op) ? part_that_is(model, rank, op, i, is) : sum_word(model, rank, op, i, false);
        if (is_done && gets(model, rank, op, i) && is != sum) {
            return model_violated(model, "oracle", "rank %u: operation %u is DONE without element %u", rank, op, i);
        }
    }
    for (size_t i = 4 * (size_t)count; i < sizeof buffers->recv; i++) {
        if (buffers->recv[i] != OLD || buffers->send[i] != GARBAGE) {
            return model_violated(model, "buffer", "rank %u: operation %u: written beyond the end", rank, op);
        }
    }
    return 0;
}

/* ---- packets of workers ---- */

bool check_operation(const struct model *model, uint32_t rank, uint64_t sequence, uint32_t *op, uint64_t *block)
{
    for (uint32_t i = 0; i < model->scenario->job[model_job_of(model, rank)].ops; i++) {
        const struct trib_layout *layout = &model->layout[rank][i];
        if (sequence >= model->op_first[rank][i] && sequence - model->op_first[rank][i] < layout->sequences) {
            *op = i;
            *block = sequence - model->op_first[rank][i] - layout->lookahead;
            return true;
        }
    }
    return false;
}

/* How many ranks a ring of so many has from `first` on to before this one. */
static uint32_t hops(uint32_t ranks, uint32_t first, uint32_t at)
{
    return (at + ranks - first % ranks) % ranks;
}

/* On rings: whose parts must be in what a rank sends. On the way to the owner: in the group, from the place behind the
 * owner's to this one; at that place, of all groups from the one behind the owner's to this one. What is carried: of
 * the owner's place in the groups from its own to this one, and of the places behind that to this one. A result: of
 * all. */
static uint32_t parts_here(const struct model *model, uint32_t job, uint32_t number, const struct trib_packet *packet)
{
    uint32_t ranks = model->scenario->job[job].ranks;
    uint32_t m = model->scenario->group != 0 ? model->scenario->group : ranks;
    uint32_t owner = packet->last_rank;
    uint32_t leg = trib_ring_leg(packet->bitmap);
    uint32_t bits = 0;

    for (uint32_t i = 0; i < ranks; i++) {
        bool is_inside = i / m == number / m && hops(m, owner + 1, i % m) <= hops(m, owner + 1, number % m);
        uint32_t first = owner / m + (leg == TRIB_RING_SUMMING);
        bool is_across = hops(ranks / m, first, i / m) <= hops(ranks / m, first, number / m);
        bool has_place = number % m == owner % m;
        if (leg == TRIB_RING_CARRYING) {
            is_across = is_across && i % m == owner % m;
            is_inside = is_across || (is_inside && i % m != owner % m);
        }
        bits |= (uint32_t)(leg == TRIB_RING_SPREADING || (has_place ? is_across : is_inside)) << i;
    }
    return bits;
}

/* The lane and the payload are of those ranks. */
static uint8_t check_peer_packet(struct model *model, uint32_t rank, const struct trib_packet *packet)
{
    uint32_t job = model_job_of(model, rank);
    uint64_t sequence = trib_ring_sequence(packet->bitmap);
    uint32_t parts = parts_here(model, job, rank - model->first_rank[job], packet);
    struct trib_session_config session;
    struct trib_piece piece;
    uint64_t keys = 0;
    uint32_t op = 0;
    uint64_t block = 0;

    settings_session(model, job, &session);
    for (uint32_t bits = parts; bits != 0; bits &= bits - 1) {
        keys += trib_lane_key(session.salt, trib_lowest(bits));
    }
    if (packet->lane != keys * trib_session_odd(&session, sequence, 0, packet->digest)) {
        return model_violated(model, "lane", "rank %u: the lane of fragment %u is of other ranks", rank,
                              (unsigned)sequence);
    }
    if (!check_operation(model, rank, sequence, &op, &block)) {
        return model_violated(model, "window", "rank %u sends fragment %u, which no operation has", rank,
                              (unsigned)sequence);
    }
    struct trib_operation operation = scenario_operation(model, rank, op);
    trib_layout_piece(&model->layout[rank][op], &operation, block, &piece);
    for (uint32_t i = 0; i < packet->payload_len / 4U; i++) {
        uint32_t element = (uint32_t)piece.whole_at + i;
        uint32_t right = trib_operation_reduces(&operation) ? part_word(model, job, parts, op, element)
                                                            : sum_word(model, rank, op, element, false);
        if (word_at(packet->payload, i) != right) {
            return model_violated(model, "oracle", "rank %u: fragment %u, element %u: is 0x%08x, must be 0x%08x", rank,
                                  (unsigned)sequence, i, word_at(packet->payload, i), right);
        }
    }
    return 0;
}

/* A sum that may lack ranks: its list is one that may be, and lane and payload are of those that are listed. */
static uint8_t check_sum(struct model *model, uint32_t job, const struct trib_packet *packet, uint32_t all)
{
    uint32_t parts = parts_of(packet, all);
    uint32_t rank = model->first_rank[job] + (parts != 0 ? trib_lowest(parts) : 0);
    struct trib_session_config session;
    struct trib_piece piece;
    uint64_t keys = 0;
    uint64_t block = 0;
    uint32_t op = 0;
    uint32_t missing = ((1U << model->scenario->job[job].ranks) - 1) & ~all; /* of another branch */

    if (parts == 0 || !check_operation(model, rank, packet->sequence, &op, &block) ||
        !may_be_sum(model, rank, op, parts | missing)) {
        return model_violated(model, "list", "%s of sequence %u is a sum of the ranks 0x%x",
                              trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence, parts);
    }
    settings_session(model, job, &session);
    for (uint32_t bits = parts; bits != 0; bits &= bits - 1) {
        keys += trib_lane_key(session.salt, trib_lowest(bits));
    }
    if (packet->lane != keys * trib_session_odd(&session, packet->sequence, 0, packet->digest)) {
        return model_violated(model, "lane", "%s of sequence %u lists ranks 0x%x, its lane is of others",
                              trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence, parts);
    }
    struct trib_operation operation = scenario_operation(model, rank, op);
    trib_layout_piece(&model->layout[rank][op], &operation, block, &piece);
    for (uint32_t i = 0; i < data_of(packet) / 4U; i++) {
        uint32_t right = part_word(model, job, parts, op, (uint32_t)piece.whole_at + i);
        if (word_at(packet->payload, i) != right) {
            return model_violated(model, "oracle", "%s of sequence %u, element %u: is 0x%08x, must be 0x%08x",
                                  trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence, i,
                                  word_at(packet->payload, i), right);
        }
    }
    return 0;
}

/* Payload that is the tensor's own bytes. What travels in another form is checked where it arrives. */
uint8_t check_worker_packet(struct model *model, uint32_t rank, const struct trib_packet *packet)
{
    bool is_offer = packet->kind == TRIB_OFFER;
    struct trib_piece piece;
    uint32_t op = 0;
    uint64_t block = 0;

    if (packet->kind == TRIB_FLOW && (packet->flags & TRIB_FLAG_UNWANTED) == 0) {
        return check_peer_packet(model, rank, packet);
    }
    if (packet->kind != TRIB_CONTRIBUTION && !is_offer) {
        return 0;
    }
    if (!check_operation(model, rank, packet->sequence, &op, &block)) {
        return model_violated(model, "window", "rank %u sends sequence %u, which no operation has", rank,
                              (unsigned)packet->sequence);
    }
    if (packet->payload_len == 0 || model->layout[rank][op].lookahead != 0 ||
        model->layout[rank][op].wire == TRIB_BFLOAT16) {
        return 0;
    }
    if (is_offer && (packet->flags & TRIB_FLAG_QUORUM) != 0) {
        return check_sum(model, model_job_of(model, rank), packet, (1U << model->ranks) - 1);
    }
    struct trib_operation operation = scenario_operation(model, rank, op);
    trib_layout_piece(&model->layout[rank][op], &operation, block, &piece);
    for (uint32_t i = 0; i < packet->payload_len / 4U; i++) {
        uint32_t element = (uint32_t)piece.whole_at + i;
        uint32_t right = is_offer ? sum_word(model, rank, op, element, true) : own_word(model, rank, op, element);
        uint32_t is = word_at(packet->payload, i);
        if (is != right) {
            const char *word = is == filled(GARBAGE) || is == filled(OLD) || is == own_word(model, rank, op, element)
                                   ? "buffer"
                                   : "oracle";
            return model_violated(model, word, "rank %u: %s of sequence %u, element %u: is 0x%08x, must be 0x%08x",
                                  rank, trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence, i, is,
                                  right);
        }
    }
    return 0;
}

/* ---- packets of switches ---- */

/* Ranks in the sum: all in a result, those below in a contribution; from a combiner, those that it lists. */
static uint64_t ranks_in(const struct model *model, uint32_t job, uint32_t at, const struct trib_packet *packet)
{
    bool is_partial = packet->kind == TRIB_CONTRIBUTION;

    if (is_partial && model->scenario->rows != 0) {
        return packet->bitmap != 0 ? packet->bitmap : UINT64_C(1) << packet->node % 64;
    }
    return model->behind[job][is_partial ? at : 0];
}

/* The lane proves which ranks are in a sum (I12). */
uint8_t check_switch_packet(struct model *model, uint32_t job, uint32_t at, const struct trib_packet *packet)
{
    bool is_partial = packet->kind == TRIB_CONTRIBUTION;
    struct trib_session_config session;
    uint64_t keys = 0;

    if (!is_partial && packet->kind != TRIB_RESULT && packet->kind != TRIB_OFFER) {
        return 0;
    }
    if (packet->flags & TRIB_FLAG_QUORUM) {
        return check_sum(model, job, packet, (uint32_t)model->behind[job][is_partial ? at : 0]);
    }
    settings_session(model, job, &session);
    for (uint64_t bits = ranks_in(model, job, at, packet); bits != 0; bits &= bits - 1) {
        keys += trib_lane_key(session.salt, trib_lowest(bits));
    }
    return packet->lane == keys * trib_session_odd(&session, packet->sequence, packet->attempt, packet->digest)
               ? 0
               : model_violated(model, "lane", "switch %u sends %s of sequence %u: its lane is of other ranks", at,
                                trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence);
}

uint8_t check_room(struct model *model, const void *node)
{
    const struct trib_switch_verbs *verbs = model->scheme->switch_node;

    if (!trib_switch_has_caps(verbs) || verbs->slots_held(node) <= verbs->room(node)) {
        return 0;
    }
    return model_violated(model, "room", "a switch holds %u fragments and has room for %u", verbs->slots_held(node),
                          verbs->room(node));
}

/* ---- operations that differ ---- */

uint8_t check_mismatch(struct model *model, uint32_t job, uint32_t at, const struct trib_event *event)
{
    const struct model_op *run[2];
    uint32_t number[2] = {event->child, event->other};
    uint32_t op = 0;
    uint64_t block;

    for (uint32_t i = 0; i < 2; i++) {
        if (number[i] >= model->children[job][at]) {
            return model_violated(model, "error", "switch %u names child %u, which it does not have", at, number[i]);
        }
        uint32_t rank = model->first_rank[job] + scenario_lowest(model, job, model->child[job][at][number[i]]);
        if (!check_operation(model, rank, event->sequence, &op, &block) ||
            !scenario_differs(&model->scenario->job[job], op)) {
            return model_violated(model, "digest", "a switch sees two operations on sequence %u",
                                  (unsigned)event->sequence);
        }
        run[i] = scenario_op(model, rank, op);
    }
    return run[0] != run[1] ? 0
                            : model_violated(model, "error", "switch %u names children %u and %u, which run the same",
                                             at, number[0], number[1]);
}

/* ---- drops ---- */

/* Nothing is corrupted or forged here, so no check of contents may fail, no result comes unasked, and M is what it
 * says. Only where ranks run different operations a switch must keep them apart; and what they sent by a cap of before a
 * restart may be beyond the room of the first one. */
static const char *const bad_at_worker[TRIB_DROP_COUNT] = {
    [TRIB_DROP_LANE] = "lane",     [TRIB_DROP_DIGEST] = "digest", [TRIB_DROP_SHAPE] = "shape",
    [TRIB_DROP_KIND] = "shape",    [TRIB_DROP_MARK] = "mark",     [TRIB_DROP_UNASKED] = "unasked",
    [TRIB_DROP_WINDOW] = "window", [TRIB_DROP_STALE] = "window",
};
static const char *const bad_at_switch[TRIB_DROP_COUNT] = {
    [TRIB_DROP_DIGEST] = "digest", [TRIB_DROP_SHAPE] = "shape",   [TRIB_DROP_KIND] = "shape",
    [TRIB_DROP_MARK] = "mark",     [TRIB_DROP_WINDOW] = "window",
};

uint8_t check_drop(struct model *model, uint32_t job, bool is_worker, const struct trib_packet *packet,
                   enum trib_drop drop)
{
    const char *word = (is_worker ? bad_at_worker : bad_at_switch)[drop];
    bool is_hint = packet->kind == TRIB_BOOT; /* an inner switch gets it as any child does, and has no use for it */
    /* check_mismatch; and who is late with another operation hears the result of the others'. */
    bool may_differ = model->scenario->job[job].others != 0 && (!is_worker || model->scenario->quorum_of != 0);
    bool differs = drop == TRIB_DROP_DIGEST && may_differ;

    bool is_beyond = !is_worker && drop == TRIB_DROP_WINDOW && model->scenario->cap != 0 &&
                     model->scenario->budget[BUDGET_RESTART] != 0;
    /* What was latched without a rank that has not come as far. */
    bool is_ahead = drop == TRIB_DROP_UNASKED && (packet->flags & TRIB_FLAG_QUORUM) != 0;

    return word == NULL || is_hint || differs || is_beyond || is_ahead
               ? 0
               : model_violated(model, word, "a %s drops %s of sequence %u: %s", is_worker ? "worker" : "switch",
                                trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence,
                                trib_drop_text(drop));
}
