/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: the codec of session.h. Bytes in, structs out, and back; no sockets, no decisions about what a value may
 * mean. A message is read whole or not at all: no length is believed, nothing may be left over behind the last field. A
 * change here also changes: docs/PROTOCOL.md ("Sessions"), tests/unit/session_goldens.h, TRIB_SESSION_VERSION. */
#include "control/session/session.h"

#include <string.h>

#include "core/assert.h"

#define LENGTH_SIZE 4
#define FRAME_SIZE (LENGTH_SIZE + 1) /* length and kind */

/* Every message has room to spare; put_bytes checks all the same. */
struct writer {
    uint8_t *at;
    uint8_t *end;
};

/* A read behind the end gives 0 and makes the reader bad; it stays bad. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static void put_bytes(struct writer *w, const void *data, size_t len)
{
    TRIB_ASSERT(len <= (size_t)(w->end - w->at));
    memcpy(w->at, data, len);
    w->at += len;
}

static void put_number(struct writer *w, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    }
    put_bytes(w, bytes, size);
}

/* capacity counts the final zero, which may be missing: the text is cut there. */
static void put_text(struct writer *w, const char *text, size_t capacity)
{
    const char *zero = memchr(text, 0, capacity);
    size_t len = zero ? (size_t)(zero - text) : capacity - 1;
    put_number(w, len, 2);
    put_bytes(w, text, len);
}

static uint64_t get_number(struct reader *r, unsigned size)
{
    if (r->bad || (size_t)(r->end - r->at) < size) {
        r->bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value = value << 8 | r->at[i];
    }
    r->at += size;
    return value;
}

static uint8_t get_u8(struct reader *r)
{
    return (uint8_t)get_number(r, 1);
}

static uint16_t get_u16(struct reader *r)
{
    return (uint16_t)get_number(r, 2);
}

static uint32_t get_u32(struct reader *r)
{
    return (uint32_t)get_number(r, 4);
}

static uint64_t get_u64(struct reader *r)
{
    return get_number(r, 8);
}

static bool get_bool(struct reader *r)
{
    uint8_t value = get_u8(r);
    r->bad = r->bad || value > 1;
    return value == 1;
}

/* A text that does not fit, or holds a zero byte, is no text. */
static void get_text(struct reader *r, char *text, size_t capacity)
{
    size_t len = get_u16(r);
    if (r->bad || len >= capacity || len > (size_t)(r->end - r->at) || (len > 0 && memchr(r->at, 0, len))) {
        r->bad = true;
        return;
    }
    memcpy(text, r->at, len);
    text[len] = '\0';
    r->at += len;
}

static void put_settings(struct writer *w, const struct trib_settings *settings)
{
    put_text(w, settings->scheme, sizeof settings->scheme);
    put_number(w, settings->ranks, 4);
    put_number(w, settings->payload, 4);
    put_number(w, settings->window, 4);
    put_number(w, settings->wire, 1);
    put_number(w, settings->fallback, 1);
    put_number(w, settings->gradient_bytes, 8);
}

static void get_settings(struct reader *r, struct trib_settings *settings)
{
    get_text(r, settings->scheme, sizeof settings->scheme);
    settings->ranks = get_u32(r);
    settings->payload = get_u32(r);
    settings->window = get_u32(r);
    settings->wire = get_u8(r);
    settings->fallback = get_bool(r);
    settings->gradient_bytes = get_u64(r);
}

static void get_bytes(struct reader *r, uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bytes[i] = get_u8(r);
    }
}

static void put_grant(struct writer *w, const struct trib_grant *grant)
{
    put_number(w, grant->salt, 8);
    put_number(w, grant->token, 8);
    put_number(w, grant->key, 8);
    put_number(w, grant->communicator, 4);
    put_number(w, grant->boot, 4);
    put_number(w, grant->roots, 4);
    put_number(w, grant->train, 4);
    put_number(w, grant->slots, 4);
    put_number(w, grant->window, 4);
    put_number(w, grant->generation, 2);
    put_number(w, grant->data_port, 2);
    put_number(w, grant->group, 4);
    put_number(w, grant->group_port, 2);
    put_bytes(w, grant->weight, sizeof grant->weight);
    put_bytes(w, grant->switches, sizeof grant->switches);
}

