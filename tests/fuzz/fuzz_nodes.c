/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_nodes.c: bytes become a small world and a script of what happens in it, to the real nodes of switchml, panama or
 * ring: operations submitted, packets delivered in any order, lost, doubled, delayed and forged, timers, restarts,
 * deaths, caps, closes. The world, what can happen in it and what must hold at every step are those of tests/model,
 * which searches all short stories; this one tells long ones, and lies.
 *
 * After the script everything happens in its fair order, and must end: all operations done with the right sums, no slot
 * held. A forged packet with one thing wrong that every node can see (a NUISANCE) changes nothing of that. A LIE is a
 * real packet with any field changed, such as only a member of the job could send: the job may end or stand still, but
 * no wrong sum is delivered unless the lie was about the values themselves, no buffer is touched that is not lent, and
 * nothing crashes.
 *
 * A quorum's lists of ranks are lied about as well: who is in it, how many, how long it is, and who gave a part. No such
 * lie makes a wrong sum.
 *
 * The first SETTINGS bytes are the world; then each step is a byte, kind and place, and a forged packet takes two more.
 * FUZZ_TRACE=1 in the environment prints the script. Read next: model/model.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/model.h"
#include "schemes/schemes.h"

#define SETTINGS 16
#define STEPS_MAX 400 /* of a script */
#define FAIR_MAX 4000 /* steps behind it; a world that needs more hangs */
#define CROWD 8       /* with so many packets on their way the next step is a fair one */
#define REMEMBERED 16 /* packets that were on their way some time ago, to forge from */
#define TOLD_MAX 600  /* happenings of the story that a finding tells */
#define IN_FLIGHT 24  /* fragments of all ranks together at most */

struct script {
    struct model model;
    struct model_scenario scenario;
    struct state state;
    const uint8_t *bytes;
    size_t left;
    uint32_t remembered[REMEMBERED];
    uint32_t remembered_count;
    bool has_forged;
    bool has_lied;
    struct happening told[TOLD_MAX];
    size_t told_count;
};

static uint32_t next_byte(struct script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->bytes++;
}

/* ---- the world ---- */

/* Gives the last switches that nobody is behind to a rank; false when there are more of them than ranks can help. */
static bool fill_switches(struct model_job *job)
{
    for (uint32_t at = job->switches; at-- > 0;) {
        bool has_child = false;
        for (uint32_t other = 1; other < job->switches; other++) {
            has_child |= other != at && job->parent[other] == at;
        }
        for (uint32_t rank = 0; rank < job->ranks; rank++) {
            has_child |= job->leaf[rank] == at;
        }
        if (!has_child) {
            job->leaf[at % job->ranks] = (uint8_t)at;
        }
    }
    for (uint32_t at = 0; at < job->switches; at++) {
        bool has_child = false;
        for (uint32_t other = 1; other < job->switches; other++) {
            has_child |= other != at && job->parent[other] == at;
        }
        for (uint32_t rank = 0; rank < job->ranks; rank++) {
            has_child |= job->leaf[rank] == at;
        }
        if (!has_child) {
            return false;
        }
    }
    return true;
}

static void choose_tree(struct script *script, struct model_job *job)
{
    uint32_t shape = next_byte(script);
    uint32_t leaves = next_byte(script);

    job->switches = 1 + shape % 3;
    shape /= 3;
    for (uint32_t at = 1; at < job->switches; at++) {
        job->parent[at] = (uint8_t)(shape % at);
        shape /= at;
    }
    for (uint32_t rank = 0; rank < job->ranks; rank++) {
        job->leaf[rank] = (uint8_t)((leaves >> 2 * rank & 3) % job->switches);
    }
    if (!fill_switches(job)) {
        job->switches = 1;
        memset(job->leaf, 0, sizeof job->leaf);
    }
}

static void choose_operations(struct script *script, struct model_job *job)
{
    static const enum trib_collective collectives[2][4] = {
        {TRIB_ALLREDUCE, TRIB_ALLREDUCE, TRIB_BROADCAST, TRIB_BARRIER},
        {TRIB_REDUCE, TRIB_ALLGATHER, TRIB_REDUCE_SCATTER, TRIB_ALLREDUCE}};
    uint32_t counts = next_byte(script);

    job->ops = 1 + counts % MODEL_OPS;
    for (uint32_t op = 0; op < job->ops; op++) {
        uint32_t choice = next_byte(script);
        job->op[op].collective = collectives[counts >> 7][choice & 3];
        job->op[op].elements = 1 + (choice >> 2) % (MODEL_BUFFER / 4 - 1);
        job->op[op].root = (counts >> 2) % job->ranks;
        if (job->op[op].collective == TRIB_BARRIER) {
            job->op[op].elements = 0;
        } else if (counts >> 7 != 0) { /* of shares: as many for each rank */
            job->op[op].elements += (job->ranks - job->op[op].elements % job->ranks) % job->ranks;
        }
    }
}

