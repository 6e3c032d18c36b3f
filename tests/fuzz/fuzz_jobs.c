/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jobs.c: bytes become what a control plane sees: messages of up to 12 sessions of ranks at once, right ones and
 * any that the codec takes; sessions that end; time; slots that saw two operations; a data plane that refuses, and whose
 * marks run ahead; where it has lenders, what they say, and how their sessions end; some sessions are those of another
 * controller; some come over switches below, which say anything about their openings, and are lost. A rank that is recalled may say what it likes, and JOIN again. The jobs
 * (control/jobs/jobs.h) are the real ones. The data plane only keeps accounts (accounts.h), the sessions only keep order.
 *
 * What must hold: the data plane is asked for nothing that is not open, every session is in one place of one job or in
 * none, nothing is sent to a session behind its FAIL or CLOSED, every message can be encoded, a deadline is never in
 * the past, each agent elsewhere has one session, and when all sessions are gone and time has passed, no job, no
 * communicator, no root of another controller and no memory is left. Read next: control/jobs/jobs.h. */
#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/placements.h"
#include "control/roots/leaves.h"
#include "control/roots/switches.h"
#include "fuzz/fuzz.h"
#include "fuzz/sessions.h"

#define EVENTS_MAX 300
#define LENDERS 2

/* ---- agents elsewhere ---- */

/* The session with one of them, as uplinks.c keeps it. */
static struct line {
    struct trib_remote *remote; /* NULL: there is none */
    bool is_connected;
    struct trib_opening_id of; /* of the ROOT_OPEN that it was asked last */
} lines[LENDERS];

static struct line *line_of(const struct trib_remote *remote)
{
    return &lines[remote - script.jobs.remote];
}

static bool line_open(void *owner, struct trib_remote *remote)
{
    struct line *line = line_of(remote);

    (void)owner;
    must(line->remote == NULL, "agent: two sessions");
    if (script.accounts.refuses) {
        return false;
    }
    *line = (struct line){.remote = remote};
    remote->line = line;
    return true;
}

static void line_send(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    struct line *line = line_of(remote);
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(line->remote == remote && remote->line == line && line->is_connected,
         "agent: told on a session that does not stand");
    must(trib_message_is_of(message->kind, TRIB_SENDER_MASTER), "agent: that is not for an agent");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "agent: told what is no message");
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        line->of = message->of;
    }
}

static void line_end(void *owner, struct trib_remote *remote)
{
    struct line *line = line_of(remote);

    (void)owner;
    must(line->remote == remote, "agent: a session ended twice");
    line->remote = NULL;
}

static void line_ping(void *owner, struct trib_remote *remote)
{
    (void)owner;
    must(line_of(remote)->remote == remote, "agent: a session that has ended is asked");
}

/* What an agent says, or nearly. */
static void make_agent_word(const struct line *line, struct trib_message *message)
{
    uint32_t how = next_byte();

    memset(message, 0, sizeof *message);
    if (!trib_remote_is_usable(line->remote) && how < 200) {
        message->kind = TRIB_MESSAGE_HELLO;
        message->hello.nonce = line->remote->nonce + (how == 199);
        message->hello.life = how < 190 ? 100U + (uint32_t)(line - lines) : 100;
        message->hello.room = 1U << (how & 31);
        message->hello.weight = (uint8_t)(1 + (how >> 6));
        message->hello.shards = (uint8_t)(1 + (how >> 5 & 1));
        message->hello.at[0] = trib_address_v4(0x0a000065, 7480);
        message->hello.at[1] = trib_address_v4(0x0a000065, 7481);
    } else if (how < 160) {
        message->kind = how < 80 ? TRIB_MESSAGE_ROOT_OPENED : TRIB_MESSAGE_ROOT_READY;
        message->of = (struct trib_opening_id){line->of.communicator + (how == 159), line->of.boot + (how == 158)};
    } else if (how < 210) {
        message->kind = TRIB_MESSAGE_ROOT_MISSING;
        message->of = line->of;
        message->root_missing.sequence = next_number();
        message->root_missing.missing.count = (uint16_t)(how & 3);
        for (uint32_t i = 0; i < message->root_missing.missing.count; i++) {
            message->root_missing.missing.rank[i] = (uint16_t)i;
        }
    } else if (how < 225) {
        message->kind = TRIB_MESSAGE_ROOT_REFUSED;
        message->of = line->of;
        message->root_refused.status = -(int32_t)(how & 15);
        strcpy(message->root_refused.text, "it cannot");
    } else if (how < 230) {
        message->kind = TRIB_MESSAGE_ROOM;
        message->room.room = next_byte();
    } else {
        make_message(how, message);
    }
}

