/* SPDX-License-Identifier: Apache-2.0 */
/* combine.c: a combiner (protocol/combining.h) as a machine: a pool of few rows, and in it a node of each job that has
 * ranks behind. All jobs of a scenario share it, as on one shard of a switch. The pool is drained after each packet, as
 * after a buffer. Private headers of the combiner are read here, and only here.
 * Read next: view.c. */
#include <string.h>

#include "core/assert.h"
#include "core/slot.h"
#include "machine.h"
#include "protocol/combiner_memory.h"
#include "protocol/combining.h"

/* Nodes, then the pool. */
#define NODE_SIZE ((sizeof(struct combining_node) + BLOCK - 1) / BLOCK * BLOCK)
#define POOL_AT (MODEL_JOBS * NODE_SIZE)

static struct combining_node *node_of_job(const struct machine *m, uint32_t job)
{
    return (struct combining_node *)(void *)((char *)node_of(m) + job * NODE_SIZE);
}

static struct pool *pool_of(const struct machine *m)
{
    return (struct pool *)(void *)((char *)node_of(m) + POOL_AT);
}

static struct trib_combiner_config config_of(const struct model *model)
{
    return (struct trib_combiner_config){.kernels = trib_value_kernels_named("scalar"),
                                         .rows = model->scenario->rows,
                                         .payload = MODEL_PAYLOAD,
                                         .members = model->jobs};
}

size_t combine_size(const struct model *model)
{
    const struct trib_combiner_config config = config_of(model);

    return POOL_AT + trib_pool_size(&config);
}

static bool is_open(const struct machine *m, uint32_t job)
{
    return (head_of(m)->is_begun >> job & 1) != 0;
}

uint64_t model_speaks_for(const struct model *model, const struct stimulus *s)
{
    return model->scenario->rows != 0 && s->from >= FROM_COMBINER ? model->behind[s->job][s->from - FROM_COMBINER]
                                                                  : UINT64_C(1) << s->from;
}

/* ---- what happens to it ---- */

static void make_pool(const struct model *model, const struct machine *m)
{
    const struct trib_combiner_config config = config_of(model);

    memset(pool_of(m), 0xee, trib_pool_size(&config));
    trib_pool_init(pool_of(m), &config);
}

static void enter(const struct model *model, const struct machine *m, uint32_t job)
{
    struct trib_pool_share share = {.rows = model->scenario->rows, .priority = model->scenario->priority[job]};
    if (model->scenario->pieces != 0) { /* the second one is its own */
        share.pieces = (struct trib_pieces){.own = 2, .count = model->scenario->pieces, .run = model->scenario->train};
    }
    bool is_in = trib_pool_enter(pool_of(m), node_of_job(m, job), node_of_job(m, job), &share);

    TRIB_ASSERT(is_in);
}

static void open_node(const struct model *model, const struct machine *m, const struct stimulus *s)
{
    struct trib_switch_config config = settings_switch(model, s->b, socket_of(model, m), s->a);

    if (head_of(m)->is_begun == 0) {
        make_pool(model, m);
    }
    if (is_open(m, s->b)) {
        trib_pool_leave(node_of_job(m, s->b));
    }
    head_of(m)->is_begun |= (uint16_t)(1U << s->b);
    trib_combining_verbs.init(node_of_job(m, s->b), &config);
    enter(model, m, s->b);
}

static void renew_pool(const struct model *model, const struct machine *m)
{
    for (uint32_t job = 0; job < model->jobs; job++) {
        if (is_open(m, job)) {
            trib_pool_leave(node_of_job(m, job));
        }
    }
    make_pool(model, m);
    for (uint32_t job = 0; job < model->jobs; job++) {
        if (is_open(m, job)) {
            enter(model, m, job);
        }
    }
}

/* Of a combiner: the sender, or all ranks behind the sender. */
static uint64_t children_of(const struct model *model, const struct machine *m, const struct stimulus *s)
{
    uint32_t at = socket_of(model, m) / model->scenario->roots;
    uint64_t children = 0;

    if (s->from < FROM_COMBINER) {
        return UINT64_C(1) << s->from;
    }
    for (uint32_t i = 0; i < model->children[s->job][at]; i++) {
        children |= (model_speaks_for(model, s) >> model->child[s->job][at][i] & 1) << i;
    }
    return children;
}

