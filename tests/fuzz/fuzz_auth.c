/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_auth.c: bytes become what a receiver of authenticated packets gets (keys/auth.h): packets of a sender as they
 * were sealed, again, changed, with the authenticator of another one, as from another sender, and any bytes; in between
 * the sender seals some that never come. What was sealed for this receiver and is new is taken, unless it is below the
 * window; what it has taken before is a replay; nothing else is taken. Without OpenSSL nothing is looked at. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/packet.h"
#include "fuzz/fuzz.h"
#include "keys/auth.h"
#include "keys/derive.h"

#define EVENTS_MAX 300
#define SEALED_MAX 64
#define NUMBERS_MAX 6000 /* that are lost */
#define PAYLOAD_MAX 256
#define PACKET_MAX (TRIB_HEADER_SIZE + PAYLOAD_MAX + TRIB_AUTHENTICATOR_SIZE)
#define SENDER 0 /* the receiver's peers */
#define OTHER 1
#define PEERS 2

struct sealed {
    uint64_t number;
    size_t len;
    bool is_for_us, was_taken;
    uint8_t bytes[PACKET_MAX];
};

static struct script {
    const uint8_t *bytes;
    size_t left;
    struct trib_auth *sender, *receiver;
    struct sealed sealed[SEALED_MAX];
    uint32_t count;
    uint64_t next; /* number of the sender */
    uint64_t most; /* number that was taken */
} script;

static void must(bool holds, const char *text)
{
    if (!holds) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
}

static uint32_t next_byte(void)
{
    if (script.left == 0) {
        return 0;
    }
    script.left--;
    return *script.bytes++;
}

/* ---- the sender ---- */

/* to: 0: this receiver; 1: all; else another one. */
static void seal(struct sealed *to_keep, uint32_t to, uint32_t payload_len)
{
    static const uint8_t payload[PAYLOAD_MAX] = {1, 2, 3};
    const struct trib_packet packet = {.kind = TRIB_CONTRIBUTION,
                                       .communicator = 7,
                                       .sequence = script.next,
                                       .mark = script.next,
                                       .payload = payload_len != 0 ? payload : NULL,
                                       .payload_len = (uint16_t)payload_len,
                                       .authenticated = 1};
    uint16_t id = to == 0 ? trib_auth_switch(0, 0) : to == 1 ? TRIB_AUTH_ALL : trib_auth_switch(1, 0);

    *to_keep = (struct sealed){.number = script.next++, .is_for_us = to <= 1};
    trib_packet_encode(&packet, to_keep->bytes);
    memcpy(to_keep->bytes + TRIB_HEADER_SIZE, payload, payload_len);
    to_keep->len = TRIB_HEADER_SIZE + payload_len;
    trib_auth_seal(script.sender, id, to_keep->bytes, payload, payload_len, to_keep->bytes + to_keep->len);
    to_keep->len += TRIB_AUTHENTICATOR_SIZE;
}

static void lose(uint32_t count)
{
    struct sealed lost;

    for (uint32_t i = 0; i < count && script.next < NUMBERS_MAX; i++) {
        seal(&lost, i % 3, 0);
    }
}

/* ---- the receiver ---- */

/* Was it sealed for it? NULL: no. */
static struct sealed *find(const uint8_t *bytes, size_t len, uint32_t peer)
{
    for (uint32_t i = 0; i < script.count && peer == SENDER; i++) {
        struct sealed *sealed = &script.sealed[i];
        if (sealed->is_for_us && sealed->len == len && memcmp(sealed->bytes, bytes, len) == 0) {
            return sealed;
        }
    }
    return NULL;
}

