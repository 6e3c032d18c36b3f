/* SPDX-License-Identifier: Apache-2.0 */
/* words.c: the codec of words.h. Each kind has the list of fields, once for both ways (fields.h). No sockets, and no
 * decisions about the meaning of a value. A message is read whole or not at all, and no byte may be left over behind
 * the last field. A change here also changes: docs/PROTOCOL.md ("Sessions"), tests/unit/session_goldens.h,
 * TRIB_SESSION_VERSION. */
#include "control/words/words.h"

#include <string.h>

#include "control/words/items.h"
#include "core/assert.h"
#include "protocol/pieces.h"

#define LENGTH_SIZE 4
#define FRAME_SIZE (LENGTH_SIZE + 1) /* length and kind */

/* ---- parts of messages ---- */

/* Magic and versions come first in every version, so that two ends of different versions can report the cause. False:
 * another version; nothing behind it is read. */
static bool versions(struct trib_fields *f, uint32_t *magic, uint16_t *version, uint16_t *wire_version)
{
    trib_field_u32(f, "magic", magic);
    trib_field_u16(f, "session version", version);
    trib_field_u16(f, "packet version", wire_version);
    trib_fields_check(f, "magic", *magic == TRIB_SESSION_MAGIC || !trib_fields_read(f));
    return !trib_fields_read(f) || (*version == TRIB_SESSION_VERSION && *wire_version == TRIB_WIRE_VERSION);
}

static void settings(struct trib_fields *f, struct trib_settings *s)
{
    trib_field_text(f, "scheme", s->scheme, sizeof s->scheme);
    trib_field_u32(f, "ranks", &s->ranks);
    trib_field_u32(f, "payload", &s->payload);
    trib_field_u32(f, "window", &s->window);
    trib_field_u8(f, "wire", &s->wire);
    trib_field_bool(f, "fallback", &s->fallback);
    trib_field_u64(f, "gradient bytes", &s->gradient_bytes);
    trib_field_u8(f, "priority", &s->priority);
    trib_field_bool(f, "encrypt", &s->encrypt);
}

static void grant(struct trib_fields *f, struct trib_grant *g)
{
    trib_field_u64(f, "salt", &g->salt);
    trib_field_u64(f, "token", &g->token);
    trib_field_u64(f, "key", &g->key);
    trib_field_u64(f, "job token", &g->job_token);
    trib_field_u32(f, "communicator", &g->communicator);
    trib_field_u32(f, "boot", &g->boot);
    trib_field_u32(f, "roots", &g->roots);
    trib_field_u32(f, "train", &g->train);
    trib_field_u32(f, "slots", &g->slots);
    trib_field_u32(f, "granted window", &g->window);
    trib_field_u16(f, "generation", &g->generation);
    trib_field_u16(f, "data port", &g->data_port);
    trib_field_u32(f, "group", &g->group);
    trib_field_u16(f, "group port", &g->group_port);
    trib_field_bytes(f, "weights", g->weight, sizeof g->weight);
    trib_field_bytes(f, "switches", g->switches, sizeof g->switches);
}

static void rank_list(struct trib_fields *f, struct trib_rank_list *list)
{
    trib_field_u16(f, "ranks", &list->count);
    for (uint32_t i = 0; i < trib_rank_list_carried(list); i++) {
        trib_field_u16(f, "ranks", &list->rank[i]);
    }
}

/* Rank r is bit r % 8 of byte r / 8. */
static void rank_set(struct trib_fields *f, struct trib_rank_set *set, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank += 8) {
        uint8_t byte = (uint8_t)(set->word[rank / 64] >> rank % 64);
        trib_field_u8(f, "leaders", &byte);
        if (trib_fields_read(f)) {
            set->word[rank / 64] |= (uint64_t)byte << rank % 64;
        }
    }
}

/* ---- items ---- */

static void known_grant(struct trib_fields *f, struct trib_message *message)
{
    if (!trib_fields_read(f) && message->join.known.communicator == 0) {
        return; /* a new join, whatever else is there */
    }
    grant(f, &message->join.known);
    trib_field_bool(f, "was ready", &message->join.was_ready);
    trib_fields_check(f, "known grant", message->join.known.communicator != 0);
}

