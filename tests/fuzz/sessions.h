/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h: bytes that become the sessions of a control plane: whom they are of, when they come and go, and what they
 * say, right messages and any that the codec takes. The jobs (control/jobs/jobs.h) are the real ones; the sessions only
 * keep order: nothing is sent to one behind its last words, every message can be encoded, and nobody is told of a group
 * that it did not hear. Used by fuzz_jobs.c and fuzz_roots.c. */
#ifndef TRIB_TESTS_FUZZ_SESSIONS_H
#define TRIB_TESTS_FUZZ_SESSIONS_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/jobs.h"
#include "control/jobs/state.h"
#include "fuzz/accounts.h"
#include "io/clock.h"
#include "unit/draw.h"

#define SESSIONS 12
#define JOB_NAMES 3
#define LEAVES 2
#define KEY 0x2222  /* id of the key of the last job */
#define AT_LEAVES 8 /* sessions from this one on come to switches below, where there are any */
#define BOOT 0xb0070000U

/* A connection, as connections.c keeps it. */
struct peer {
    struct trib_session session;
    struct trib_grant grant;      /* of its last WELCOME; kept for the next one that connects here */
    struct trib_grant before;     /* of the WELCOME before; the last one may be lost */
    struct trib_sender_keys auth; /* of its last WELCOME; kept as well */
    bool has_joined;              /* it has said JOIN */
    bool is_recalled;             /* and was told to say it again */
    struct trib_message join;     /* its last */
    bool is_ring;                 /* and that it has been told to be one of a ring */
    bool hears_group;             /* it said so, in PATHS or by a READY of before */
    bool is_there;                /* connected */
    bool has_ended;               /* nothing more may be sent */
    bool has_last;                /* FAIL or CLOSED was sent: only its end may follow */
};

static struct script {
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct peer peers[SESSIONS];
    struct trib_remote *leaf[LEAVES]; /* switches below; NULL: it is not there */
    struct accounts accounts;
    const uint8_t *bytes;
    size_t left;
    uint64_t now_ns;
} script;

static inline uint32_t next_byte(void)
{
    if (script.left == 0) {
        return 0;
    }
    script.left--;
    return *script.bytes++;
}

static inline uint64_t next_number(void)
{
    uint32_t byte = next_byte();

    return byte < 192 ? byte : (uint64_t)next_byte() << (byte - 192);
}

/* ---- sessions ---- */

static inline struct peer *peer_of(struct trib_session *session)
{
    return (struct peer *)(void *)session; /* its first member */
}

/* All of an incarnation with one parent hear one sender, or are a ring, and nobody else has that sender's key; without a
 * key of the job there is none. */
static inline void check_auth(const struct peer *peer, const struct trib_message *welcome)
{
    const struct trib_sender_keys *auth = &welcome->welcome.auth;
    bool is_set = trib_auth_is_set(auth->own);

    must(is_set == (peer->session.job->key != 0), "session: a sender key without a key of the job, or none with one");
    for (uint32_t i = 0; i < SESSIONS && is_set; i++) {
        const struct peer *other = &script.peers[i];
        bool is_same = memcmp(other->auth.heard, auth->heard, sizeof auth->heard) == 0;
        bool are_together = other->grant.communicator == welcome->welcome.grant.communicator &&
                            other->grant.boot == welcome->welcome.grant.boot && other->auth.parent == auth->parent;
        must(is_same == are_together || !trib_auth_is_set(other->auth.own),
             "session: two incarnations have one packet key, or one has two");
    }
}

static inline void peer_send(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct peer *peer = peer_of(session);
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(peer->is_there, "session: sent to one that has gone");
    must(!peer->has_ended && !peer->has_last, "session: sent to behind its end");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "session: sent what is no message");
    peer->has_last = message->kind == TRIB_MESSAGE_FAIL || message->kind == TRIB_MESSAGE_CLOSED ||
                     message->kind == TRIB_MESSAGE_AWAY || message->kind == TRIB_MESSAGE_RING;
    must(message->kind != TRIB_MESSAGE_RING || !peer->is_ring, "session: told twice to be a ring");
    must(message->kind != TRIB_MESSAGE_READY || !message->ready.multicast ||
             (peer->hears_group && peer->grant.group != 0),
         "session: results by a group that the rank did not hear");
    must(!peer->is_recalled || message->kind == TRIB_MESSAGE_FAIL || message->kind == TRIB_MESSAGE_PONG,
         "session: told of an incarnation before it has come back for it");
    peer->is_recalled = peer->is_recalled || message->kind == TRIB_MESSAGE_RECALL;
    if (message->kind == TRIB_MESSAGE_WELCOME) {
        check_auth(peer, message);
        peer->before = peer->grant;
        peer->grant = message->welcome.grant;
        peer->auth = message->welcome.auth;
    }
}

