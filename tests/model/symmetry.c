/* SPDX-License-Identifier: Apache-2.0 */
/* symmetry.c: states that differ in the numbers of ranks or jobs alone are searched once. Ranks of a job may change
 * numbers if they are behind one switch and all collectives treat all ranks alike; jobs may if their scenario tells
 * them nothing else. A renaming says the new number of each rank and job. Of all renamings of a state the search keeps
 * the least.
 *
 * Nodes are real, so nobody can rename their memory. A renaming is learned instead: the first state is the same under
 * each renaming, and if a stimulus makes a node go from one state to the next, the renamed stimulus makes the renamed
 * node go to the renamed next state.
 *
 * This is sound if renamed nodes do the same. Each run proves that: each step of a node that the search takes is taken
 * by the renamed node too. It must send the renamed packets, and each state and each packet must have one renaming,
 * however it was reached. What sessions do around the nodes (control.c, state.c) is the same for all ranks and jobs; a
 * sample checks that: for every 64th state, what can happen to the state and to a renaming of it must lead to the same
 * states. Anything else is a violation ("alike"). By induction over the steps, the states that the search keeps are all
 * states but for renamings, and what holds of a state holds of its renamings.
 * Read next: search.c. */
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "model.h"

#define RENAMINGS 72   /* 2 jobs of 3 ranks */
#define PROVE_EVERY 64 /* states */

struct renaming {
    uint8_t job[MODEL_JOBS];
    uint8_t rank[MODEL_RANKS];
    uint8_t node[MODEL_NODES]; /* old place of the node that has this place now */
    uint8_t last, before;      /* it is the swap `last` after the renaming `before` */
};

/* Of each thing (state of a node, or stimulus) its renamings, so far as they are known. */
struct images {
    uint32_t *of; /* thing x renamings + renaming */
    size_t room;  /* things */
    size_t renamings;
};

struct symmetry {
    uint32_t count; /* renamings; the first leaves all as it is, and the swaps follow */
    uint32_t swaps;
    uint64_t proven; /* states */
    uint8_t violation;
    struct renaming renaming[RENAMINGS];
    struct images locals, stimuli;
};

/* ---- which renamings there are ---- */

/* Not after a restart of the server, which answers an old sum to the lowest of its ranks. */
static bool are_ranks_alike(const struct model *model, const struct model_job *job)
{
    bool is_alike = job->others == 0 && model->scenario->budget[BUDGET_RESTART] == 0;

    for (uint32_t op = 0; op < job->ops; op++) {
        is_alike = is_alike && (job->op[op].collective == TRIB_ALLREDUCE || job->op[op].collective == TRIB_BARRIER);
    }
    return is_alike;
}

static bool are_jobs_alike(const struct model *model)
{
    const struct model_scenario *s = model->scenario;

    return model->jobs == 2 && memcmp(&s->job[0], &s->job[1], sizeof s->job[0]) == 0 &&
           s->priority[0] == s->priority[1] && s->order[0] == s->order[1] && !s->is_alone;
}

/* Other scenarios are small enough without. */
bool symmetry_may_be(const struct model_scenario *s)
{
    return s->rows != 0 && s->sharing == SHARING_NOTHING && !s->batches && s->time != MODEL_TIME_LEAPS;
}

static void add_renaming(struct symmetry *y, const struct renaming *new, uint32_t last, uint32_t before)
{
    for (uint32_t r = 0; r < y->count; r++) {
        if (memcmp(y->renaming[r].rank, new->rank, sizeof new->rank) == 0 &&
            memcmp(y->renaming[r].job, new->job, sizeof new->job) == 0) {
            return;
        }
    }
    TRIB_ASSERT(y->count < RENAMINGS);
    y->renaming[y->count] = *new;
    y->renaming[y->count].last = (uint8_t)last;
    y->renaming[y->count++].before = (uint8_t)before;
}

static void add_swap(struct symmetry *y, const struct renaming *swap)
{
    add_renaming(y, swap, ++y->swaps, 0);
}

static void add_swaps(struct symmetry *y, const struct model *model)
{
    const struct renaming same = y->renaming[0];

    for (uint32_t rank = 0; rank + 1 < model->ranks; rank++) {
        uint32_t job = model_job_of(model, rank);
        const struct model_job *j = &model->scenario->job[job];
        const uint8_t *leaf = &j->leaf[rank - model->first_rank[job]];
        struct renaming swap = same;
        swap.rank[rank]++;
        swap.rank[rank + 1]--;
        if (model_job_of(model, rank + 1) == job && leaf[0] == leaf[1] && are_ranks_alike(model, j)) {
            add_swap(y, &swap);
        }
    }
    if (are_jobs_alike(model)) {
        struct renaming swap = same;
        swap.job[0] = 1;
        swap.job[1] = 0;
        for (uint32_t rank = 0; rank < model->ranks; rank++) {
            swap.rank[rank] = (uint8_t)((rank + model->first_rank[1]) % model->ranks);
        }
        add_swap(y, &swap);
    }
}