static void choose_budgets(struct script *script)
{
    struct model_scenario *s = &script->scenario;
    uint32_t faults = next_byte(script);

    s->budget[BUDGET_LOSS] = UINT8_MAX;
    s->budget[BUDGET_DUPLICATE] = UINT8_MAX;
    s->budget[BUDGET_EARLY] = UINT8_MAX;
    s->budget[BUDGET_RESTART] = faults & 3;
    s->budget[BUDGET_DEATH] = faults >> 2 & 1;
    /* Who leaves without waiting for the others takes what a restart has destroyed along. */
    s->budget[BUDGET_LINGER] = s->budget[BUDGET_RESTART] == 0 ? faults >> 3 & 1 : 0;
    s->closes = (faults >> 4 & 1) != 0;
    s->session_marks = (faults >> 5 & 1) != 0;
    /* In a tree a result of another incarnation need not fit; there ids never repeat (docs/DECISIONS.md). */
    s->same_boot = (faults >> 6 & 1) != 0 && s->job[0].switches == 1 && s->job[1].switches <= 1;
    s->time = faults >> 7 & 1 ? MODEL_TIME_LEAPS : MODEL_TIME_TICKS;
}

/* Ranks that send to each other. Their control plane, which would end a wait for one that has left, is not in these
 * worlds. */
static void make_ring(struct model_scenario *s, bool has_groups)
{
    if (has_groups) {
        s->group = s->job[0].ranks % 2 == 0 ? 2 : 1;
    }
    s->has_peers = s->session_marks = true;
    s->roots = s->job[0].switches = 1;
    memset(s->job[0].leaf, 0, sizeof s->job[0].leaf);
    s->budget[BUDGET_RESTART] = s->budget[BUDGET_LINGER] = 0;
}

/* Switches that divide their memory anew at any time. */
static void make_capped(struct model_scenario *s)
{
    s->slots = 4;
    s->cap = 1;
    s->budget[BUDGET_CAP] = UINT8_MAX;
    s->time = MODEL_TIME_STILL;
}

/* Sums that may lack ranks: of floats as they are. */
static void make_quorum(struct model_scenario *s, uint32_t part)
{
    s->quorum = part != 0 ? 1 : 2;
    s->quorum_of = part != 0 ? 2 : 3;
    s->type = s->wire = TRIB_FLOAT32;
}

static void choose_world(struct script *script)
{
    static const enum trib_type wires[4] = {TRIB_FLOAT32, TRIB_INT32, TRIB_FLOAT32, TRIB_FLOAT32};
    struct model_scenario *s = &script->scenario;
    uint32_t sizes = next_byte(script);
    uint32_t form = next_byte(script);
    uint32_t jobs = (form >> 3 & 3) == 3 ? 2 : 1;

    s->name = "script";
    s->about = "what the bytes say";
    s->slots = 1 + (sizes & 3);
    s->window = 1 + (sizes >> 2 & 3);
    s->train = 1 + (sizes >> 5 & 1);
    s->operations = 1 + (sizes >> 6 & 1);
    s->wire = wires[form & 3];
    s->type = (form & 3) < 2 ? TRIB_FLOAT32 : TRIB_INT32;
    s->in_place = (form >> 2 & 1) != 0;
    s->roots = jobs == 1 ? 1 + (sizes >> 4 & 1) : 1;
    s->weight[0] = (uint8_t)(1 + 2 * (sizes >> 7 & 1));
    s->weight[1] = (uint8_t)(1 + (form >> 2 & 1));
    s->sharing = jobs == 1 ? SHARING_NOTHING : (enum model_sharing)((form >> 5) % 3);
    s->job[0].ranks = jobs == 2 ? 2 : 2 + next_byte(script) % 3;
    s->job[1].ranks = jobs == 2 ? 2 : 0;
    for (uint32_t job = 0; job < jobs; job++) {
        choose_tree(script, &s->job[job]);
        if (s->sharing == SHARING_SWAP) { /* whose switches all restart at once */
            s->job[job].switches = 1;
            memset(s->job[job].leaf, 0, sizeof s->job[job].leaf);
        }
        choose_operations(script, &s->job[job]);
    }
    choose_budgets(script);
    if (jobs == 1 && form >> 5 == 7) {
        make_ring(s, s->roots == 2);
    } else if (jobs == 1 && form >> 5 == 6) {
        make_capped(s);
    } else if (jobs == 1 && form >> 5 >= 4) {
        make_quorum(s, form >> 5 & 1);
    }
    s->closes |= s->sharing == SHARING_HEIR; /* who inherits waits for that */
    s->window = s->window > s->slots ? s->slots : s->window;
    while (s->window * s->roots * 4 > IN_FLIGHT) {
        s->window--;
    }
}

