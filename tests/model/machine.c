/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c: one node with its caller and its driver: memory, what a stimulus does to it, and the memory of what each
 * stimulus did. A node is drained after every stimulus, but for the first of a batch. Read next: view.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "machine.h"

/* ---- a node that fails its own assertions, or worse ---- */

static sigjmp_buf escape;
static volatile sig_atomic_t is_inside;
static const char *volatile escape_word;
static char escape_text[200];

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    const char *name = strrchr(file, '/');

    (void)snprintf(escape_text, sizeof escape_text, "%s:%d: assertion failed: %s", name ? name + 1 : file, line, expr);
    if (!is_inside) {
        fprintf(stderr, "%s\n", escape_text);
        abort();
    }
    escape_word = "assert";
    siglongjmp(escape, 1);
}

static void crashed(int number)
{
    if (!is_inside) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    (void)snprintf(escape_text, sizeof escape_text, "signal %d in a node", number);
    escape_word = "crash";
    siglongjmp(escape, 1);
}

/* ---- memory ---- */

static struct buffers *buffers_of(const struct machine *m, uint32_t pair)
{
    return (struct buffers *)(void *)(m->memory + m->buffers_at) + pair;
}

static size_t node_size(const struct model *model, const struct machine *m)
{
    size_t most = 0;

    if (m->is_worker) {
        struct trib_worker_config config = settings_worker(model, m);
        return model->scheme->worker->size(&config);
    }
    if (model_is_combiner(model, socket_of(model, m))) {
        return combine_size(model);
    }
    for (uint32_t job = 0; job < model->jobs; job++) {
        if (socket_of(model, m) / model->scenario->roots < model->scenario->job[job].switches) {
            struct trib_switch_config config = settings_switch(model, job, socket_of(model, m), 1);
            size_t size = model->scheme->switch_node->size(&config);
            most = size > most ? size : most;
        }
    }
    return most;
}

static void open_machine(struct model *model, uint32_t index)
{
    struct machine *m = &model->machine[index];

    *m = (struct machine){.is_worker = index < model->ranks};
    if (m->is_worker) {
        m->job = model_job_of(model, index);
        m->rank = index - model->first_rank[m->job];
    }
    m->node_at = sizeof(struct head);
    m->node_size = (node_size(model, m) + BLOCK - 1) / BLOCK * BLOCK;
    m->buffers_at = m->node_at + m->node_size;
    m->size = m->buffers_at + (m->is_worker ? MODEL_PAIRS * sizeof(struct buffers) : 0);
    TRIB_ASSERT(m->size <= MODEL_MEMORY);
    m->memory = aligned_alloc(BLOCK, m->size);
    m->base = aligned_alloc(BLOCK, m->size);
    if (m->memory == NULL || m->base == NULL) {
        exit(2);
    }
    memset(m->memory, 0, m->size);
    head_of(m)->now_ns = MODEL_LEAP_NS;
    if (m->is_worker) {
        struct trib_worker_config config = settings_worker(model, m);
        model->scheme->worker->init(node_of(m), &config);
        head_of(m)->is_begun = 1;
        for (uint32_t pair = 0; pair < MODEL_PAIRS; pair++) {
            buffers_scribble(buffers_of(m, pair));
        }
    } else {
        memset(node_of(m), 0xee, m->node_size); /* what malloc gives; init must clear it */
    }
    memcpy(m->base, m->memory, m->size);
}

void machine_open(struct model *model)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_NODEFER};
        (void)sigaction(signals[i], &action, NULL);
    }
    for (uint32_t i = 0; i < model->nodes; i++) {
        open_machine(model, i);
    }
}

void machine_close(struct model *model)
{
    for (uint32_t i = 0; i < model->nodes; i++) {
        free(model->machine[i].memory);
        free(model->machine[i].base);
    }
}

static void load(const struct model *model, uint32_t id)
{
    const struct local *local = store_local(model->store, id);
    const struct machine *m = &model->machine[local->node];

    memcpy(m->memory, m->base, m->size);
    for (uint32_t i = 0; i < local->blocks; i++) {
        uint16_t index;
        const uint8_t *block = store_block(model->store, local->at + i, &index);
        memcpy(m->memory + (size_t)index * BLOCK, block, BLOCK);
    }
}

