/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: the control plane as nodes see it: sessions that are reliable and keep their order, one step at a time and
 * one switch after another. A restart of a switch ends this incarnation of the tree: the other switches hear it one by
 * one, ranks notice it in their own time; when all have, REGISTER climbs from switch to switch, and when all have
 * arrived at the root READY comes down.
 *
 * Left out, because it tells nodes nothing: JOIN, WELCOME and path probes (a rank that has noticed and waits stands for
 * its JOIN), but for the child numbers that the probes bring: a node is told its own when it begins, later, or never.
 * A switch's nodes are opened anew when it hears of the restart, which is early, but nothing gets in before all have
 * registered. When operations differ, ranks are not asked what they run before the job is ended: nodes hear nothing of
 * that either. Marks by the session are told as the largest so far: a later one overtakes nothing that mattered.
 * Read next: state.c. */
#include <string.h>

#include "core/slot.h"
#include "model.h"

/* ---- who is where ---- */

static struct session *session_at(struct state *state, uint32_t rank)
{
    return &state->control.session[rank];
}

static const struct session *session_of(const struct state *state, uint32_t rank)
{
    return &state->control.session[rank];
}

uint32_t control_node(const struct model *model, const struct control *control, uint32_t job, uint32_t socket)
{
    uint32_t region = job;

    if (model->scenario->sharing == SHARING_HEIR || model_is_combiner(model, socket)) {
        region = 0;
    } else if (model->scenario->sharing == SHARING_SWAP) {
        region = job ^ (control->incarnation[0][0] & 1U);
    }
    return model->ranks + region * model->sockets + socket;
}

static uint8_t tell_switch(struct model *model, struct state *state, uint32_t job, uint32_t at,
                           const struct stimulus *stimulus)
{
    struct stimulus told = *stimulus;
    uint8_t violation = 0;

    told.job = (uint8_t)(model->scenario->rows != 0 ? job : 0); /* all jobs share a combiner's machine */
    for (uint32_t root = 0; root < model->scenario->roots && model->sockets != 0 && violation == 0; root++) {
        uint32_t node = control_node(model, &state->control, job, at * model->scenario->roots + root);
        violation = state_tell(model, state, node, &told);
    }
    return violation;
}

/* who: a rank, or MODEL_RANKS + switch. */
static bool is_told(const struct model *model, uint32_t job, uint32_t who)
{
    return model->scenario->has_numbers && job == 0 && (model->scenario->untold >> who & 1) == 0;
}

/* Its child number at the switch above. */
static uint8_t tell_number(struct model *model, struct state *state, uint32_t who)
{
    struct stimulus number = {.kind = STIMULUS_NUMBER};

    if (who < MODEL_RANKS) {
        number.a = scenario_child(model, 0, model->path[0][who][0], who);
        return state_tell(model, state, who, &number);
    }
    number.a = scenario_child(model, 0, model->scenario->job[0].parent[who - MODEL_RANKS], who);
    return tell_switch(model, state, 0, who - MODEL_RANKS, &number);
}

static uint8_t open_switch(struct model *model, struct state *state, uint32_t job, uint32_t at)
{
    struct stimulus init = {.kind = STIMULUS_INIT, .a = state->control.incarnation[job][at], .b = job};
    uint8_t violation = tell_switch(model, state, job, at, &init);

    return violation == 0 && at != 0 && is_told(model, job, MODEL_RANKS + at)
               ? tell_number(model, state, MODEL_RANKS + at)
               : violation;
}

/* M as the control plane of the root knows it: of all shards. */
static uint8_t root_mark(const struct model *model, const struct state *state, uint32_t job)
{
    uint8_t lowest = UINT8_MAX;

    for (uint32_t i = 0; i < model->scenario->job[job].ranks && model->sockets == 0; i++) {
        const struct session *session = session_of(state, model->first_rank[job] + i);
        lowest = session->heard[0] < lowest ? session->heard[0] : lowest; /* nobody knows more than what was told */
    }
    for (uint32_t root = 0; root < model->scenario->roots && model->sockets != 0; root++) {
        uint32_t node = control_node(model, &state->control, job, root);
        uint8_t known = machine_facts(model, state->node[node])->known;
        lowest = known < lowest ? known : lowest;
    }
    return lowest;
}

