/* SPDX-License-Identifier: Apache-2.0 */
/* state.c: what can happen in a state, what becomes of it, and what must hold in every state: nobody's M is above
 * anybody's mark, marks never fall, a packet causes no more than it may (I5). Read next: search.c. */
#include <string.h>

#include "model.h"

#define PER_RECEIVER 2 /* packets to one receiver for one packet: an answer, and a HELD that was owed */

/* ---- one step of one node ---- */

static uint8_t put(struct model *model, struct state *state, uint32_t stimulus)
{
    uint32_t i = state->count;

    if (state->count == MODEL_BAG) {
        return model_violated(model, "storm", "more than %d packets are on their way", MODEL_BAG);
    }
    for (; i > 0 && state->bag[i - 1] > stimulus; i--) {
        state->bag[i] = state->bag[i - 1];
    }
    state->bag[i] = stimulus;
    state->count++;
    return 0;
}

/* An ASK may name more than one sequence. */
static uint32_t asked_for(const struct model *model, const struct step *step)
{
    const struct stimulus *s = store_stimulus_at(model->store, step->stimulus);
    struct trib_packet packet;

    return trib_packet_decode(s->wire, s->len, &packet) == TRIB_DROP_NONE && packet.kind == TRIB_ASK
               ? (uint32_t)__builtin_popcountll(packet.bitmap)
               : 0;
}

/* I5: only a completion answers one packet with many. */
static uint8_t check_outs(struct model *model, const struct step *step)
{
    /* What a batch of two hands out comes with its second. */
    uint8_t most = machine_facts(model, step->local)->is_undrained ? 2 * PER_RECEIVER : PER_RECEIVER;
    uint8_t per[MODEL_RANKS + MODEL_NODES] = {0};
    const uint32_t *out = store_out(model->store, step);

    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct stimulus *s = store_stimulus_at(model->store, out[i]);
        struct trib_packet packet;
        (void)trib_packet_decode(s->wire, s->len, &packet);
        bool is_completion = packet.kind == TRIB_RESULT && !(packet.flags & TRIB_FLAG_RESEND);
        bool is_through =
            s->to >= MODEL_RANKS && s->from == FROM_PARENT && packet.node < MODEL_RANKS && model->scenario->rows != 0;
        uint32_t to = is_through ? packet.node : s->to; /* of one job, which has a server of its own */
        if (!is_completion && ++per[to] > most + asked_for(model, step)) {
            return model_violated(model, "storm", "one packet makes a switch send more than %d to one receiver", most);
        }
    }
    return 0;
}

/* Does the step send the like of it? A PROBE with UNWANTED asks for something else than one without. */
static bool sends(const struct model *model, const struct step *step, const struct stimulus *like)
{
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct stimulus *s = store_stimulus_at(model->store, store_out(model->store, step)[i]);
        if (s->to == like->to && s->wire[TRIB_AT_KIND] == like->wire[TRIB_AT_KIND] &&
            memcmp(s->wire + TRIB_AT_FLAGS, like->wire + TRIB_AT_FLAGS, 2) == 0) {
            return true;
        }
    }
    return false;
}

/* I4: the same packet again, and no time has passed: what it made the node send is not sent again. HELD and FLOW_ACK
 * may be, they cost nothing and heal. */
static uint8_t check_repeat(struct model *model, const struct step *step)
{
    uint8_t kind = store_stimulus_at(model->store, step->stimulus)->wire[TRIB_AT_KIND];

    const struct stimulus *own = store_stimulus_at(model->store, step->stimulus);
    if (own->to >= MODEL_RANKS && model_is_combiner(model, own->to - MODEL_RANKS)) {
        return 0; /* it passes on what comes */
    }
    /* A scheme that no job may run recovers as it was published: by repeats. */
    if (model->scheme->refusal != NULL || model->scenario->time == MODEL_TIME_LEAPS ||
        machine_facts(model, step->local)->is_undrained) {
        return 0;
    }
    struct step again = machine_step(model, step->next, step->stimulus);
    for (uint32_t i = 0; i < again.out_count && again.violation == 0; i++) {
        const struct stimulus *s = store_stimulus_at(model->store, store_out(model->store, &again)[i]);
        uint8_t answer = s->wire[TRIB_AT_KIND];
        if (answer != TRIB_HELD && answer != TRIB_FLOW_ACK && sends(model, step, s)) {
            return model_violated(model, "repeat", "the same %s twice in no time is answered twice by %s",
                                  trib_kind_name((enum trib_kind)kind), trib_kind_name((enum trib_kind)answer));
        }
    }
    return again.violation;
}