/* ---- packets ---- */

void machine_send(struct run *run, struct model *model, const struct trib_packet *packet, const struct stimulus *place)
{
    struct trib_packet back;

    if (run->violation != 0) {
        return;
    }
    if (run->outs == MODEL_OUT) {
        run->violation = model_violated(model, "storm", "one step hands out more than %d packets", MODEL_OUT);
        return;
    }
    if (!trib_packet_can_encode(packet) || packet->payload_len > MODEL_PAYLOAD + MODEL_LIST) {
        run->violation = model_violated(model, "encode", "%s of sequence %u cannot be encoded",
                                        trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence);
        return;
    }
    struct stimulus *out = &run->out[run->outs++];
    *out = *place;
    out->kind = STIMULUS_PACKET;
    out->len = (uint16_t)(TRIB_HEADER_SIZE + packet->payload_len);
    trib_packet_encode(packet, out->wire);
    if (packet->payload_len != 0) {
        memcpy(out->wire + TRIB_HEADER_SIZE, packet->payload, packet->payload_len);
    }
    if (trib_packet_decode(out->wire, out->len, &back) != TRIB_DROP_NONE || back.mark != packet->mark) {
        run->violation = model_violated(model, "encode", "%s of sequence %u does not decode",
                                        trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence);
    }
}

static void send_up(struct run *run, struct model *model, const struct machine *m, const struct trib_packet *packet,
                    const struct trib_place *to)
{
    bool peers = model->scenario->has_peers;
    uint32_t at = model->path[m->job][m->rank][0];
    uint32_t first = peers ? model->first_rank[m->job] : MODEL_RANKS + at * model->scenario->roots;
    struct stimulus place = {.to = (uint8_t)(first + to->index), .job = (uint8_t)m->job};

    place.from = peers ? (uint8_t)m->rank : scenario_child(model, m->job, at, m->rank);
    if (to->kind != (peers ? TRIB_PLACE_PEER : TRIB_PLACE_ROOT) ||
        to->index >= (peers ? model->scenario->job[m->job].ranks : model->scenario->roots)) {
        run->violation = model_violated(model, "place", "a worker sends to no root, and no rank");
        return;
    }
    machine_send(run, model, packet, &place);
}

static void send_from_switch(struct run *run, struct model *model, const struct machine *m,
                             const struct trib_packet *packet, const struct trib_place *to)
{
    uint32_t job = head_of(m)->owner;
    uint32_t roots = model->scenario->roots;
    uint32_t at = socket_of(model, m) / roots;
    uint32_t root = socket_of(model, m) % roots;
    struct stimulus place = {.job = (uint8_t)job};

    if (to->kind == TRIB_PLACE_PARENT && at != 0) {
        uint32_t parent = model->scenario->job[job].parent[at];
        place.from = scenario_child(model, job, parent, MODEL_RANKS + at);
        place.to = (uint8_t)(MODEL_RANKS + parent * roots + root);
        machine_send(run, model, packet, &place);
        return;
    }
    if (to->kind != TRIB_PLACE_CHILDREN || to->children == 0 || to->children >> model->children[job][at] != 0) {
        run->violation = model_violated(model, "place", "a switch sends to nobody that it knows");
        return;
    }
    if (model->scenario->rows != 0) {
        combine_send_down(run, model, m, packet, to->children);
        return;
    }
    for (uint32_t i = 0; i < model->children[job][at]; i++) {
        if (to->children >> i & 1) {
            uint32_t child = model->child[job][at][i];
            bool is_rank = child < MODEL_RANKS;
            place.from = is_rank ? (uint8_t)root : FROM_PARENT;
            place.to = (uint8_t)(is_rank ? model->first_rank[job] + child
                                         : MODEL_RANKS + (child - MODEL_RANKS) * roots + root);
            machine_send(run, model, packet, &place);
        }
    }
}

/* ---- draining ---- */

