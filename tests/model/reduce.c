/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: packets that are dead are taken from the bag at once. A packet is dead when its node drops it without a
 * trace now and will always do so: whether it comes now, later, twice or never is all the same. Most packets on their
 * way end like that, and each would double the number of states.
 *
 * That a packet is dead is a guess by its kind of drop, and is proven afterwards: for every state of the node that can
 * follow one in which the packet was taken away, by the steps that the search has seen, it is delivered and must change
 * nothing. A guess that fails is reported as a violation ("stale"): what was old once has mattered again. --unreduced
 * searches without all this.
 * Read next: state.c. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { DEAD_UNKNOWN = 0, DEAD_NO, DEAD_YES };

static bool changes_nothing(const struct step *step)
{
    return step->next == step->local && step->out_count == 0 && step->violation == 0;
}

/* A HELD that comes marked is news to who follows the network. */
static bool may_be_marked(const struct model *model)
{
    return model->scenario->budget[BUDGET_MARKED] != 0;
}

/* Old news for good: below M, a result that is there, or a boot that is over. Anything else that changes nothing now
 * may change something later: what is registered, or its turn, may come. */
static bool is_old_news(const struct model *model, const struct step *step, bool is_worker)
{
    const struct stimulus *s = store_stimulus_at(model->store, step->stimulus);
    struct trib_packet packet;

    (void)trib_packet_decode(s->wire, s->len, &packet);
    if (!is_worker && model_is_combiner(model, s->to - MODEL_RANKS)) { /* it drops what is in a row as well */
        return packet.sequence < machine_facts(model, step->local)->combined[s->job] || step->drop == TRIB_DROP_BOOT;
    }
    if (!is_worker) {
        return step->drop == TRIB_DROP_STALE;
    }
    if (model->scenario->cap != 0) {
        return packet.kind == TRIB_BOOT; /* all else says that the root does not rest */
    }
    const struct facts *facts = machine_facts(model, step->local);
    bool is_news = (packet.flags & TRIB_FLAG_RESEND) != 0 && packet.sequence >= facts->mark; /* of what was sent */
    return step->drop == TRIB_DROP_DUPLICATE || packet.kind == TRIB_BOOT ||
           (packet.kind == TRIB_HELD && step->drop == TRIB_DROP_NONE && !is_news && !may_be_marked(model)) ||
           (packet.kind == TRIB_FLOW_ACK && step->drop == TRIB_DROP_NONE) ||
           (packet.kind == TRIB_ASK && packet.bitmap == 0 && packet.sequence < facts->known);
}

/* A switch that may be opened anew has no such thing as for good. */
static bool is_for_good(const struct model *model, const struct state *state)
{
    for (uint32_t job = 0; job < model->jobs; job++) {
        for (uint32_t at = 1; at < model->scenario->job[job].switches; at++) {
            if (state->control.incarnation[job][at] != state->control.incarnation[job][0]) {
                return false;
            }
        }
    }
    return state->control.budget[BUDGET_RESTART] == 0 && !model->scenario->same_boot &&
           model->scenario->sharing != SHARING_HEIR;
}

static bool is_dead(struct model *model, const struct state *state, uint32_t stimulus)
{
    const struct stimulus *s = store_stimulus_at(model->store, stimulus);
    bool is_worker = s->to < MODEL_RANKS;

    if (is_worker ? session_is_over(&state->control.session[s->to]) : state->control.is_dropped[s->job]) {
        return is_worker || model->jobs == 1; /* nobody is there any more; but another job's node may get it */
    }
    if (!is_worker && !is_for_good(model, state)) {
        return false;
    }
    uint32_t node = is_worker ? s->to : control_node(model, &state->control, s->job, s->to - MODEL_RANKS);
    struct step step = machine_step(model, state->node[node], stimulus);
    if (step.dead == DEAD_UNKNOWN) {
        step.dead = changes_nothing(&step) && is_old_news(model, &step, is_worker) ? DEAD_YES : DEAD_NO;
        store_note_dead(model->store, &step);
    }
    return step.dead == DEAD_YES;
}

void reduce_bag(struct model *model, struct state *state)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < state->count; i++) {
        if (!is_dead(model, state, state->bag[i])) {
            state->bag[kept++] = state->bag[i];
        }
    }
    state->count = kept;
}

/* ---- the proof ---- */

