/* SPDX-License-Identifier: Apache-2.0 */
/* roots_harness.h: ranks whose processes are the roots, and the control plane in one of them, without sockets: the real
 * jobs (control/jobs/jobs.h, roots.h) and the real doing side (control/agents/root.h) speak in encoded messages; the
 * data planes only record. Used by test_roots.c and test_roots_faults.c. */
#ifndef TRIB_TESTS_ROOTS_HARNESS_H
#define TRIB_TESTS_ROOTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/agents/root.h"
#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/places.h"
#include "control/roots/roots.h"
#include "io/clock.h"
#include "net/resolve.h"
#include "unit/draw.h"

#define RANKS_MAX 36
#define INBOX_MAX 256
#define ROOM (4U << 20)
#define BOOT 0xb0071234U

/* The data plane of one process: what it was asked for. */
struct fake_plane {
    unsigned opens, closes, joins;
    bool refuses;
    bool has_belows; /* children may be switches */
    bool has_many;   /* communicators; the last one opened is recorded */
    struct trib_session_config session;
    uint32_t root[2], shard[2], boot, count;
    struct trib_address from[RANKS_MAX]; /* of each branch, to the root opened last */
    uint64_t marks[RANKS_MAX];
    uint16_t missing[RANKS_MAX];
    uint32_t missing_count;
    uint64_t missing_sequence; /* that was asked for last */
    struct trib_auth_key auth[2];
    uint16_t sender[RANKS_MAX]; /* of each branch, to the root opened last */
};

static inline enum trib_status fake_open(void *owner, const struct trib_opening *opening)
{
    struct fake_plane *plane = owner;
    assert_null(opening->parent);
    assert_int_equal(opening->session.salt, 0);
    assert_string_equal(opening->scheme, "switchml");
    if (plane->refuses) {
        return TRIB_ERR_MEMORY;
    }
    plane->root[plane->opens % 2] = opening->root;
    plane->shard[plane->opens % 2] = opening->shard;
    plane->auth[plane->opens % 2] = *opening->auth;
    plane->opens++;
    plane->session = opening->session;
    plane->boot = opening->boot;
    plane->count = opening->count;
    for (uint32_t b = 0; b < opening->count; b++) {
        assert_true(opening->branches[b].count == 1 || (opening->branches[b].is_switch && plane->has_belows));
        assert_int_equal(opening->branches[b].ranks[0], b);
        assert_true(!opening->branches[b].is_switch || plane->has_belows);
        plane->from[b] = opening->branches[b].from;
        plane->sender[b] = opening->branches[b].sender;
    }
    return TRIB_OK;
}

static inline void fake_close(void *owner, uint32_t communicator)
{
    struct fake_plane *plane = owner;
    assert_true(communicator == plane->session.communicator || plane->has_many);
    plane->closes++;
}

static inline void fake_join(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    struct fake_plane *plane = owner;
    assert_int_equal(communicator, plane->session.communicator);
    plane->joins++;
    plane->marks[rank] = mark;
}

static inline uint32_t fake_missing(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks,
                                    uint32_t max)
{
    struct fake_plane *plane = owner;
    assert_int_equal(communicator, plane->session.communicator);
    assert_true(max >= plane->missing_count);
    plane->missing_sequence = sequence;
    memcpy(ranks, plane->missing, plane->missing_count * sizeof *ranks);
    return plane->missing_count;
}

/* A process: its session, its root, and what its rank was told. */
struct process {
    struct trib_session session;
    struct trib_root root;
    struct trib_data_plane verbs;
    struct trib_agent agent; /* of the verbs */
    struct fake_plane plane;
    struct trib_message inbox[INBOX_MAX];
    uint32_t arrived, read;
    bool is_stuck; /* takes nothing out of its inbox */
    bool has_ended;
    unsigned welcomes, readies, fails, missings, describes, closeds, gones, rings, recalls,
        asked; /* asked: ROOT_MISSING */
    struct trib_message welcome, ready, fail, missing, gone, ring, recall;
    uint64_t mark; /* the last MARK */
    uint32_t told; /* FAIL was sent to it as the n-th */
};