/* A job's own nodes go with it. A combiner, which is in the first region, is of all jobs. */
static void place_nodes(const struct model *model, struct renaming *renaming)
{
    for (uint32_t node = 0; node < model->nodes; node++) {
        uint32_t socket = (node - model->ranks) % model->sockets;
        uint32_t region = (node - model->ranks) / model->sockets;
        uint32_t place = node;
        if (node < model->ranks) {
            place = renaming->rank[node];
        } else if (!model_is_combiner(model, socket)) {
            place = model->ranks + renaming->job[region] * model->sockets + socket;
        }
        renaming->node[place] = (uint8_t)node;
    }
}

static void make_renamings(struct symmetry *y, const struct model *model)
{
    for (uint32_t rank = 0; rank < MODEL_RANKS; rank++) {
        y->renaming[0].rank[rank] = (uint8_t)rank;
    }
    y->renaming[0].job[1] = 1;
    y->count = 1;
    add_swaps(y, model);
    for (uint32_t r = 1; r < y->count; r++) { /* grows meanwhile */
        for (uint32_t swap = 1; swap <= y->swaps; swap++) {
            struct renaming both = y->renaming[r];
            for (uint32_t rank = 0; rank < MODEL_RANKS; rank++) {
                both.rank[rank] = y->renaming[swap].rank[y->renaming[r].rank[rank]];
            }
            for (uint32_t job = 0; job < MODEL_JOBS; job++) {
                both.job[job] = y->renaming[swap].job[y->renaming[r].job[job]];
            }
            add_renaming(y, &both, swap, r);
        }
    }
    for (uint32_t r = 0; r < y->count; r++) {
        place_nodes(model, &y->renaming[r]);
    }
}

/* ---- what is known of them ---- */

static uint32_t *image_at(struct images *images, uint32_t renaming, uint32_t thing)
{
    if (thing >= images->room) {
        size_t room = 2 * (size_t)thing + 1024;
        images->of = realloc(images->of, room * images->renamings * sizeof *images->of);
        if (images->of == NULL) {
            exit(2);
        }
        memset(images->of + images->room * images->renamings, 0xff,
               (room - images->room) * images->renamings * sizeof *images->of);
        images->room = room;
    }
    return &images->of[thing * images->renamings + renaming];
}

/* MODEL_NONE: not known. */
static uint32_t image(const struct symmetry *y, struct images *images, uint32_t renaming, uint32_t thing)
{
    uint32_t found = renaming == 0 || thing == MODEL_NONE ? thing : *image_at(images, renaming, thing);

    if (found == MODEL_NONE && renaming > y->swaps && thing != MODEL_NONE) {
        found = image(y, images, y->renaming[renaming].last, image(y, images, y->renaming[renaming].before, thing));
        *image_at(images, renaming, thing) = found;
    }
    return found;
}

/* A swap has made the one of the other, so it makes the other of the one. False: it was known to make something else.
 */
static bool learn(struct images *images, uint32_t swap, uint32_t one, uint32_t other)
{
    uint32_t known = *image_at(images, swap, one);
    uint32_t back = *image_at(images, swap, other);

    *image_at(images, swap, one) = other;
    *image_at(images, swap, other) = one;
    return (known == MODEL_NONE || known == other) && (back == MODEL_NONE || back == one);
}

/* ---- one step of one node ---- */

static bool are_facts_alike(const struct model *model, const struct renaming *swap, uint32_t one, uint32_t other)
{
    struct facts renamed = *machine_facts(model, one);

    for (uint32_t job = 0; job < MODEL_JOBS; job++) {
        renamed.combined[swap->job[job]] = machine_facts(model, one)->combined[job];
    }
    return memcmp(&renamed, machine_facts(model, other), sizeof renamed) == 0;
}

/* Down to a combiner, the packet names a rank, or all. */
static uint32_t rename_node(const struct model *model, const struct renaming *swap, const struct stimulus *s,
                            uint32_t node)
{
    bool names_rank = s->from == FROM_PARENT && node < model->scenario->job[s->job].ranks;
    uint32_t rank = model->first_rank[s->job] + node;

    return names_rank ? swap->rank[rank % MODEL_RANKS] - model->first_rank[swap->job[s->job]] : node;
}