static bool is_settled(const struct model *model, const struct state *state, uint32_t job)
{
    for (uint32_t at = 1; at < model->scenario->job[job].switches; at++) {
        if (state->control.incarnation[job][at] != state->control.incarnation[job][0]) {
            return false;
        }
    }
    return state->control.is_dropped[job] == 0;
}

static bool is_idle(const struct model *model, const struct state *state, uint32_t rank)
{
    const struct facts *facts = machine_facts(model, state->node[rank]);

    return (uint32_t)__builtin_popcount(facts->done) == facts->submitted;
}

static bool has_finished(const struct model *model, const struct state *state, uint32_t rank)
{
    const struct facts *facts = machine_facts(model, state->node[rank]);

    return is_idle(model, state, rank) && facts->submitted == model->scenario->job[model_job_of(model, rank)].ops;
}

/* How many of the job's ranks are in this phase. */
static uint32_t count_phase(const struct model *model, const struct state *state, uint32_t job,
                            enum session_phase phase)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
        count += session_of(state, model->first_rank[job] + i)->phase == phase;
    }
    return count;
}

/* ---- the end of an incarnation, and the next ---- */

static void cut_ranks(const struct model *model, struct state *state, uint32_t job, uint32_t at)
{
    for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
        struct session *session = session_at(state, model->first_rank[job] + i);
        if (model->scenario->job[job].leaf[i] != at || session_is_over(session)) {
            continue;
        }
        session->phase = session->phase == SESSION_RUN || session->phase == SESSION_CUT ? SESSION_CUT : SESSION_OUT;
        session->hop = 0;
        memset(session->heard, 0, sizeof session->heard);
        memset(session->down, 0, sizeof session->down);
    }
}

/* A switch dies and is back at once, for all jobs; or the control plane ends an incarnation of the first job alone. */
static uint8_t restart(struct model *model, struct state *state, uint32_t at)
{
    uint32_t jobs = model->scenario->is_alone ? 1 : model->jobs;
    uint8_t violation = 0;

    state->control.budget[BUDGET_RESTART]--;
    for (uint32_t job = 0; job < jobs; job++) {
        if (at < model->scenario->job[job].switches && !state->control.is_dropped[job]) {
            state->control.incarnation[job][at]++;
            cut_ranks(model, state, job, at);
        }
    }
    for (uint32_t job = 0; job < jobs && violation == 0; job++) {
        if (at < model->scenario->job[job].switches && !state->control.is_dropped[job]) {
            violation = open_switch(model, state, job, at);
        }
    }
    return violation;
}

/* The incarnation of a neighbour in the tree, where it is newer. */
static uint8_t newer_neighbour(const struct model *model, const struct state *state, uint32_t job, uint32_t at)
{
    const struct model_job *j = &model->scenario->job[job];
    const uint8_t *incarnation = state->control.incarnation[job];
    uint8_t newest = incarnation[at];

    for (uint32_t other = 0; other < j->switches; other++) {
        bool is_near = (other != 0 && j->parent[other] == at) || (at != 0 && j->parent[at] == other);
        newest = is_near && incarnation[other] > newest ? incarnation[other] : newest;
    }
    return newest > incarnation[at] ? newest : 0;
}

static uint8_t end_switch(struct model *model, struct state *state, uint32_t job, uint32_t at)
{
    state->control.incarnation[job][at] = newer_neighbour(model, state, job, at);
    cut_ranks(model, state, job, at);
    return open_switch(model, state, job, at);
}

/* ---- registration ---- */

/* All ranks have noticed and are back. */
static bool is_returning(const struct model *model, const struct state *state, uint32_t job)
{
    return is_settled(model, state, job) &&
           count_phase(model, state, job, SESSION_OUT) + count_phase(model, state, job, SESSION_REGISTERING) ==
               model->scenario->job[job].ranks;
}