struct hosts {
    struct trib_jobs jobs;
    struct trib_server_config config;
    struct process process[RANKS_MAX];
    uint32_t fails_sent;
    uint64_t now_ns;
};

static inline struct process *process_of(struct trib_session *session)
{
    return (struct process *)(void *)session;
}

static inline struct trib_message through_bytes(const struct trib_message *message)
{
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;
    size_t len = trib_message_encode(message, bytes);
    assert_int_equal(trib_message_decode(bytes, len, &taken, &used), TRIB_OK);
    assert_int_equal(used, len);
    return taken;
}

static inline void hosts_send(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct process *process = process_of(session);
    struct hosts *h = owner;
    if (message->kind == TRIB_MESSAGE_FAIL) {
        process->told = ++h->fails_sent;
    }
    assert_false(process->has_ended);
    assert_true(process->arrived < INBOX_MAX);
    process->inbox[process->arrived++] = through_bytes(message);
}

static inline void hosts_end(void *owner, struct trib_session *session)
{
    (void)owner;
    process_of(session)->has_ended = true;
}

static inline int hosts_start(void **state)
{
    struct hosts *h = calloc(1, sizeof *h);
    const struct trib_jobs_output output = {h, hosts_send, hosts_end, NULL, test_draw, NULL};
    assert_int_equal(trib_address_parse("10.0.0.1:7470", 0, &h->config.listen, NULL), TRIB_OK);
    h->config.boot = BOOT;
    h->config.join_timeout_ns = 5 * TRIB_SECOND_NS;
    h->now_ns = TRIB_SECOND_NS;
    trib_jobs_init(&h->jobs, &h->config, &output);
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        struct process *process = &h->process[i];
        process->session.peer = trib_address_v4(0x0a000001 + i, (uint16_t)(50000 + i));
        process->session.local = h->config.listen;
        process->verbs = (struct trib_data_plane){.plane = &process->plane,
                                                  .open = fake_open,
                                                  .close = fake_close,
                                                  .join = fake_join,
                                                  .missing = fake_missing};
        trib_agent_init(&process->agent, &process->verbs, 2);
        trib_root_init(&process->root, &process->agent);
    }
    *state = h;
    return 0;
}

/* What was opened must have been closed, and no job is left. */
static inline int hosts_stop(void **state)
{
    struct hosts *h = *state;
    trib_jobs_deinit(&h->jobs, TRIB_ERR_SWITCH, "the end");
    assert_int_equal(h->jobs.count, 0);
    assert_int_equal(h->jobs.agent.memory_used, 0);
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        struct process *process = &h->process[i];
        bool was_open = trib_root_is_open(&process->root);
        trib_root_deinit(&process->root);
        assert_int_equal(process->plane.closes, process->plane.opens > 0 ? 1 : 0);
        assert_true(!was_open || process->plane.closes == 1);
    }
    free(h);
    return 0;
}

/* What a rank says. False: it was out of turn. */
static inline bool say(struct hosts *h, uint32_t rank, const struct trib_message *message)
{
    const struct trib_message taken = through_bytes(message);
    bool is_taken = trib_jobs_receive(&h->jobs, &h->process[rank].session, &taken, h->now_ns);
    trib_jobs_check(&h->jobs);
    return is_taken;
}