/* Has the rank the result of the sequence, and wanted it? */
static bool has_result(const struct model *model, const struct state *state, uint32_t rank, uint64_t sequence)
{
    uint32_t op = 0;
    uint64_t block;

    if (machine_facts(model, state->node[rank])->mark <= sequence ||
        !check_operation(model, rank, sequence, &op, &block)) {
        return false;
    }
    struct trib_operation operation = scenario_operation(model, rank, op);
    return trib_operation_wants(&operation, operation.root, rank - model->first_rank[model_job_of(model, rank)]);
}

/* Of a sum that some rank has already, a server makes no second one: it may differ in rounding, as combiners add in
 * another order. A rank that has it OFFERs it. */
static uint8_t check_once(struct model *model, const struct state *state, const struct step *step)
{
    const struct stimulus *part = store_stimulus_at(model->store, step->stimulus);
    struct trib_packet packet;

    for (uint32_t i = 0; i < step->out_count && part->wire[TRIB_AT_KIND] == TRIB_CONTRIBUTION; i++) {
        const struct stimulus *s = store_stimulus_at(model->store, store_out(model->store, step)[i]);
        (void)trib_packet_decode(s->wire, s->len, &packet);
        bool is_sum = packet.kind == TRIB_RESULT && packet.payload_len != 0;
        for (uint32_t rank = 0; rank < model->ranks && is_sum; rank++) {
            if (model_job_of(model, rank) == part->job && has_result(model, state, rank, packet.sequence)) {
                return model_violated(model, "twice", "a server makes the sum of sequence %u, which rank %u has",
                                      (unsigned)packet.sequence, rank);
            }
        }
    }
    return 0;
}

uint8_t state_step(struct model *model, struct state *state, uint32_t node, uint32_t id)
{
    uint32_t before = state->node[node];
    struct step step = machine_step(model, before, id);
    const struct stimulus *stimulus = store_stimulus_at(model->store, id);
    uint8_t violation = step.violation;

    state->node[node] = step.next;
    const struct facts *old = machine_facts(model, before);
    const struct facts *new = machine_facts(model, step.next);
    if (violation == 0 && stimulus->kind != STIMULUS_INIT && (new->known < old->known || new->mark < old->mark)) {
        violation = model_violated(model, "mark", "a mark falls");
    }
    if (violation == 0 && node < model->ranks && model->scenario->quorum_of != 0) {
        violation = check_lists(model, state, node);
    }
    if (violation == 0 && stimulus->kind == STIMULUS_PACKET && node >= model->ranks) {
        violation = check_outs(model, &step);
    }
    if (violation == 0 && stimulus->kind == STIMULUS_PACKET && node >= model->ranks && model->scenario->rows != 0) {
        violation = check_once(model, state, &step);
    }
    if (violation == 0 && stimulus->kind == STIMULUS_PACKET) {
        violation = check_repeat(model, &step);
    }
    for (uint32_t i = 0; i < step.out_count && violation == 0; i++) {
        violation = put(model, state, store_out(model->store, &step)[i]);
    }
    return violation;
}

uint8_t state_tell(struct model *model, struct state *state, uint32_t node, const struct stimulus *stimulus)
{
    return state_step(model, state, node, store_stimulus(model->store, stimulus));
}

/* ---- what can happen ---- */

void happenings_add(struct happenings *list, enum happening_kind kind, uint32_t a, uint32_t b)
{
    if (list->count < MODEL_HAPPENINGS) {
        list->at[list->count++] = (struct happening){.kind = (uint8_t)kind, .a = (uint8_t)a, .b = (uint8_t)b};
    }
}

static bool may_submit(const struct model *model, const struct state *state, uint32_t rank)
{
    const struct session *session = &state->control.session[rank];
    const struct facts *facts = machine_facts(model, state->node[rank]);
    const struct model_job *job = &model->scenario->job[model_job_of(model, rank)];
    uint32_t slot = facts->submitted - model->scenario->operations; /* the one that had these buffers before */

    if (session_is_over(session) || facts->submitted == job->ops) {
        return false;
    }
    return facts->submitted < model->scenario->operations || (facts->done >> slot & 1) != 0;
}