static void line_happen(struct line *line, uint32_t what)
{
    struct trib_message message;
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    if (line->remote == NULL) {
        return;
    }
    if (what == 0) {
        trib_switches_lost(&script.jobs, line->remote, "connection closed", next_byte() > 250, script.now_ns);
        must(line->remote == NULL, "agent: lost, and still held");
        return;
    }
    if (!line->is_connected) {
        line->is_connected = true;
        trib_switches_connected(&script.jobs, line->remote);
        return;
    }
    make_agent_word(line, &message);
    size_t len = trib_message_encode(&message, bytes);
    if (trib_message_decode(bytes, len, &taken, &used) == TRIB_OK) {
        trib_switches_answer(&script.jobs, line->remote, &taken, script.now_ns);
    }
}

/* ---- switches below ---- */

/* What it was asked last. The second may be below the first. */
static struct trib_opening_id asked_below[LEAVES];

static void tell_below(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    uint32_t index = remote == script.leaf[1];
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(remote == script.leaf[index] && trib_remote_is_usable(remote), "below: told a switch that is lost");
    must(trib_message_is_of(message->kind, TRIB_SENDER_UPPER), "below: that is not for a switch below");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "below: told what is no message");
    asked_below[index] = message->kind == TRIB_MESSAGE_ROOT_OPEN ? message->of : asked_below[index];
}

static void ping_below(void *owner, struct trib_remote *remote)
{
    (void)owner;
    must(trib_remote_is_usable(remote), "below: a switch that is lost is asked");
}

static void add_below(uint32_t index, uint32_t how)
{
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.identity = 77 + index,
                                           .life = how,
                                           .room = 1U << (10 + (how & 15)),
                                           .weight = 1,
                                           .shards = (uint8_t)(1 + (how >> 4 & 3))}};
    const struct trib_session session = {.peer = trib_address_v4(0x0a000051 + index, 51000),
                                         .local = script.config.listen,
                                         .leaf = index == 1 && how >= 128 ? script.leaf[0] : NULL};

    for (uint32_t i = 0; i < hello.hello.shards; i++) {
        hello.hello.at[i] = trib_address_v4((how & 64) != 0 ? 0x0a000061 + index : 0, (uint16_t)(7470 + i));
    }
    must(trib_leaves_explain_unfit(&script.jobs, &hello, &session) == NULL, "below: a switch that is right is unfit");
    script.leaf[index] = trib_leaves_add(&script.jobs, &hello, &session, &asked_below[index]);
}

/* As channels.c: first it is unusable with all that it carries, then the sessions go, then it does. */
static void lose_below(uint32_t index)
{
    struct trib_remote *remote = script.leaf[index];

    if (remote == NULL) {
        return;
    }
    bool carries = index == 0 && script.leaf[1] != NULL && script.leaf[1]->above == remote;
    trib_leaves_lose(remote);
    if (carries) {
        trib_leaves_lose(script.leaf[1]);
        lose_below(1);
    }
    for (uint32_t i = AT_LEAVES; i < SESSIONS; i++) {
        if (script.peers[i].session.leaf == remote) {
            peer_go(&script.peers[i]);
            script.peers[i].session.leaf = NULL;
        }
    }
    script.leaf[index] = NULL;
    trib_leaves_remove(&script.jobs, remote, "its session closed", script.now_ns);
}

/* What it says of an opening, or nearly. */
static void make_word_of_below(uint32_t index, uint32_t how, struct trib_message *message)
{
    *message = (struct trib_message){.of = asked_below[index]};
    message->of.communicator += how == 255;
    message->of.boot += how == 254;
    if (how < 90) {
        message->kind = TRIB_MESSAGE_ROOT_OPENED;
        message->root_opened.group = how & 1;
    } else if (how < 150) {
        message->kind = TRIB_MESSAGE_ROOT_READY;
    } else if (how < 200) {
        message->kind = TRIB_MESSAGE_ROOT_MISSING;
        message->root_missing.sequence = next_number();
        message->root_missing.missing.count = (uint16_t)(how & 3);
        for (uint32_t i = 0; i < message->root_missing.missing.count; i++) {
            message->root_missing.missing.rank[i] = (uint16_t)next_byte();
        }
    } else if (how < 215) {
        message->kind = TRIB_MESSAGE_DISPUTE;
        message->dispute.sequence = next_number();
        message->dispute.rank[0] = next_byte() % 8;
        message->dispute.rank[1] = next_byte() % 8;
    } else if (how < 225) {
        message->kind = TRIB_MESSAGE_ROOT_REFUSED;
        message->root_refused.status = -(int32_t)(how & 15);
        strcpy(message->root_refused.text, "it cannot");
    } else if (how < 230) {
        message->kind = TRIB_MESSAGE_BYE;
        make_text(message->fail.text, sizeof message->fail.text);
    } else {
        make_message(how, message);
    }
}