/* Tells a switch the mark of the child that the rank is behind: the minimum of the ranks there, if all have told
 * theirs. */
static uint8_t join(struct model *model, struct state *state, uint32_t rank, uint32_t hop)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t own = rank - model->first_rank[job];
    uint32_t at = model->path[job][own][hop];
    bool is_child = hop == 0 || model->scenario->rows != 0;
    uint32_t child = is_child ? own : MODEL_RANKS + model->path[job][own][hop - 1];
    uint64_t behind = is_child ? UINT64_C(1) << own : model->behind[job][child - MODEL_RANKS];
    struct stimulus stimulus = {.kind = STIMULUS_JOIN, .b = UINT8_MAX};

    for (uint64_t bits = behind; bits != 0; bits &= bits - 1) {
        uint32_t i = trib_lowest(bits);
        const struct session *session = session_of(state, model->first_rank[job] + i);
        /* Ranks behind one child may stand at different depths below it, so count from the root. */
        uint32_t from_root = model->depth[job][own] - hop;
        uint32_t its_hop = model->depth[job][i] - from_root;
        if (session->phase == SESSION_REGISTERING && session->hop <= its_hop) {
            return 0;
        }
        stimulus.b = session->heard[its_hop] < stimulus.b ? session->heard[its_hop] : stimulus.b;
    }
    stimulus.a = scenario_child(model, job, at, child);
    return tell_switch(model, state, job, at, &stimulus);
}

static void make_ready(const struct model *model, struct state *state, uint32_t job)
{
    for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
        const struct session *session = session_of(state, model->first_rank[job] + i);
        if (session->phase != SESSION_REGISTERING || session->hop < model->depth[job][i]) {
            return;
        }
    }
    state->control.ready_mark[job] = root_mark(model, state, job);
    for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
        struct session *session = session_at(state, model->first_rank[job] + i);
        session->phase = SESSION_READYING;
        session->hop = (uint8_t)(model->depth[job][i] - 1);
    }
}

static uint8_t climb(struct model *model, struct state *state, uint32_t rank)
{
    uint32_t job = model_job_of(model, rank);
    struct session *session = session_at(state, rank);
    uint32_t hop = session->phase == SESSION_OUT ? 0 : session->hop;

    session->phase = SESSION_REGISTERING;
    session->hop = (uint8_t)(hop + 1);
    session->heard[hop] = machine_facts(model, state->node[rank])->mark;
    uint8_t violation = join(model, state, rank, hop);
    make_ready(model, state, job);
    return violation;
}

static uint8_t come_down(struct model *model, struct state *state, uint32_t rank)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t own = rank - model->first_rank[job];
    struct session *session = session_at(state, rank);
    struct stimulus stimulus = {.kind = STIMULUS_LEARN, .b = state->control.ready_mark[job]};

    if (session->hop > 0) {
        session->hop--;
        return tell_switch(model, state, job, model->path[job][own][session->hop], &stimulus);
    }
    session->phase = SESSION_RUN;
    stimulus.kind = STIMULUS_REGISTERED;
    stimulus.a = state->control.incarnation[job][model->path[job][own][0]];
    return state_tell(model, state, rank, &stimulus);
}

/* ---- marks ---- */

static uint8_t mark_of(const struct model *model, const struct state *state, uint32_t rank)
{
    const struct session *session = session_of(state, rank);

    return session_is_over(session) ? session->mark : machine_facts(model, state->node[rank])->mark;
}

static bool can_mark_climb(const struct model *model, const struct state *state, uint32_t rank, uint32_t hop)
{
    uint32_t job = model_job_of(model, rank);
    const struct session *session = session_of(state, rank);

    if (!is_settled(model, state, job) || hop >= model->depth[job][rank - model->first_rank[job]]) {
        return false;
    }
    if (hop > 0) {
        return (session->phase == SESSION_RUN || session->phase == SESSION_CLOSED) &&
               session->heard[hop - 1] > session->heard[hop];
    }
    return session->phase == SESSION_RUN && (model->scenario->session_marks || session->closing) &&
           is_idle(model, state, rank) && mark_of(model, state, rank) > session->heard[0];
}