static void take_done(struct run *run, struct model *model, const struct machine *m, const struct trib_event *event)
{
    struct head *head = head_of(m);
    uint32_t op = (uint32_t)event->token;
    uint32_t pair = op % model->scenario->operations;

    if (op >= head->submitted || head->done >> op & 1 || head->pair[pair] != op + 1) {
        run->violation =
            model_violated(model, "done", "rank %u: DONE of operation %u, which does not run", m->rank, op);
        return;
    }
    run->violation = buffers_check(model, (uint32_t)(m - model->machine), op, buffers_of(m, pair), true);
    head->done |= 1U << op;
    head->pair[pair] = 0;
    buffers_scribble(buffers_of(m, pair));
}

static void drain_worker(struct run *run, struct model *model, const struct machine *m)
{
    const struct trib_worker_verbs *verbs = model->scheme->worker;
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint32_t before[MODEL_ROOTS] = {0};

    for (uint32_t root = 0; root < model->scenario->roots; root++) {
        before[root] = verbs->in_flight(node_of(m), root);
    }
    while (run->violation == 0 && verbs->node.next_packet(node_of(m), head_of(m)->now_ns, &packet, &to)) {
        run->violation = check_worker_packet(model, (uint32_t)(m - model->machine), &packet);
        if (run->violation == 0) {
            send_up(run, model, m, &packet, &to);
        }
    }
    if (run->violation == 0) {
        run->violation = marks_check_windows(model, node_of(m), before);
    }
    while (run->violation == 0 && verbs->node.next_event(node_of(m), &event)) {
        if (event.kind == TRIB_EVENT_DONE) {
            take_done(run, model, m, &event);
        } else if (event.kind == TRIB_EVENT_FAILED) {
            run->violation =
                model_violated(model, "failed", "rank %u gives sequence %u up", m->rank, (unsigned)event.sequence);
        }
    }
}

static void drain_switch(struct run *run, struct model *model, const struct machine *m)
{
    const struct trib_switch_verbs *verbs = model->scheme->switch_node;
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    while (run->violation == 0 && verbs->node.next_packet(node_of(m), head_of(m)->now_ns, &packet, &to)) {
        run->violation =
            check_switch_packet(model, head_of(m)->owner, socket_of(model, m) / model->scenario->roots, &packet);
        if (run->violation == 0) {
            run->violation = marks_check_switch(model, &head_of(m)->marks, socket_of(model, m) / model->scenario->roots,
                                                &packet, &to);
        }
        if (run->violation == 0) {
            send_from_switch(run, model, m, &packet, &to);
        }
    }
    head_of(m)->marks.late = 0;
    while (run->violation == 0 && verbs->node.next_event(node_of(m), &event)) {
        if (event.kind == TRIB_EVENT_MISMATCH) {
            uint32_t job = head_of(m)->owner;
            run->violation = check_mismatch(model, job, socket_of(model, m) / model->scenario->roots, &event);
            head_of(m)->is_disputed = model->scenario->job[job].others != 0;
        }
    }
}

/* ---- stimuli ---- */

static void submit(struct run *run, struct model *model, const struct machine *m, uint32_t op)
{
    struct head *head = head_of(m);
    uint32_t pair = op % model->scenario->operations;
    struct buffers *buffers = buffers_of(m, pair);
    struct trib_operation operation = scenario_operation(model, (uint32_t)(m - model->machine), op);
    bool has_shares = operation.count != 0 && trib_operation_has_shares(&operation);
    uint64_t share_at = 4 * m->rank * operation.count; /* a rank's share lies where it lies in the whole tensor */
    buffers_fill(model, (uint32_t)(m - model->machine), op, buffers);
    if (has_shares || (operation.count != 0 && trib_operation_wants(&operation, operation.root, m->rank))) {
        operation.recv = buffers->recv + (operation.collective == TRIB_REDUCE_SCATTER ? share_at : 0);
    }
    if (has_shares || (operation.count != 0 && trib_operation_contributes(&operation, operation.root, m->rank))) {
        operation.send = (model->scenario->in_place && operation.recv != NULL ? buffers->recv : buffers->send) +
                         (operation.collective == TRIB_ALLGATHER ? share_at : 0);
    }
    head->submitted++;
    head->pair[pair] = op + 1;
    if (!model->scheme->worker->submit(node_of(m), &operation, head->now_ns)) {
        run->violation = model_violated(model, "submit", "rank %u: operation %u is refused", m->rank, op);
    }
}