static void get_grant(struct reader *r, struct trib_grant *grant)
{
    grant->salt = get_u64(r);
    grant->token = get_u64(r);
    grant->key = get_u64(r);
    grant->communicator = get_u32(r);
    grant->boot = get_u32(r);
    grant->roots = get_u32(r);
    grant->train = get_u32(r);
    grant->slots = get_u32(r);
    grant->window = get_u32(r);
    grant->generation = get_u16(r);
    grant->data_port = get_u16(r);
    grant->group = get_u32(r);
    grant->group_port = get_u16(r);
    get_bytes(r, grant->weight, TRIB_ROOTS_MAX);
    get_bytes(r, grant->switches, TRIB_SWITCHES_MAX);
}

static void put_ranks(struct writer *w, const struct trib_rank_list *list)
{
    put_number(w, list->count, 2);
    for (uint32_t i = 0; i < trib_rank_list_carried(list); i++) {
        put_number(w, list->rank[i], 2);
    }
}

static void get_ranks(struct reader *r, struct trib_rank_list *list)
{
    list->count = get_u16(r);
    for (uint32_t i = 0; i < trib_rank_list_carried(list); i++) {
        list->rank[i] = get_u16(r);
    }
}

#define FAMILY_NONE 0
#define FAMILY_V4 4
#define FAMILY_V6 6

/* Family, port, address. What a scope is only one machine knows: it does not travel. */
static void put_address(struct writer *w, const struct trib_address *address)
{
    TRIB_ASSERT(address->storage.ss_family == AF_INET || address->storage.ss_family == AF_INET6);
    if (address->storage.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &address->storage, sizeof v4);
        put_number(w, FAMILY_V4, 1);
        put_bytes(w, &v4.sin_port, 2);
        put_bytes(w, &v4.sin_addr, 4);
    } else {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address->storage, sizeof v6);
        put_number(w, FAMILY_V6, 1);
        put_bytes(w, &v6.sin6_port, 2);
        put_bytes(w, &v6.sin6_addr, 16);
    }
}

static void get_address(struct reader *r, struct trib_address *address)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    uint8_t family = get_u8(r);
    uint16_t port = get_u16(r);
    if (family == FAMILY_V4) {
        *address = trib_address_v4(get_u32(r), port);
        return;
    }
    for (unsigned i = 0; i < 16; i++) {
        v6.sin6_addr.s6_addr[i] = get_u8(r);
    }
    address->len = sizeof v6;
    memcpy(&address->storage, &v6, sizeof v6);
    trib_address_set_port(address, port);
    r->bad = r->bad || family != FAMILY_V6;
}

/* One that there need not be. */
static void put_address_or_none(struct writer *w, const struct trib_address *address)
{
    if (address->len == 0) {
        put_number(w, FAMILY_NONE, 1);
    } else {
        put_address(w, address);
    }
}

static void get_address_or_none(struct reader *r, struct trib_address *address)
{
    if (!r->bad && r->at < r->end && *r->at == FAMILY_NONE) {
        r->at++;
    } else {
        get_address(r, address);
    }
}

/* count of them, which has been read: more than there may be are no message. */
static void get_addresses(struct reader *r, struct trib_address *addresses, unsigned count)
{
    r->bad = r->bad || count > TRIB_ROOTS_MAX;
    for (unsigned i = 0; i < count && !r->bad; i++) {
        get_address(r, &addresses[i]);
    }
}

static void put_join(struct writer *w, const struct trib_message *message)
{
    put_number(w, message->join.magic, 4);
    put_number(w, message->join.version, 2);
    put_number(w, message->join.wire_version, 2);
    put_text(w, message->join.job, sizeof message->join.job);
    put_text(w, message->join.run, sizeof message->join.run);
    put_number(w, message->join.rank, 4);
    for (unsigned i = 0; i < TRIB_ROOTS_MAX; i++) {
        put_number(w, message->join.data_port[i], 2);
    }
    put_number(w, message->join.address_count, 1);
    for (unsigned i = 0; i < message->join.address_count; i++) {
        put_address(w, &message->join.address[i]);
    }
    put_number(w, message->join.multicast, 1);
    put_settings(w, &message->join.settings);
    put_grant(w, &message->join.known);
    put_number(w, message->join.was_ready, 1);
    put_number(w, message->join.is_ring, 1);
    put_number(w, message->join.host, 8);
    put_number(w, message->join.level0, 1);
    put_number(w, message->join.root_port, 2);
    put_number(w, message->join.weight, 1);
    put_number(w, message->join.room, 4);
    put_number(w, message->join.meet_port, 2);
    put_number(w, message->join.via, 8);
    put_number(w, message->join.hops, 1);
    put_number(w, message->join.roots, 4);
    put_text(w, message->join.origin, sizeof message->join.origin);
}