static void below_happen(uint32_t index, uint32_t what)
{
    struct trib_message message;
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    if (script.leaf[index] == NULL) {
        add_below(index, next_byte());
        return;
    }
    if (what == 0) {
        lose_below(index);
        return;
    }
    make_word_of_below(index, next_byte(), &message);
    size_t len = trib_message_encode(&message, bytes);
    if (trib_message_decode(bytes, len, &taken, &used) == TRIB_OK &&
        !trib_leaves_answer(&script.jobs, script.leaf[index], &taken, script.now_ns)) {
        lose_below(index); /* its connection must end */
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

static void begin(void)
{
    const struct trib_jobs_output output = {.send = peer_send, .end = peer_end, .ping = peer_ping, .draw = test_draw};

    trib_jobs_init(&script.jobs, &script.config, &output);
    script.jobs.remotes =
        (struct trib_remote_output){.open = line_open, .send = line_send, .end = line_end, .ping = line_ping};
    script.jobs.below = (struct trib_remote_output){.send = tell_below, .ping = ping_below};
    trib_jobs_on_timeout(&script.jobs, script.now_ns); /* agents are dialled at once */
}

/* The switch dies and comes back, perhaps with another number of shards: all sessions are lost, and the grants are known
 * to the ranks alone. */
static void restart(bool in_peace)
{
    if (in_peace) {
        trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        must(script.jobs.count == 0, "jobs: left behind by deinit");
        lose_below(0);
        lose_below(1);
        script.config.boot += 0x1000; /* none that was given out before */
        script.config.shards = 1 + next_byte() % 4;
        begin();
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
    case 10:
        if (peer->is_recalled) {
            make_return(peer, &message);
            peer_say(peer, &message);
            return;
        }
        break;
    case 14:
        below_happen(byte >> 3 & 1, byte & 7);
        return;
    case 15:
        if (script.config.lenders.count > 0) {
            line_happen(&lines[next_byte() % LENDERS], byte & 15);
            return;
        }
        break;
    default:
        break;
    }
    make_message(next_byte(), &message);
    if (peer->is_there) {
        peer_say(peer, &message);
    }
}

/* ---- what must hold ---- */

static void check_lines(void)
{
    for (uint32_t i = 0; i < script.config.lenders.count; i++) {
        must((lines[i].remote != NULL) == (script.jobs.remote[i].state != TRIB_REMOTE_AWAY),
             "agent: a session that is not known");
    }
}

static void check_places(void)
{
    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        must(!trib_placements_are_here(job) || accounts_find(&script.accounts, job->grant.communicator) != NULL,
             "jobs: open here, closed below");
    }
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
    if (next_byte() % 2 != 0) {
        lose_below(0);
    }
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
    for (uint32_t i = 0; i < 100 && script.jobs.first != NULL; i++) { /* some are waited for until a deadline */
        must(trib_jobs_next_timeout(&script.jobs) != TRIB_NEVER, "end: a job without sessions waits for ever");
        pass_time(15);
    }
    must(script.jobs.first == NULL && script.jobs.owners == NULL && script.jobs.count == 0,
         "end: a job without sessions does not end");
    lose_below(0);
    lose_below(1);
    must(script.jobs.leaves == NULL, "end: a switch below is left");
    must(script.jobs.masters.first == NULL && script.jobs.masters.lendings == NULL,
         "end: another controller has roots");
    must(script.jobs.agent.memory_used == 0, "end: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "end: a communicator stays open");
    check_lines();
    trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the end");
}

static void set_up(const uint8_t *data, size_t size)
{
    memset(&script, 0, sizeof script);
    memset(lines, 0, sizeof lines);
    memset(asked_below, 0, sizeof asked_below);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    uint32_t wishes = next_byte();
    script.config = (struct trib_server_config){
        .listen = trib_address_v4(0x0a0000fe, 7470),
        .trees = wishes >> 3 & 3,
        .shards = 2,
        .boot = BOOT,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .threshold = (wishes & 2) != 0 ? 40000000 : 0,
        .group = wishes % 2 != 0 ? 0xefc07401U : 0,
        .join_timeout_ns = 5 * TRIB_SECOND_NS,
        .plane = accounts_plane(&script.accounts),
    };
    if ((wishes & 32) != 0) {
        script.config.lend_to.count = 1;
        script.config.lend_to.at[0] = script.peers[0].session.peer;
    }
    for (uint32_t i = 0; i < LENDERS && (wishes & 4) != 0; i++) {
        script.config.lenders.at[script.config.lenders.count++] = trib_address_v4(0x0a000065 + i, 7480);
    }
    begin();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up(data, size);
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        trib_jobs_check(&script.jobs);
        check_places();
        check_lines();
    }
    check_end();
    return 0;
}