static void worker_packet(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    const struct trib_worker_verbs *verbs = model->scheme->worker;
    struct trib_place from = {.kind = model->scenario->has_peers ? TRIB_PLACE_PEER : TRIB_PLACE_ROOT, .index = s->from};
    uint64_t heeded = verbs->node.counters(node_of(m))->results_marked;
    struct trib_packet packet;

    if (trib_packet_decode(s->wire, s->len, &packet) != TRIB_DROP_NONE) {
        return;
    }
    run->drop = verbs->node.receive(node_of(m), from, &packet, head_of(m)->now_ns);
    run->violation = check_drop(model, m->job, true, &packet, run->drop);
    if (run->violation == 0) {
        heeded = verbs->node.counters(node_of(m))->results_marked - heeded;
        run->violation = marks_check_worker(model, &head_of(m)->marks, &packet, run->drop, heeded);
    }
}

static void told_number(struct model *model, const struct machine *m, uint32_t number)
{
    head_of(m)->marks.number = (uint8_t)(number + 1);
    for (uint32_t root = 0; root < model->scenario->roots && m->is_worker; root++) {
        model->scheme->worker->set_child(node_of(m), root, number);
    }
    if (!m->is_worker) {
        model->scheme->switch_node->set_child(node_of(m), number);
    }
}

static void run_worker(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    const struct trib_worker_verbs *verbs = model->scheme->worker;
    struct head *head = head_of(m);

    switch (s->kind) {
    case STIMULUS_PACKET:
        worker_packet(run, model, m, s);
        break;
    case STIMULUS_TIMER:
        head->now_ns += MODEL_LEAP_NS;
        verbs->node.on_timeout(node_of(m), head->now_ns);
        break;
    case STIMULUS_TICK:
        head->now_ns += MODEL_LEAP_NS;
        break;
    case STIMULUS_SUBMIT:
        submit(run, model, m, s->a);
        break;
    case STIMULUS_SUSPEND:
        verbs->suspend(node_of(m));
        break;
    case STIMULUS_REGISTERED:
        verbs->registered(node_of(m), settings_boot(model, s->a), s->b, head->now_ns);
        break;
    case STIMULUS_LEARN:
        verbs->learn_mark(node_of(m), s->b, head->now_ns);
        break;
    case STIMULUS_NUMBER:
        told_number(model, m, s->a);
        break;
    default:
        break;
    }
    head->is_undrained = s->kind == STIMULUS_PACKET && s->a != 0;
    if (!head->is_undrained) {
        drain_worker(run, model, m);
    }
}

static void check_buffers(struct run *run, struct model *model, const struct machine *m)
{
    const struct head *head = head_of(m);

    for (uint32_t pair = 0; pair < MODEL_PAIRS && run->violation == 0; pair++) {
        uint32_t rank = (uint32_t)(m - model->machine);
        uint32_t op = head->pair[pair];
        run->violation = op == 0 ? buffers_check_idle(model, rank, buffers_of(m, pair))
                                 : buffers_check(model, rank, op - 1, buffers_of(m, pair), false);
    }
}

static void init_switch(struct model *model, const struct machine *m, const struct stimulus *s)
{
    struct trib_switch_config config = settings_switch(model, s->b, socket_of(model, m), s->a);

    head_of(m)->owner = s->b;
    head_of(m)->is_begun = 1;
    head_of(m)->is_disputed = 0;
    head_of(m)->marks = (struct marks){0};
    model->scheme->switch_node->init(node_of(m), &config);
}