static inline void peer_end(void *owner, struct trib_session *session)
{
    (void)owner;
    must(peer_of(session)->is_there, "session: one that has gone is ended");
    peer_of(session)->has_ended = true;
}

static inline void peer_ping(void *owner, struct trib_session *session)
{
    (void)owner;
    must(peer_of(session)->is_there, "session: one that has gone is asked");
}

static inline void peer_connect(struct peer *peer)
{
    const struct trib_grant grant = peer->grant;
    const struct trib_grant before = peer->before;
    const struct trib_sender_keys auth = peer->auth;
    uint32_t index = (uint32_t)(peer - script.peers);
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)(40000 + index)),
        .sin_addr.s_addr = htonl(0x0a000001 + index / 2), /* two share a machine */
    };

    memset(peer, 0, sizeof *peer);
    peer->grant = grant;
    peer->before = before;
    peer->auth = auth;
    peer->is_there = true;
    memcpy(&peer->session.peer.storage, &from, sizeof from);
    peer->session.peer.len = sizeof from;
    peer->session.leaf = index >= AT_LEAVES ? script.leaf[index % LEAVES] : NULL;
}

/* As connections.c: what ended, or broke, is told and forgotten. */
static inline void peer_go(struct peer *peer)
{
    if (peer->is_there) {
        trib_jobs_gone(&script.jobs, &peer->session, "its session closed", script.now_ns);
        must(!trib_session_is_joined(&peer->session), "session: one that has gone is still in a job");
        peer->is_there = false;
    }
}

/* Gives it to the jobs, by way of its bytes, as a connection would. */
static inline void peer_say(struct peer *peer, const struct trib_message *message)
{
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    if (!peer->is_there) {
        peer_connect(peer);
    }
    size_t len = trib_message_encode(message, bytes);
    if (peer->has_ended || trib_message_decode(bytes, len, &taken, &used) != TRIB_OK) {
        return;
    }
    if (taken.kind == TRIB_MESSAGE_JOIN && (!peer->has_joined || peer->is_recalled)) {
        peer->has_joined = true;
        peer->is_recalled = false;
        peer->join = taken;
        peer->is_ring = taken.join.is_ring;
        peer->hears_group = taken.join.was_ready && taken.join.multicast;
    } else if (taken.kind == TRIB_MESSAGE_PATHS) {
        peer->hears_group = taken.paths.multicast;
    }
    if (!trib_jobs_receive(&script.jobs, &peer->session, &taken, script.now_ns)) {
        trib_jobs_expel(&script.jobs, &peer->session, "it sent a message out of turn", script.now_ns);
        must(!trib_session_is_joined(&peer->session), "session: one that was expelled is still in a job");
        peer->is_there = false;
    }
}

/* ---- messages ---- */

/* A join that may well be taken: few jobs, few ranks. */
static inline void make_join(const struct peer *peer, struct trib_message *message)
{
    static const char names[JOB_NAMES][8] = {"digits", "letters", "x"};
    uint32_t who = next_byte();
    uint32_t how = next_byte();
    uint32_t ranks = 1 + (who >> 4 & 3);

    *message = (struct trib_message){.kind = TRIB_MESSAGE_JOIN};
    message->join.magic = TRIB_SESSION_MAGIC;
    message->join.version = TRIB_SESSION_VERSION;
    message->join.wire_version = TRIB_WIRE_VERSION;
    strcpy(message->join.job, names[(who >> 6) % JOB_NAMES]);
    message->join.rank = who & 3;
    for (uint32_t i = 0; i < 1 + (how & 1); i++) {
        message->join.data_port[i] = (uint16_t)(20000 + (peer - script.peers) * 16 + i);
    }
    message->join.multicast = (how >> 1 & 1) != 0;
    message->join.key = how == 252 ? KEY + 1 : message->join.job[0] == 'x' ? KEY : 0;
    strcpy(message->join.settings.scheme, how == 255 ? "literal" : "switchml");
    message->join.settings.ranks = how == 254 ? TRIB_SESSION_RANKS_MAX : ranks;
    message->join.settings.payload = how == 253 ? 64 : 1408;
    message->join.settings.window = (how >> 2 & 3) == 3 ? 1U << (how >> 4) : 0;
    message->join.settings.wire = TRIB_WIRE_FLOAT32;
    message->join.settings.fallback = (how & 12) == 8;
    message->join.settings.gradient_bytes = (who & 4) != 0 ? 4000000 : 0;
    message->join.is_ring = (who & 12) == 12;
    message->join.meet_port = message->join.settings.fallback ? (uint16_t)(7400 + who) : 0;
    if ((how >> 4 & 1) != 0) {
        message->join.known = (how & 15) == 3 ? peer->before : peer->grant;
        message->join.was_ready = (how >> 7 & 1) != 0;
    }
    if ((how & 15) == 7) { /* made of what this peer was in */
        message->join.maker.communicator = peer->grant.communicator;
        message->join.maker.job_token = peer->grant.job_token ^ (how >> 7);
        strcpy(message->join.maker.job, names[0]);
    }
}