static void addresses(struct trib_fields *f, struct trib_message *message)
{
    trib_field_count(f, "addresses", &message->join.address_count, TRIB_ADDRESSES_MAX);
    trib_field_addresses(f, "addresses", message->join.address, message->join.address_count);
}

static void own_root(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u16(f, "root port", &message->join.root_port);
    trib_field_u8(f, "weight", &message->join.weight);
}

static void maker(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "maker", &message->join.maker.communicator);
    trib_field_u64(f, "job token", &message->join.maker.job_token);
    trib_field_text(f, "maker's job", message->join.maker.job, sizeof message->join.maker.job);
    trib_fields_check(f, "maker", !trib_fields_read(f) || message->join.maker.communicator != 0);
}

static void key(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "key", &message->join.key);
}

static const struct trib_item JOIN_ITEMS[] = {
    {TRIB_ITEM_GRANT, "known grant", known_grant},
    {TRIB_ITEM_ADDRESSES, "addresses", addresses},
    {TRIB_ITEM_ROOT, "root", own_root},
    {TRIB_ITEM_MAKER, "maker", maker},
    {TRIB_ITEM_KEY, "key", key},
};

static void rate(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "rate", &message->welcome.rate);
}

static void auth_key(struct trib_fields *f, const char *name, uint8_t key[TRIB_AUTH_KEY])
{
    trib_field_bytes(f, name, key, TRIB_AUTH_KEY);
    trib_fields_check(f, name, !trib_fields_read(f) || trib_auth_is_set(key));
}

static void sender_keys(struct trib_fields *f, struct trib_message *message)
{
    struct trib_sender_keys *auth = &message->welcome.auth;
    auth_key(f, "sender key", auth->own);
    auth_key(f, "sender key above", auth->heard);
    trib_field_u16(f, "parent", &auth->parent);
    trib_field_bool(f, "encrypts", &auth->encrypts);
}

static void packet_key(struct trib_fields *f, struct trib_message *message)
{
    struct trib_auth_key *auth = &message->root_open.auth;
    auth_key(f, "packet key", auth->bytes);
    trib_field_u16(f, "agent", &auth->below);
    trib_field_u16(f, "parent", &auth->parent);
    trib_field_bool(f, "encrypts", &auth->encrypts);
}

static const struct trib_item WELCOME_ITEMS[] = {
    {TRIB_ITEM_RATE, "rate", rate},
    {TRIB_ITEM_SENDERS, "sender keys", sender_keys},
};

static void pieces(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u8(f, "pieces", &message->root_open.pieces);
    trib_field_u64(f, "own pieces", &message->root_open.own_pieces);
    trib_fields_check(f, "pieces", !trib_fields_read(f) || message->root_open.own_pieces != 0);
    trib_fields_check(f, "own pieces",
                      message->root_open.pieces <= TRIB_PIECES_MAX &&
                          (message->root_open.own_pieces & ~trib_pieces_all(message->root_open.pieces)) == 0);
}

static void tenant(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "tenant", &message->root_open.tenant);
}

static void numbers_from_64(struct trib_fields *f, struct trib_message *message)
{
    struct trib_rank_set *numbers = &message->root_open.numbers;
    for (uint32_t i = 1; i < sizeof numbers->word / sizeof numbers->word[0]; i++) {
        trib_field_u64(f, "numbers from 64", &numbers->word[i]);
    }
}

static const struct trib_item ROOT_OPEN_ITEMS[] = {
    {TRIB_ITEM_PIECES, "pieces", pieces},
    {TRIB_ITEM_TENANT, "tenant", tenant},
    {TRIB_ITEM_AUTH, "packet key", packet_key},
    {TRIB_ITEM_NUMBERS, "numbers from 64", numbers_from_64},
};

/* The end of the first message of a side. */
static void items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known, size_t count)
{
    trib_field_u64(f, "capabilities", &message->capabilities);
    uint16_t unknown = trib_items(f, message, known, count);
    if (trib_fields_read(f)) {
        message->unknown_item = unknown;
    }
}

