/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_relay.c: bytes become what a relay sees: sessions from below, of ranks and of other relays, right messages and
 * any that the codec takes (sessions.h); connections to a parent that stand, break or never come about; what that
 * parent says, which may be anything; time; a data plane that refuses, and a path that answers or does not. Relay and
 * jobs (control/relay/relay.h) are the real ones.
 *
 * What must hold, beside the rules of sessions.h and accounts.h: on the way up goes nothing before the JOIN nor behind
 * the last words, only what a rank or a relay may say, and never a place that the rank does not have; every session
 * that has said JOIN has one way up, or has ended; no deadline is in the past; and when all connections are gone no
 * job, no link, no communicator and no memory is left.
 * Read next: control/relay/relay.h. */
#include "control/relay/relay.h"
#include "fuzz/fuzz.h"
#include "fuzz/sessions.h"

#define LINKS 24
#define EVENTS_MAX 300
#define VIA UINT64_C(0x7e1a7)

/* A connection to the parent, as uplinks.c keeps it. */
struct uplink {
    struct trib_link link; /* first: it is found by a cast */
    bool is_there;         /* the relay has it */
    bool is_up;            /* it was told that it stands */
    bool has_joined;
    bool has_last; /* ABORT, GONE or FAIL was sent */
};

static struct trib_relay relay;
static struct uplink uplinks[LINKS];
static bool lacks_links;

/* ---- the way up ---- */

static struct uplink *uplink_of(struct trib_link *link)
{
    return (struct uplink *)(void *)link;
}

static struct trib_link *uplink_open(void *owner)
{
    (void)owner;
    for (uint32_t i = 0; i < LINKS && !lacks_links; i++) {
        if (!uplinks[i].is_there) {
            memset(&uplinks[i], 0, sizeof uplinks[i]);
            uplinks[i].is_there = true;
            return &uplinks[i].link;
        }
    }
    return NULL;
}

static bool may_go_up(enum trib_message_kind kind)
{
    switch ((int)kind) {
    case TRIB_MESSAGE_JOIN:
    case TRIB_MESSAGE_PATHS:
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_OPERATION:
    case TRIB_MESSAGE_CLOSE:
    case TRIB_MESSAGE_ABORT:
    case TRIB_MESSAGE_FAIL:
    case TRIB_MESSAGE_STALL:
    case TRIB_MESSAGE_GONE:
    case TRIB_MESSAGE_DISPUTE:
        return true;
    default:
        return false;
    }
}

static void check_join(const struct uplink *uplink, const struct trib_message *message)
{
    must(message->join.via == VIA && message->join.hops >= 1 && message->join.hops <= TRIB_HOPS_MAX,
         "link: a JOIN that does not say whom it comes over");
    must(message->join.roots >= 1 && message->join.roots <= script.config.shards && message->join.room != 0,
         "link: a JOIN beyond the means of this switch");
    must(!message->join.multicast && message->join.known.group == 0, "link: a group of this switch is told above");
    must(message->join.rank == uplink->link.join.join.rank, "link: a JOIN of another rank");
}

static void uplink_send(void *owner, struct trib_link *link, const struct trib_message *message)
{
    struct uplink *uplink = uplink_of(link);
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(uplink->is_there && uplink->is_up, "link: sent on one that does not stand");
    must(!uplink->has_last, "link: sent behind the last words");
    must((message->kind == TRIB_MESSAGE_JOIN) == !uplink->has_joined, "link: not one JOIN, and first");
    must(may_go_up(message->kind), "link: that is not for a parent");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "link: sent what is no message");
    if (message->kind == TRIB_MESSAGE_JOIN) {
        check_join(uplink, message);
    }
    uplink->has_joined = true;
    uplink->has_last =
        message->kind == TRIB_MESSAGE_ABORT || message->kind == TRIB_MESSAGE_FAIL || message->kind == TRIB_MESSAGE_GONE;
}

static void uplink_end(void *owner, struct trib_link *link)
{
    (void)owner;
    must(uplink_of(link)->is_there, "link: ended twice");
    uplink_of(link)->is_there = false;
}

static void uplink_ping(void *owner, struct trib_link *link)
{
    (void)owner;
    must(uplink_of(link)->is_there && uplink_of(link)->is_up, "link: one that does not stand is asked");
}