static void switch_packet(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    const struct trib_switch_verbs *verbs = model->scheme->switch_node;
    struct trib_place from = {.kind = TRIB_PLACE_PARENT};
    struct head *head = head_of(m);
    struct trib_packet packet;

    if (trib_packet_decode(s->wire, s->len, &packet) != TRIB_DROP_NONE) {
        return;
    }
    if (s->from != FROM_PARENT) {
        from = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = model_speaks_for(model, s)};
    }
    run->drop = verbs->node.receive(node_of(m), from, &packet, head->now_ns);
    run->violation = check_drop(model, head->owner, false, &packet, run->drop);
    uint32_t children = model->children[head->owner][socket_of(model, m) / model->scenario->roots];
    if (model->scenario->rows == 0) {
        marks_take(&head->marks, &packet, s->from, run->drop, trib_all_children(children));
    }
}

static void run_switch(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    const struct trib_switch_verbs *verbs = model->scheme->switch_node;
    struct head *head = head_of(m);

    switch (s->kind) {
    case STIMULUS_PACKET:
        switch_packet(run, model, m, s);
        break;
    case STIMULUS_TICK:
        head->now_ns += MODEL_LEAP_NS;
        break;
    case STIMULUS_LEARN:
        verbs->learn_mark(node_of(m), s->b);
        break;
    case STIMULUS_JOIN:
        verbs->join(node_of(m), s->a, s->b);
        break;
    case STIMULUS_CAP:
        verbs->set_cap(node_of(m), s->a, head->now_ns);
        break;
    case STIMULUS_NUMBER:
        told_number(model, m, s->a);
        break;
    case STIMULUS_INIT:
        init_switch(model, m, s);
        break;
    default:
        break;
    }
    head->is_undrained = s->kind == STIMULUS_PACKET && s->a != 0;
    if (!head->is_undrained) {
        drain_switch(run, model, m);
    }
    if (run->violation == 0 && head->is_begun) {
        run->violation = check_room(model, node_of(m));
    }
}

/* Runs the stimulus on what is loaded. */
static void run_machine(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s)
{
    run->outs = 0;
    run->drop = TRIB_DROP_NONE;
    run->violation = 0;
    model->node_steps++;
    is_inside = 1;
    if (sigsetjmp(escape, 0) == 0) {
        if (m->is_worker) {
            run_worker(run, model, m, s);
            check_buffers(run, model, m);
        } else if (model_is_combiner(model, socket_of(model, m))) {
            combine_run(run, model, m, s);
        } else {
            run_switch(run, model, m, s);
        }
        if (model->scenario->time == MODEL_TIME_LEAPS) {
            head_of(m)->now_ns += MODEL_LEAP_NS;
        }
    } else {
        run->violation = model_violated(model, escape_word, "%s", escape_text);
    }
    is_inside = 0;
}

/* ---- states of a node ---- */

static uint8_t small(uint64_t value)
{
    return value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
}

static void note_facts(const struct model *model, const struct machine *m, struct facts *facts)
{
    const struct head *head = head_of(m);
    const void *node = node_of(m);

    *facts = (struct facts){
        .submitted = small(head->submitted),
        .done = small(head->done),
        .is_undrained = head->is_undrained != 0,
        .has_number = head->marks.number != 0,
    };
    if (m->is_worker) {
        facts->mark = small(model->scheme->worker->mark(node));
        facts->known = small(model->scheme->worker->node.communicator_mark(node));
        facts->wants_timer = model->scheme->worker->node.next_timeout(node) != TRIB_NEVER;
    } else if (model_is_combiner(model, socket_of(model, m))) {
        combine_note(model, m, facts);
    } else if (head->is_begun) {
        facts->known = small(model->scheme->switch_node->node.communicator_mark(node));
        facts->held = small(model->scheme->switch_node->slots_held(node));
        facts->is_disputed = head->is_disputed != 0;
        facts->lacks_lowest = model->scheme->switch_node->missing_on(node, facts->known) != 0;
    }
}

static size_t hashed_size(const struct model *model, const struct machine *m)
{
    if (!head_of(m)->is_begun || (!m->is_worker && model_is_combiner(model, socket_of(model, m)))) {
        return m->node_size;
    }
    return m->is_worker ? model->scheme->worker->node.state_size(node_of(m))
                        : model->scheme->switch_node->node.state_size(node_of(m));
}