/* A packet's place in the bag, for each different packet. */
static void list_bag(const struct state *state, enum happening_kind kind, struct happenings *list)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (i == 0 || state->bag[i] != state->bag[i - 1]) {
            happenings_add(list, kind, i, 0);
        }
    }
}

/* Who gets it now; MODEL_NONE: nobody is there any more. */
static uint32_t receiver(const struct model *model, const struct state *state, const struct stimulus *s)
{
    if (s->to < MODEL_RANKS) {
        return session_is_over(&state->control.session[s->to]) ? MODEL_NONE : s->to;
    }
    return state->control.is_dropped[s->job] ? MODEL_NONE
                                             : control_node(model, &state->control, s->job, s->to - MODEL_RANKS);
}

/* Packets that make another step if they come marked: all others are as good as not marked. */
static void list_marked(struct model *model, const struct state *state, struct happenings *list)
{
    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t node = receiver(model, state, store_stimulus_at(model->store, state->bag[i]));
        if (node == MODEL_NONE || (i > 0 && state->bag[i] == state->bag[i - 1])) {
            continue;
        }
        struct step plain = machine_step(model, state->node[node], state->bag[i]);
        struct step marked = machine_step(model, state->node[node], marks_set(model, state->bag[i]));
        const uint32_t *out = store_out(model->store, &plain);
        if (marked.violation != 0 || marked.next != plain.next || marked.out_count != plain.out_count ||
            memcmp(store_out(model->store, &marked), out, plain.out_count * sizeof *out) != 0) {
            happenings_add(list, HAPPENS_MARKED, i, 0);
        }
    }
}

/* Ordered pairs of packets to one node. */
static void list_batches(const struct model *model, const struct state *state, struct happenings *list)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct stimulus *first = store_stimulus_at(model->store, state->bag[i]);
        for (uint32_t j = 0; j < state->count; j++) {
            const struct stimulus *second = store_stimulus_at(model->store, state->bag[j]);
            bool is_same = i > 0 && state->bag[i - 1] == state->bag[i];
            if (i != j && !is_same && first->to == second->to && first->job == second->job) {
                happenings_add(list, HAPPENS_BATCH, i, j);
            }
        }
    }
}

static bool wants_timer(const struct model *model, const struct state *state, uint32_t rank)
{
    return !session_is_over(&state->control.session[rank]) && machine_facts(model, state->node[rank])->wants_timer;
}

static bool wants_round(const struct model *model, const struct state *state)
{
    for (uint32_t node = 0; node < model->nodes; node++) {
        if (node < model->ranks ? wants_timer(model, state, node)
                                : machine_facts(model, state->node[node])->is_limited) {
            return true;
        }
    }
    return false;
}

static void list_faults(struct model *model, const struct state *state, struct happenings *list)
{
    const uint8_t *budget = state->control.budget;

    for (uint32_t node = 0; node < model->nodes; node++) {
        if (node < model->ranks && wants_timer(model, state, node)) {
            if (state->count == 0) {
                happenings_add(list, HAPPENS_TIMER, node, 0);
            } else if (budget[BUDGET_EARLY] != 0) {
                happenings_add(list, HAPPENS_EARLY, node, 0);
            }
        }
        if (model->scenario->time == MODEL_TIME_TICKS && machine_facts(model, state->node[node])->is_limited) {
            happenings_add(list, HAPPENS_TICK, node, 0);
        }
    }
    if (model->scenario->batches) {
        list_batches(model, state, list);
    }
    if (budget[BUDGET_LOSS] != 0) {
        list_bag(state, HAPPENS_LOSE, list);
    }
    if (budget[BUDGET_DUPLICATE] != 0) {
        list_bag(state, HAPPENS_DOUBLE, list);
    }
    if (budget[BUDGET_MARKED] != 0) {
        list_marked(model, state, list);
    }
    control_list(model, state, CONTROL_FAULTS, list);
}

void state_list(struct model *model, const struct state *state, struct happenings *list)
{
    list->count = 0;
    control_list(model, state, CONTROL_FIRST, list);
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        if (may_submit(model, state, rank)) {
            happenings_add(list, HAPPENS_SUBMIT, rank, 0);
        }
    }
    list_bag(state, HAPPENS_DELIVER, list);
    control_list(model, state, CONTROL_LAST, list);
    if (list->count == 0 && wants_round(model, state)) {
        happenings_add(list, HAPPENS_ROUND, 0, 0);
    }
    list_faults(model, state, list);
}