/* Rank r is bit r % 8 of byte r / 8. */
static void put_leaders(struct writer *w, const struct trib_rank_set *leaders, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank += 8) {
        put_number(w, leaders->word[rank / 64] >> rank % 64 & 0xff, 1);
    }
}

static void get_leaders(struct reader *r, struct trib_rank_set *leaders, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank += 8) {
        leaders->word[rank / 64] |= (uint64_t)get_u8(r) << rank % 64;
    }
}

static void put_welcome(struct writer *w, const struct trib_message *message)
{
    put_grant(w, &message->welcome.grant);
    put_number(w, message->welcome.generation_ranks, 4);
    put_number(w, message->welcome.behind, 4);
    put_number(w, message->welcome.root_count, 1);
    put_number(w, message->welcome.no_box, 1);
    put_number(w, message->welcome.peer_count, 1);
    for (unsigned i = 0; i < message->welcome.root_count; i++) {
        put_address(w, &message->welcome.root[i]);
    }
    for (unsigned i = 0; i < message->welcome.peer_count; i++) {
        put_number(w, message->welcome.peer[i].rank, 4);
        put_address(w, &message->welcome.peer[i].address);
    }
    put_address_or_none(w, &message->welcome.meeting);
    put_address_or_none(w, &message->welcome.known_as);
    put_number(w, message->welcome.hosts, 2);
    if (message->welcome.hosts != 0) {
        put_leaders(w, &message->welcome.leaders, message->welcome.generation_ranks);
    }
}

static void get_welcome(struct reader *r, struct trib_message *message)
{
    get_grant(r, &message->welcome.grant);
    message->welcome.generation_ranks = get_u32(r);
    message->welcome.behind = get_u32(r);
    message->welcome.root_count = get_u8(r);
    message->welcome.no_box = get_bool(r);
    message->welcome.peer_count = get_u8(r);
    if (message->welcome.peer_count > TRIB_PEERS_MAX) {
        r->bad = true;
        return;
    }
    get_addresses(r, message->welcome.root, message->welcome.root_count);
    for (unsigned i = 0; i < message->welcome.peer_count; i++) {
        message->welcome.peer[i].rank = get_u32(r);
        get_address(r, &message->welcome.peer[i].address);
    }
    get_address_or_none(r, &message->welcome.meeting);
    get_address_or_none(r, &message->welcome.known_as);
    message->welcome.hosts = get_u16(r);
    if (message->welcome.hosts == 0) {
        return;
    }
    if (message->welcome.generation_ranks > TRIB_RANKS_MAX) {
        r->bad = true;
        return;
    }
    get_leaders(r, &message->welcome.leaders, message->welcome.generation_ranks);
}

static void put_lending(struct writer *w, const struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_LEND) {
        put_number(w, message->lend.magic, 4);
        put_number(w, message->lend.version, 2);
        put_number(w, message->lend.wire_version, 2);
        put_number(w, message->lend.port, 2);
        put_text(w, message->lend.job, sizeof message->lend.job);
        return;
    }
    put_number(w, message->lent.room, 4);
    put_number(w, message->lent.weight, 1);
    put_number(w, message->lent.shards, 1);
    for (unsigned i = 0; i < message->lent.shards; i++) {
        put_address(w, &message->lent.at[i]);
    }
}