static void take_packet(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    struct trib_place from = {.kind = TRIB_PLACE_PARENT};
    struct trib_packet packet;

    if (!is_open(m, s->job) || trib_packet_decode(s->wire, s->len, &packet) != TRIB_DROP_NONE) {
        return;
    }
    if (s->from != FROM_PARENT) {
        from = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = children_of(model, m, s)};
    }
    run->drop = trib_combining_verbs.node.receive(node_of_job(m, s->job), from, &packet, 0);
    run->violation = check_drop(model, s->job, false, &packet, run->drop);
}

/* ---- what it sends ---- */

static void send_up(struct run *run, struct model *model, uint32_t job, uint32_t socket,
                    const struct trib_packet *packet)
{
    uint32_t at = socket / model->scenario->roots;
    uint32_t parent = model->scenario->job[job].parent[at];
    struct stimulus place = {
        .to = (uint8_t)(MODEL_RANKS + parent * model->scenario->roots + socket % model->scenario->roots),
        .from = (uint8_t)(FROM_COMBINER + at),
        .job = (uint8_t)job};

    run->violation = check_switch_packet(model, job, at, packet);
    machine_send(run, model, packet, &place);
}

/* From a server or a combiner to these ranks of the job: to those behind a combiner by the combiner. */
static void send_down(struct run *run, struct model *model, uint32_t job, uint32_t socket, uint64_t ranks,
                      const struct trib_packet *packet)
{
    uint32_t roots = model->scenario->roots;
    const struct model_job *j = &model->scenario->job[job];
    struct stimulus place = {.from = FROM_PARENT, .job = (uint8_t)job};
    struct trib_packet named = *packet;

    for (uint32_t at = 1; at < j->switches; at++) {
        uint64_t behind = j->parent[at] == socket / roots && at != socket / roots ? model->behind[job][at] : 0;
        bool are_all = (behind & ~ranks) == 0;
        place.to = (uint8_t)(MODEL_RANKS + at * roots + socket % roots);
        for (uint64_t bits = behind & ranks; bits != 0; bits = are_all ? 0 : bits & (bits - 1)) {
            named.node = are_all ? TRIB_NODE_ALL : (uint16_t)trib_lowest(bits);
            machine_send(run, model, &named, &place);
        }
        ranks &= ~behind;
    }
    place.from = (uint8_t)(socket % roots);
    for (; ranks != 0; ranks &= ranks - 1) {
        place.to = (uint8_t)(model->first_rank[job] + trib_lowest(ranks));
        machine_send(run, model, packet, &place);
    }
}

/* From the server, where children have the numbers of their ranks. */
void combine_send_down(struct run *run, struct model *model, const struct machine *m, const struct trib_packet *packet,
                       uint64_t children)
{
    send_down(run, model, head_of(m)->owner, socket_of(model, m), children, packet);
}

static uint64_t ranks_of(const struct model *model, uint32_t job, uint32_t socket, uint64_t children)
{
    const uint8_t *child = model->child[job][socket / model->scenario->roots];
    uint64_t ranks = 0;

    for (; children != 0; children &= children - 1) {
        ranks |= UINT64_C(1) << child[trib_lowest(children)];
    }
    return ranks;
}

static void drain(struct run *run, struct model *model, const struct machine *m)
{
    struct trib_packet packet;
    struct trib_place to;
    void *owner;

    while (run->violation == 0 && (owner = trib_pool_next(pool_of(m))) != NULL) {
        uint32_t job = owner == node_of_job(m, 0) ? 0 : 1;
        bool has = trib_combining_verbs.node.next_packet(owner, 0, &packet, &to);
        TRIB_ASSERT(has);
        if (to.kind == TRIB_PLACE_PARENT) {
            send_up(run, model, job, socket_of(model, m), &packet);
        } else {
            uint32_t socket = socket_of(model, m);
            send_down(run, model, job, socket, ranks_of(model, job, socket, to.children), &packet);
        }
    }
}

void combine_run(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    switch (s->kind) {
    case STIMULUS_PACKET:
        take_packet(run, model, m, s);
        break;
    case STIMULUS_LEARN:
        trib_combining_verbs.learn_mark(node_of_job(m, s->job), s->b);
        break;
    case STIMULUS_INIT:
        open_node(model, m, s);
        break;
    case STIMULUS_POOL:
        renew_pool(model, m);
        break;
    default: /* who has joined, or how late it is, is all the same */
        break;
    }
    if (head_of(m)->is_begun != 0) {
        drain(run, model, m);
    }
}