/* ---- what becomes of it ---- */

/* Another job's node at this socket gets the packet as well, as if the driver had mistaken the address. */
static uint8_t mislead(struct model *model, struct state *state, const struct stimulus *s, uint32_t stimulus)
{
    uint32_t other = 1U - s->job;

    if (model->jobs < 2 || state->control.is_dropped[other] || model_is_combiner(model, s->to - MODEL_RANKS) ||
        (s->to - MODEL_RANKS) / model->scenario->roots >= model->scenario->job[other].switches) {
        return 0;
    }
    uint32_t node = control_node(model, &state->control, other, s->to - MODEL_RANKS);
    struct step step = machine_step(model, state->node[node], stimulus);
    if (step.violation == 0 && (step.next != state->node[node] || step.out_count != 0)) {
        return model_violated(model, "foreign", "a packet of another job changes a node");
    }
    return step.violation;
}

static void take_out(struct state *state, uint32_t place)
{
    state->count--;
    memmove(&state->bag[place], &state->bag[place + 1], (state->count - place) * sizeof state->bag[0]);
}

static uint8_t arrive(struct model *model, struct state *state, uint32_t stimulus)
{
    struct stimulus s = *store_stimulus_at(model->store, stimulus);
    uint8_t violation = s.to < MODEL_RANKS ? 0 : mislead(model, state, &s, stimulus);
    uint32_t node = receiver(model, state, &s);

    return violation != 0 || node == MODEL_NONE ? violation : state_step(model, state, node, stimulus);
}

static uint8_t deliver(struct model *model, struct state *state, uint32_t place)
{
    uint32_t stimulus = state->bag[place];

    take_out(state, place);
    return arrive(model, state, stimulus);
}

static uint8_t deliver_marked(struct model *model, struct state *state, uint32_t place)
{
    uint32_t stimulus = marks_set(model, state->bag[place]);

    state->control.budget[BUDGET_MARKED]--;
    take_out(state, place);
    return arrive(model, state, stimulus);
}

/* The first is taken and waits in the node; the second brings the drain. */
static uint8_t deliver_both(struct model *model, struct state *state, uint32_t first, uint32_t second)
{
    struct stimulus s = *store_stimulus_at(model->store, state->bag[first]);
    uint32_t node = receiver(model, state, &s);

    if (node == MODEL_NONE) {
        return 0;
    }
    s.a = 1;
    uint8_t violation = state_tell(model, state, node, &s);
    if (violation != 0) {
        return violation;
    }
    take_out(state, first);
    return deliver(model, state, second > first ? second - 1 : second);
}

static uint8_t fire(struct model *model, struct state *state, uint32_t rank)
{
    struct stimulus timer = {.kind = STIMULUS_TIMER};

    return state_tell(model, state, rank, &timer);
}

static uint8_t fire_all(struct model *model, struct state *state)
{
    struct stimulus tick = {.kind = STIMULUS_TICK};
    bool is_for_all = model->scenario->cap != 0;
    uint8_t violation = 0;

    for (uint32_t node = 0; node < model->nodes && violation == 0; node++) {
        if (is_for_all || machine_facts(model, state->node[node])->is_limited) {
            violation = state_tell(model, state, node, &tick);
        }
    }
    for (uint32_t rank = 0; rank < model->ranks && violation == 0; rank++) {
        if (wants_timer(model, state, rank)) {
            violation = fire(model, state, rank);
        }
    }
    return violation;
}

static uint8_t lose(struct state *state, uint32_t place)
{
    state->control.budget[BUDGET_LOSS]--;
    take_out(state, place);
    return 0;
}

