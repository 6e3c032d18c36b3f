/* SPDX-License-Identifier: Apache-2.0 */
/* search.c: breadth first over all states, then along the fair steps of each (model.h, "LIVENESS"). A state found is
 * kept as its digest and its parent; whole states wait in a queue only until their turn. Read next:
 * trace.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

#define FAIR_ROUND (UINT32_C(1) << 31) /* of a fair link: timers fire on it */
#define FAIR_NONE (UINT32_MAX >> 1)    /* a state that was not looked at */

struct found {
    struct digest digest;
    uint32_t parent;
    uint32_t fair; /* its fair successor; itself: an end */
};

/* Whole states, first in, first out. */
struct queue {
    uint8_t *bytes;
    size_t room, head, tail;
};

struct search {
    struct model *model;
    const struct search_limits *limits;
    struct found *found;
    uint32_t *table; /* index + 1; 0: free */
    size_t count, room, mask;
    struct state first;
    struct queue queue;
    uint32_t expanded; /* states with all that can happen; behind them, with the fair step alone */
    uint64_t transitions;
    uint32_t depth, level_end;
    uint32_t most_packets;
    uint32_t most_rounds, most_steps;
    double seconds;
    clock_t began;
    bool is_bounded;
};

/* A successor before it is looked up: all of a state's are made first, so that the memory of the table can come
 * meanwhile. */
struct step_taken {
    struct digest digest;
    struct state state;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "model: out of memory\n");
        exit(2);
    }
    return memory;
}

/* ---- queue ---- */

static void push(struct queue *queue, const struct state *state)
{
    size_t size = state_size(state);

    if (queue->tail + size > queue->room) {
        if (queue->head != 0) {
            memmove(queue->bytes, queue->bytes + queue->head, queue->tail - queue->head);
        }
        queue->tail -= queue->head;
        queue->head = 0;
        if (queue->tail + size > queue->room / 2) {
            queue->room = queue->room == 0 ? 1 << 20 : 2 * queue->room;
            queue->bytes = must(realloc(queue->bytes, queue->room));
        }
    }
    memcpy(queue->bytes + queue->tail, state, size);
    queue->tail += size;
}

static bool pop(struct queue *queue, struct state *state)
{
    size_t fixed = offsetof(struct state, bag);

    if (queue->head == queue->tail) {
        return false;
    }
    memcpy(state, queue->bytes + queue->head, fixed);
    size_t size = state_size(state);
    memcpy(state->bag, queue->bytes + queue->head + fixed, size - fixed);
    queue->head += size;
    return true;
}

/* ---- table ---- */

static void rehash(struct search *s)
{
    free(s->table);
    s->mask = s->mask == 0 ? (1 << 16) - 1 : 2 * s->mask + 1;
    s->table = must(calloc(s->mask + 1, sizeof *s->table));
    for (size_t i = 0; i < s->count; i++) {
        size_t at = s->found[i].digest.a & s->mask;
        while (s->table[at] != 0) {
            at = (at + 1) & s->mask;
        }
        s->table[at] = (uint32_t)i + 1;
    }
}

/* The state's number; new ones get the next, and wait for their turn. */
static uint32_t meet(struct search *s, const struct step_taken *taken, uint32_t parent)
{
    const struct state *state = &taken->state;
    struct digest digest = taken->digest;
    size_t at = digest.a & s->mask;

    for (; s->table[at] != 0; at = (at + 1) & s->mask) {
        const struct found *f = &s->found[s->table[at] - 1];
        if (f->digest.a == digest.a && f->digest.b == digest.b) {
            return s->table[at] - 1;
        }
    }
    if (s->count == s->room) {
        s->room = s->room == 0 ? 1 << 15 : 2 * s->room;
        s->found = must(realloc(s->found, s->room * sizeof *s->found));
    }
    s->found[s->count] = (struct found){.digest = digest, .parent = parent, .fair = FAIR_NONE};
    s->table[at] = (uint32_t)++s->count;
    s->most_packets = state->count > s->most_packets ? state->count : s->most_packets;
    push(&s->queue, state);
    if (2 * s->count > s->mask) {
        rehash(s);
    }
    return (uint32_t)s->count - 1;
}

/* ---- traces ---- */

/* Does in the state what can happen and leads to that digest, or to a violation with that word. */
static struct happening redo(struct search *s, struct state *state, const struct digest *digest, const char *word)
{
    struct happenings list;
    struct state after;
    struct state least;