/* ---- messages ---- */

static bool join(struct trib_fields *f, struct trib_message *message)
{
    if (!versions(f, &message->join.magic, &message->join.version, &message->join.wire_version)) {
        return false;
    }
    trib_field_text(f, "job", message->join.job, sizeof message->join.job);
    trib_field_text(f, "run", message->join.run, sizeof message->join.run);
    trib_field_u32(f, "rank", &message->join.rank);
    for (unsigned i = 0; i < TRIB_ROOTS_MAX; i++) {
        trib_field_u16(f, "data ports", &message->join.data_port[i]);
    }
    trib_field_bool(f, "multicast", &message->join.multicast);
    settings(f, &message->join.settings);
    trib_field_bool(f, "ring", &message->join.is_ring);
    trib_field_u64(f, "host", &message->join.host);
    trib_field_bool(f, "level 0", &message->join.level0);
    trib_field_u32(f, "room", &message->join.room);
    trib_field_u16(f, "meet port", &message->join.meet_port);
    trib_field_u32(f, "roots", &message->join.roots);
    items(f, message, JOIN_ITEMS, sizeof JOIN_ITEMS / sizeof JOIN_ITEMS[0]);
    return true;
}

static bool welcome(struct trib_fields *f, struct trib_message *message)
{
    grant(f, &message->welcome.grant);
    trib_field_u32(f, "ranks", &message->welcome.generation_ranks);
    trib_field_count(f, "root count", &message->welcome.root_count, TRIB_ROOTS_MAX);
    trib_field_bool(f, "no box", &message->welcome.no_box);
    trib_field_count(f, "peer count", &message->welcome.peer_count, TRIB_PEERS_MAX);
    trib_field_addresses(f, "roots", message->welcome.root, message->welcome.root_count);
    for (unsigned i = 0; i < message->welcome.peer_count && !trib_fields_are_bad(f); i++) {
        trib_field_u32(f, "peers", &message->welcome.peer[i].rank);
        trib_field_address(f, "peers", &message->welcome.peer[i].address);
    }
    trib_field_address_or_none(f, "meeting", &message->welcome.meeting);
    trib_field_address_or_none(f, "known as", &message->welcome.known_as);
    trib_field_address_or_none(f, "server", &message->welcome.server);
    trib_field_u16(f, "hosts", &message->welcome.hosts);
    if (message->welcome.hosts != 0) {
        trib_fields_check(f, "ranks", message->welcome.generation_ranks <= TRIB_RANKS_MAX);
        rank_set(f, &message->welcome.leaders, trib_fields_are_bad(f) ? 0 : message->welcome.generation_ranks);
    }
    items(f, message, WELCOME_ITEMS, sizeof WELCOME_ITEMS / sizeof WELCOME_ITEMS[0]);
    return true;
}

static bool paths(struct trib_fields *f, struct trib_message *message)
{
    trib_field_bool(f, "unicast", &message->paths.unicast);
    trib_field_bool(f, "multicast", &message->paths.multicast);
    return true;
}

static bool mark(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "mark", &message->mark.mark);
    return true;
}

static bool ready(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "boot", &message->ready.boot);
    trib_field_u64(f, "mark", &message->ready.mark);
    trib_field_bool(f, "multicast", &message->ready.multicast);
    return true;
}

static bool describe(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "sequence", &message->describe.sequence);
    return true;
}

static bool operation(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "sequence", &message->operation.sequence);
    trib_field_text(f, "text", message->operation.text, sizeof message->operation.text);
    return true;
}

static bool nothing(struct trib_fields *f, struct trib_message *message)
{
    (void)f;
    (void)message;
    return true;
}

static void status_and_text(struct trib_fields *f, int32_t *status, char *text)
{
    uint32_t value = (uint32_t)*status;
    trib_field_u32(f, "status", &value);
    if (trib_fields_read(f)) {
        *status = (int32_t)value;
    }
    trib_field_text(f, "text", text, TRIB_ERROR_TEXT_MAX);
}