void combine_note(const struct model *model, const struct machine *m, struct facts *facts)
{
    for (uint32_t job = 0; job < model->jobs; job++) {
        uint64_t mark = is_open(m, job) ? trib_combining_verbs.node.communicator_mark(node_of_job(m, job)) : 0;
        facts->combined[job] = mark > UINT8_MAX ? UINT8_MAX : (uint8_t)mark;
    }
    facts->held = head_of(m)->is_begun != 0 ? (uint8_t)trib_pool_rows_held(pool_of(m)) : 0;
}

/* ---- states that are one ---- */

/* A row has the buffer of its own number, and free buffers are given out in one order. */
static void sort_buffers(struct combiner *c)
{
    uint8_t kept[8][2 * MODEL_PAYLOAD];
    char *memory = (char *)c;
    struct row *rows = (struct row *)(void *)(memory + c->rows_at);
    uint32_t *free_stack = (uint32_t *)(void *)(memory + c->free_at);
    uint32_t buffers = c->config.rows + LEAVING;

    TRIB_ASSERT(c->config.rows <= 8 && c->row_size <= sizeof kept[0]);
    for (uint32_t i = 0; i < c->config.rows; i++) {
        bool is_held = !trib_slot_is_empty(&rows[i].slot);
        size_t used = is_held && rows[i].slot.loaded != 0
                          ? trib_row_size((enum trib_type)rows[i].slot.type, rows[i].slot.payload_len)
                          : 0;
        memset(kept[i], 0, sizeof kept[i]);
        memcpy(kept[i], memory + c->buffers_at + rows[i].buffer * c->row_size * is_held, used);
        if (!is_held) {
            memset(&rows[i], 0, sizeof rows[i]);
        }
        rows[i].buffer = is_held ? i : 0;
        rows[i].slot.first = is_held ? (uint8_t)trib_lowest(rows[i].slot.present) : 0; /* for a mismatch, at a root */
    }
    memset(memory + c->buffers_at, 0, buffers * c->row_size);
    c->free_count = 0;
    for (uint32_t i = buffers; i-- > 0;) {
        bool is_held = i < c->config.rows && !trib_slot_is_empty(&rows[i].slot);
        if (is_held) {
            memcpy(memory + c->buffers_at + i * c->row_size, kept[i], c->row_size);
        } else {
            free_stack[c->free_count++] = i;
        }
    }
    memset(free_stack + c->free_count, 0, (buffers - c->free_count) * sizeof *free_stack);
}

/* Of what a rank has told or sent, below M all is one. */
static void raise_to_mark(struct member *member)
{
    for (uint64_t bits = member->grant.behind; bits != 0; bits &= bits - 1) {
        uint64_t *mark = &member->marks[trib_lowest(bits)];
        uint64_t *next = &member->next[trib_lowest(bits)];
        *mark = *mark < member->grant.mark ? member->grant.mark : *mark;
        *next = *next < member->grant.mark ? member->grant.mark : *next;
    }
}

/* All that was handed out has been sent, and nothing waits. What is counted is no part of a state. */
void combine_clear(const struct model *model, const struct machine *m)
{
    struct pool *p = pool_of(m);

    (void)model;
    if (head_of(m)->is_begun == 0) {
        return;
    }
    struct combiner *c = (struct combiner *)(void *)((char *)p + p->combiner_at);
    if (p->count != 0 || c->count != 0) {
        return; /* a step that failed */
    }
    trib_combiner_release(c);
    p->head = c->head = 0;
    memset((char *)p + p->line_at, 0, LINE * sizeof(struct waiting));
    memset((char *)c + c->leaving_at, 0, LEAVING * sizeof(struct row));
    memset(&c->counters, 0, sizeof c->counters);
    for (uint32_t member = 0; member < c->config.members; member++) {
        raise_to_mark((struct member *)(void *)((char *)c + c->members_at) + member);
    }
    for (uint32_t job = 0; job < MODEL_JOBS; job++) {
        if (is_open(m, job)) {
            memset(&node_of_job(m, job)->counters, 0, sizeof(struct trib_counters));
        }
    }
    sort_buffers(c);
}
