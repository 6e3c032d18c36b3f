/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: see auth.h. A list of all numbers that were used under each key says what each receiver must do: no number is
 * used twice by one sender, whoever has its id, in whichever life; what is authentic, for this receiver, and new, is
 * taken; all else is refused. Lies are drawn from numbers of their own, so that the faults stay as the seed has them.
 * Read next: unit.c (who takes packets), link.c (what happens to them). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32c.h"
#include "core/lane.h"
#include "keys/derive.h"
#include "world.h"

#define LIES_ONE_IN 24   /* sealed packets */
#define SKIPS_ONE_IN 256 /* lies */
#define AT_RECEIVER 2    /* of an authenticator */
#define AT_NUMBER 4
#define NO_PEER UINT16_MAX

static uint64_t get(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

/* An eighth, where there are authenticators at all, whether or not they have a key for their lanes as well (proof.c):
 * more would take too long. So drawn that seeds which are kept (seeds.txt, and those of canaries) mean what they did. */
void auth_draw(struct comm_settings *set)
{
    set->is_sealed = trib_mix64(set->session.salt ^ 181) % 8 == 0 && trib_keys_explain_lack() == NULL;
}

uint64_t auth_key_part(struct world *world)
{
    return trib_mix64(world->seed ^ ++world->auths.draws << 32);
}

/* ---- keys and ends ---- */

/* Whose sender key this is: of an agent's number the id at root 0; of a ring that of all. */
static uint16_t holder_of(const struct world *world, uint16_t id)
{
    return trib_auth_is_agent(id)   ? trib_auth_switch(trib_auth_number(id), 0)
           : world_has_peers(world) ? TRIB_AUTH_ALL
                                    : id;
}

/* Each sender has one key in an incarnation, and no other sender or incarnation has it. */
static uint32_t find_key(const struct world_comm *comm, const uint8_t *bytes, uint32_t boot, uint32_t holder)
{
    struct world *world = comm->world;
    struct world_auths *auths = &world->auths;

    for (uint32_t i = auths->key_count; i-- > 0;) {
        const struct world_key *key = &auths->keys[i];
        bool is_same = memcmp(key->bytes, bytes, sizeof key->bytes) == 0;
        bool is_its = key->comm == comm && key->boot == boot && key->holder == holder;
        if (is_same != is_its) {
            world_fail(world, WORLD_CHECK_AUTH, "sender %05x of incarnation %08x of communicator %u has %s", holder,
                       boot, comm->index, is_same ? "the key of another one" : "two sender keys");
        }
        if (is_same) {
            return i;
        }
    }
    auths->keys = world_grown(auths->keys, auths->key_count, &auths->key_capacity, sizeof *auths->keys);
    struct world_key *key = &auths->keys[auths->key_count];
    *key = (struct world_key){.comm = comm, .boot = boot, .holder = holder, .first_end = auths->end_count};
    memcpy(key->bytes, bytes, sizeof key->bytes);
    return auths->key_count++;
}

static uint32_t find_end(struct world *world, uint32_t key, uint16_t id, uint32_t peers)
{
    struct world_auths *auths = &world->auths;

    for (uint32_t i = auths->keys[key].first_end; i < auths->end_count; i++) {
        if (auths->ends[i].key == key && auths->ends[i].id == id) {
            return i;
        }
    }
    auths->ends = world_grown(auths->ends, auths->end_count, &auths->end_capacity, sizeof *auths->ends);
    auths->ends[auths->end_count] =
        (struct world_end){.key = key, .id = id, .heard = world_zeroed(peers, sizeof(struct world_heard))};
    auths->ends[auths->end_count].peers = peers;
    return auths->end_count++;
}

/* Both are of one incarnation. */
static bool are_together(const struct world_auths *auths, const struct world_end *a, const struct world_end *b)
{
    const struct world_key *of_a = &auths->keys[a->key];
    const struct world_key *of_b = &auths->keys[b->key];
    return of_a->comm == of_b->comm && of_a->boot == of_b->boot;
}

static void must_have(bool is_done)
{
    if (!is_done) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
}

/* other: entries that say which peer a switch or a rank is. */
static void begin(struct world_unit *unit, const uint8_t *key, uint32_t boot, uint16_t id, uint32_t peers)
{
    struct world_comm *comm = unit->comm;
    uint32_t others = WORLD_SWITCHES_MAX + comm->set.session.ranks;
    struct world_auth *auth = world_zeroed(1, sizeof *auth + others * sizeof auth->of[0]);

    memset(auth->of, 0xff, others * sizeof auth->of[0]);
    auth->end = find_end(comm->world, find_key(comm, key, boot, holder_of(comm->world, id)), id, peers);
    auth->peers = peers;
    auth->auth = trib_auth_create(key, id, peers, false);
    must_have(auth->auth != NULL);
    unit->auth = auth;
}

static bool is_expected(const struct world_comm *comm, const uint8_t *key)
{
    bool is_set = key != NULL && trib_auth_is_set(key);

    if (is_set != comm->set.is_sealed) {
        world_fail(comm->world, WORLD_CHECK_AUTH, "communicator %u has %s", comm->index,
                   is_set ? "no key, and a packet key" : "a key, and no packet key");
    }
    return is_set && comm->set.is_sealed;
}

void auth_welcome(struct world_comm *comm, uint32_t rank, const struct trib_sender_keys *keys)
{
    const struct world *world = comm->world;
    struct world_unit *unit = unit_of_rank(comm, rank);
    uint16_t ranks[TRIB_PEERS_MAX];
    uint32_t peers = comm->set.session.roots;

    auth_close(unit);
    if (!is_expected(comm, keys->own)) {
        return;
    }
    if (world_has_peers(world)) {
        peers = world->scheme->worker->peers(&comm->set.session, rank, ranks);
    }
    begin(unit, keys->own, comm->ranks[rank].grant.boot, trib_auth_rank(rank), peers);
    for (uint32_t i = 0; i < peers; i++) {
        uint16_t id = world_has_peers(world) ? trib_auth_rank(ranks[i]) : trib_auth_switch(keys->parent, i);
        if (!world_has_peers(world)) {
            must_have(trib_auth_set_above(unit->auth->auth, i, id, keys->heard));
        } else {
            must_have(trib_auth_set_peer(unit->auth->auth, i, id, keys->heard));
            unit->auth->of[WORLD_SWITCHES_MAX + ranks[i]] = (uint16_t)i;
        }
    }
}

/* Whose packets those of this branch are, and its number: of several behind one combiner that of the first. */
static void note_branch(struct world_unit *unit, const struct trib_branch *branch, uint16_t number)
{
    const struct world *world = unit->comm->world;
    const struct world_tree *tree = unit->comm->tree[unit->root];
    uint16_t *of = unit->auth->of;

    if (!branch->is_switch && !branch->is_combined) {
        of[WORLD_SWITCHES_MAX + branch->ranks[0]] = number;
        return;
    }
    for (uint32_t at = 0; at < world->tree_count; at++) {
        bool is_it =
            tree->parents[at] == world_seat(world, unit->at) && rank_set_has(&tree->shapes[at].ranks, branch->ranks[0]);
        of[at] = is_it && of[at] == NO_PEER ? number : of[at];
    }
}

static void note_parent(const struct world_unit *unit, uint16_t at, uint16_t number)
{
    if (at < WORLD_SWITCHES_MAX) {
        unit->auth->of[at] = number;
    }
}

/* The agent's own key for packets up. */
static void begin_up(struct world_unit *unit, const struct trib_opening *opening, uint16_t id)
{
    uint8_t key[TRIB_AUTH_KEY];

    trib_auth_make_sender_key(opening->auth->bytes, TRIB_AUTH_UP | id, key);
    uint32_t number = find_key(unit->comm, key, opening->boot, TRIB_AUTH_UP | holder_of(unit->comm->world, id));
    unit->auth->up_end = find_end(unit->comm->world, number, id, 0);
    unit->auth->up = trib_auth_create(key, id, 0, false);
    must_have(unit->auth->up != NULL);
}

void auth_open(struct world_comm *comm, uint32_t at, const struct trib_opening *opening)
{
    struct world_unit *unit = unit_of_switch(comm, at, opening->root);
    const struct trib_auth_key *auth = opening->auth;
    uint16_t own = auth != NULL ? trib_auth_switch(auth->below, opening->root) : 0;
    bool has_parent = opening->parent != NULL;
    uint8_t key[TRIB_AUTH_KEY];

    if (!is_expected(comm, auth != NULL ? auth->bytes : NULL)) {
        return;
    }
    trib_auth_make_sender_key(auth->bytes, own, key);
    begin(unit, key, opening->boot, own, opening->count + has_parent);
    for (uint32_t i = 0; i < opening->count; i++) {
        uint16_t id = opening->branches[i].sender;
        trib_auth_make_sender_key(auth->bytes, trib_auth_is_agent(id) ? TRIB_AUTH_UP | id : id, key);
        must_have(trib_auth_set_peer(unit->auth->auth, i, id, key));
        note_branch(unit, &opening->branches[i], (uint16_t)i);
    }
    if (has_parent) {
        uint16_t parent = trib_auth_switch(auth->parent, opening->root);
        trib_auth_make_sender_key(auth->bytes, parent, key);
        must_have(trib_auth_set_above(unit->auth->auth, opening->count, parent, key));
        unit->auth->has_parent = true;
        begin_up(unit, opening, own);
        note_parent(unit, comm->members[at].parents[opening->root], (uint16_t)opening->count);
    }
}

void auth_close(struct world_unit *unit)
{
    if (unit->auth != NULL) {
        trib_auth_destroy(unit->auth->auth);
        trib_auth_destroy(unit->auth->up);
        free(unit->auth);
        unit->auth = NULL;
    }
}

void auth_end(struct world *world)
{
    struct world_auths *auths = &world->auths;

    for (uint32_t i = 0; i < auths->end_count; i++) {
        for (uint32_t peer = 0; peer < auths->ends[i].peers; peer++) {
            free(auths->ends[i].heard[peer].bits);
        }
        free(auths->ends[i].heard);
    }
    free(auths->ends);
    free(auths->keys);
}

/* ---- what is sent ---- */

/* The peer of the unit that this other one is, by its address; NO_PEER: no unit that it knows. */
static uint16_t peer_of(const struct world *world, const struct world_unit *unit, const struct world_unit *other)
{
    if (unit->is_worker && !world_has_peers(world)) {
        return other->is_worker ? NO_PEER : (uint16_t)other->root;
    }
    if (!other->is_worker && other->root != unit->root) {
        return NO_PEER;
    }
    return unit->auth->of[other->is_worker ? WORLD_SWITCHES_MAX + other->rank : other->at];
}

/* No sender uses a number of a key again, in another life or under another's name. */
static void note_used(struct world *world, struct parcel *parcel, const uint8_t *authenticator)
{
    struct world_end *end = &world->auths.ends[parcel->seal.end - 1];
    uint64_t number = get(authenticator + AT_NUMBER, 8);

    if (number < end->next || get(authenticator, 2) != end->id) {
        world_fail(world, WORLD_CHECK_AUTH, "sender %04x uses number %" PRIu64 " of key %u again, or another's id",
                   end->id, number, end->key);
    }
    end->next = number + 1;
    parcel->seal.number = number;
}

/* A receiver of the same incarnation has this id, and one for the sender. */
static bool is_known(const struct world *world, const struct world_unit *unit, const struct world_unit *to,
                     uint16_t receiver)
{
    const struct world_end *ends = world->auths.ends;

    return to->auth == NULL || !are_together(&world->auths, &ends[to->auth->end], &ends[unit->auth->end]) ||
           (ends[to->auth->end].id == receiver && peer_of(world, to, unit) != NO_PEER);
}

/* Packets for all count from a root or parent alone. */
static bool is_above(const struct world *world, const struct world_unit *unit, uint16_t peer)
{
    return unit->is_worker ? !world_has_peers(world) : unit->auth->has_parent && peer == unit->auth->peers - 1;
}

uint32_t auth_parcel(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    const struct world_unit *unit = &world->units[from];
    struct trib_packet sealed = *packet;

    if (unit->auth == NULL) {
        return world_parcel(world, packet);
    }
    sealed.authenticated = 1;
    uint32_t index = world_parcel(world, &sealed);
    struct parcel *parcel = &world->parcels[index];
    uint16_t peer = to == WORLD_NONE ? NO_PEER : peer_of(world, unit, &world->units[to]);
    uint16_t receiver = peer == NO_PEER ? TRIB_AUTH_ALL : trib_auth_peer(unit->auth->auth, peer);
    uint8_t *authenticator = parcel->data + parcel->len;
    if (to != WORLD_NONE && (peer == NO_PEER || !is_known(world, unit, &world->units[to], receiver))) {
        world_fail(world, WORLD_CHECK_AUTH, "unit %u has no right id of unit %u, or that has none of it", from, to);
    }
    bool is_up = peer != NO_PEER && !unit->is_worker && is_above(world, unit, peer);
    trib_auth_seal(is_up ? unit->auth->up : unit->auth->auth, receiver, parcel->data, parcel->data + TRIB_HEADER_SIZE,
                   packet->payload_len, authenticator);
    parcel->len += TRIB_AUTHENTICATOR_SIZE;
    uint32_t end = is_up ? unit->auth->up_end : unit->auth->end;
    parcel->seal = (struct world_seal){.end = end + 1, .unit = from, .receiver = receiver};
    note_used(world, parcel, authenticator);
    return index;
}

void auth_changed(struct world *world, uint32_t parcel)
{
    world->parcels[parcel].seal = (struct world_seal){.end = 0};
}

/* ---- what comes ---- */

static bool has_heard(const struct world_heard *heard, uint64_t number)
{
    return number / 64 < heard->words && (heard->bits[number / 64] >> number % 64 & 1) != 0;
}

static void hear(struct world_heard *heard, uint64_t number)
{
    while (number / 64 >= heard->words) {
        uint32_t words = heard->words;
        heard->bits = world_grown(heard->bits, heard->words, &heard->words, sizeof *heard->bits);
        memset(heard->bits + words, 0, (heard->words - words) * sizeof *heard->bits);
    }
    heard->bits[number / 64] |= UINT64_C(1) << number % 64;
    heard->most = number > heard->most ? number : heard->most;
}

/* By what was done to the packet, not by its bytes. */
static bool is_authentic(const struct world *world, const struct world_unit *unit, uint32_t from,
                         const struct world_seal *seal)
{
    const struct world_auths *auths = &world->auths;

    if (unit->auth == NULL || seal->end == 0 || seal->unit != from ||
        peer_of(world, unit, &world->units[from]) == NO_PEER) {
        return false;
    }
    const struct world_end *own = &auths->ends[unit->auth->end];
    bool is_for_own = seal->receiver == own->id || (seal->receiver == TRIB_AUTH_ALL &&
                                                    is_above(world, unit, peer_of(world, unit, &world->units[from])));
    return are_together(auths, own, &auths->ends[seal->end - 1]) && is_for_own;
}

static const char *wrong_about(const struct world_seal *seal, struct world_heard *heard, enum trib_drop drop)
{
    bool is_late = seal->number + TRIB_AUTH_WINDOW - 64 <= heard->most; /* a window is of whole words */

    if (has_heard(heard, seal->number)) {
        return drop == TRIB_DROP_REPLAY ? NULL : "a packet was taken again";
    }
    if (drop == TRIB_DROP_NONE) {
        hear(heard, seal->number);
        return NULL;
    }
    return is_late && drop == TRIB_DROP_REPLAY ? NULL : "an authentic packet was refused";
}

static void judge(struct world *world, uint32_t to, uint32_t from, uint32_t parcel, enum trib_drop drop)
{
    const struct world_unit *unit = &world->units[to];
    const struct world_seal *seal = &world->parcels[parcel].seal;
    const char *wrong = drop == TRIB_DROP_NONE ? "a packet that is not authentic was taken" : NULL;

    if (is_authentic(world, unit, from, seal)) {
        struct world_heard *heard =
            &world->auths.ends[unit->auth->end].heard[peer_of(world, unit, &world->units[from])];
        bool is_first = !has_heard(heard, seal->number);
        wrong = wrong_about(seal, heard, drop);
        world->report->auth_copies += !is_first;
        world->report->auth_late += is_first && drop == TRIB_DROP_REPLAY;
    } else {
        world->report->auth_refused++;
    }
    if (wrong != NULL) {
        world_fail(world, WORLD_CHECK_AUTH, "%s: number %" PRIu64 " to unit %u from unit %u (sealed by unit %u): %s",
                   wrong, seal->number, to, from, seal->unit, trib_drop_name(drop));
    }
}

enum trib_drop auth_take(struct world *world, uint32_t to, uint32_t from, uint32_t parcel,
                         const struct trib_packet *packet)
{
    const struct world_unit *unit = &world->units[to];
    const struct parcel *taken = &world->parcels[parcel];
    enum trib_drop drop = TRIB_DROP_AUTH;

    if (!unit->comm->set.is_sealed && packet->authenticated == 0) {
        return TRIB_DROP_NONE;
    }
    if (unit->auth != NULL && packet->authenticated != 0) { /* as drivers have it */
        uint16_t peer = peer_of(world, unit, &world->units[from]);
        drop = peer == NO_PEER ? TRIB_DROP_SOURCE : trib_auth_check(unit->auth->auth, peer, taken->data, taken->len);
    }
    judge(world, to, from, parcel, drop);
    return drop;
}

/* ---- lies ---- */

static uint64_t dice(struct world *world, uint64_t bound)
{
    return trib_mix64(trib_mix64(world->seed) + ++world->auths.dice) % bound;
}

static uint8_t *authenticator_of(struct parcel *parcel)
{
    return parcel->data + parcel->len - TRIB_AUTHENTICATOR_SIZE;
}

static void deliver(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    world->report->auth_lies++;
    world_deliver(world, from, to, parcel, dice(world, 2 * (world->set.delay_ns + world->set.jitter_ns) + 1));
}

/* Some unit of the same communicator. */
static uint32_t any_unit(struct world *world, const struct world_comm *comm)
{
    const struct comm_member *member = &comm->members[dice(world, world->switch_count)];

    if (dice(world, 2) == 0 || member->units == NULL || world_has_peers(world)) {
        return comm->ranks[dice(world, comm->set.session.ranks)].unit;
    }
    return member->units[dice(world, comm->set.session.roots)];
}

/* With another checksum in place of the authenticator. */
static void strip(struct parcel *parcel)
{
    parcel->len -= TRIB_AUTHENTICATOR_SIZE;
    parcel->data[TRIB_AT_VERSION] = TRIB_WIRE_VERSION;
    put(parcel->data + TRIB_AT_CRC, 0, 4);
    put(parcel->data + TRIB_AT_CRC, trib_crc32c(0, parcel->data, parcel->len), 4);
}

/* To that unit with the authenticator of another packet. */
static void lie_with(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, uint32_t other)
{
    uint32_t copy = world_copy(world, parcel);

    memcpy(authenticator_of(&world->parcels[copy]), authenticator_of(&world->parcels[other]), TRIB_AUTHENTICATOR_SIZE);
    auth_changed(world, copy);
    deliver(world, from, to, copy);
}

/* Two packets, each with the authenticator of the other. */
static void swap(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    struct world_auths *auths = &world->auths;
    uint32_t other = auths->earlier;
    const struct parcel *a = &world->parcels[parcel];
    const struct parcel *b = &world->parcels[other];

    if (other != 0 && (a->len != b->len || memcmp(a->data, b->data, a->len - TRIB_AUTHENTICATOR_SIZE) != 0)) {
        lie_with(world, from, to, parcel, other);
        lie_with(world, auths->earlier_from, auths->earlier_to, other, parcel);
    }
    if (other != 0) {
        world_release(world, other);
    }
    world->parcels[parcel].refs++;
    auths->earlier = parcel;
    auths->earlier_from = from;
    auths->earlier_to = to;
}

/* Each name in an authenticator is another one, and the packet goes where it says. */
static void rename_end(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, bool is_sender)
{
    uint32_t other = any_unit(world, world->units[to].comm);
    const struct world_auth *auth = world->units[other].auth;
    uint32_t copy = world_copy(world, parcel);
    uint8_t *at = authenticator_of(&world->parcels[copy]) + (is_sender ? 0 : AT_RECEIVER);
    uint16_t was = (uint16_t)get(at, 2);
    uint16_t id = auth == NULL || dice(world, 4) == 0 ? TRIB_AUTH_ALL : world->auths.ends[auth->end].id;

    put(at, id == was ? id ^ 1U : id, 2);
    auth_changed(world, copy);
    deliver(world, is_sender ? other : from, is_sender ? to : other, copy);
}

static void renumber(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    uint32_t copy = world_copy(world, parcel);
    uint8_t *at = authenticator_of(&world->parcels[copy]) + AT_NUMBER;
    uint64_t step = dice(world, 2) == 0 ? 1 + dice(world, 100) : UINT64_C(1) << dice(world, 64);

    put(at, get(at, 8) + step, 8);
    auth_changed(world, copy);
    deliver(world, from, to, copy);
}

/* Unchanged, to another one, or from another one's address. */
static void mislead(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    uint32_t other = any_unit(world, world->units[to].comm);
    bool is_sender = dice(world, 2) == 0;

    if (!world->set.is_clean) { /* one for several may be taken in another order */
        world->parcels[parcel].refs++;
        deliver(world, is_sender ? other : from, is_sender ? to : other, parcel);
    }
}

/* A sender whose packets are all lost, more of them than a window has room for. */
static void skip(struct world *world, uint32_t from)
{
    const struct world_unit *unit = &world->units[from];
    uint8_t header[TRIB_HEADER_SIZE] = {0};
    uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE];

    for (uint32_t i = 0; i < TRIB_AUTH_WINDOW && unit->auth != NULL && !world->set.is_clean; i++) {
        trib_auth_seal(unit->auth->auth, TRIB_AUTH_ALL, header, NULL, 0, authenticator);
        world->auths.ends[unit->auth->end].next++;
    }
}