/* The communicator comes first in every message to and from a root that there is. */
static void put_root(struct writer *w, const struct trib_message *message)
{
    const struct trib_session_config *session = &message->root_open.session;
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        put_number(w, session->communicator, 4);
        put_number(w, message->root_open.index, 4);
        put_number(w, message->root_open.shard, 4);
        put_number(w, message->root_open.boot, 4);
        put_number(w, message->root_open.ranks, 4);
        put_text(w, message->root_open.scheme, sizeof message->root_open.scheme);
        put_address_or_none(w, &message->root_open.at);
        put_number(w, message->root_open.key, 8);
        put_number(w, session->ranks, 4);
        put_number(w, session->roots, 4);
        put_number(w, session->train, 4);
        put_number(w, session->slots, 4);
        put_number(w, session->payload, 4);
        put_number(w, session->generation, 2);
        put_number(w, (uint64_t)session->wire, 1);
        put_bytes(w, session->weight, sizeof session->weight);
    } else if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        put_number(w, message->root_child.communicator, 4);
        put_number(w, message->root_child.rank, 4);
        put_number(w, message->root_child.branch, 4);
        put_number(w, message->root_child.is_switch, 1);
        put_address(w, &message->root_child.from);
    } else if (message->kind == TRIB_MESSAGE_ROOT_JOIN) {
        put_number(w, message->root_join.communicator, 4);
        put_number(w, message->root_join.rank, 4);
        put_number(w, message->root_join.mark, 8);
    } else if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        put_number(w, message->root_ready.communicator, 4);
        put_number(w, message->root_ready.boot, 4);
    } else if (message->kind == TRIB_MESSAGE_LEND || message->kind == TRIB_MESSAGE_LENT) {
        put_lending(w, message);
    } else {
        put_number(w, message->root_missing.communicator, 4);
        put_number(w, message->root_missing.sequence, 8);
        put_ranks(w, &message->root_missing.missing);
    }
}

static void get_lent(struct reader *r, struct trib_message *message)
{
    message->lent.room = get_u32(r);
    message->lent.weight = get_u8(r);
    message->lent.shards = get_u8(r);
    get_addresses(r, message->lent.at, message->lent.shards);
}

static void get_root(struct reader *r, struct trib_message *message)
{
    struct trib_session_config *session = &message->root_open.session;
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        session->communicator = get_u32(r);
        message->root_open.index = get_u32(r);
        message->root_open.shard = get_u32(r);
        message->root_open.boot = get_u32(r);
        message->root_open.ranks = get_u32(r);
        get_text(r, message->root_open.scheme, sizeof message->root_open.scheme);
        get_address_or_none(r, &message->root_open.at);
        message->root_open.key = get_u64(r);
        session->ranks = get_u32(r);
        session->roots = get_u32(r);
        session->train = get_u32(r);
        session->slots = get_u32(r);
        session->payload = get_u32(r);
        session->generation = get_u16(r);
        session->wire = (enum trib_type)get_u8(r);
        get_bytes(r, session->weight, TRIB_ROOTS_MAX);
    } else if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        message->root_child.communicator = get_u32(r);
        message->root_child.rank = get_u32(r);
        message->root_child.branch = get_u32(r);
        message->root_child.is_switch = get_bool(r);
        get_address(r, &message->root_child.from);
    } else if (message->kind == TRIB_MESSAGE_ROOT_JOIN) {
        message->root_join.communicator = get_u32(r);
        message->root_join.rank = get_u32(r);
        message->root_join.mark = get_u64(r);
    } else if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        message->root_ready.communicator = get_u32(r);
        message->root_ready.boot = get_u32(r);
    } else if (message->kind == TRIB_MESSAGE_LENT) {
        get_lent(r, message);
    } else {
        message->root_missing.communicator = get_u32(r);
        message->root_missing.sequence = get_u64(r);
        get_ranks(r, &message->root_missing.missing);
    }
}

static void put_note(struct writer *w, const struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_GONE) {
        put_number(w, message->note.is_lost, 1);
    }
    put_text(w, message->note.text, sizeof message->note.text);
}

static void get_note(struct reader *r, struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_GONE) {
        message->note.is_lost = get_bool(r);
    }
    get_text(r, message->note.text, sizeof message->note.text);
}

static void put_dispute(struct writer *w, const struct trib_message *message)
{
    put_number(w, message->dispute.sequence, 8);
    put_number(w, message->dispute.rank[0], 4);
    put_number(w, message->dispute.rank[1], 4);
}

static void get_dispute(struct reader *r, struct trib_message *message)
{
    message->dispute.sequence = get_u64(r);
    message->dispute.rank[0] = get_u32(r);
    message->dispute.rank[1] = get_u32(r);
}