/* Clears what nobody will read, and gives the state's digest and facts. */
static struct digest look(const struct model *model, const struct machine *m, struct facts *facts)
{
    const struct view *view = view_find(model->scheme->name);
    struct digest digest = {(uint64_t)(m - model->machine), 0};
    uint64_t words[VIEW_WORDS];
    size_t count = 0;

    note_facts(model, m, facts);
    if (!m->is_worker && model_is_combiner(model, socket_of(model, m))) {
        combine_clear(model, m);
    } else if (view != NULL && head_of(m)->is_begun) {
        (m->is_worker ? view->clear_worker : view->clear_switch)(model->scenario, node_of(m));
        marks_forget(&head_of(m)->marks, facts->known);
        if (m->is_worker && model->scenario->quorum_of != 0) {
            view->worker_lists(node_of(m), facts->list);
        }
        count = (m->is_worker ? view->worker_limits : view->switch_limits)(node_of(m), head_of(m)->now_ns, words,
                                                                           &facts->is_limited);
    }
    size_t end = m->node_at + hashed_size(model, m);
    for (size_t at = BLOCK; at < m->size; at += BLOCK) {
        if (at >= end && at < m->buffers_at) {
            at = m->buffers_at - BLOCK;
            continue;
        }
        if (memcmp(m->memory + at, m->base + at, BLOCK) != 0) {
            digest_add(&digest, &at, sizeof at);
            digest_add(&digest, m->memory + at, BLOCK);
        }
    }
    digest_add(&digest, words, count * sizeof words[0]);
    return digest;
}

static void keep(struct model *model, const struct machine *m)
{
    for (size_t at = 0; at < m->size; at += BLOCK) {
        if (memcmp(m->memory + at, m->base + at, BLOCK) != 0) {
            store_add_block(model->store, (uint16_t)(at / BLOCK), m->memory + at);
        }
    }
}

/* ---- are merged states really one? ---- */

#define VERIFY_STIMULI 16

/* What a stimulus makes of the node as it is in memory. */
struct outcome {
    struct run run;
    struct digest digest;
};

static void try_stimulus(struct outcome *outcome, struct model *model, const struct machine *m,
                         const struct stimulus *stimulus)
{
    struct facts facts;
    uint32_t violations = model->violations;

    run_machine(&outcome->run, model, m, stimulus);
    outcome->digest = outcome->run.violation == 0 ? look(model, m, &facts) : (struct digest){0, 0};
    model->violations = violations; /* out of turn, so it says nothing of the node */
}

/* In what they differ; NULL: in nothing. */
static const char *difference(const struct outcome *a, const struct outcome *b)
{
    if ((a->run.violation != 0) != (b->run.violation != 0)) {
        return "a violation";
    }
    if (a->run.drop != b->run.drop) {
        return "the reason of a drop";
    }
    if (a->run.outs != b->run.outs || memcmp(a->run.out, b->run.out, a->run.outs * sizeof a->run.out[0]) != 0) {
        return "what is sent";
    }
    return a->digest.a == b->digest.a && a->digest.b == b->digest.b ? NULL : "the state after it";
}

static bool concerns(const struct model *model, const struct machine *m, const struct stimulus *s)
{
    uint32_t index = (uint32_t)(m - model->machine);

    if (s->kind == STIMULUS_PACKET) {
        return m->is_worker ? s->to == index : s->to == MODEL_RANKS + socket_of(model, m);
    }
    return s->kind == STIMULUS_TICK || (m->is_worker && s->kind == STIMULUS_TIMER);
}

/* `as_run` is what the node's memory was before view.c cleared it. Whatever comes must find no difference to the state
 * that was found first under the same digest. */