static uint8_t mark_climbs(struct model *model, struct state *state, uint32_t rank, uint32_t hop)
{
    struct session *session = session_at(state, rank);

    session->heard[hop] = hop > 0 ? session->heard[hop - 1] : mark_of(model, state, rank);
    return join(model, state, rank, hop);
}

/* M for hop: what has come down so far; the root's switch is where it is known. */
static uint8_t mark_above(const struct model *model, const struct state *state, uint32_t rank, uint32_t hop)
{
    uint32_t job = model_job_of(model, rank);
    bool is_root = hop + 1 == model->depth[job][rank - model->first_rank[job]];

    return is_root ? root_mark(model, state, job) : session_of(state, rank)->down[hop + 1];
}

/* M comes down to those that have told a mark which it had not reached. */
static bool can_mark_come(const struct model *model, const struct state *state, uint32_t rank, uint32_t hop)
{
    uint32_t job = model_job_of(model, rank);
    uint32_t depth = model->depth[job][rank - model->first_rank[job]];
    const struct session *session = session_of(state, rank);

    if (!is_settled(model, state, job) || session->phase != SESSION_RUN || hop >= depth) {
        return false;
    }
    if (hop + 1 == depth && session->heard[hop] <= session->down[hop]) {
        return false;
    }
    return (model->scenario->session_marks || session->closing) &&
           mark_above(model, state, rank, hop) > session->down[hop];
}

static uint8_t mark_comes(struct model *model, struct state *state, uint32_t rank, uint32_t hop)
{
    uint32_t job = model_job_of(model, rank);
    struct session *session = session_at(state, rank);
    struct stimulus stimulus = {.kind = STIMULUS_LEARN, .b = mark_above(model, state, rank, hop)};

    session->down[hop] = (uint8_t)stimulus.b;
    if (hop > 0) {
        return tell_switch(model, state, job, model->path[job][rank - model->first_rank[job]][hop - 1], &stimulus);
    }
    return state_tell(model, state, rank, &stimulus);
}

/* ---- ends ---- */

static void leave(const struct model *model, struct state *state, uint32_t rank, enum session_phase phase)
{
    struct session *session = session_at(state, rank);

    session->mark = mark_of(model, state, rank);
    session->phase = (uint8_t)phase;
}

/* The switch has lost what it knew, and a rank that had finished the lowest sequence has left since: only its OFFER, or
 * that of another who has finished it, could have helped. Sessions end such a wait after some seconds of STALL. */
static bool is_hopeless(const struct model *model, const struct state *state, uint32_t job)
{
    uint32_t lowest = UINT8_MAX;
    uint32_t highest = 0; /* of those that are still there */
    uint32_t left = 0;    /* highest of those that are not */

    for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
        uint32_t rank = model->first_rank[job] + i;
        uint32_t mark = mark_of(model, state, rank);
        if (session_of(state, rank)->phase == SESSION_CLOSED) {
            left = mark > left ? mark : left;
        } else {
            highest = mark > highest ? mark : highest;
            lowest = mark < lowest ? mark : lowest;
        }
    }
    if (model->sockets == 0) {
        return false;
    }
    uint32_t root = state->node[control_node(model, &state->control, job, 0)];
    return left > lowest && highest == lowest && is_settled(model, state, job) &&
           machine_facts(model, root)->lacks_lowest && machine_facts(model, root)->known == lowest;
}

/* A switch has told its control plane that operations differ, and no restart has come between. */
static bool is_disputed(const struct model *model, const struct state *state, uint32_t job)
{
    uint32_t sockets = model->scenario->job[job].switches * model->scenario->roots;

    for (uint32_t socket = 0; socket < sockets && model->scenario->job[job].others != 0; socket++) {
        if (machine_facts(model, state->node[control_node(model, &state->control, job, socket)])->is_disputed) {
            return true;
        }
    }
    return false;
}