static void uplink_lose(struct uplink *uplink, bool is_foreign)
{
    trib_relay_lost(&script.jobs, &uplink->link, "connection closed", is_foreign, script.now_ns);
    must(!uplink->is_there, "link: lost, and still held");
}

/* ---- what the parent says ---- */

/* Mostly what a parent may grant: few communicators, and as many ranks as the job has. */
static void make_welcome(const struct uplink *uplink, struct trib_message *message)
{
    uint32_t what = next_byte();
    uint32_t how = next_byte();
    const struct trib_settings *settings = &uplink->link.join.join.settings;

    message->welcome.grant = (struct trib_grant){
        .salt = 1,
        .token = 2,
        .job_token = 4,
        .communicator = 7 + (what & 1),
        .boot = 100 + (what >> 1 & 3),
        .roots = 1 + (how & 1),
        .train = 4,
        .slots = 32,
        .window = how == 255 ? 33 : 16,
        .generation = 1,
        .data_port = 7470,
        .group = how == 254 ? 0xefc07401U : 0,
    };
    message->welcome.generation_ranks = how == 253 ? settings->ranks + 1 : settings->ranks;
    message->welcome.behind = 1 + (what >> 3 & 3);
}

static void make_answer(const struct uplink *uplink, struct trib_message *message)
{
    static const uint8_t kinds[16] = {
        TRIB_MESSAGE_WELCOME,  TRIB_MESSAGE_WELCOME, TRIB_MESSAGE_WELCOME, TRIB_MESSAGE_WELCOME,
        TRIB_MESSAGE_READY,    TRIB_MESSAGE_READY,   TRIB_MESSAGE_READY,   TRIB_MESSAGE_MARK,
        TRIB_MESSAGE_DESCRIBE, TRIB_MESSAGE_MISSING, TRIB_MESSAGE_CLOSED,  TRIB_MESSAGE_CLOSED,
        TRIB_MESSAGE_FAIL,     TRIB_MESSAGE_FAIL,    TRIB_MESSAGE_AWAY,    TRIB_MESSAGE_NONE,
    };
    uint32_t choice = next_byte();

    *message = (struct trib_message){.kind = (enum trib_message_kind)kinds[choice & 15]};
    switch (kinds[choice & 15]) {
    case TRIB_MESSAGE_WELCOME:
        make_welcome(uplink, message);
        return;
    case TRIB_MESSAGE_READY:
        message->ready.boot = 100;
        message->ready.mark = next_number();
        message->ready.multicast = (choice & 16) != 0;
        return;
    case TRIB_MESSAGE_MARK:
        message->mark.mark = next_number();
        return;
    case TRIB_MESSAGE_DESCRIBE:
        message->describe.sequence = next_number();
        return;
    case TRIB_MESSAGE_MISSING:
        message->stall.sequence = next_number();
        make_text(message->stall.where, sizeof message->stall.where);
        return;
    case TRIB_MESSAGE_FAIL:
        message->fail.status = (int32_t)next_byte() - 128;
        make_text(message->fail.text, sizeof message->fail.text);
        return;
    case TRIB_MESSAGE_AWAY:
        make_text(message->note.text, sizeof message->note.text);
        return;
    case TRIB_MESSAGE_NONE: /* what no parent says */
        make_message(next_byte(), message);
        return;
    default:
        return;
    }
}

static void uplink_happen(struct uplink *uplink, uint32_t what)
{
    const struct trib_address local = trib_address_v4(0x0a000002, 45678);
    struct trib_message message;
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    if (!uplink->is_there) {
        return;
    }
    if (!uplink->is_up) {
        if (what == 0) {
            uplink_lose(uplink, false);
            return;
        }
        uplink->is_up = true;
        trib_relay_connected(&script.jobs, &uplink->link, &local);
        must(uplink->has_joined, "link: it stands, and nobody joins");
        return;
    }
    if (what == 0) {
        uplink_lose(uplink, next_byte() > 250);
        return;
    }
    make_answer(uplink, &message);
    size_t len = trib_message_encode(&message, bytes);
    if (trib_message_decode(bytes, len, &taken, &used) == TRIB_OK) {
        trib_relay_answer(&script.jobs, &uplink->link, &taken, script.now_ns);
    }
}