static uint8_t apply(struct model *model, struct state *state, struct happening happening)
{
    struct stimulus stimulus = {.kind = STIMULUS_NONE};

    switch (happening.kind) {
    case HAPPENS_SUBMIT:
        stimulus.kind = STIMULUS_SUBMIT;
        stimulus.a = machine_facts(model, state->node[happening.a])->submitted;
        return state_tell(model, state, happening.a, &stimulus);
    case HAPPENS_DELIVER:
        return deliver(model, state, happening.a);
    case HAPPENS_DOUBLE:
        state->control.budget[BUDGET_DUPLICATE]--;
        return arrive(model, state, state->bag[happening.a]);
    case HAPPENS_MARKED:
        return deliver_marked(model, state, happening.a);
    case HAPPENS_BATCH:
        return deliver_both(model, state, happening.a, happening.b);
    case HAPPENS_LOSE:
        return lose(state, happening.a);
    case HAPPENS_ROUND:
        return fire_all(model, state);
    case HAPPENS_EARLY:
        state->control.budget[BUDGET_EARLY]--;
        return fire(model, state, happening.a);
    case HAPPENS_TIMER:
        return fire(model, state, happening.a);
    case HAPPENS_TICK:
        stimulus.kind = STIMULUS_TICK;
        return state_tell(model, state, happening.a, &stimulus);
    default:
        return control_apply(model, state, happening);
    }
}

/* ---- what must hold ---- */

static uint8_t check_marks(struct model *model, const struct state *state, uint32_t job)
{
    const struct model_job *j = &model->scenario->job[job];
    uint32_t lowest = UINT8_MAX;

    for (uint32_t i = 0; i < j->ranks; i++) {
        uint32_t rank = model->first_rank[job] + i;
        const struct session *session = &state->control.session[rank];
        uint32_t mark = session_is_over(session) ? session->mark : machine_facts(model, state->node[rank])->mark;
        lowest = mark < lowest ? mark : lowest;
    }
    for (uint32_t i = 0; i < j->ranks; i++) {
        uint32_t rank = model->first_rank[job] + i;
        if (!session_is_over(&state->control.session[rank]) &&
            machine_facts(model, state->node[rank])->known > lowest) {
            return model_violated(model, "mark", "rank %u has an M above the lowest mark, %u", i, lowest);
        }
    }
    for (uint32_t socket = 0; socket < model_sockets(model, job); socket++) {
        uint32_t node = control_node(model, &state->control, job, socket);
        const struct facts *facts = machine_facts(model, state->node[node]);
        if ((model_is_combiner(model, socket) ? facts->combined[job] : facts->known) > lowest) {
            return model_violated(model, "mark", "a switch has an M above the lowest mark, %u", lowest);
        }
    }
    return 0;
}

uint8_t state_apply(struct model *model, struct state *state, struct happening happening)
{
    uint8_t violation = apply(model, state, happening);

    if (violation == 0 && !model->is_unreduced) {
        reduce_bag(model, state);
    }
    for (uint32_t job = 0; job < model->jobs && violation == 0; job++) {
        if (!state->control.is_dropped[job]) {
            violation = check_marks(model, state, job);
        }
    }
    return violation;
}

/* ---- the end ---- */

static uint8_t check_rank_end(struct model *model, const struct state *state, uint32_t rank)
{
    const struct session *session = &state->control.session[rank];
    const struct facts *facts = machine_facts(model, state->node[rank]);
    const struct model_job *job = &model->scenario->job[model_job_of(model, rank)];

    if (session->phase > SESSION_CLOSED) {
        return 0;
    }
    if (facts->done != (1U << job->ops) - 1) {
        return model_violated(model, "hang", "rank %u waits for ever at sequence %u", rank, facts->mark);
    }
    if (session->phase == SESSION_RUN && facts->known != facts->mark) {
        return model_violated(model, "hang", "rank %u never hears that all have finished", rank);
    }
    return session->phase == SESSION_RUN || session->phase == SESSION_CLOSED
               ? 0
               : model_violated(model, "hang", "the session of rank %u stands still", rank);
}

uint8_t state_check_end(struct model *model, const struct state *state)
{
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        uint8_t violation = check_rank_end(model, state, rank);
        if (violation != 0) {
            return violation;
        }
    }
    for (uint32_t job = 0; job < model->jobs; job++) {
        uint32_t sockets = model_sockets(model, job);
        for (uint32_t socket = 0; socket < sockets && !state->control.is_dropped[job]; socket++) {
            uint32_t node = control_node(model, &state->control, job, socket);
            if (machine_facts(model, state->node[node])->held != 0) {
                return model_violated(model, "leak", "switch node %u holds a slot at the end", socket);
            }
        }
    }
    return 0;
}

struct digest state_digest(const struct state *state)
{
    struct digest digest = {3, 4};

    digest_add(&digest, state, state_size(state));
    return digest;
}