/* A rank is dead; or operations differ; or one has closed that the others would need; or all have gone. */
static bool must_drop(const struct model *model, const struct state *state, uint32_t job)
{
    uint32_t ranks = model->scenario->job[job].ranks;
    uint32_t closed = count_phase(model, state, job, SESSION_CLOSED);

    if (state->control.is_dropped[job] || count_phase(model, state, job, SESSION_ABSENT) != 0) {
        return false;
    }
    return count_phase(model, state, job, SESSION_DEAD) != 0 || is_disputed(model, state, job) ||
           (closed != 0 && closed + count_phase(model, state, job, SESSION_OUT) +
                                   count_phase(model, state, job, SESSION_REGISTERING) ==
                               ranks) ||
           (closed != 0 && is_hopeless(model, state, job));
}

static bool may_close(const struct model *model, const struct state *state, uint32_t rank)
{
    return model->scenario->closes && !session_of(state, rank)->closing && has_finished(model, state, rank);
}

/* The root has heard its CLOSE, and M has come that far or all have sent theirs. */
static bool is_closed(const struct model *model, const struct state *state, uint32_t rank)
{
    uint32_t job = model_job_of(model, rank);
    const struct session *session = session_of(state, rank);
    uint32_t depth = model->depth[job][rank - model->first_rank[job]];

    return session->closing && session->phase == SESSION_RUN && is_settled(model, state, job) &&
           session->heard[depth - 1] == mark_of(model, state, rank) &&
           root_mark(model, state, job) >= session->heard[depth - 1];
}

/* Has the control plane heard its CLOSE, so that its going is no death? One that went while the switch was away is
 * merely missed. */
static bool has_said_goodbye(const struct model *model, const struct state *state, uint32_t rank)
{
    const struct session *session = session_of(state, rank);
    bool is_away = session->phase == SESSION_CUT || session->phase == SESSION_OUT;

    return is_away || (session->phase == SESSION_RUN && session->heard[0] == mark_of(model, state, rank));
}

/* ---- beginnings ---- */

/* All at once, as nothing can happen to a job before READY. */
static uint8_t begin_job(struct model *model, struct state *state, uint32_t job)
{
    const struct model_job *j = &model->scenario->job[job];
    uint8_t violation = 0;

    for (uint32_t at = 0; at < j->switches && violation == 0; at++) {
        state->control.incarnation[job][at] = state->control.incarnation[0][0];
        violation = open_switch(model, state, job, at);
    }
    for (uint32_t i = 0; i < j->ranks && violation == 0; i++) {
        session_at(state, model->first_rank[job] + i)->phase = SESSION_OUT;
        violation = is_told(model, job, i) ? tell_number(model, state, i) : 0;
    }
    for (uint32_t i = 0; i < j->ranks && violation == 0; i++) {
        for (uint32_t hop = 0; hop < model->depth[job][i] && violation == 0; hop++) {
            violation = climb(model, state, model->first_rank[job] + i);
        }
    }
    for (uint32_t i = 0; i < j->ranks && violation == 0; i++) {
        while (session_of(state, model->first_rank[job] + i)->phase == SESSION_READYING && violation == 0) {
            violation = come_down(model, state, model->first_rank[job] + i);
        }
    }
    return violation;
}

uint8_t control_begin(struct model *model, struct state *state)
{
    uint8_t violation = 0;

    memset(state, 0, sizeof *state);
    memcpy(state->control.budget, model->scenario->budget, sizeof state->control.budget);
    for (uint32_t node = 0; node < model->nodes; node++) {
        state->node[node] = machine_initial(model, node);
    }
    state->control.incarnation[0][0] = 2; /* even: SHARING_SWAP begins unswapped */
    for (uint32_t job = 0; job < model->jobs && violation == 0; job++) {
        if (job == 1 && model->scenario->sharing == SHARING_HEIR) {
            for (uint32_t i = 0; i < model->scenario->job[job].ranks; i++) {
                session_at(state, model->first_rank[job] + i)->phase = SESSION_ABSENT;
            }
            state->control.is_dropped[job] = 1;
        } else {
            violation = begin_job(model, state, job);
        }
    }
    return violation;
}