static void put_fields(struct writer *w, const struct trib_message *message)
{
    switch (message->kind) {
    case TRIB_MESSAGE_JOIN:
        put_join(w, message);
        break;
    case TRIB_MESSAGE_WELCOME:
        put_welcome(w, message);
        break;
    case TRIB_MESSAGE_PATHS:
        put_number(w, message->paths.unicast, 1);
        put_number(w, message->paths.multicast, 1);
        break;
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_CLOSE:
        put_number(w, message->mark.mark, 8);
        break;
    case TRIB_MESSAGE_READY:
        put_number(w, message->ready.boot, 4);
        put_number(w, message->ready.mark, 8);
        put_number(w, message->ready.multicast, 1);
        break;
    case TRIB_MESSAGE_DESCRIBE:
        put_number(w, message->describe.sequence, 8);
        break;
    case TRIB_MESSAGE_PING:
    case TRIB_MESSAGE_PONG:
        put_number(w, message->ping.number, 8);
        break;
    case TRIB_MESSAGE_OPERATION:
        put_number(w, message->operation.sequence, 8);
        put_text(w, message->operation.text, sizeof message->operation.text);
        break;
    case TRIB_MESSAGE_ABORT:
    case TRIB_MESSAGE_FAIL:
        put_number(w, (uint32_t)message->fail.status, 4);
        put_text(w, message->fail.text, sizeof message->fail.text);
        break;
    case TRIB_MESSAGE_STALL:
    case TRIB_MESSAGE_MISSING:
        put_number(w, message->stall.sequence, 8);
        put_number(w, message->stall.since_ms, 4);
        put_ranks(w, &message->stall.missing);
        put_text(w, message->stall.where, sizeof message->stall.where);
        break;
    case TRIB_MESSAGE_GONE:
    case TRIB_MESSAGE_AWAY:
    case TRIB_MESSAGE_RING:
        put_note(w, message);
        break;
    case TRIB_MESSAGE_DISPUTE:
        put_dispute(w, message);
        break;
    case TRIB_MESSAGE_ROOT_OPEN:
    case TRIB_MESSAGE_ROOT_CHILD:
    case TRIB_MESSAGE_ROOT_JOIN:
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
    case TRIB_MESSAGE_LEND:
    case TRIB_MESSAGE_LENT:
        put_root(w, message);
        break;
    case TRIB_MESSAGE_CLOSED:
        break;
    case TRIB_MESSAGE_NONE:
    case TRIB_MESSAGE_KIND_COUNT:
        TRIB_ASSERT(!"a message needs a kind");
        break;
    }
}

size_t trib_message_encode(const struct trib_message *message, uint8_t *buffer)
{
    struct writer w = {.at = buffer + LENGTH_SIZE, .end = buffer + TRIB_MESSAGE_MAX};
    put_number(&w, (uint64_t)message->kind, 1);
    put_fields(&w, message);
    size_t len = (size_t)(w.at - buffer);
    struct writer frame = {.at = buffer, .end = buffer + LENGTH_SIZE};
    put_number(&frame, len - LENGTH_SIZE, LENGTH_SIZE);
    return len;
}

/* Magic and versions come first and stay there in every version, so that any two can tell each other why they part.
 * They lie at one place in JOIN and LEND. */
static enum trib_status get_versions(struct reader *r, struct trib_message *message)
{
    message->join.magic = get_u32(r);
    message->join.version = get_u16(r);
    message->join.wire_version = get_u16(r);
    if (r->bad || message->join.magic != TRIB_SESSION_MAGIC) {
        return TRIB_ERR_INVALID;
    }
    bool is_ours = message->join.version == TRIB_SESSION_VERSION && message->join.wire_version == TRIB_WIRE_VERSION;
    return is_ours ? TRIB_OK : TRIB_ERR_VERSION;
}

static enum trib_status get_lend(struct reader *r, struct trib_message *message)
{
    enum trib_status status = get_versions(r, message);
    if (status == TRIB_OK) {
        message->lend.port = get_u16(r);
        get_text(r, message->lend.job, sizeof message->lend.job);
    }
    return status;
}

static enum trib_status get_join(struct reader *r, struct trib_message *message)
{
    enum trib_status status = get_versions(r, message);
    if (status != TRIB_OK) {
        return status;
    }
    get_text(r, message->join.job, sizeof message->join.job);
    get_text(r, message->join.run, sizeof message->join.run);
    message->join.rank = get_u32(r);
    for (unsigned i = 0; i < TRIB_ROOTS_MAX; i++) {
        message->join.data_port[i] = get_u16(r);
    }
    message->join.address_count = get_u8(r);
    get_addresses(r, message->join.address, message->join.address_count);
    message->join.multicast = get_bool(r);
    get_settings(r, &message->join.settings);
    get_grant(r, &message->join.known);
    message->join.was_ready = get_bool(r);
    message->join.is_ring = get_bool(r);
    message->join.host = get_u64(r);
    message->join.level0 = get_bool(r);
    message->join.root_port = get_u16(r);
    message->join.weight = get_u8(r);
    message->join.room = get_u32(r);
    message->join.meet_port = get_u16(r);
    message->join.via = get_u64(r);
    message->join.hops = get_u8(r);
    message->join.roots = get_u32(r);
    get_text(r, message->join.origin, sizeof message->join.origin);
    return TRIB_OK;
}