static bool failure(struct trib_fields *f, struct trib_message *message)
{
    status_and_text(f, &message->fail.status, message->fail.text);
    return true;
}

static bool stall(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "sequence", &message->stall.sequence);
    trib_field_u32(f, "since", &message->stall.since_ms);
    rank_list(f, &message->stall.missing);
    trib_field_text(f, "where", message->stall.where, sizeof message->stall.where);
    return true;
}

static bool note(struct trib_fields *f, struct trib_message *message)
{
    trib_field_text(f, "text", message->note.text, sizeof message->note.text);
    return true;
}

static bool recall(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "boot", &message->recall.boot);
    trib_field_text(f, "text", message->recall.text, sizeof message->recall.text);
    return true;
}

static bool gone(struct trib_fields *f, struct trib_message *message)
{
    trib_field_bool(f, "is lost", &message->note.is_lost);
    return note(f, message);
}

/* Comes first in every message about an incarnation at an agent. */
static void opening_id(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "communicator", &message->of.communicator);
    trib_field_u32(f, "boot", &message->of.boot);
}

static bool opening_alone(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    return true;
}

static bool dispute(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u64(f, "sequence", &message->dispute.sequence);
    trib_field_u32(f, "rank", &message->dispute.rank[0]);
    trib_field_u32(f, "rank", &message->dispute.rank[1]);
    return true;
}

static bool root_open(struct trib_fields *f, struct trib_message *message)
{
    struct trib_session_config *session = &message->root_open.session;
    uint8_t wire = (uint8_t)session->wire;
    opening_id(f, message);
    trib_field_u32(f, "index", &message->root_open.index);
    trib_field_u32(f, "shard", &message->root_open.shard);
    trib_field_u32(f, "ranks", &message->root_open.ranks);
    trib_field_text(f, "scheme", message->root_open.scheme, sizeof message->root_open.scheme);
    trib_field_text(f, "job", message->root_open.job, sizeof message->root_open.job);
    trib_field_u64(f, "job id", &message->root_open.job_id);
    trib_field_address_or_none(f, "at", &message->root_open.at);
    trib_field_u64(f, "key", &message->root_open.key);
    trib_field_u32(f, "members", &session->ranks);
    trib_field_u32(f, "roots", &session->roots);
    trib_field_u32(f, "train", &session->train);
    trib_field_u32(f, "slots", &session->slots);
    trib_field_u32(f, "payload", &session->payload);
    trib_field_u16(f, "generation", &session->generation);
    trib_field_u8(f, "wire", &wire);
    if (trib_fields_read(f)) {
        session->wire = (enum trib_type)wire;
        session->communicator = message->of.communicator;
    }
    trib_field_bytes(f, "weights", session->weight, sizeof session->weight);
    trib_field_u32(f, "behind", &message->root_open.behind);
    trib_field_address_or_none(f, "parent", &message->root_open.parent);
    trib_field_u64(f, "numbers", &message->root_open.numbers.word[0]);
    trib_field_u8(f, "priority", &message->root_open.priority);
    trib_field_bool(f, "is return", &message->root_open.is_return);
    trib_field_bool(f, "wants group", &message->root_open.wants_group);
    trib_field_u32(f, "group", &message->root_open.group);
    trib_field_u16(f, "group port", &message->root_open.group_port);
    items(f, message, ROOT_OPEN_ITEMS, sizeof ROOT_OPEN_ITEMS / sizeof ROOT_OPEN_ITEMS[0]);
    return true;
}

static bool root_opened(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u32(f, "group", &message->root_opened.group);
    trib_field_u16(f, "group port", &message->root_opened.group_port);
    return true;
}

static bool root_mark(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u64(f, "mark", &message->root_mark.mark);
    trib_field_bool(f, "multicast", &message->root_mark.multicast);
    return true;
}