void auth_lie(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    if (world->parcels[parcel].seal.end == 0 || dice(world, LIES_ONE_IN) != 0) {
        return;
    }
    uint32_t copy;
    switch (dice(world, SKIPS_ONE_IN) == 0 ? 0 : 1 + dice(world, 6)) {
    case 0:
        skip(world, from);
        return;
    case 1:
        swap(world, from, to, parcel);
        return;
    case 2:
        rename_end(world, from, to, parcel, true);
        return;
    case 3:
        rename_end(world, from, to, parcel, false);
        return;
    case 4:
        renumber(world, from, to, parcel);
        return;
    case 5:
        mislead(world, from, to, parcel);
        return;
    default:
        copy = world_copy(world, parcel);
        strip(&world->parcels[copy]);
        auth_changed(world, copy);
        deliver(world, from, to, copy);
        return;
    }
}

/* With the right names, and a MAC by nobody. */
static uint32_t forged(struct world *world, const struct world_unit *unit, const struct world_unit *to,
                       const struct trib_packet *packet)
{
    struct trib_packet sealed = *packet;
    sealed.authenticated = 1;
    uint32_t index = world_parcel(world, &sealed);
    struct parcel *parcel = &world->parcels[index];
    const struct world_end *ends = world->auths.ends;

    parcel->len += TRIB_AUTHENTICATOR_SIZE;
    uint8_t *at = authenticator_of(parcel);
    for (unsigned i = 0; i < TRIB_AUTHENTICATOR_SIZE; i++) {
        at[i] = (uint8_t)dice(world, 256);
    }
    put(at, ends[unit->auth->end].id, 2);
    put(at + AT_RECEIVER, to->auth == NULL ? TRIB_AUTH_ALL : ends[to->auth->end].id, 2);
    put(at + AT_NUMBER, ends[unit->auth->end].next + dice(world, 3), 8);
    return index;
}

/* Half of those who lie have the key: members that do wrong. */
uint32_t auth_forged(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    const struct world_unit *unit = &world->units[from];
    bool is_member = unit->auth != NULL && peer_of(world, unit, &world->units[to]) != NO_PEER;
    uint64_t who = is_member ? dice(world, 4) : 3;

    return who < 2    ? auth_parcel(world, from, to, packet)
           : who == 2 ? forged(world, unit, &world->units[to], packet)
                      : world_parcel(world, packet);
}
