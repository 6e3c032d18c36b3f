/* SPDX-License-Identifier: Apache-2.0 */
/* atp_stage.c: the nodes of jobs with servers in plain memory, and the switch before the servers. Carries nothing by
 * itself. Read next: atp_play.c. */
#include <stdlib.h>
#include <string.h>

#include "core/window.h"
#include "demo/atp.h"
#include "published/atp_literal/atp_literal.h"

#define VALUE_BITS 20 /* of random values: no sum of all workers saturates */

static bool is_published(const struct demo_atp_stage *stage)
{
    return stage->config->scheme->refusal != NULL;
}

static const struct trib_worker_verbs *worker_of(const struct demo_atp_stage *stage)
{
    return stage->config->scheme->worker;
}

static const struct trib_switch_verbs *server_of(const struct demo_atp_stage *stage)
{
    return stage->config->scheme->switch_node;
}

/* ---- values ---- */

static int32_t own_value(const struct demo_atp_stage *stage, uint32_t job, uint32_t rank, uint64_t sequence)
{
    int32_t digit = 1;

    if (stage->config->seed != 0) {
        uint64_t mixed = trib_mix64(stage->config->seed ^ (uint64_t)job << 56 ^ (uint64_t)rank << 48 ^ sequence);
        return (int32_t)(mixed >> (64 - VALUE_BITS)) + 1;
    }
    for (uint32_t i = 0; i < rank; i++) {
        digit *= 10;
    }
    return digit * (int32_t)(sequence + 1);
}

int32_t demo_atp_right(const struct demo_atp_stage *stage, uint32_t job, uint64_t sequence)
{
    int32_t sum = 0;

    for (uint32_t rank = 0; rank < stage->config->workers; rank++) {
        sum += own_value(stage, job, rank, sequence);
    }
    return sum;
}

bool demo_atp_is_wrong(const struct demo_atp_stage *stage, uint32_t job, const struct demo_parcel *parcel)
{
    return parcel->packet.kind == TRIB_RESULT && (parcel->packet.flags & TRIB_FLAG_OVERFLOW) == 0 &&
           demo_value(parcel) != demo_atp_right(stage, job, parcel->packet.sequence);
}

/* ---- life ---- */