static bool root_child(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u32(f, "rank", &message->root_child.rank);
    trib_field_u32(f, "branch", &message->root_child.branch);
    trib_field_bool(f, "is switch", &message->root_child.is_switch);
    trib_field_bool(f, "is combined", &message->root_child.is_combined);
    trib_field_u16(f, "sender", &message->root_child.sender);
    trib_field_address(f, "from", &message->root_child.from);
    trib_field_scope(f, "scope", &message->root_child.from);
    trib_field_address_or_none(f, "to", &message->root_child.to);
    return true;
}

static bool root_join(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u32(f, "rank", &message->root_join.rank);
    trib_field_u64(f, "mark", &message->root_join.mark);
    return true;
}

static bool root_missing(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    trib_field_u64(f, "sequence", &message->root_missing.sequence);
    rank_list(f, &message->root_missing.missing);
    return true;
}

static bool root_refused(struct trib_fields *f, struct trib_message *message)
{
    opening_id(f, message);
    status_and_text(f, &message->root_refused.status, message->root_refused.text);
    return true;
}

static bool control(struct trib_fields *f, struct trib_message *message)
{
    if (!versions(f, &message->control.magic, &message->control.version, &message->control.wire_version)) {
        return false;
    }
    trib_field_u16(f, "port", &message->control.port);
    trib_field_u64(f, "id", &message->control.id);
    trib_field_u64(f, "nonce", &message->control.nonce);
    items(f, message, NULL, 0);
    return true;
}

static bool hello(struct trib_fields *f, struct trib_message *message)
{
    if (!versions(f, &message->hello.magic, &message->hello.version, &message->hello.wire_version)) {
        return false;
    }
    trib_field_u64(f, "identity", &message->hello.identity);
    trib_field_u64(f, "life", &message->hello.life);
    trib_field_u32(f, "attempt", &message->hello.attempt);
    trib_field_u64(f, "nonce", &message->hello.nonce);
    trib_field_u32(f, "room", &message->hello.room);
    trib_field_u8(f, "weight", &message->hello.weight);
    trib_field_count(f, "shards", &message->hello.shards, TRIB_ROOTS_MAX);
    trib_field_addresses(f, "shards", message->hello.at, message->hello.shards);
    trib_field_count(f, "path", &message->hello.path.count, TRIB_HOPS_MAX);
    for (uint32_t i = 0; i < message->hello.path.count && !trib_fields_are_bad(f); i++) {
        trib_field_u64(f, "path", &message->hello.path.identity[i]);
    }
    items(f, message, NULL, 0);
    return true;
}

static bool room(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "room", &message->room.room);
    return true;
}

static bool progress(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "bytes", &message->progress.bytes);
    trib_field_u64(f, "busy", &message->progress.busy_ns);
    trib_fields_check(f, "busy", message->progress.busy_ns >= TRIB_PROGRESS_NS);
    return true;
}

static bool ping(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "number", &message->ping.number);
    return true;
}

static bool proof(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u64(f, "nonce", &message->proof.nonce);
    return true;
}

static bool channel(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "number", &message->channel.number);
    trib_field_address(f, "peer", &message->channel.peer);
    trib_field_scope(f, "scope", &message->channel.peer);
    trib_field_address_or_none(f, "local", &message->channel.local);
    return true;
}

static bool bytes(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "number", &message->bytes.number);
    trib_field_u16(f, "bytes", &message->bytes.count);
    trib_fields_check(f, "bytes", message->bytes.count <= TRIB_CHANNEL_BYTES);
    trib_field_bytes(f, "bytes", message->bytes.bytes, trib_fields_are_bad(f) ? 0 : message->bytes.count);
    return true;
}

static bool end(struct trib_fields *f, struct trib_message *message)
{
    trib_field_u32(f, "number", &message->end.number);
    trib_field_bool(f, "is lost", &message->end.is_lost);
    return true;
}

/* ---- kinds ---- */