    state_list(s->model, state, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        memcpy(&after, state, state_size(state));
        uint8_t violation = state_apply(s->model, &after, list.at[i]);
        bool is_it = violation != 0 && word != NULL && strcmp(s->model->violation[violation - 1].word, word) == 0;
        if (violation == 0 && digest != NULL) {
            memcpy(&least, &after, state_size(&after));
            (void)symmetry_reduce(s->model, &least);
            struct digest is = state_digest(&least);
            is_it = is.a == digest->a && is.b == digest->b;
        }
        if (is_it) {
            *state = after;
            return list.at[i];
        }
    }
    return (struct happening){.kind = HAPPENS_NONE};
}

/* What leads from the first state to state `index`, or to a renaming of it, and then to a violation with that word,
 * unless that is NULL. The caller frees it. */
static struct happening *path_to(struct search *s, uint32_t index, const char *word, size_t *count)
{
    struct state state = s->first;
    uint32_t length = 0;

    for (uint32_t i = index; i != 0; i = s->found[i].parent) {
        length++;
    }
    uint32_t *indexes = must(calloc((size_t)length + 1, sizeof *indexes));
    struct happening *path = must(calloc((size_t)length + 1, sizeof *path));
    *count = length + (word != NULL);
    for (uint32_t i = index, at = length; at > 0; i = s->found[i].parent) {
        indexes[--at] = i;
    }
    for (uint32_t at = 0; at < length; at++) {
        path[at] = redo(s, &state, &s->found[indexes[at]].digest, NULL);
    }
    if (word != NULL) {
        path[length] = redo(s, &state, NULL, word);
    }
    free(indexes);
    return path;
}

/* is_in_step: of a step from state `index`, else of the state. */
static void report_violation(struct search *s, uint8_t violation, uint32_t index, bool is_in_step)
{
    const struct violation *v = &s->model->violation[violation - 1];
    size_t count;

    printf("%s: VIOLATED %s: %s\n", s->model->scenario->name, v->word, v->text);
    struct happening *path = path_to(s, index, is_in_step ? v->word : NULL, &count);
    symmetry_close(s->model);
    trace_print(s->model, path, count);
    free(path);
}

/* ---- breadth first ---- */

static bool is_over_limit(struct search *s)
{
    if ((s->expanded & 0xff) != 0 && s->count < s->limits->states) {
        return false;
    }
    s->seconds = (double)(clock() - s->began) / CLOCKS_PER_SEC;
    return s->seconds > s->limits->seconds || s->count >= s->limits->states;
}

static bool end_of_path(struct search *s, uint32_t index, const struct state *state)
{
    uint8_t violation = state_check_end(s->model, state);

    s->found[index].fair = index;
    if (violation != 0) {
        report_violation(s, violation, index, false);
    }
    return violation == 0;
}

static bool link_fair(struct search *s, uint32_t index, const struct state *state, uint32_t to, struct happening how)
{
    if (to == index) {
        return end_of_path(s, index, state);
    }
    s->found[index].fair = to | (how.kind == HAPPENS_ROUND ? FAIR_ROUND : 0);
    return true;
}

/* All that can happen in one state, or the fair step alone. False: a violation. */
static bool expand(struct search *s, uint32_t index, const struct state *state, bool fair_alone)
{
    static struct step_taken taken[MODEL_HAPPENINGS];
    struct happenings list;

    state_list(s->model, state, &list);
    bool has_fair = list.count != 0 && happening_is_fair(list.at[0]);
    uint8_t violation = symmetry_prove_state(s->model, state);
    if (violation != 0) {
        report_violation(s, violation, index, false);
        return false;
    }
    if (!has_fair && !end_of_path(s, index, state)) {
        return false;
    }
    uint32_t count = fair_alone ? has_fair : list.count;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&taken[i].state, state, state_size(state));
        violation = state_apply(s->model, &taken[i].state, list.at[i]);
        violation = violation == 0 ? symmetry_reduce(s->model, &taken[i].state) : violation;
        s->transitions++;
        if (violation != 0) {
            report_violation(s, violation, index, true);
            return false;
        }
        taken[i].digest = state_digest(&taken[i].state);
        __builtin_prefetch(&s->table[taken[i].digest.a & s->mask]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = s->table[taken[i].digest.a & s->mask];
        __builtin_prefetch(&s->found[at == 0 ? 0 : at - 1]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = meet(s, &taken[i], index);
        if (i == 0 && has_fair && !link_fair(s, index, state, to, list.at[i])) {
            return false;
        }
    }
    return true;
}

static bool run_breadth_first(struct search *s)
{
    struct state state;

    while (pop(&s->queue, &state)) {
        uint32_t index = s->expanded++;
        if (index == s->level_end) {
            s->level_end = (uint32_t)s->count;
            s->depth++;
        }
        if (!expand(s, index, &state, false)) {
            return false;
        }
        if (is_over_limit(s) && s->queue.head != s->queue.tail) {
            s->is_bounded = true;
            break;
        }
    }
    /* What was found and not searched is at least followed to its end. */
    for (uint32_t index = s->expanded; pop(&s->queue, &state); index++) {
        if (!expand(s, index, &state, true)) {
            return false;
        }
    }
    return true;
}

