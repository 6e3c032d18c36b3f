/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_leaf.c: bytes become what a switch with a parent hears of the controller above, for its agent: openings, right
 * ones and any that the codec takes, of several communicators; ranks that register; questions, marks, probes, the end of
 * an opening; the end of the connection, and another one; time; slots that saw two operations; a data plane that
 * refuses, and a path that answers or does not. The agent (control/roots/masters.h, control/agents/root.h) is the real
 * one. The data plane only keeps accounts (accounts.h).
 *
 * What must hold: it says only what a switch below may say, as messages, and only while the connection stands; each
 * whole opening is answered; the data plane is asked for nothing that is not open; a deadline is never in the past; when
 * the connection has ended, nothing is open and no memory is left. Read next: control/roots/masters.h. */
#include "fuzz/accounts.h"
#include "fuzz/fuzz.h"
#include "io/clock.h"
#include "unit/leaf_agent.h"

#define EVENTS_MAX 400
#define COMMUNICATORS 3
#define RANKS 6

static struct script {
    struct trib_server_config config;
    struct leaf_agent leaf;
    struct accounts accounts;
    const uint8_t *bytes;
    size_t left;
    uint64_t now_ns;
    bool stands;    /* the connection */
    uint32_t words; /* that it has said */
} script;

static uint32_t next_byte(void)
{
    if (script.left == 0) {
        return 0;
    }
    script.left--;
    return *script.bytes++;
}

static void say_up(void *owner, const struct trib_message *message)
{
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(script.stands, "leaf: says something where no connection is");
    must(trib_message_is_in_turn(message->kind, TRIB_SENDER_LEAF, TRIB_STAGE_WELCOMED),
         "leaf: that is not for a parent");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "leaf: says what is no message");
    script.words++;
}

static void hear(const struct trib_message *message)
{
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;
    size_t len = trib_message_encode(message, bytes);

    if (trib_message_decode(bytes, len, &taken, &used) == TRIB_OK) {
        leaf_agent_hear(&script.leaf, &taken);
    }
}

static void connect_up(void)
{
    leaf_agent_init(&script.leaf, &script.config, NULL, say_up);
    must(script.leaf.master != NULL, "leaf: out of memory");
    script.stands = true;
}

