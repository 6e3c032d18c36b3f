/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jobs.c: bytes become what a control plane sees: messages of up to 12 sessions at once, of ranks and of relays, right ones and any
 * that the codec takes; sessions that end; time; slots that saw two operations; a data plane that refuses, and whose marks run ahead.
 * The jobs (control/jobs.h) are the real ones. The data plane only keeps accounts (accounts.h), the sessions only keep order.
 *
 * What must hold: the data plane is asked for nothing that is not open, every session is in one place of one job or in none, nothing is sent
 * to a session behind its FAIL or CLOSED, every message can be encoded, a deadline is never in the past, and when all sessions are gone and
 * time has passed, no job, no communicator and no memory is left. Read next: control/jobs.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs.h"
#include "fuzz/accounts.h"
#include "fuzz/fuzz.h"
#include "io/clock.h"

#define SESSIONS 12
#define EVENTS_MAX 300
#define JOB_NAMES 3
#define BOOT 0xb0070000U

/* A connection, as connections.c keeps it. */
struct peer {
    struct trib_session session;
    struct trib_grant grant; /* of its last WELCOME; kept for the next one that connects here */
    bool is_there;           /* connected */
    bool has_ended;          /* nothing more may be sent */
    bool has_last;           /* FAIL or CLOSED was sent: only its end may follow */
};

static struct script {
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct peer peers[SESSIONS];
    struct accounts accounts;
    const uint8_t *bytes;
    size_t left;
    uint64_t now_ns;
} script;

static uint32_t next_byte(void)
{
    if (script.left == 0) {
        return 0;
    }
    script.left--;
    return *script.bytes++;
}

static uint64_t next_number(void)
{
    uint32_t byte = next_byte();

    return byte < 192 ? byte : (uint64_t)next_byte() << (byte - 192);
}

/* ---- sessions ---- */

static struct peer *peer_of(struct trib_session *session)
{
    return (struct peer *)(void *)session; /* its first member */
}

static void peer_send(void *owner, struct trib_session *session, const struct trib_message *message)
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
    peer->has_last = message->kind == TRIB_MESSAGE_FAIL || message->kind == TRIB_MESSAGE_CLOSED;
    if (message->kind == TRIB_MESSAGE_WELCOME) {
        peer->grant = message->welcome.grant;
    }
}

static void peer_end(void *owner, struct trib_session *session)
{
    (void)owner;
    must(peer_of(session)->is_there, "session: one that has gone is ended");
    peer_of(session)->has_ended = true;
}

static void peer_connect(struct peer *peer)
{
    struct trib_grant grant = peer->grant;
    uint32_t index = (uint32_t)(peer - script.peers);
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)(40000 + index)),
        .sin_addr.s_addr = htonl(0x0a000001 + index / 2), /* two share a machine */
    };

    memset(peer, 0, sizeof *peer);
    peer->grant = grant;
    peer->is_there = true;
    memcpy(&peer->session.peer.storage, &from, sizeof from);
    peer->session.peer.len = sizeof from;
}

/* As connections.c: what ended, or broke, is told and forgotten. */
static void peer_go(struct peer *peer)
{
    if (peer->is_there) {
        trib_jobs_gone(&script.jobs, &peer->session, "its session closed", script.now_ns);
        must(peer->session.job == NULL, "session: one that has gone is still in a job");
        peer->is_there = false;
    }
}

/* Gives it to the jobs, by way of its bytes, as a connection would. */
static void peer_say(struct peer *peer, const struct trib_message *message)
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
    if (!trib_jobs_receive(&script.jobs, &peer->session, &taken, script.now_ns)) {
        trib_jobs_expel(&script.jobs, &peer->session, "it sent a message out of turn");
        must(peer->session.job == NULL, "session: one that was expelled is still in a job");
        peer->is_there = false;
    }
}

/* ---- messages ---- */

/* A join that may well be taken: few jobs, few ranks. */
static void make_join(const struct peer *peer, struct trib_message *message)
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
    strcpy(message->join.settings.scheme, how == 255 ? "literal" : "switchml");
    message->join.settings.ranks = how == 254 ? TRIB_SESSION_RANKS_MAX : ranks;
    message->join.settings.payload = how == 253 ? 64 : 1408;
    message->join.settings.window = (how >> 2 & 3) == 3 ? 1U << (how >> 4) : 0;
    message->join.settings.wire = TRIB_WIRE_FLOAT32;
    if ((how >> 4 & 1) != 0) {
        message->join.known = peer->grant;
    }
    if ((how >> 5 & 1) != 0) { /* by a relay */
        message->join.via = 77 + (how >> 6 & 1);
        message->join.hops = (uint8_t)(1 + (who & 7));
        message->join.roots = 1 + (who >> 3 & 3);
        message->join.room = 1U << (10 + (who & 15));
        strcpy(message->join.origin, "10.1.1.1:999");
    }
}

static void make_text(char *text, size_t size)
{
    uint32_t len = next_byte();

    memset(text, 'a' + (int)(len % 26), len < size ? len : size - 1);
    if (len > 128) {
        text[0] = '\n';
    }
}