/* ---- along the fair steps ---- */

static bool report_cycle(struct search *s, uint32_t start)
{
    bool has_round = false;
    uint32_t length = 0;
    uint32_t at = start;

    do {
        has_round |= (s->found[at].fair & FAIR_ROUND) != 0;
        at = s->found[at].fair & ~FAIR_ROUND;
        length++;
    } while (at != start);
    uint8_t violation = model_violated(s->model, has_round ? "hang" : "storm",
                                       "without any further fault, %u steps come back to the same state%s", length,
                                       has_round ? ", timers and all" : ", and no timer fires");
    report_violation(s, violation, start, false);
    return false;
}

struct distance {
    uint32_t steps; /* to the end; 0: not known, 1: on this path */
    uint16_t rounds;
};

/* Follows from one state to what is known; then back, counting. */
static bool follow(struct search *s, struct distance *distance, uint32_t *path, uint32_t start)
{
    size_t length = 0;
    uint32_t at = start;

    while (distance[at].steps == 0 && (s->found[at].fair & ~FAIR_ROUND) != at) {
        distance[at].steps = 1;
        path[length++] = at;
        at = s->found[at].fair & ~FAIR_ROUND;
    }
    if (distance[at].steps == 1) {
        return report_cycle(s, at);
    }
    if (distance[at].steps == 0) {
        distance[at].steps = 2;
    }
    while (length > 0) {
        uint32_t before = path[--length];
        distance[before].steps = distance[at].steps + 1;
        distance[before].rounds = (uint16_t)(distance[at].rounds + ((s->found[before].fair & FAIR_ROUND) != 0));
        at = before;
    }
    s->most_rounds = distance[start].rounds > s->most_rounds ? distance[start].rounds : s->most_rounds;
    s->most_steps = distance[start].steps - 2 > s->most_steps ? distance[start].steps - 2 : s->most_steps;
    return true;
}

/* A wait that ends later than it must has lost a part of the recovery. */
static bool check_rounds(struct search *s, uint32_t index, uint32_t rounds)
{
    uint32_t most = s->model->scenario->rounds;

    if (most == 0 || rounds <= most) {
        return true;
    }
    uint8_t violation =
        model_violated(s->model, "hang", "it takes %u rounds of timers from here to the end, not %u", rounds, most);
    if (violation != 0) {
        report_violation(s, violation, index, false);
    }
    return violation == 0;
}

static bool check_liveness(struct search *s)
{
    struct distance *distance = must(calloc(s->count, sizeof *distance));
    uint32_t *path = must(calloc(s->count, sizeof *path));
    bool is_live = true;

    for (uint32_t i = 0; i < s->count && is_live; i++) {
        is_live = follow(s, distance, path, i) && check_rounds(s, i, distance[i].rounds);
    }
    free(distance);
    free(path);
    return is_live;
}

/* ---- one scenario ---- */

static void report(const struct search *s)
{
    printf("%-18s %11zu states %12llu transitions  depth %3u  %6.1f s  ", s->model->scenario->name, s->count,
           (unsigned long long)s->transitions, s->depth, s->seconds);
    if (s->is_bounded) {
        printf("BOUNDED at depth %u", s->depth);
    } else {
        printf("complete");
    }
    printf("; ends within %u rounds of timers, %u steps\n", s->most_rounds, s->most_steps);
}

bool search_run(struct model *model, const struct search_limits *limits)
{
    struct search s = {.model = model, .limits = limits, .began = clock(), .level_end = 1};
    struct step_taken first;
    bool passed = false;

    rehash(&s);
    uint8_t violation = control_begin(model, &first.state);
    if (violation == 0 && limits->is_alike) {
        violation = symmetry_open(model, &first.state);
    }
    first.digest = state_digest(&first.state);
    s.first = first.state;
    (void)meet(&s, &first, 0);
    if (violation != 0) {
        report_violation(&s, violation, 0, false);
    } else {
        passed = run_breadth_first(&s) && check_liveness(&s);
        violation = passed && !model->is_unreduced ? reduce_prove(model) : 0;
        if (violation != 0) {
            report_violation(&s, violation, 0, false);
            passed = false;
        }
    }
    s.seconds = (double)(clock() - s.began) / CLOCKS_PER_SEC;
    if (passed) {
        report(&s);
    }
    symmetry_close(model);
    free(s.found);
    free(s.table);
    free(s.queue.bytes);
    return passed;
}