/* ---- forged packets ---- */

static void remember(struct script *script)
{
    const struct state *state = &script->state;

    if (state->count != 0) {
        script->remembered[script->remembered_count++ % REMEMBERED] = state->bag[state->count - 1];
    }
}

/* What every node can see to be wrong: it is for somebody else, or of another time. */
static void spoil(struct trib_packet *packet, uint32_t how)
{
    switch (how % 3) {
    case 0:
        packet->communicator ^= 0x100U << (how & 7);
        return;
    case 1:
        packet->generation ^= (uint16_t)(1U << (how & 15));
        return;
    default:
        packet->boot ^= 0x10000U << (how & 15);
        return;
    }
}

/* A field that says what the values are, or a byte of them. */
static void lie_about_values(struct trib_packet *packet, uint8_t *payload, uint32_t how, uint32_t what)
{
    switch (how % 4) {
    case 0:
        packet->exponent = (int16_t)(what - 128);
        return;
    case 1:
        packet->type = (uint8_t)(what % TRIB_TYPE_COUNT);
        return;
    case 2:
        packet->reduction = (uint8_t)(what % TRIB_REDUCTION_COUNT);
        return;
    default:
        if (packet->payload_len != 0) {
            payload[what % packet->payload_len] ^= (uint8_t)(1U << (how >> 2 & 7));
        }
        return;
    }
}

static void lie_about_list(struct trib_packet *packet, uint8_t *payload, uint32_t what)
{
    uint8_t *list = payload + packet->payload_len - MODEL_LIST;
    uint32_t rank = what < 192 ? what % MODEL_RANKS : 8 * (what % MODEL_LIST) + what % 8;

    if ((packet->flags & TRIB_FLAG_QUORUM) != 0 && packet->payload_len > MODEL_LIST) {
        list[rank / 8] ^= (uint8_t)(1U << rank % 8);
        packet->contributors = (uint16_t)(packet->contributors + (list[rank / 8] >> rank % 8 & 1 ? 1 : -1));
    }
}

static void lie(struct script *script, struct trib_packet *packet, uint8_t *payload, struct stimulus *s, uint32_t how,
                uint32_t what)
{
    switch (how % (script->scenario.quorum_of != 0 ? 17 : 14)) { /* 8: as it is; another attempt cannot be sent */
    case 0:
        packet->sequence += what < 128 ? what & 7 : UINT64_C(1) << (what & 31);
        return;
    case 1:
        packet->sequence -= packet->sequence < (what & 7) ? packet->sequence : what & 7;
        return;
    case 2:
        packet->mark += what < 128 ? what & 7 : UINT64_C(1) << (what % 30);
        return;
    case 3:
        packet->mark -= packet->mark < (what & 7) ? packet->mark : what & 7;
        return;
    case 4:
        packet->lane = what == 0 ? 0 : packet->lane ^ UINT64_C(1) << (what & 63);
        return;
    case 5:
        packet->digest ^= 1U << (what & 31);
        return;
    case 6:
        packet->flags ^= (uint16_t)(1U << what % 7);
        return;
    case 7:
        packet->contributors = (uint16_t)what;
        return;
    case 8:
        return;
    case 9:
        packet->last_rank = (uint16_t)what;
        return;
    case 10:
        packet->bitmap = what == 0 ? 0 : packet->bitmap ^ UINT64_C(1) << (what & 63);
        return;
    case 11:
        packet->kind = (uint8_t)(1 + what % (TRIB_PATH - 1)); /* the driver keeps path packets to itself */
        return;
    case 12:
        packet->payload_len = (uint16_t)(what % (packet->payload_len + 1U));
        return;
    case 14:
        packet->node = (uint16_t)(what < 240 ? what % (MODEL_RANKS + 1) : what << 8);
        return;
    case 15: /* somebody is in who is not, or the other way round, and the count agrees with that */
        lie_about_list(packet, payload, what);
        return;
    case 16:
        packet->payload_len = (uint16_t)(MODEL_LIST + what % (MODEL_PAYLOAD + 1));
        packet->payload = payload;
        packet->flags ^= what >> 7 != 0 ? TRIB_FLAG_QUORUM : 0;
        return;
    default: /* as from somebody else of the job at the same node */
        if (s->to >= MODEL_RANKS && s->from != FROM_PARENT) {
            uint32_t at = (s->to - MODEL_RANKS) / script->scenario.roots;
            s->from = (uint8_t)(what % script->model.children[s->job][at]);
        }
        return;
    }
}