/* The switch divides its memory anew: each job there may have so many fragments in flight. */
static uint8_t set_caps(struct model *model, struct state *state, uint32_t at, uint32_t fragments)
{
    struct stimulus stimulus = {.kind = STIMULUS_CAP, .a = (uint16_t)fragments};
    uint8_t violation = 0;

    state->control.budget[BUDGET_CAP]--;
    for (uint32_t job = 0; job < model->jobs && violation == 0; job++) {
        if (at < model->scenario->job[job].switches && !state->control.is_dropped[job]) {
            violation = tell_switch(model, state, job, at, &stimulus);
        }
    }
    return violation;
}

/* A combiner's pool is made anew, for all jobs. */
static uint8_t lose_rows(struct model *model, struct state *state, uint32_t at)
{
    struct stimulus stimulus = {.kind = STIMULUS_POOL};

    state->control.budget[BUDGET_POOL]--;
    return tell_switch(model, state, 0, at, &stimulus);
}

/* ---- what can happen ---- */

static void list_switches(const struct model *model, const struct state *state, uint32_t job, struct happenings *list)
{
    if (state->control.is_dropped[job]) {
        if (job == 1 && state->control.is_dropped[0] && count_phase(model, state, 1, SESSION_ABSENT) != 0) {
            happenings_add(list, HAPPENS_ARRIVE, job, 0);
        }
        return;
    }
    for (uint32_t at = 0; at < model->scenario->job[job].switches; at++) {
        if (newer_neighbour(model, state, job, at) != 0) {
            happenings_add(list, HAPPENS_END, job, at);
        }
    }
    if (must_drop(model, state, job)) {
        happenings_add(list, HAPPENS_DROP, job, 0);
    }
}

static void list_first(const struct model *model, const struct state *state, uint32_t rank, struct happenings *list)
{
    uint32_t job = model_job_of(model, rank);
    const struct session *session = session_of(state, rank);

    if (session_is_over(session)) {
        return;
    }
    if (state->control.is_dropped[job]) {
        happenings_add(list, HAPPENS_FAIL, rank, 0);
    } else if (session->phase == SESSION_CUT) {
        happenings_add(list, HAPPENS_NOTICE, rank, 0);
    } else if (session->phase == SESSION_READYING) {
        happenings_add(list, HAPPENS_READY, rank, 0);
    } else if (is_returning(model, state, job) && session->hop < model->depth[job][rank - model->first_rank[job]]) {
        happenings_add(list, HAPPENS_REGISTER, rank, 0);
    }
}

static void list_last(const struct model *model, const struct state *state, uint32_t rank, struct happenings *list)
{
    if (may_close(model, state, rank) && !session_is_over(session_of(state, rank))) {
        happenings_add(list, HAPPENS_CLOSE, rank, 0);
    }
    if (is_closed(model, state, rank)) {
        happenings_add(list, HAPPENS_CLOSED, rank, 0);
    }
    for (uint32_t hop = 0; hop < MODEL_DEPTH; hop++) {
        if (can_mark_climb(model, state, rank, hop)) {
            happenings_add(list, HAPPENS_MARK_UP, rank, hop);
        }
        if (can_mark_come(model, state, rank, hop)) {
            happenings_add(list, HAPPENS_MARK_DOWN, rank, hop);
        }
    }
}

static bool lacks_number(const struct model *model, const struct state *state, uint32_t who)
{
    uint32_t node =
        who < MODEL_RANKS ? who : control_node(model, &state->control, 0, (who - MODEL_RANKS) * model->scenario->roots);

    return (model->scenario->untold >> who & 1) != 0 && !machine_facts(model, state->node[node])->has_number;
}