/* ---- the script ---- */

static void pass_time(uint32_t how)
{
    uint64_t due_ns = trib_jobs_next_timeout(&script.jobs);

    script.now_ns = how < 8 || due_ns == TRIB_NEVER ? script.now_ns + (uint64_t)how * 10 * TRIB_MILLISECOND_NS
                    : due_ns > script.now_ns        ? due_ns
                                                    : script.now_ns;
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

static void stop(void)
{
    trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
    must(script.jobs.count == 0 && relay.first == NULL, "relay: left behind by deinit");
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
        pass_time(next_byte() % 16);
        return;
    case 6:
        dispute(next_byte());
        return;
    case 7:
        script.accounts.answers = (byte & 1) != 0;
        script.accounts.refuses = (byte & 14) == 14;
        lacks_links = (byte & 14) == 12;
        return;
    case 8:
        if (next_byte() > 240) {
            stop();
        }
        return;
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
        uplink_happen(&uplinks[next_byte() % LINKS], byte & 15);
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

static void check_links(void)
{
    uint32_t held = 0;

    for (const struct trib_link *link = relay.first; link != NULL; link = link->next) {
        const struct trib_job *job = link->job;
        must(((const struct uplink *)(const void *)link)->is_there, "relay: a link that has ended");
        must(link->down != NULL ? link->down->link == link : link->holds_close, "relay: a link of nobody");
        must(job == NULL || job->ranks[link->join.join.rank].session == &link->place,
             "relay: a link without its place");
        held++;
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        held -= uplinks[i].is_there;
    }
    must(held == 0, "relay: links that it has forgotten");
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct peer *peer = &script.peers[i];
        if (peer->is_there) {
            must(peer->has_ended == (peer->session.link == NULL && peer->has_joined),
                 "session: joined, and neither on its way nor ended");
            must(!peer->has_last || peer->has_ended, "session: told the last, and not ended");
        }
    }
}

static void check_jobs(void)
{
    uint64_t memory = 0;
    uint32_t count = 0;

    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        uint32_t here = 0;
        count++;
        memory += job->here.bytes;
        must(!job->is_open || accounts_find(&script.accounts, job->grant.communicator) != NULL,
             "jobs: open here, closed below");
        for (const struct trib_link *link = relay.first; link != NULL; link = link->next) {
            here += link->job == job;
        }
        must(here == job->links && here > 0 && here <= job->expected, "jobs: links miscounted");
    }
    must(count == script.jobs.count, "jobs: miscounted");
    must(memory == script.jobs.agent.memory_used, "jobs: memory that no job has");
}

static void check_end(void)
{
    for (uint32_t i = 0; i < LINKS; i++) {
        if (uplinks[i].is_there) {
            uplink_lose(&uplinks[i], false);
        }
    }
    check_links(); /* so every JOIN has had its answer, or its end */
    must(relay.first == NULL && script.jobs.first == NULL, "end: something waits for a parent that is gone");
    must(script.jobs.agent.memory_used == 0, "end: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "end: a communicator stays open");
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
}

static void set_up(const uint8_t *data, size_t size)
{
    const struct trib_jobs_output output = {.send = peer_send, .end = peer_end, .ping = peer_ping, .draw = test_draw};
    const struct trib_relay_output above = {
        .open = uplink_open, .send = uplink_send, .end = uplink_end, .ping = uplink_ping};

    memset(&script, 0, sizeof script);
    memset(uplinks, 0, sizeof uplinks);
    lacks_links = false;
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    script.config = (struct trib_server_config){
        .listen = trib_address_v4(0x0a000002, 7470),
        .parent = trib_address_v4(0x0a0000fe, 7470),
        .shards = 2,
        .boot = BOOT,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .group = next_byte() % 2 != 0 ? 0xefc07401U : 0,
        .join_timeout_ns = 5 * TRIB_SECOND_NS,
        .plane = accounts_plane(&script.accounts),
    };
    script.accounts.answers = true;
    trib_jobs_init(&script.jobs, &script.config, &output);
    trib_relay_init(&relay, &script.config, VIA, &above);
    script.jobs.relay = &relay;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up(data, size);
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        trib_jobs_check(&script.jobs);
        check_links();
        check_jobs();
    }
    check_end();
    return 0;
}