/* Kinds without payload have none. */
static void fit(struct trib_packet *packet)
{
    bool may = packet->kind == TRIB_CONTRIBUTION || packet->kind == TRIB_RESULT || packet->kind == TRIB_OFFER ||
               packet->kind == TRIB_FLOW;

    if (!may) {
        packet->payload_len = 0;
    }
    if (packet->payload_len == 0) {
        packet->payload = NULL;
    }
    if (packet->sequence > packet->mark + INT32_MAX) {
        packet->mark = packet->sequence - INT32_MAX;
    }
    if (packet->mark > packet->sequence + INT32_MAX) {
        packet->mark = packet->sequence + INT32_MAX;
    }
}

static void put(struct script *script, const struct stimulus *forged)
{
    struct state *state = &script->state;
    uint32_t stimulus = store_stimulus(script->model.store, forged);
    uint32_t i = state->count++;

    for (; i > 0 && state->bag[i - 1] > stimulus; i--) {
        state->bag[i] = state->bag[i - 1];
    }
    state->bag[i] = stimulus;
    script->has_forged = true;
}

/* What somebody who lies is forgiven: words of model_violated. `mark` too, since M is what its members say. */
static void forgive(struct script *script, bool about_values)
{
    static const char most[] = "lane list digest shape unasked window mark failed hang leak submit storm repeat";
    static const char all[] = "lane list digest shape unasked window mark failed hang leak submit storm repeat oracle";

    if (script->model.forgiven != all) {
        script->model.forgiven = about_values ? all : most;
    }
    script->has_lied = true;
}

static void forge(struct script *script, uint32_t which)
{
    const struct state *state = &script->state;
    uint32_t how = next_byte(script);
    uint32_t what = next_byte(script);
    uint32_t known = script->remembered_count < REMEMBERED ? script->remembered_count : REMEMBERED;
    struct trib_packet packet;
    uint8_t payload[MODEL_PAYLOAD + MODEL_LIST] = {0};

    if ((known == 0 && state->count == 0) || state->count > CROWD) {
        return;
    }
    bool is_old = state->count == 0 || (which >= 8 && known != 0);
    uint32_t id = is_old ? script->remembered[which % known] : state->bag[which % state->count];
    struct stimulus s = *store_stimulus_at(script->model.store, id);
    if (trib_packet_decode(s.wire, s.len, &packet) != TRIB_DROP_NONE) {
        abort();
    }
    if (packet.payload_len != 0) {
        memcpy(payload, packet.payload, packet.payload_len);
        packet.payload = payload;
    }
    if (how < 64) {
        spoil(&packet, what);
    } else if (how < 96) {
        lie_about_values(&packet, payload, how, what);
        forgive(script, true);
    } else {
        lie(script, &packet, payload, &s, how, what);
        forgive(script, false);
    }
    fit(&packet);
    if (!trib_packet_can_encode(&packet)) {
        return;
    }
    trib_packet_encode(&packet, s.wire);
    memcpy(s.wire + TRIB_HEADER_SIZE, payload, packet.payload_len);
    s.len = (uint16_t)(TRIB_HEADER_SIZE + packet.payload_len);
    if (trib_packet_decode(s.wire, s.len, &packet) == TRIB_DROP_NONE) {
        put(script, &s);
    }
}

/* ---- steps ---- */

/* Tells the story so far, as tests/model does, which cannot tell of forged packets. */
static _Noreturn void stop(struct script *script, const char *word, const char *text)
{
    fprintf(stderr, "VIOLATED %s%s: %s\n", word, script->has_lied ? " (after a lie)" : "", text);
    if (getenv("FUZZ_TRACE") != NULL && !script->has_forged) {
        trace_print(&script->model, script->told, script->told_count);
        (void)fflush(stdout);
    }
    abort();
}