/* The JOIN that answers RECALL, nearly always as it should be. */
static inline void make_return(const struct peer *peer, struct trib_message *message)
{
    uint32_t how = next_byte();

    *message = peer->join;
    if (how < 240) {
        message->join.known = peer->grant;
    }
    message->join.was_ready = message->join.known.communicator != 0 && (how & 1) != 0;
}

static inline void make_text(char *text, size_t size)
{
    uint32_t len = next_byte();

    memset(text, 'a' + (int)(len % 26), len < size ? len : size - 1);
    if (len > 128) {
        text[0] = '\n';
    }
}

/* What a rank says behind its JOIN, and what none does. */
static inline void make_message(uint32_t choice, struct trib_message *message)
{
    static const uint8_t kinds[16] = {
        TRIB_MESSAGE_PATHS, TRIB_MESSAGE_REGISTER,  TRIB_MESSAGE_MARK,  TRIB_MESSAGE_CLOSE,
        TRIB_MESSAGE_ABORT, TRIB_MESSAGE_OPERATION, TRIB_MESSAGE_STALL, TRIB_MESSAGE_GONE,
        TRIB_MESSAGE_FAIL,  TRIB_MESSAGE_DISPUTE,   TRIB_MESSAGE_PATHS, TRIB_MESSAGE_REGISTER,
        TRIB_MESSAGE_MARK,  TRIB_MESSAGE_CLOSE,     TRIB_MESSAGE_RING,  TRIB_MESSAGE_PROGRESS,
    };

    *message = (struct trib_message){.kind = (enum trib_message_kind)kinds[choice & 15]};
    switch (kinds[choice & 15]) {
    case TRIB_MESSAGE_PATHS:
        message->paths.unicast = next_byte() % 16 != 0;
        message->paths.multicast = next_byte() % 2 != 0;
        return;
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_CLOSE:
        message->mark.mark = next_number();
        return;
    case TRIB_MESSAGE_PROGRESS:
        message->progress.bytes = next_number();
        message->progress.busy_ns = TRIB_PROGRESS_NS + next_number();
        return;
    case TRIB_MESSAGE_OPERATION:
        message->operation.sequence = next_number();
        make_text(message->operation.text, sizeof message->operation.text);
        return;
    case TRIB_MESSAGE_STALL:
        message->stall.sequence = next_number();
        message->stall.since_ms = next_byte();
        message->stall.missing.count = (uint16_t)(next_byte() % 4);
        for (uint32_t i = 0; i < message->stall.missing.count; i++) {
            message->stall.missing.rank[i] = (uint16_t)next_byte();
        }
        make_text(message->stall.where, sizeof message->stall.where);
        return;
    case TRIB_MESSAGE_DISPUTE:
        message->dispute.sequence = next_number();
        message->dispute.rank[0] = next_byte();
        message->dispute.rank[1] = next_byte();
        return;
    case TRIB_MESSAGE_GONE:
        message->note.is_lost = next_byte() % 2 != 0;
        make_text(message->note.text, sizeof message->note.text);
        return;
    case TRIB_MESSAGE_ABORT:
    case TRIB_MESSAGE_FAIL:
        message->fail.status = (int32_t)next_byte() - 128;
        make_text(message->fail.text, sizeof message->fail.text);
        return;
    default:
        return;
    }
}

/* Whatever the codec takes for a message: lengths and kinds from the script. */
static inline void say_raw(struct peer *peer)
{
    struct trib_message message;
    size_t used = 0;

    if (trib_message_decode(script.bytes, script.left, &message, &used) == TRIB_OK && used > 0) {
        script.bytes += used;
        script.left -= used;
        peer_say(peer, &message);
    }
}

#endif