static uint8_t verify(struct model *model, const struct machine *m, uint32_t id, const uint8_t *as_run)
{
    static struct outcome of_first, of_this;
    uint32_t stimuli = store_stimuli(model->store);

    for (uint32_t i = 0; i < VERIFY_STIMULI; i++) {
        uint32_t stimulus = (uint32_t)(trib_mix64(model->verified++) % stimuli);
        for (uint32_t tried = 0; !concerns(model, m, store_stimulus_at(model->store, stimulus)); tried++) {
            if (tried == stimuli) {
                return 0;
            }
            stimulus = stimulus + 1 == stimuli ? 0 : stimulus + 1;
        }
        load(model, id);
        try_stimulus(&of_first, model, m, store_stimulus_at(model->store, stimulus));
        memcpy(m->memory, as_run, m->size);
        try_stimulus(&of_this, model, m, store_stimulus_at(model->store, stimulus));
        const char *what = difference(&of_first, &of_this);
        if (what != NULL) {
            const struct stimulus *s = store_stimulus_at(model->store, stimulus);
            bool is_packet = s->kind == STIMULUS_PACKET;
            return model_violated(model, "view", "two states of node %d are taken for one, but %s %u differs in %s",
                                  (int)(m - model->machine),
                                  is_packet ? trib_kind_name((enum trib_kind)s->wire[TRIB_AT_KIND]) : "stimulus",
                                  is_packet ? s->wire[TRIB_AT_SEQUENCE + 5] : s->kind, what);
        }
    }
    return 0;
}

/* The number of the state that is in memory. */
static uint32_t remember(struct model *model, const struct machine *m, uint8_t *violation)
{
    static uint8_t as_run[MODEL_MEMORY];
    struct facts facts;
    bool verifies = model->verify_every != 0 && model->node_steps % model->verify_every == 0;

    if (verifies) {
        memcpy(as_run, m->memory, m->size);
    }
    struct digest digest = look(model, m, &facts);
    uint32_t id = store_find_local(model->store, &digest);
    if (id == MODEL_NONE) {
        id = store_add_local(model->store, &digest, (uint32_t)(m - model->machine), &facts);
        keep(model, m);
    } else if (verifies) {
        *violation = verify(model, m, id, as_run);
    }
    return id;
}

uint32_t machine_initial(struct model *model, uint32_t node)
{
    const struct machine *m = &model->machine[node];
    uint8_t violation;

    memcpy(m->memory, m->base, m->size);
    return remember(model, m, &violation);
}

const struct facts *machine_facts(const struct model *model, uint32_t local)
{
    return &store_local(model->store, local)->facts;
}

struct step machine_step(struct model *model, uint32_t local, uint32_t stimulus)
{
    static struct run run;
    const struct step *known = store_find_step(model->store, local, stimulus);

    if (known != NULL) {
        return *known;
    }
    const struct machine *m = &model->machine[store_local(model->store, local)->node];
    struct step step = {.local = local, .stimulus = stimulus, .next = local};
    uint32_t out[MODEL_OUT];
    load(model, local);
    run_machine(&run, model, m, store_stimulus_at(model->store, stimulus));
    step.drop = (uint8_t)run.drop;
    step.violation = run.violation;
    for (uint32_t i = 0; i < run.outs; i++) {
        out[step.out_count++] = store_stimulus(model->store, &run.out[i]);
    }
    if (run.violation == 0) {
        step.next = remember(model, m, &step.violation);
    }
    step = store_add_step(model->store, &step, out);
    symmetry_prove_step(model, &step);
    return step;
}

/* What would come without the packet: in a batch the drain, else nothing. */
bool machine_ignores(struct model *model, uint32_t local, uint32_t stimulus)
{
    static struct outcome with, without;
    static const struct stimulus nothing;
    const struct step *known = store_find_step(model->store, local, stimulus);
    const struct machine *m = &model->machine[store_local(model->store, local)->node];

    if (known != NULL && known->next == local && known->out_count == 0 && known->violation == 0) {
        return true;
    }
    load(model, local);
    try_stimulus(&without, model, m, &nothing);
    load(model, local);
    try_stimulus(&with, model, m, store_stimulus_at(model->store, stimulus));
    with.run.drop = TRIB_DROP_NONE;
    return with.run.violation == 0 && difference(&with, &without) == NULL;
}