/* For each state of a node the packets that were dead in a state before it, as bits. */
struct proof {
    struct model *model;
    uint32_t locals, words;
    uint64_t *dead;
    uint32_t *first; /* edges of a local state: first[l] to first[l + 1] */
    uint32_t *edge;
    uint32_t *work; /* states whose bits have grown */
    uint8_t *is_waiting;
    uint32_t waiting;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        exit(2);
    }
    return memory;
}

static void gather_edges(struct proof *proof)
{
    const struct store *store = proof->model->store;
    uint32_t steps = store_steps(store);

    for (uint32_t i = 0; i < steps; i++) {
        proof->first[store_step_at(store, i)->local + 1]++;
    }
    for (uint32_t i = 0; i < proof->locals; i++) {
        proof->first[i + 1] += proof->first[i];
    }
    for (uint32_t i = 0; i < steps; i++) {
        const struct step *step = store_step_at(store, i);
        proof->edge[proof->first[step->local]++] = step->next;
    }
    memmove(proof->first + 1, proof->first, proof->locals * sizeof *proof->first);
    proof->first[0] = 0;
}

static void wait(struct proof *proof, uint32_t local)
{
    if (!proof->is_waiting[local]) {
        proof->is_waiting[local] = 1;
        proof->work[proof->waiting++] = local;
    }
}

/* What was dead before a step is to be dead after it. */
static void spread(struct proof *proof)
{
    while (proof->waiting > 0) {
        uint32_t local = proof->work[--proof->waiting];
        const uint64_t *from = proof->dead + (size_t)local * proof->words;
        proof->is_waiting[local] = 0;
        for (uint32_t i = proof->first[local]; i < proof->first[local + 1]; i++) {
            uint64_t *to = proof->dead + (size_t)proof->edge[i] * proof->words;
            uint64_t grown = 0;
            for (uint32_t word = 0; word < proof->words; word++) {
                grown |= from[word] & ~to[word];
                to[word] |= from[word];
            }
            if (grown != 0) {
                wait(proof, proof->edge[i]);
            }
        }
    }
}

static uint8_t try_all(struct proof *proof)
{
    struct model *model = proof->model;

    for (uint32_t local = 0; local < proof->locals; local++) {
        for (uint32_t word = 0; word < proof->words; word++) {
            uint64_t bits = proof->dead[(size_t)local * proof->words + word];
            for (; bits != 0; bits &= bits - 1) {
                uint32_t stimulus = word * 64 + (uint32_t)__builtin_ctzll(bits);
                model->proven++;
                bool is_ignored = machine_ignores(model, local, stimulus) &&
                                  (!may_be_marked(model) || machine_ignores(model, local, marks_set(model, stimulus)));
                if (!is_ignored) {
                    const struct stimulus *s = store_stimulus_at(model->store, stimulus);
                    struct trib_packet packet;
                    (void)trib_packet_decode(s->wire, s->len, &packet);
                    return model_violated(model, "stale",
                                          "%s of sequence %u was dropped as old by node %u, and matters again later",
                                          trib_kind_name((enum trib_kind)packet.kind), (unsigned)packet.sequence,
                                          store_local(model->store, local)->node);
                }
            }
        }
    }
    return 0;
}

uint8_t reduce_prove(struct model *model)
{
    const struct store *store = model->store;
    uint32_t steps = store_steps(store);
    struct proof proof = {
        .model = model,
        .locals = store_locals(store),
        .words = (store_stimuli(store) + 63) / 64,
    };

    proof.dead = must(calloc((size_t)proof.locals * proof.words, sizeof *proof.dead));
    proof.first = must(calloc((size_t)proof.locals + 2, sizeof *proof.first));
    proof.edge = must(calloc((size_t)steps + 1, sizeof *proof.edge));
    proof.work = must(calloc((size_t)proof.locals + 1, sizeof *proof.work));
    proof.is_waiting = must(calloc(proof.locals, 1));
    gather_edges(&proof);
    for (uint32_t i = 0; i < steps; i++) {
        const struct step *step = store_step_at(store, i);
        if (step->dead == DEAD_YES) {
            proof.dead[(size_t)step->local * proof.words + step->stimulus / 64] |= UINT64_C(1) << step->stimulus % 64;
            wait(&proof, step->local);
        }
    }
    spread(&proof);
    uint8_t violation = try_all(&proof);
    free(proof.dead);
    free(proof.first);
    free(proof.edge);
    free(proof.work);
    free(proof.is_waiting);
    return violation;
}