static void list_faults(const struct model *model, const struct state *state, struct happenings *list)
{
    const uint8_t *budget = state->control.budget;
    uint32_t switches = model->sockets / model->scenario->roots;

    for (uint32_t at = 0; at < switches && budget[BUDGET_RESTART] != 0; at++) {
        happenings_add(list, HAPPENS_RESTART, 0, at);
    }
    for (uint32_t at = 1; at < switches && budget[BUDGET_POOL] != 0; at++) {
        happenings_add(list, HAPPENS_POOL, 0, at);
    }
    for (uint32_t who = 0; who < MODEL_RANKS + switches && budget[BUDGET_NUMBER] != 0; who++) {
        if (lacks_number(model, state, who)) {
            happenings_add(list, HAPPENS_NUMBER, who, 0);
        }
    }
    for (uint32_t at = 0; at < switches && budget[BUDGET_CAP] != 0; at++) {
        happenings_add(list, HAPPENS_CAP, model->scenario->cap, at);
        happenings_add(list, HAPPENS_CAP, model->scenario->slots / 2, at);
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        const struct session *session = session_of(state, rank);
        if (session_is_over(session)) {
            continue;
        }
        if (budget[BUDGET_DEATH] != 0 && model_job_of(model, rank) == 0) {
            happenings_add(list, HAPPENS_DIE, rank, 0);
        }
        if (budget[BUDGET_LINGER] != 0 && session->closing) {
            happenings_add(list, HAPPENS_LINGER, rank, 0);
        }
    }
}

void control_list(struct model *model, const struct state *state, enum control_stage stage, struct happenings *list)
{
    if (stage == CONTROL_FAULTS) {
        list_faults(model, state, list);
        return;
    }
    for (uint32_t job = 0; job < model->jobs && stage == CONTROL_FIRST; job++) {
        list_switches(model, state, job, list);
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        if (stage == CONTROL_FIRST) {
            list_first(model, state, rank, list);
        } else {
            list_last(model, state, rank, list);
        }
    }
}

uint8_t control_apply(struct model *model, struct state *state, struct happening happening)
{
    struct stimulus suspend = {.kind = STIMULUS_SUSPEND};

    switch (happening.kind) {
    case HAPPENS_END:
        return end_switch(model, state, happening.a, happening.b);
    case HAPPENS_NOTICE:
        session_at(state, happening.a)->phase = SESSION_OUT;
        return state_tell(model, state, happening.a, &suspend);
    case HAPPENS_REGISTER:
        return climb(model, state, happening.a);
    case HAPPENS_READY:
        return come_down(model, state, happening.a);
    case HAPPENS_DROP:
        state->control.is_dropped[happening.a] = 1;
        return 0;
    case HAPPENS_FAIL:
        leave(model, state, happening.a, SESSION_FAILED);
        return 0;
    case HAPPENS_ARRIVE:
        state->control.is_dropped[happening.a] = 0;
        return begin_job(model, state, happening.a);
    case HAPPENS_CLOSE:
        session_at(state, happening.a)->closing = 1;
        return 0;
    case HAPPENS_CLOSED:
        leave(model, state, happening.a, SESSION_CLOSED);
        return 0;
    case HAPPENS_MARK_UP:
        return mark_climbs(model, state, happening.a, happening.b);
    case HAPPENS_MARK_DOWN:
        return mark_comes(model, state, happening.a, happening.b);
    case HAPPENS_RESTART:
        return restart(model, state, happening.b);
    case HAPPENS_POOL:
        return lose_rows(model, state, happening.b);
    case HAPPENS_CAP:
        return set_caps(model, state, happening.b, happening.a);
    case HAPPENS_NUMBER:
        state->control.budget[BUDGET_NUMBER]--;
        return tell_number(model, state, happening.a);
    case HAPPENS_DIE:
        state->control.budget[BUDGET_DEATH]--;
        leave(model, state, happening.a, SESSION_DEAD);
        return 0;
    case HAPPENS_LINGER:
        state->control.budget[BUDGET_LINGER]--;
        leave(model, state, happening.a, has_said_goodbye(model, state, happening.a) ? SESSION_CLOSED : SESSION_DEAD);
        return 0;
    default:
        return 0;
    }
}