static void found(struct script *script, uint8_t violation)
{
    const struct violation *v = &script->model.violation[violation - 1];

    /* What is so wrong that it cannot be sent costs a packet in the driver (src/switchd), and is no node's fault after
     * a lie. */
    if (script->has_lied && strcmp(v->word, "encode") == 0) {
        return;
    }
    stop(script, v->word, v->text);
}

/* False: the world has ended. */
static bool take(struct script *script, struct happening happening)
{
    remember(script);
    if (script->told_count < TOLD_MAX) {
        script->told[script->told_count++] = happening;
    }
    uint8_t violation = state_apply(&script->model, &script->state, happening);
    if (violation != 0) {
        found(script, violation);
    }
    return violation == 0;
}

/* The kinds of happenings that a step may ask for, by the upper half of its byte: from first to last. */
static const uint8_t asked[16][2] = {
    [0] = {HAPPENS_DELIVER, HAPPENS_DELIVER}, [1] = {HAPPENS_DELIVER, HAPPENS_DELIVER},
    [2] = {HAPPENS_DELIVER, HAPPENS_DELIVER}, [3] = {HAPPENS_SUBMIT, HAPPENS_SUBMIT},
    [4] = {HAPPENS_LOSE, HAPPENS_LOSE},       [5] = {HAPPENS_LOSE, HAPPENS_LOSE},
    [6] = {HAPPENS_DOUBLE, HAPPENS_DOUBLE},   [7] = {HAPPENS_DOUBLE, HAPPENS_DOUBLE},
    [8] = {HAPPENS_TIMER, HAPPENS_TIMER},     [9] = {HAPPENS_EARLY, HAPPENS_EARLY},
    [10] = {HAPPENS_TICK, HAPPENS_TICK},      [11] = {HAPPENS_RESTART, HAPPENS_CAP},
    [12] = {HAPPENS_END, HAPPENS_MARK_DOWN},  [13] = {HAPPENS_END, HAPPENS_ROUND},
};

static struct happening choose(const struct happenings *list, uint32_t byte)
{
    const uint8_t *range = asked[byte >> 4];
    uint32_t fit_count = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        fit_count += list->at[i].kind >= range[0] && list->at[i].kind <= range[1];
    }
    uint32_t wanted = fit_count == 0 ? 0 : (byte & 15) % fit_count;
    for (uint32_t i = 0; i < list->count && fit_count != 0; i++) {
        if (list->at[i].kind >= range[0] && list->at[i].kind <= range[1] && wanted-- == 0) {
            return list->at[i];
        }
    }
    return list->at[0];
}

static bool run_script(struct script *script)
{
    struct happenings list;

    for (uint32_t steps = 0; script->left > 0 && steps < STEPS_MAX; steps++) {
        uint32_t byte = next_byte(script);
        if (byte >> 4 >= 14) {
            forge(script, byte & 15);
            continue;
        }
        state_list(&script->model, &script->state, &list);
        if (list.count == 0) {
            continue;
        }
        if (!take(script, script->state.count > CROWD ? list.at[0] : choose(&list, byte))) {
            return false;
        }
    }
    return true;
}

/* ---- the end ---- */

static bool is_same(struct digest a, struct digest b)
{
    return a.a == b.a && a.b == b.b;
}

/* In the fair order, until nothing more can happen. */
static bool run_to_end(struct script *script)
{
    struct happenings list;

    for (uint32_t steps = 0; steps < FAIR_MAX; steps++) {
        struct digest before = state_digest(&script->state);
        state_list(&script->model, &script->state, &list);
        if (list.count == 0 || !happening_is_fair(list.at[0])) {
            return true;
        }
        if (!take(script, list.at[0])) {
            return false;
        }
        if (is_same(before, state_digest(&script->state))) {
            return true;
        }
    }
    if (!script->has_lied) {
        stop(script, "hang", "not at its end after so many fair steps");
    }
    return false;
}

static void run(struct script *script)
{
    uint8_t violation = control_begin(&script->model, &script->state);

    if (violation != 0) {
        found(script, violation);
    }
    if (run_script(script) && run_to_end(script) && !script->has_lied) {
        violation = state_check_end(&script->model, &script->state);
        if (violation != 0) {
            found(script, violation);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct script script;

    if (size < SETTINGS) {
        return -1;
    }
    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    choose_world(&script);
    script.model.is_unreduced = true;
    const char *peers = scenario_scheme(&script.scenario);
    model_open(&script.model, trib_scheme_find(peers != NULL ? peers : "switchml"), &script.scenario);
    run(&script);
    model_close(&script.model);
    return 0;
}