/* Without what depends on ranks in another way. */
static bool are_alike(const struct model *model, const struct renaming *swap, const struct stimulus *one,
                      const struct stimulus *other)
{
    struct trib_packet a;
    struct trib_packet b;
    uint32_t to = one->to < MODEL_RANKS ? swap->rank[one->to] : one->to;

    (void)trib_packet_decode(one->wire, one->len, &a);
    (void)trib_packet_decode(other->wire, other->len, &b);
    return to == other->to && swap->job[one->job] == other->job && one->len == other->len && a.kind == b.kind &&
           a.flags == b.flags && a.sequence == b.sequence && a.mark == b.mark && a.boot == b.boot &&
           (one->from != FROM_PARENT || rename_node(model, swap, one, a.node) == b.node) &&
           a.contributors == b.contributors && trib_count_bits(a.bitmap) == trib_count_bits(b.bitmap);
}

/* What a swap makes of the packets of a step are the packets of the other one, in any order. */
static bool learn_packets(struct model *model, uint32_t swap, const struct step *step, const struct step *other)
{
    struct symmetry *y = model->symmetry;
    bool is_taken[MODEL_OUT] = {false};

    for (uint32_t i = 0; i < step->out_count; i++) {
        uint32_t one = store_out(model->store, step)[i];
        uint32_t known = *image_at(&y->stimuli, swap, one);
        uint32_t j = 0;
        for (; j < other->out_count; j++) {
            uint32_t id = store_out(model->store, other)[j];
            if (!is_taken[j] && (known == MODEL_NONE || known == id) &&
                are_alike(model, &y->renaming[swap], store_stimulus_at(model->store, one),
                          store_stimulus_at(model->store, id))) {
                break;
            }
        }
        if (j == other->out_count || !learn(&y->stimuli, swap, one, store_out(model->store, other)[j])) {
            return false;
        }
        is_taken[j] = true;
    }
    return step->out_count == other->out_count;
}

/* What comes to a node, but for packets, tells of a job at switches, and of a rank where one joins. */
static uint32_t rename_stimulus(struct model *model, uint32_t swap, uint32_t local, uint32_t id)
{
    const struct renaming *r = &model->symmetry->renaming[swap];
    struct stimulus s = *store_stimulus_at(model->store, id);
    uint32_t node = store_local(model->store, local)->node;
    uint32_t job = r->job[s.job];

    if (s.kind == STIMULUS_PACKET) {
        return image(model->symmetry, &model->symmetry->stimuli, swap, id);
    }
    if (s.kind == STIMULUS_JOIN) {
        uint32_t at = (node - model->ranks) % model->sockets / model->scenario->roots;
        uint32_t rank = model->first_rank[s.job] + model->child[s.job][at][s.a];
        s.a = scenario_child(model, job, at, r->rank[rank] - model->first_rank[job]);
    }
    if (s.kind == STIMULUS_INIT) {
        s.b = job;
    }
    if (s.kind == STIMULUS_INIT || s.kind == STIMULUS_JOIN || (s.kind == STIMULUS_LEARN && node >= model->ranks)) {
        s.job = (uint8_t)job;
    }
    return store_stimulus(model->store, &s);
}

static bool is_step_alike(struct model *model, uint32_t swap, const struct step *step)
{
    struct symmetry *y = model->symmetry;
    uint32_t local = image(y, &y->locals, swap, step->local);
    uint32_t stimulus = rename_stimulus(model, swap, step->local, step->stimulus);

    if (local == MODEL_NONE || stimulus == MODEL_NONE) {
        return false;
    }
    struct step other = machine_step(model, local, stimulus);
    return other.violation == 0 && other.drop == step->drop && learn(&y->locals, swap, step->next, other.next) &&
           are_facts_alike(model, &y->renaming[swap], step->next, other.next) &&
           learn_packets(model, swap, step, &other);
}

void symmetry_prove_step(struct model *model, const struct step *step)
{
    struct symmetry *y = model->symmetry;

    for (uint32_t swap = 1; y != NULL && swap <= y->swaps && y->violation == 0 && step->violation == 0; swap++) {
        if (!is_step_alike(model, swap, step)) {
            const struct stimulus *s = store_stimulus_at(model->store, step->stimulus);
            bool is_packet = s->kind == STIMULUS_PACKET;
            y->violation =
                model_violated(model, "alike", "node %u and its renaming differ at %s %u",
                               store_local(model->store, step->local)->node,
                               is_packet ? trib_kind_name((enum trib_kind)s->wire[TRIB_AT_KIND]) : "stimulus",
                               is_packet ? s->wire[TRIB_AT_SEQUENCE + 5] : s->kind);
        }
    }
}

/* ---- states ---- */