static void judge(struct sealed *sealed, enum trib_drop drop)
{
    if (sealed == NULL) {
        must(drop != TRIB_DROP_NONE, "auth: taken, and nobody has sealed it for this receiver");
    } else if (sealed->was_taken) {
        must(drop == TRIB_DROP_REPLAY, "auth: taken twice");
    } else if (drop != TRIB_DROP_NONE) {
        must(drop == TRIB_DROP_REPLAY && sealed->number + TRIB_AUTH_WINDOW - 64 <= script.most,
             "auth: an authentic packet was refused");
    } else {
        sealed->was_taken = true;
        script.most = sealed->number > script.most ? sealed->number : script.most;
    }
}

static void arrive(const uint8_t *from, size_t len, uint32_t peer)
{
    struct trib_packet packet;
    uint8_t *bytes = malloc(len + (len == 0)); /* of exactly this size, so that a read beyond it is seen */

    if (bytes == NULL) {
        return;
    }
    memcpy(bytes, from, len);
    enum trib_drop drop = trib_packet_decode(bytes, len, &packet);
    if (drop == TRIB_DROP_NONE) {
        drop = packet.authenticated == 0 ? TRIB_DROP_AUTH : trib_auth_check(script.receiver, peer, bytes, len);
    }
    judge(find(bytes, len, peer), drop);
    free(bytes);
}

static void arrive_changed(const struct sealed *sealed)
{
    uint8_t bytes[PACKET_MAX];
    uint32_t place = next_byte();

    memcpy(bytes, sealed->bytes, sealed->len);
    place = place < 128 ? place : (uint32_t)sealed->len - 1 - (place - 128) % (uint32_t)sealed->len; /* from the end */
    bytes[place % sealed->len] ^= (uint8_t)next_byte();
    arrive(bytes, sealed->len, SENDER);
}

static void arrive_spliced(const struct sealed *sealed, const struct sealed *other)
{
    uint8_t bytes[PACKET_MAX];

    memcpy(bytes, sealed->bytes, sealed->len);
    memcpy(bytes + sealed->len - TRIB_AUTHENTICATOR_SIZE, other->bytes + other->len - TRIB_AUTHENTICATOR_SIZE,
           TRIB_AUTHENTICATOR_SIZE);
    arrive(bytes, sealed->len, SENDER);
}

static void arrive_raw(void)
{
    size_t len = 2 * next_byte();

    len = len < script.left ? len : script.left;
    arrive(script.bytes, len, SENDER);
    script.bytes += len;
    script.left -= len;
}

static void happen(uint32_t event)
{
    uint32_t what = event % 8;

    if (what == 0 && script.count < SEALED_MAX) {
        seal(&script.sealed[script.count++], (event >> 3) % 3, next_byte());
    } else if (what == 1) {
        lose(16 * next_byte());
    } else if (what == 2) {
        arrive_raw();
    } else if (script.count != 0) {
        const struct sealed *sealed = &script.sealed[next_byte() % script.count];
        switch (what) {
        case 3:
            arrive_changed(sealed);
            return;
        case 4:
            arrive_spliced(sealed, &script.sealed[next_byte() % script.count]);
            return;
        case 5:
            arrive(sealed->bytes, sealed->len, OTHER);
            return;
        default:
            arrive(sealed->bytes, sealed->len, SENDER);
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TRIB_AUTH_KEY] = "the packet key of a fuzzer";

    if (trib_keys_explain_lack() != NULL) {
        return 0;
    }
    script = (struct script){.bytes = data,
                             .left = size,
                             .sender = trib_auth_create(key, trib_auth_rank(3), 0, false),
                             .receiver = trib_auth_create(key, trib_auth_switch(0, 0), PEERS, false)};
    must(script.sender != NULL && script.receiver != NULL, "auth: no memory");
    must(trib_auth_set_above(script.receiver, SENDER, trib_auth_rank(3), key), "auth: no memory");
    must(trib_auth_set_peer(script.receiver, OTHER, trib_auth_rank(4), key), "auth: no memory");
    for (uint32_t i = 0; i < EVENTS_MAX && script.left > 0; i++) {
        happen(next_byte());
    }
    trib_auth_destroy(script.sender);
    trib_auth_destroy(script.receiver);
    return 0;
}