/* Stages of the receiver, as bits. */
#define AT(stage) (1 << TRIB_STAGE_##stage)
enum {
    NO = 0,
    FIRST = AT(FIRST),
    JOINING = AT(JOINING),
    TRYING = AT(WELCOMED) | AT(PROVED),
    PROVEN = AT(PROVED) | AT(REGISTERED) | AT(RUNNING),
    REGISTERED = AT(REGISTERED),
    AFTER_READY = AT(RUNNING) | AT(CLOSING),
    AFTER_REGISTER = REGISTERED | AFTER_READY,
    AFTER_WELCOME = TRYING | AFTER_REGISTER,
    AFTER_JOIN = JOINING | AFTER_WELCOME,
    RECALLED = AT(RECALLED)
};

struct kind {
    const char *name;
    /* Passes over the fields. False: the versions differ, and nothing else was read. */
    bool (*fields)(struct trib_fields *f, struct trib_message *message);
    /* Stages at which the kind may come: from a rank, a controller elsewhere; to a rank, from an agent elsewhere; from
     * a switch with a parent to the controller, and back. The receiver knows further bounds. GONE of a rank is about a
     * lost switch. CLOSE before WELCOME is of a rank that returns. GONE to a rank is said without a switch. DISPUTE and
     * ROOT_ kinds are of ranks that are roots, DISPUTE also of a host. RECALLED: all kinds that a rank may have sent
     * before reading RECALL. */
    uint8_t stages[TRIB_SENDER_COUNT];
};