static void rename_state(struct model *model, uint32_t renaming, const struct state *state, struct state *renamed)
{
    struct symmetry *y = model->symmetry;
    const struct renaming *r = &y->renaming[renaming];

    memset(renamed, 0, sizeof *renamed);
    renamed->control = state->control;
    for (uint32_t node = 0; node < model->nodes; node++) {
        renamed->node[node] = image(y, &y->locals, renaming, state->node[r->node[node]]);
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        renamed->control.session[r->rank[rank]] = state->control.session[rank];
    }
    for (uint32_t job = 0; job < model->jobs; job++) {
        memcpy(renamed->control.incarnation[r->job[job]], state->control.incarnation[job], MODEL_SWITCHES);
        renamed->control.ready_mark[r->job[job]] = state->control.ready_mark[job];
        renamed->control.is_dropped[r->job[job]] = state->control.is_dropped[job];
    }
    for (; renamed->count < state->count; renamed->count++) {
        uint32_t stimulus = image(y, &y->stimuli, renaming, state->bag[renamed->count]);
        uint32_t i = renamed->count;
        for (; i > 0 && renamed->bag[i - 1] > stimulus; i--) {
            renamed->bag[i] = renamed->bag[i - 1];
        }
        renamed->bag[i] = stimulus;
    }
}

/* By the nodes alone, since these mostly differ. */
static int compare_nodes(struct model *model, const struct state *state, uint32_t one, uint32_t other)
{
    struct symmetry *y = model->symmetry;

    for (uint32_t node = 0; node < model->nodes; node++) {
        uint32_t a = image(y, &y->locals, one, state->node[y->renaming[one].node[node]]);
        uint32_t b = image(y, &y->locals, other, state->node[y->renaming[other].node[node]]);
        if (a != b) {
            return a < b ? -1 : 1;
        }
    }
    return 0;
}

uint8_t symmetry_reduce(struct model *model, struct state *state)
{
    struct symmetry *y = model->symmetry;
    struct state least;
    struct state other;
    uint32_t best = 0;

    if (y == NULL) {
        return 0;
    }
    rename_state(model, 0, state, &least);
    for (uint32_t r = 1; r < y->count; r++) {
        int order = compare_nodes(model, state, r, best);
        if (order <= 0) {
            rename_state(model, r, state, &other);
            if (order < 0 || memcmp(&other, &least, state_size(&least)) < 0) {
                least = other;
                best = r;
            }
        }
    }
    memcpy(state, &least, state_size(&least));
    return y->violation;
}

/* The successors of a state, whatever their order: a sum of digests. */
static uint8_t add_up(struct model *model, const struct state *state, struct digest *sum)
{
    static struct state after;
    struct happenings list;
    uint8_t violation = 0;

    state_list(model, state, &list);
    for (uint32_t i = 0; i < list.count && violation == 0; i++) {
        memcpy(&after, state, state_size(state));
        violation = state_apply(model, &after, list.at[i]);
        violation = violation == 0 ? symmetry_reduce(model, &after) : violation;
        struct digest digest = state_digest(&after);
        sum->a += digest.a;
        sum->b += digest.b;
    }
    return violation;
}

uint8_t symmetry_prove_state(struct model *model, const struct state *state)
{
    struct symmetry *y = model->symmetry;
    struct digest sums[2] = {{0, 0}, {0, 0}};
    struct state renamed;

    if (y == NULL || y->count < 2 || y->proven++ % PROVE_EVERY != 0) {
        return 0;
    }
    uint32_t r = 1 + (uint32_t)(y->proven / PROVE_EVERY % (y->count - 1));
    rename_state(model, r, state, &renamed);
    uint8_t violation = add_up(model, state, &sums[0]);
    violation = violation == 0 ? add_up(model, &renamed, &sums[1]) : violation;
    bool is_same = sums[0].a == sums[1].a && sums[0].b == sums[1].b;
    return violation != 0 || is_same ? violation
                                     : model_violated(model, "alike", "a state and its renaming lead to other states");
}

/* ---- beginning and end ---- */

uint8_t symmetry_open(struct model *model, const struct state *first)
{
    struct symmetry *y = calloc(1, sizeof *y);
    bool is_alike = true;

    if (y == NULL) {
        exit(2);
    }
    make_renamings(y, model);
    y->locals.renamings = y->stimuli.renamings = y->count;
    model->symmetry = y;
    store_forget_steps(model->store); /* of the beginning, which nobody has renamed */
    for (uint32_t swap = 1; swap <= y->swaps; swap++) {
        for (uint32_t node = 0; node < model->nodes; node++) {
            uint32_t before = first->node[y->renaming[swap].node[node]];
            is_alike = learn(&y->locals, swap, before, first->node[node]) &&
                       are_facts_alike(model, &y->renaming[swap], before, first->node[node]) && is_alike;
        }
    }
    return is_alike ? 0 : model_violated(model, "alike", "the first state differs from a renaming of it");
}

void symmetry_close(struct model *model)
{
    if (model->symmetry != NULL) {
        free(model->symmetry->locals.of);
        free(model->symmetry->stimuli.of);
        free(model->symmetry);
        model->symmetry = NULL;
    }
}