/* What a rank or relay says behind its JOIN. */
static void make_message(uint32_t choice, struct trib_message *message)
{
    static const uint8_t kinds[16] = {
        TRIB_MESSAGE_PATHS, TRIB_MESSAGE_REGISTER,  TRIB_MESSAGE_MARK,  TRIB_MESSAGE_CLOSE,
        TRIB_MESSAGE_ABORT, TRIB_MESSAGE_OPERATION, TRIB_MESSAGE_STALL, TRIB_MESSAGE_GONE,
        TRIB_MESSAGE_FAIL,  TRIB_MESSAGE_DISPUTE,   TRIB_MESSAGE_PATHS, TRIB_MESSAGE_REGISTER,
        TRIB_MESSAGE_MARK,  TRIB_MESSAGE_CLOSE,     TRIB_MESSAGE_READY, TRIB_MESSAGE_AWAY,
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
static void say_raw(struct peer *peer)
{
    struct trib_message message;
    size_t used = 0;

    if (trib_message_decode(script.bytes, script.left, &message, &used) == TRIB_OK && used > 0) {
        script.bytes += used;
        script.left -= used;
        peer_say(peer, &message);
    }
}

/* ---- the script ---- */

static void pass_time(uint32_t how)
{
    uint64_t due_ns = trib_jobs_next_timeout(&script.jobs);

    must(due_ns >= script.now_ns, "time: a deadline in the past");
    if (how < 8 || due_ns == TRIB_NEVER) {
        script.now_ns += (uint64_t)how * TRIB_MILLISECOND_NS;
    } else {
        script.now_ns = due_ns;
    }
    trib_jobs_on_timeout(&script.jobs, script.now_ns);
    must(trib_jobs_next_timeout(&script.jobs) > script.now_ns, "time: what was due is still due");
}

static void dispute(uint32_t who)
{
    const struct trib_job *job = script.jobs.first;
    const uint32_t ranks[2] = {who & 3, who >> 2 & 3};

    if (job != NULL) {
        trib_jobs_mismatch(&script.jobs, job->grant.communicator, next_number(), ranks, script.now_ns);
    }
}

/* The switch dies and comes back: all sessions are lost, and what they were granted is known to the ranks alone. */
static void restart(bool in_peace)
{
    if (in_peace) {
        trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        must(script.jobs.count == 0, "jobs: left behind by deinit");
    }
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
}

static void happen(uint32_t byte, struct peer *peer)
{
    struct trib_message message;

    switch (byte >> 4) {
    case 0:
    case 1:
    case 2:
        make_join(peer, &message);
        peer_say(peer, &message);
        return;
    case 3:
        say_raw(peer);
        return;
    case 4:
        peer_go(peer);
        return;
    case 5:
    case 6:
        pass_time(next_byte() % 16);
        return;
    case 7:
        dispute(next_byte());
        return;
    case 8:
        script.accounts.leap = next_byte() % 32;
        script.accounts.refuses = next_byte() > 200;
        return;
    case 9:
        if (next_byte() > 192) {
            restart((byte & 1) != 0);
        }
        return;
    default:
        make_message(next_byte(), &message);
        if (peer->is_there) {
            peer_say(peer, &message);
        }
        return;
    }
}

/* ---- what must hold ---- */

static void check_places(void)
{
    uint32_t count = 0;
    uint64_t memory = 0;

    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        count++;
        memory += job->is_open ? job->slot_bytes : 0;
        must(!job->is_open || accounts_find(&script.accounts, job->grant.communicator) != NULL,
             "jobs: open here, closed below");
        for (uint32_t rank = 0; rank < job->settings.ranks; rank++) {
            const struct trib_session *session = job->ranks[rank].session;
            must(session == NULL || (session->job == job && session->rank == rank), "jobs: a session of two places");
        }
    }
    must(count == script.jobs.count, "jobs: miscounted");
    must(memory == script.jobs.memory_used, "jobs: memory that no job has");
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct peer *peer = &script.peers[i];
        const struct trib_job *job = peer->session.job;
        must(!peer->has_ended || job == NULL, "session: ended, and in a job");
        must(!peer->is_there || job == NULL || job->ranks[peer->session.rank].session == &peer->session,
             "session: in a job that does not know it");
        must(!peer->has_last || peer->has_ended, "session: told the last, and not ended");
    }
}

static void check_end(void)
{
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
    for (uint32_t i = 0; i < 100 && script.jobs.first != NULL; i++) { /* some are waited for until a deadline */
        must(trib_jobs_next_timeout(&script.jobs) != TRIB_NEVER, "end: a job without sessions waits for ever");
        pass_time(15);
    }
    must(script.jobs.first == NULL && script.jobs.count == 0, "end: a job without sessions does not end");
    must(script.jobs.memory_used == 0, "end: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "end: a communicator stays open");
}

static void set_up(const uint8_t *data, size_t size)
{
    const struct trib_jobs_output output = {.send = peer_send, .end = peer_end};

    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    script.config = (struct trib_server_config){
        .shards = 2,
        .boot = BOOT,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .group = next_byte() % 2 != 0 ? 0xefc07401U : 0,
        .join_timeout_ns = 5 * TRIB_SECOND_NS,
        .plane = accounts_plane(&script.accounts),
    };
    trib_jobs_init(&script.jobs, &script.config, &output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up(data, size);
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        check_places();
    }
    check_end();
    return 0;
}