static const struct kind KINDS[TRIB_MESSAGE_KIND_COUNT] = {
    [TRIB_MESSAGE_JOIN] = {"JOIN", join, {FIRST | RECALLED}},
    [TRIB_MESSAGE_WELCOME] = {"WELCOME", welcome, {NO, NO, JOINING}},
    [TRIB_MESSAGE_PATHS] = {"PATHS", paths, {TRYING | RECALLED}},
    [TRIB_MESSAGE_REGISTER] = {"REGISTER", mark, {PROVEN | RECALLED}},
    [TRIB_MESSAGE_READY] = {"READY", ready, {NO, NO, REGISTERED}},
    [TRIB_MESSAGE_MARK] = {"MARK", mark, {AFTER_REGISTER | RECALLED, NO, AFTER_REGISTER}},
    [TRIB_MESSAGE_DESCRIBE] = {"DESCRIBE", describe, {NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_OPERATION] = {"OPERATION", operation, {AFTER_WELCOME | RECALLED}},
    [TRIB_MESSAGE_CLOSE] = {"CLOSE", mark, {AFTER_JOIN | RECALLED}},
    [TRIB_MESSAGE_CLOSED] = {"CLOSED", nothing, {NO, NO, AFTER_JOIN}},
    [TRIB_MESSAGE_ABORT] = {"ABORT", failure, {AFTER_JOIN | RECALLED}},
    [TRIB_MESSAGE_FAIL] = {"FAIL", failure, {NO, NO, AFTER_JOIN, AFTER_JOIN, NO, AFTER_JOIN}},
    [TRIB_MESSAGE_STALL] = {"STALL", stall, {AFTER_WELCOME | RECALLED}},
    [TRIB_MESSAGE_GONE] = {"GONE", gone, {AFTER_WELCOME | RECALLED, NO, AFTER_READY}},
    [TRIB_MESSAGE_AWAY] = {"AWAY", note, {NO, NO, JOINING, AFTER_JOIN, NO, AFTER_JOIN}},
    [TRIB_MESSAGE_MISSING] = {"MISSING", stall, {NO, NO, AFTER_JOIN, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_DISPUTE] = {"DISPUTE", dispute, {AFTER_WELCOME | RECALLED, NO, NO, AFTER_REGISTER, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_OPEN] = {"ROOT_OPEN", root_open, {NO, AFTER_WELCOME, JOINING, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_CHILD] = {"ROOT_CHILD", root_child, {NO, AFTER_WELCOME, JOINING, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_JOIN] = {"ROOT_JOIN", root_join, {NO, AFTER_WELCOME, AFTER_WELCOME, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_READY] = {"ROOT_READY",
                                 opening_alone,
                                 {AFTER_WELCOME | RECALLED, NO, NO, AFTER_REGISTER, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_MISSING] = {"ROOT_MISSING",
                                   root_missing,
                                   {AFTER_WELCOME | RECALLED, AFTER_WELCOME, AFTER_WELCOME, AFTER_REGISTER,
                                    AFTER_WELCOME, AFTER_WELCOME}},
    [TRIB_MESSAGE_CONTROL] = {"CONTROL", control, {NO, FIRST}},
    [TRIB_MESSAGE_HELLO] = {"HELLO", hello, {NO, NO, NO, JOINING, FIRST}},
    [TRIB_MESSAGE_RING] = {"RING", note, {NO, NO, JOINING}},
    [TRIB_MESSAGE_PING] = {"PING", ping, {AFTER_JOIN | RECALLED, AFTER_JOIN, NO, AFTER_JOIN, AFTER_JOIN, AFTER_JOIN}},
    [TRIB_MESSAGE_PONG] = {"PONG",
                           ping,
                           {AFTER_JOIN | RECALLED, AFTER_JOIN, AFTER_JOIN, AFTER_JOIN, AFTER_JOIN, AFTER_JOIN}},
    [TRIB_MESSAGE_ROOM] = {"ROOM", room, {NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_SHUT] = {"ROOT_SHUT", opening_alone, {NO, AFTER_WELCOME, NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_OPENED] = {"ROOT_OPENED",
                                  root_opened,
                                  {JOINING | RECALLED, NO, NO, AFTER_REGISTER, AFTER_WELCOME}},
    [TRIB_MESSAGE_RECALL] = {"RECALL", recall, {NO, NO, AFTER_JOIN}},
    [TRIB_MESSAGE_ROOT_REFUSED] = {"ROOT_REFUSED", root_refused, {NO, NO, NO, AFTER_REGISTER, AFTER_WELCOME}},
    [TRIB_MESSAGE_CHALLENGE] = {"CHALLENGE", proof, {NO, NO, NO, NO, NO, JOINING}},
    [TRIB_MESSAGE_PROOF] = {"PROOF", proof, {NO, NO, NO, NO, JOINING}},
    [TRIB_MESSAGE_CHANNEL] = {"CHANNEL", channel, {NO, NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_BYTES] = {"BYTES", bytes, {NO, NO, NO, NO, AFTER_WELCOME, AFTER_WELCOME}},
    [TRIB_MESSAGE_END] = {"END", end, {NO, NO, NO, NO, AFTER_WELCOME, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_MARK] = {"ROOT_MARK", root_mark, {NO, NO, NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_ROOT_PROBE] = {"ROOT_PROBE", opening_alone, {NO, NO, NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_BYE] = {"BYE", failure, {NO, NO, NO, NO, AFTER_WELCOME}},
    [TRIB_MESSAGE_PROGRESS] = {"PROGRESS", progress, {AFTER_REGISTER | RECALLED}},
};

const char *trib_message_name(enum trib_message_kind kind)
{
    return kind > TRIB_MESSAGE_NONE && kind < TRIB_MESSAGE_KIND_COUNT ? KINDS[kind].name : "?";
}

void trib_message_wipe(struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_WELCOME) {
        trib_wipe(&message->welcome.auth, sizeof message->welcome.auth);
    } else if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        trib_wipe(&message->root_open.auth, sizeof message->root_open.auth);
    } else if (message->kind == TRIB_MESSAGE_BYTES) {
        trib_wipe(message->bytes.bytes, sizeof message->bytes.bytes); /* count may be wrong */
    }
}

bool trib_message_is_in_turn(enum trib_message_kind kind, enum trib_sender sender, enum trib_stage stage)
{
    TRIB_ASSERT(kind > TRIB_MESSAGE_NONE && kind < TRIB_MESSAGE_KIND_COUNT);
    TRIB_ASSERT(sender < TRIB_SENDER_COUNT && stage < TRIB_STAGE_COUNT);
    return (KINDS[kind].stages[sender] >> stage & 1) != 0;
}

bool trib_message_is_of(enum trib_message_kind kind, enum trib_sender sender)
{
    TRIB_ASSERT(kind > TRIB_MESSAGE_NONE && kind < TRIB_MESSAGE_KIND_COUNT && sender < TRIB_SENDER_COUNT);
    return KINDS[kind].stages[sender] != NO;
}

size_t trib_message_encode(const struct trib_message *message, uint8_t *buffer)
{
    TRIB_ASSERT(message->kind > TRIB_MESSAGE_NONE && message->kind < TRIB_MESSAGE_KIND_COUNT);
    struct trib_fields f = {.to = buffer + FRAME_SIZE, .end = buffer + TRIB_MESSAGE_MAX};
    /* A writing pass does not change the message. */
    (void)KINDS[message->kind].fields(&f, (struct trib_message *)(uintptr_t)message);
    size_t len = (size_t)(f.to - buffer);
    struct trib_fields frame = {.to = buffer, .end = buffer + FRAME_SIZE};
    uint32_t body = (uint32_t)(len - LENGTH_SIZE);
    uint8_t kind = (uint8_t)message->kind;
    trib_field_u32(&frame, "length", &body);
    trib_field_u8(&frame, "kind", &kind);
    return len;
}

/* A whole frame of a known kind: the fields, and no other bytes. */
static enum trib_status decode_fields(const uint8_t *from, const uint8_t *end, struct trib_message *message)
{
    struct trib_fields f = {.from = from, .end = end};
    bool is_ours = KINDS[message->kind].fields(&f, message);
    if (is_ours) {
        trib_fields_check(&f, "end", f.from == f.end);
    }
    message->bad_field = f.field;
    enum trib_status status = trib_fields_are_bad(&f)                 ? TRIB_ERR_INVALID
                              : is_ours && message->unknown_item == 0 ? TRIB_OK
                                                                      : TRIB_ERR_VERSION;
    if (status != TRIB_OK) {
        trib_message_wipe(message);
    }
    return status;
}

size_t trib_message_size(const uint8_t *buffer)
{
    struct trib_fields frame = {.from = buffer, .end = buffer + LENGTH_SIZE};
    uint32_t body = 0;
    trib_field_u32(&frame, "length", &body);
    return body >= 1 && body <= TRIB_MESSAGE_MAX - LENGTH_SIZE ? LENGTH_SIZE + body : 0;
}

enum trib_status trib_message_decode(const uint8_t *buffer, size_t len, struct trib_message *message, size_t *used)
{
    struct trib_fields frame = {.from = buffer, .end = buffer + len};
    uint32_t body = 0;
    uint8_t kind = 0;
    *used = 0;
    message->kind = TRIB_MESSAGE_NONE;
    message->unknown_item = 0;
    if (len < LENGTH_SIZE) {
        return TRIB_OK;
    }
    trib_field_u32(&frame, "length", &body);
    if (trib_message_size(buffer) == 0) {
        return TRIB_ERR_INVALID;
    }
    if (len < FRAME_SIZE) {
        return TRIB_OK;
    }
    trib_field_u8(&frame, "kind", &kind);
    if (kind == TRIB_MESSAGE_NONE || kind >= TRIB_MESSAGE_KIND_COUNT) {
        return TRIB_ERR_INVALID;
    }
    if (len - LENGTH_SIZE < body) {
        return TRIB_OK;
    }
    memset(message, 0, sizeof *message);
    message->kind = (enum trib_message_kind)kind;
    enum trib_status status = decode_fields(buffer + FRAME_SIZE, buffer + LENGTH_SIZE + body, message);
    if (status == TRIB_OK) {
        *used = LENGTH_SIZE + body;
    }
    return status;
}

bool trib_hosts_are_sane(const struct trib_message *message)
{
    uint32_t ranks = message->welcome.generation_ranks;
    uint32_t count = 0;
    if (message->welcome.hosts == 0) {
        return true;
    }
    for (uint32_t i = 0; i < TRIB_RANKS_MAX; i++) {
        bool leads = trib_rank_set_has(&message->welcome.leaders, i);
        if (leads && i >= ranks) {
            return false;
        }
        count += leads;
    }
    return count == message->welcome.hosts && count < ranks && trib_rank_set_has(&message->welcome.leaders, 0);
}