static enum trib_status get_fields(struct reader *r, struct trib_message *message)
{
    switch (message->kind) {
    case TRIB_MESSAGE_JOIN:
        return get_join(r, message);
    case TRIB_MESSAGE_WELCOME:
        get_welcome(r, message);
        return TRIB_OK;
    case TRIB_MESSAGE_PATHS:
        message->paths.unicast = get_bool(r);
        message->paths.multicast = get_bool(r);
        return TRIB_OK;
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_CLOSE:
        message->mark.mark = get_u64(r);
        return TRIB_OK;
    case TRIB_MESSAGE_READY:
        message->ready.boot = get_u32(r);
        message->ready.mark = get_u64(r);
        message->ready.multicast = get_bool(r);
        return TRIB_OK;
    case TRIB_MESSAGE_DESCRIBE:
        message->describe.sequence = get_u64(r);
        return TRIB_OK;
    case TRIB_MESSAGE_PING:
    case TRIB_MESSAGE_PONG:
        message->ping.number = get_u64(r);
        return TRIB_OK;
    case TRIB_MESSAGE_OPERATION:
        message->operation.sequence = get_u64(r);
        get_text(r, message->operation.text, sizeof message->operation.text);
        return TRIB_OK;
    case TRIB_MESSAGE_ABORT:
    case TRIB_MESSAGE_FAIL:
        message->fail.status = (int32_t)get_u32(r);
        get_text(r, message->fail.text, sizeof message->fail.text);
        return TRIB_OK;
    case TRIB_MESSAGE_STALL:
    case TRIB_MESSAGE_MISSING:
        message->stall.sequence = get_u64(r);
        message->stall.since_ms = get_u32(r);
        get_ranks(r, &message->stall.missing);
        get_text(r, message->stall.where, sizeof message->stall.where);
        return TRIB_OK;
    case TRIB_MESSAGE_GONE:
    case TRIB_MESSAGE_AWAY:
    case TRIB_MESSAGE_RING:
        get_note(r, message);
        return TRIB_OK;
    case TRIB_MESSAGE_DISPUTE:
        get_dispute(r, message);
        return TRIB_OK;
    case TRIB_MESSAGE_ROOT_OPEN:
    case TRIB_MESSAGE_ROOT_CHILD:
    case TRIB_MESSAGE_ROOT_JOIN:
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
    case TRIB_MESSAGE_LENT:
        get_root(r, message);
        return TRIB_OK;
    case TRIB_MESSAGE_LEND:
        return get_lend(r, message);
    case TRIB_MESSAGE_CLOSED:
        return TRIB_OK;
    case TRIB_MESSAGE_NONE:
    case TRIB_MESSAGE_KIND_COUNT:
        break;
    }
    return TRIB_ERR_INVALID;
}

enum trib_status trib_message_decode(const uint8_t *buffer, size_t len, struct trib_message *message, size_t *used)
{
    *used = 0;
    if (len < LENGTH_SIZE) {
        return TRIB_OK;
    }
    struct reader frame = {.at = buffer, .end = buffer + LENGTH_SIZE};
    size_t body = get_u32(&frame);
    if (body < 1 || body > TRIB_MESSAGE_MAX - LENGTH_SIZE) {
        return TRIB_ERR_INVALID;
    }
    if (len >= FRAME_SIZE && (buffer[LENGTH_SIZE] == 0 || buffer[LENGTH_SIZE] >= TRIB_MESSAGE_KIND_COUNT)) {
        return TRIB_ERR_INVALID;
    }
    if (len - LENGTH_SIZE < body) {
        return TRIB_OK;
    }
    memset(message, 0, sizeof *message);
    message->kind = (enum trib_message_kind)buffer[LENGTH_SIZE];
    struct reader r = {.at = buffer + FRAME_SIZE, .end = buffer + LENGTH_SIZE + body};
    enum trib_status status = get_fields(&r, message);
    if (status == TRIB_OK && (r.bad || r.at != r.end)) {
        status = TRIB_ERR_INVALID;
    }
    if (status == TRIB_OK) {
        *used = LENGTH_SIZE + body;
    }
    return status;
}