static void check_closed(void)
{
    must(script.leaf.masters.first == NULL && script.leaf.masters.lendings == NULL, "leaf: roots of nobody");
    must(script.leaf.agent.memory_used == 0, "leaf: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "leaf: a communicator stays open");
}

static void lose(void)
{
    script.stands = false;
    leaf_agent_deinit(&script.leaf);
    check_closed();
}

/* ---- what the controller says ---- */

static struct trib_opening_id make_id(uint32_t how)
{
    return (struct trib_opening_id){1 + how % COMMUNICATORS, 10 + (how >> 2 & 1)};
}

static void make_open(uint32_t what, uint32_t how, struct trib_message *message)
{
    *message = (struct trib_message){.kind = TRIB_MESSAGE_ROOT_OPEN,
                                     .root_open = {.of = make_id(what),
                                                   .index = what >> 3 & 1,
                                                   .shard = how == 255 ? 2 : what >> 3 & 1,
                                                   .ranks = RANKS,
                                                   .behind = 1 + (what >> 4 & 3),
                                                   .key = 5 + (how == 254),
                                                   .job_id = 1 + (what >> 6),
                                                   .is_return = (how & 1) != 0,
                                                   .wants_group = (how & 2) != 0,
                                                   .group = (how & 4) != 0 ? 0xefc07401U + (how >> 6) : 0,
                                                   .group_port = 7486}};
    message->root_open.session = (struct trib_session_config){.communicator = message->of.communicator,
                                                              .ranks = how == 253 ? 1 : RANKS,
                                                              .roots = 2,
                                                              .train = 4,
                                                              .slots = how == 252 ? TRIB_SLOTS_MAX : 32,
                                                              .payload = 1408,
                                                              .generation = 1,
                                                              .wire = TRIB_FLOAT32};
    strcpy(message->root_open.scheme, how == 251 ? "ring" : how == 250 ? "literal" : how == 248 ? "rina" : "switchml");
    if (how != 249) {
        message->root_open.parent = trib_address_v4((how & 8) != 0 ? 0x0a0000fe : 0, 7470);
    }
}

static void make_child(uint32_t what, uint32_t rank, uint32_t how, struct trib_message *message)
{
    *message = (struct trib_message){.kind = TRIB_MESSAGE_ROOT_CHILD,
                                     .root_child = {.of = make_id(what),
                                                    .rank = how == 255 ? 1000 : rank,
                                                    .branch = how >= 240 ? how & 7 : rank,
                                                    .is_switch = (how & 64) != 0}};
    message->root_child.from =
        trib_address_v4(how == 239 ? 0x7f000001U : 0x0a000001 + rank, (uint16_t)(how == 238 ? 0 : 20000 + rank));
    if ((how & 32) != 0) {
        message->root_child.to = script.config.listen;
    }
}

/* All of it, mostly. */
static void open_whole(void)
{
    struct trib_message message;
    uint32_t what = next_byte();
    uint32_t how = next_byte();
    uint32_t behind = 1 + (what >> 4 & 3);
    uint32_t before = script.words;

    make_open(what, how, &message);
    hear(&message);
    for (uint32_t i = 0; i < behind; i++) {
        make_child(what, i, 0, &message);
        hear(&message);
    }
    must(how >= 200 || script.words > before ||
             trib_masters_find(&script.leaf.masters, make_id(what).communicator) == NULL ||
             script.leaf.master->half != NULL,
         "leaf: a whole opening without an answer");
}

static void ask(uint32_t choice)
{
    static const uint8_t kinds[8] = {TRIB_MESSAGE_ROOT_JOIN,    TRIB_MESSAGE_ROOT_JOIN, TRIB_MESSAGE_ROOT_JOIN,
                                     TRIB_MESSAGE_ROOT_MISSING, TRIB_MESSAGE_ROOT_MARK, TRIB_MESSAGE_ROOT_PROBE,
                                     TRIB_MESSAGE_ROOT_SHUT,    TRIB_MESSAGE_ROOT_PROBE};
    struct trib_message message = {.kind = (enum trib_message_kind)kinds[choice & 7], .of = make_id(next_byte())};

    if (message.kind == TRIB_MESSAGE_ROOT_JOIN) {
        message.root_join.rank = choice >> 5;
        message.root_join.mark = next_byte() == 255 ? UINT64_MAX : next_byte();
    } else if (message.kind == TRIB_MESSAGE_ROOT_MISSING) {
        message.root_missing.sequence = next_byte();
    } else if (message.kind == TRIB_MESSAGE_ROOT_MARK) {
        message.root_mark.mark = next_byte();
        message.root_mark.multicast = (choice & 8) != 0;
    }
    hear(&message);
}

static void say_raw(void)
{
    struct trib_message message;
    size_t used = 0;

    if (trib_message_decode(script.bytes, script.left, &message, &used) == TRIB_OK && used > 0) {
        script.bytes += used;
        script.left -= used;
        leaf_agent_hear(&script.leaf, &message);
    }
}

/* ---- the script ---- */

static void pass_time(uint32_t how)
{
    uint64_t due_ns = trib_masters_next_timeout(&script.leaf.masters);

    script.now_ns = how < 8 || due_ns == TRIB_NEVER ? script.now_ns + (uint64_t)how * 100 * TRIB_MILLISECOND_NS
                    : due_ns > script.now_ns        ? due_ns
                                                    : script.now_ns;
    trib_masters_on_timeout(&script.leaf.masters, script.now_ns);
    must(trib_masters_next_timeout(&script.leaf.masters) > script.now_ns, "time: what was due is still due");
}

static void happen(uint32_t byte)
{
    const uint32_t ranks[2] = {byte & 3, byte >> 2 & 3};
    struct trib_message message;
    uint32_t what = 0;

    switch (byte >> 4) {
    case 0:
    case 1:
    case 2:
        open_whole();
        return;
    case 3:
        make_open(next_byte(), next_byte(), &message);
        hear(&message);
        return;
    case 4:
        what = next_byte();
        make_child(what, byte & 7, next_byte(), &message);
        hear(&message);
        return;
    case 5:
        say_raw();
        return;
    case 6:
    case 7:
        pass_time(byte & 15);
        return;
    case 8:
        script.accounts.answers = (byte & 1) != 0;
        script.accounts.refuses = (byte & 14) == 14;
        return;
    case 9:
        trib_masters_mismatch(&script.leaf.masters, 1 + next_byte() % COMMUNICATORS, byte, ranks);
        return;
    case 10:
        if (byte == 0xa0) {
            lose();
            connect_up();
        }
        return;
    default:
        ask(next_byte());
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    script.config = (struct trib_server_config){
        .listen = trib_address_v4(0x0a000002, 7470),
        .parent = trib_address_v4(0x0a0000fe, 7470),
        .shards = 2,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .group = 0xefc07401U,
        .plane = accounts_plane(&script.accounts),
    };
    script.accounts.answers = true;
    connect_up();
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        happen(next_byte());
    }
    lose();
    return 0;
}