static void *node_memory(size_t size)
{
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void open_combiner(struct demo_atp_stage *stage)
{
    struct trib_combiner_config config = {.kernels = trib_value_kernels(),
                                          .rows = stage->config->rows,
                                          .payload = DEMO_PAYLOAD,
                                          .members = stage->config->jobs};

    stage->rows = node_memory(trib_combiner_size(&config));
    if (stage->rows == NULL) {
        return;
    }
    trib_combiner_init(stage->rows, &config);
    for (uint32_t job = 0; job < stage->config->jobs; job++) {
        struct trib_combiner_grant grant = {
            .behind = trib_all_children(stage->config->workers),
            .span = trib_window_span(&stage->jobs[job].session),
            .communicator = stage->jobs[job].session.communicator,
            .generation = stage->jobs[job].session.generation,
            .rows = stage->config->rows,
        };
        trib_combiner_admit(stage->rows, job, &grant);
    }
}

static void open_rows(struct demo_atp_stage *stage)
{
    struct trib_atp_rows_config config = {
        .kernels = trib_value_kernels(), .rows = stage->config->rows, .payload = DEMO_PAYLOAD};

    stage->rows = node_memory(trib_atp_rows_size(&config));
    if (stage->rows != NULL) {
        trib_atp_rows_init(stage->rows, &config);
    }
}

static bool open_server(struct demo_atp_stage *stage, uint32_t job)
{
    struct trib_switch_config config = {.session = stage->jobs[job].session,
                                        .kernels = trib_value_kernels(),
                                        .children = stage->config->workers,
                                        .boot = 1,
                                        .has_combiners = true};

    config.session.salt = 0; /* unknown to servers */
    stage->jobs[job].server = node_memory(server_of(stage)->size(&config));
    if (stage->jobs[job].server != NULL) {
        server_of(stage)->init(stage->jobs[job].server, &config);
    }
    return stage->jobs[job].server != NULL;
}

static bool open_worker(struct demo_atp_stage *stage, uint32_t job, uint32_t rank)
{
    const struct trib_worker_verbs *worker = worker_of(stage);
    struct demo_atp_job *j = &stage->jobs[job];
    struct trib_worker_config config = {.session = j->session,
                                        .kernels = trib_value_kernels(),
                                        .rank = rank,
                                        .window = j->session.slots,
                                        .operations = 1,
                                        .stall_ns = UINT64_MAX / 2};
    size_t fragments = (size_t)stage->config->tensors * stage->config->fragments;

    j->worker[rank] = node_memory(worker->size(&config));
    j->tensor[rank] = malloc(fragments * DEMO_PAYLOAD);
    j->sum[rank] = calloc(fragments, DEMO_PAYLOAD);
    if (j->worker[rank] == NULL || j->tensor[rank] == NULL || j->sum[rank] == NULL) {
        return false;
    }
    for (size_t i = 0; i < fragments * DEMO_ELEMENTS; i++) {
        j->tensor[rank][i] = own_value(stage, job, rank, i / DEMO_ELEMENTS);
    }
    worker->init(j->worker[rank], &config);
    if (worker->set_child != NULL) {
        worker->set_child(j->worker[rank], 0, rank);
    }
    return true;
}

static void submit(struct demo_atp_stage *stage, struct demo_atp_job *j, uint32_t rank)
{
    size_t elements = (size_t)stage->config->fragments * DEMO_ELEMENTS;
    size_t at = j->tensors[rank]++ * elements;
    struct trib_operation operation = {.send = j->tensor[rank] + at,
                                       .recv = j->sum[rank] + at,
                                       .count = elements,
                                       .collective = TRIB_ALLREDUCE,
                                       .type = TRIB_INT32,
                                       .reduction = TRIB_SUM};

    (void)worker_of(stage)->submit(j->worker[rank], &operation, stage->now_ns);
}

static bool open_job(struct demo_atp_stage *stage, uint32_t job)
{
    struct demo_atp_job *j = &stage->jobs[job];
    bool opened = true;

    j->session = (struct trib_session_config){.salt = 42 + job,
                                              .communicator = job + 1,
                                              .ranks = stage->config->workers,
                                              .roots = 1,
                                              .train = 1,
                                              .slots = stage->config->window,
                                              .payload = DEMO_PAYLOAD,
                                              .generation = 1,
                                              .wire = TRIB_FLOAT32,
                                              .lookahead = 1};
    opened = open_server(stage, job);
    for (uint32_t rank = 0; rank < stage->config->workers; rank++) {
        opened = open_worker(stage, job, rank) && opened;
    }
    for (uint32_t rank = 0; opened && rank < stage->config->workers; rank++) {
        server_of(stage)->join(j->server, rank, 0);
    }
    for (uint32_t rank = 0; opened && rank < stage->config->workers; rank++) {
        worker_of(stage)->registered(j->worker[rank], 1, 0, stage->now_ns);
        submit(stage, j, rank);
    }
    return opened;
}

bool demo_atp_open(struct demo_atp_stage *stage, const struct demo_atp_config *config, struct demo_atp_seen *seen)
{
    bool opened = true;

    *stage = (struct demo_atp_stage){.config = config, .seen = seen, .now_ns = DEMO_MS};
    for (uint32_t job = 0; job < config->jobs; job++) {
        opened = open_job(stage, job) && opened;
    }
    if (is_published(stage)) {
        open_rows(stage);
    } else {
        open_combiner(stage);
    }
    return opened && stage->rows != NULL;
}

void demo_atp_close(struct demo_atp_stage *stage)
{
    for (uint32_t job = 0; job < DEMO_ATP_JOBS; job++) {
        free(stage->jobs[job].server);
        for (uint32_t rank = 0; rank < DEMO_ATP_WORKERS; rank++) {
            free(stage->jobs[job].worker[rank]);
            free(stage->jobs[job].tensor[rank]);
            free(stage->jobs[job].sum[rank]);
        }
    }
    free(stage->rows);
}

/* ---- packets ---- */

static void keep(struct demo_parcel *parcel, const struct trib_packet *packet)
{
    uint8_t payload[DEMO_PAYLOAD] = {0};

    if (packet->payload_len != 0) {
        memcpy(payload, packet->payload, packet->payload_len);
    }
    parcel->packet = *packet;
    parcel->packet.payload = NULL;
    memcpy(parcel->payload, payload, sizeof payload);
}

static struct trib_packet *packet_of(struct demo_parcel *parcel)
{
    parcel->packet.payload = parcel->packet.payload_len != 0 ? parcel->payload : NULL;
    return &parcel->packet;
}

enum trib_combined demo_atp_rows_take(struct demo_atp_stage *stage, uint32_t job, uint32_t rank,
                                      struct demo_parcel *parcel)
{
    struct trib_packet packet = *packet_of(parcel);
    enum trib_combined fate = is_published(stage) ? trib_atp_rows_up(stage->rows, &packet)
                                                  : trib_combiner_up(stage->rows, job, UINT64_C(1) << rank, &packet);

    keep(parcel, &packet); /* the payload may be a row's now */
    return fate;
}

bool demo_atp_rows_send(struct demo_atp_stage *stage, struct demo_parcel *parcel, uint32_t *job)
{
    struct trib_packet packet;

    if (is_published(stage) || !trib_combiner_next(stage->rows, &packet, job)) {
        return false;
    }
    keep(parcel, &packet);
    trib_combiner_release(stage->rows);
    return true;
}

void demo_atp_rows_pass(struct demo_atp_stage *stage, uint32_t job, struct demo_parcel *parcel)
{
    if (is_published(stage)) {
        trib_atp_rows_down(stage->rows, &parcel->packet);
    } else {
        trib_combiner_down(stage->rows, job, &parcel->packet);
    }
}

enum trib_drop demo_atp_server_takes(struct demo_atp_stage *stage, uint32_t job, uint64_t ranks,
                                     struct demo_parcel *parcel)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = ranks};

    return server_of(stage)->node.receive(stage->jobs[job].server, from, packet_of(parcel), stage->now_ns);
}