static inline void take(struct hosts *h, uint32_t rank, const struct trib_message *message)
{
    struct process *p = &h->process[rank];
    struct trib_message answer;
    switch ((int)message->kind) {
    case TRIB_MESSAGE_WELCOME:
        p->welcomes++;
        p->welcome = *message;
        break;
    case TRIB_MESSAGE_READY:
        p->readies++;
        p->ready = *message;
        break;
    case TRIB_MESSAGE_FAIL:
        p->fails++;
        p->fail = *message;
        trib_root_deinit(&p->root);
        break;
    case TRIB_MESSAGE_CLOSED:
        p->closeds++;
        trib_root_deinit(&p->root);
        break;
    case TRIB_MESSAGE_MISSING:
        p->missings++;
        p->missing = *message;
        break;
    case TRIB_MESSAGE_MARK:
        p->mark = message->mark.mark;
        break;
    case TRIB_MESSAGE_DESCRIBE:
        p->describes++;
        break;
    case TRIB_MESSAGE_GONE:
        p->gones++;
        p->gone = *message;
        return;
    case TRIB_MESSAGE_RECALL:
        p->recalls++;
        p->recall = *message;
        trib_root_deinit(&p->root);
        trib_root_init(&p->root, &p->agent);
        return;
    case TRIB_MESSAGE_RING:
        p->rings++;
        p->ring = *message;
        return;
    default:
        p->asked += message->kind == TRIB_MESSAGE_ROOT_MISSING;
        (void)!trib_root_receive(&p->root, message, &answer);
        if (answer.kind != TRIB_MESSAGE_NONE && !p->has_ended) {
            assert_true(say(h, rank, &answer));
        }
        break;
    }
}

/* Until all inboxes are empty but those of processes that are stuck. */
static inline void pump(struct hosts *h)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < RANKS_MAX; i++) {
            struct process *p = &h->process[i];
            if (p->read < p->arrived && !p->is_stuck) {
                again = true;
                take(h, i, &p->inbox[p->read++]);
            }
        }
    }
}

static inline struct trib_message root_join(uint32_t rank, uint32_t ranks)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    strcpy(message.join.job, "digits");
    message.join.rank = rank;
    message.join.data_port[0] = (uint16_t)(20000 + rank);
    message.join.root_port = (uint16_t)(30000 + rank);
    message.join.room = ROOM;
    message.join.host = 100 + rank;
    strcpy(message.join.settings.scheme, "switchml");
    message.join.settings.ranks = ranks;
    message.join.settings.payload = 1408;
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    return message;
}

static inline void join_all(struct hosts *h, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const struct trib_message join = root_join(i, ranks);
        assert_true(say(h, i, &join));
    }
    pump(h);
}

/* Each rank has a second card, at 10.2.0.1, 10.2.0.2 and so on. */
static inline void join_two_cards(struct hosts *h, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message join = root_join(i, ranks);
        join.join.address_count = 2;
        join.join.address[0] = trib_address_v4(0x0a010001 + i, 0);
        join.join.address[1] = trib_address_v4(0x0a020001 + i, 0);
        join.join.data_port[1] = (uint16_t)(21000 + i);
        assert_true(say(h, i, &join));
    }
    pump(h);
}

static inline bool say_mark(struct hosts *h, uint32_t rank, enum trib_message_kind kind, uint64_t mark)
{
    const struct trib_message message = {.kind = kind, .mark = {.mark = mark}};
    return say(h, rank, &message);
}

static inline void register_rank(struct hosts *h, uint32_t rank, uint64_t mark)
{
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    assert_true(say(h, rank, &paths));
    assert_true(say_mark(h, rank, TRIB_MESSAGE_REGISTER, mark));
    pump(h);
}

/* Brings `ranks` ranks to READY. */
static inline void run_all(struct hosts *h, uint32_t ranks)
{
    join_all(h, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        register_rank(h, i, 0);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        assert_int_equal(h->process[i].readies, 1);
    }
}

static inline bool say_stall(struct hosts *h, uint32_t rank, uint64_t sequence, uint32_t since_ms)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_STALL,
                                         .stall = {.sequence = sequence, .since_ms = since_ms}};
    return say(h, rank, &message);
}

static inline void go(struct hosts *h, uint32_t rank)
{
    trib_jobs_gone(&h->jobs, &h->process[rank].session, "its session closed", h->now_ns);
    trib_jobs_check(&h->jobs);
    h->process[rank].has_ended = true;
    trib_root_deinit(&h->process[rank].root);
    pump(h);
}

static inline void expect_failed(const struct hosts *h, uint32_t rank, enum trib_status status, const char *part)
{
    const struct process *p = &h->process[rank];
    assert_int_equal(p->fails, 1);
    if (!strstr(p->fail.fail.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, p->fail.fail.text);
    }
    assert_int_equal(p->fail.fail.status, status);
    assert_true(p->has_ended);
}

#endif