bool demo_atp_server_sends(struct demo_atp_stage *stage, uint32_t job, struct demo_parcel *parcel, uint64_t *ranks)
{
    struct trib_packet packet;
    struct trib_place to;

    if (!server_of(stage)->node.next_packet(stage->jobs[job].server, stage->now_ns, &packet, &to)) {
        return false;
    }
    keep(parcel, &packet);
    *ranks = to.children;
    return true;
}

bool demo_atp_worker_sends(struct demo_atp_stage *stage, uint32_t job, uint32_t rank, struct demo_parcel *parcel)
{
    struct trib_packet packet;
    struct trib_place to;

    if (!worker_of(stage)->node.next_packet(stage->jobs[job].worker[rank], stage->now_ns, &packet, &to)) {
        return false;
    }
    keep(parcel, &packet);
    return true;
}

static void take_event(struct demo_atp_stage *stage, uint32_t job, uint32_t rank, const struct trib_event *event)
{
    struct demo_atp_job *j = &stage->jobs[job];

    stage->seen->failed += event->kind == TRIB_EVENT_FAILED;
    j->has_failed |= event->kind == TRIB_EVENT_FAILED;
    if (event->kind == TRIB_EVENT_DONE && j->tensors[rank] < stage->config->tensors) {
        submit(stage, j, rank);
    } else if (event->kind == TRIB_EVENT_DONE) {
        stage->seen->done++;
        stage->seen->ended_ns = stage->now_ns - DEMO_MS;
    }
}

/* A worker that refuses a sum gets the same sum again: counted once. */
static void count_wrong(const struct demo_atp_stage *stage, uint64_t *last, uint64_t sequence, enum trib_drop drop)
{
    if (*last != sequence + 1) {
        stage->seen->wrong++;
        stage->seen->caught += drop == TRIB_DROP_LANE;
        stage->seen->delivered += drop == TRIB_DROP_NONE;
        *last = sequence + 1;
    }
}

enum trib_drop demo_atp_worker_takes(struct demo_atp_stage *stage, uint32_t job, uint32_t rank,
                                     struct demo_parcel *parcel)
{
    const struct trib_worker_verbs *worker = worker_of(stage);
    void *node = stage->jobs[job].worker[rank];
    struct trib_place from = {.kind = TRIB_PLACE_ROOT};
    struct trib_event event;
    enum trib_drop drop = worker->node.receive(node, from, packet_of(parcel), stage->now_ns);

    if (demo_atp_is_wrong(stage, job, parcel) && (drop == TRIB_DROP_NONE || drop == TRIB_DROP_LANE)) {
        count_wrong(stage, &stage->jobs[job].wrong[rank], parcel->packet.sequence, drop);
    }
    while (worker->node.next_event(node, &event)) {
        take_event(stage, job, rank, &event);
    }
    return drop;
}

/* Ours: the control plane tells the marks of idle jobs. The published switch hears of nothing but answers. */
void demo_atp_count_rows(struct demo_atp_stage *stage)
{
    if (is_published(stage)) {
        stage->seen->leaked = trib_atp_rows_held(stage->rows);
        return;
    }
    for (uint32_t job = 0; job < stage->config->jobs; job++) {
        uint64_t mark = UINT64_MAX;
        for (uint32_t rank = 0; rank < stage->config->workers; rank++) {
            uint64_t own = worker_of(stage)->mark(stage->jobs[job].worker[rank]);
            mark = own < mark ? own : mark;
        }
        trib_combiner_learn_mark(stage->rows, job, mark);
    }
    stage->seen->leaked = trib_combiner_rows_held(stage->rows, TRIB_COMBINER_ALL);
}
