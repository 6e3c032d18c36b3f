/* SPDX-License-Identifier: Apache-2.0 */
/* auth_openssl.c: see auth.h. AES is OpenSSL's, GHASH our own (core/ghash.h): OpenSSL's GCM costs a set-up for each
 * packet, and its GHASH as much as ours only in later versions. One call of AES gives the pads of ROW numbers in a row.
 * Senders count by ones, so a receiver of most of a sender's packets too finds nearly all pads made. Without OpenSSL:
 * auth_none.c. */
#include "keys/auth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/ghash.h"
#include "keys/derive.h"
#include "keys/openssl.h"

#define ROW 32U
#define BLOCK TRIB_GHASH_BLOCK
#define MAC_SIZE 16U
#define NAMES_SIZE (TRIB_AUTHENTICATOR_SIZE - MAC_SIZE) /* sender, receiver and number */
#define NO_ROW UINT64_MAX
#define WORDS (TRIB_AUTH_WINDOW / 64)

_Static_assert(WORDS * 64 == TRIB_AUTH_WINDOW && (WORDS & (WORDS - 1)) == 0, "the window is a ring of words");

/* Pads of a sender's numbers row x ROW, and behind. */
struct row {
    uint64_t number; /* NO_ROW: none */
    uint8_t pad[ROW][BLOCK];
};

/* A sender key. */
struct cipher {
    EVP_CIPHER_CTX *block;  /* AES of single blocks */
    EVP_CIPHER_CTX *stream; /* AES of payloads; NULL: they are not encrypted */
    struct trib_ghash hash;
};

/* A sender. Bit n mod TRIB_AUTH_WINDOW of seen: number n has come, if n is in the window, which ends with the largest
 * word that has come. */
struct peer {
    struct cipher cipher;
    struct row row;
    uint64_t word; /* n / 64 of the largest number that has come */
    uint64_t seen[WORDS];
    uint16_t id;
    bool is_above; /* takes packets for several to this receiver */
};

struct trib_auth {
    struct cipher cipher;
    uint64_t next; /* number */
    struct row row;
    uint32_t count;
    uint16_t own;
    bool encrypts;
    bool has_encrypted; /* the payload of the next packet */
    struct peer peer[];
};

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

static uint64_t get(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

static EVP_CIPHER_CTX *open_context(const char *name, const uint8_t key[TRIB_AUTH_KEY])
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (cipher == NULL || context == NULL || EVP_EncryptInit_ex2(context, cipher, key, NULL, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    }
    EVP_CIPHER_free(cipher); /* the context holds it */
    return context;
}

/* Whole blocks, each by itself. */
static void encrypt_blocks(const struct cipher *cipher, const uint8_t *from, size_t len, uint8_t *to)
{
    int written = 0;
    bool is_done = EVP_EncryptUpdate(cipher->block, to, &written, from, (int)len) == 1 && written == (int)len;
    TRIB_ASSERT(is_done); /* else a MAC would not be secret */
}

/* False: OpenSSL lacks one of the two, or memory. */
static bool open_cipher(struct cipher *cipher, const uint8_t key[TRIB_AUTH_KEY], bool encrypts)
{
    uint8_t hash_key[BLOCK] = {0};
    cipher->block = open_context("AES-256-ECB", key);
    cipher->stream = encrypts ? open_context("AES-256-CTR", key) : NULL;
    if (cipher->block == NULL || (encrypts && cipher->stream == NULL)) {
        return false;
    }
    encrypt_blocks(cipher, hash_key, BLOCK, hash_key);
    trib_ghash_create(&cipher->hash, trib_ghash_kernel(), hash_key);
    trib_wipe(hash_key, BLOCK);
    return true;
}

static void close_cipher(const struct cipher *cipher)
{
    EVP_CIPHER_CTX_free(cipher->block);
    EVP_CIPHER_CTX_free(cipher->stream);
}

struct trib_auth *trib_auth_create(const uint8_t key[TRIB_AUTH_KEY], uint16_t own, uint32_t count, bool encrypts)
{
    if (trib_keys_explain_lack() != NULL) {
        return NULL;
    }
    struct trib_auth *auth = calloc(1, sizeof *auth + count * sizeof auth->peer[0]);
    if (auth == NULL) {
        return NULL;
    }
    auth->own = own;
    auth->count = count;
    auth->encrypts = encrypts;
    auth->row.number = NO_ROW;
    if (!open_cipher(&auth->cipher, key, encrypts)) {
        trib_auth_destroy(auth);
        return NULL;
    }
    return auth;
}

void trib_auth_destroy(struct trib_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    close_cipher(&auth->cipher);
    for (uint32_t i = 0; i < auth->count; i++) {
        close_cipher(&auth->peer[i].cipher);
    }
    trib_wipe(auth, sizeof *auth + auth->count * sizeof auth->peer[0]);
    free(auth);
}

/* By the keys of GHASH, which are AES of zeros. */
bool trib_auth_share_key(const struct trib_auth *auth, const struct trib_auth *other)
{
    const struct trib_ghash *hash = &auth->cipher.hash;
    return memcmp(hash->power, other->cipher.hash.power, sizeof hash->power) == 0;
}

bool trib_auth_set_peer(struct trib_auth *auth, uint32_t peer, uint16_t id, const uint8_t key[TRIB_AUTH_KEY])
{
    TRIB_ASSERT(peer < auth->count);
    close_cipher(&auth->peer[peer].cipher);
    auth->peer[peer] = (struct peer){.id = id, .row.number = NO_ROW};
    return open_cipher(&auth->peer[peer].cipher, key, auth->encrypts);
}

bool trib_auth_set_above(struct trib_auth *auth, uint32_t peer, uint16_t id, const uint8_t key[TRIB_AUTH_KEY])
{
    bool is_set = trib_auth_set_peer(auth, peer, id, key);
    auth->peer[peer].is_above = true;
    return is_set;
}

uint16_t trib_auth_peer(const struct trib_auth *auth, uint32_t peer)
{
    TRIB_ASSERT(peer < auth->count);
    return auth->peer[peer].id;
}

/* The first input block of a packet: the nonce, and the counter, which is 1 for the pad and from 2 for the payload. */
static void first_block(uint8_t block[BLOCK], uint16_t sender, uint64_t number, uint32_t counter)
{
    put(block, 0, 2);
    put(block + 2, sender, 2);
    put(block + 4, number, 8);
    put(block + 12, counter, 4);
}

static void fill_row(const struct cipher *cipher, struct row *row, uint16_t sender, uint64_t number)
{
    row->number = number;
    for (uint32_t i = 0; i < ROW; i++) {
        first_block(row->pad[i], sender, number * ROW + i, 1);
    }
    encrypt_blocks(cipher, row->pad[0], sizeof row->pad, row->pad[0]);
}

/* A packet in pieces. */
struct pieces {
    const uint8_t *header;
    const uint8_t *names; /* sender, receiver and number */
    const void *payload;
    size_t payload_len;
};

_Static_assert(TRIB_HEADER_SIZE % BLOCK == 0 && NAMES_SIZE <= BLOCK, "header and names are whole blocks");

/* The MAC is GCM's tag: header and names are its additional data, the payload as sent is its ciphertext. */
static void make_mac(const struct trib_ghash *hash, const struct pieces *packet, const uint8_t pad[BLOCK],
                     uint8_t mac[MAC_SIZE])
{
    enum { FRONT = TRIB_HEADER_SIZE + BLOCK }; /* header and names, filled up */
    uint8_t front[FRONT + BLOCK] = {0};
    uint8_t *const lengths = front + FRONT;
    struct trib_ghash_element sum = {0, 0};
    memcpy(front, packet->header, TRIB_HEADER_SIZE);
    memcpy(front + TRIB_HEADER_SIZE, packet->names, NAMES_SIZE);
    put(lengths, 8 * (TRIB_HEADER_SIZE + NAMES_SIZE), 8); /* bits */
    put(lengths + 8, 8 * packet->payload_len, 8);
    if (packet->payload_len == 0) {
        trib_ghash_add(hash, &sum, front, sizeof front);
    } else {
        trib_ghash_add(hash, &sum, front, FRONT);
        trib_ghash_add(hash, &sum, packet->payload, packet->payload_len);
        trib_ghash_add(hash, &sum, lengths, BLOCK);
    }
    trib_ghash_bytes(&sum, mac);
    for (unsigned i = 0; i < BLOCK; i++) {
        mac[i] ^= pad[i];
    }
}

void trib_auth_seal(struct trib_auth *auth, uint16_t receiver, const uint8_t *header, const void *payload,
                    size_t payload_len, uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE])
{
    TRIB_ASSERT(!auth->encrypts || auth->has_encrypted == (payload_len > 0));
    auth->has_encrypted = false;
    uint64_t number = auth->next++;
    put(authenticator, auth->own, 2);
    put(authenticator + 2, receiver, 2);
    put(authenticator + 4, number, 8);
    if (auth->row.number != number / ROW) {
        fill_row(&auth->cipher, &auth->row, auth->own, number / ROW);
    }
    const struct pieces packet = {header, authenticator, payload, payload_len};
    make_mac(&auth->cipher.hash, &packet, auth->row.pad[number % ROW], authenticator + NAMES_SIZE);
}

bool trib_auth_encrypts(const struct trib_auth *auth)
{
    return auth->encrypts;
}

/* AES in counter mode: encrypts, or decrypts. */
static void run_stream(EVP_CIPHER_CTX *stream, uint16_t sender, uint64_t number, const uint8_t *from, size_t len,
                       uint8_t *to)
{
    uint8_t start[BLOCK];
    int written = 0;
    first_block(start, sender, number, 2);
    bool is_done = EVP_EncryptInit_ex2(stream, NULL, NULL, start, NULL) == 1 &&
                   EVP_EncryptUpdate(stream, to, &written, from, (int)len) == 1 && written == (int)len;
    TRIB_ASSERT(is_done); /* else a payload would not be encrypted */
}

void trib_auth_encrypt(struct trib_auth *auth, const void *payload, size_t payload_len, uint8_t *to)
{
    TRIB_ASSERT(auth->encrypts && payload_len <= TRIB_PAYLOAD_MAX);
    TRIB_ASSERT(!auth->has_encrypted); /* else one key stream would hide two payloads */
    auth->has_encrypted = payload_len > 0;
    run_stream(auth->cipher.stream, auth->own, auth->next, payload, payload_len, to);
}

void trib_auth_decrypt(struct trib_auth *auth, uint32_t peer, uint8_t *data, size_t len)
{
    const uint8_t *authenticator = data + len - TRIB_AUTHENTICATOR_SIZE;
    uint8_t *payload = data + TRIB_HEADER_SIZE;
    TRIB_ASSERT(peer < auth->count && auth->encrypts && len >= TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE);
    run_stream(auth->peer[peer].cipher.stream, auth->peer[peer].id, get(authenticator + 4, 8), payload,
               len - TRIB_HEADER_SIZE - TRIB_AUTHENTICATOR_SIZE, payload);
}

/* ---- the window ---- */

static bool was_here(const struct peer *peer, uint64_t number)
{
    uint64_t word = number / 64;
    if (word > peer->word) {
        return false;
    }
    return peer->word - word >= WORDS || (peer->seen[word % WORDS] >> number % 64 & 1) != 0;
}

static void note(struct peer *peer, uint64_t number)
{
    uint64_t word = number / 64;
    for (uint64_t i = 0; word > peer->word && i < WORDS; i++) { /* those that enter the window */
        peer->word = word - peer->word > WORDS ? word - WORDS : peer->word;
        peer->word++;
        peer->seen[peer->word % WORDS] = 0;
    }
    peer->seen[word % WORDS] |= UINT64_C(1) << number % 64;
}

enum trib_drop trib_auth_check(struct trib_auth *auth, uint32_t peer, const uint8_t *data, size_t len)
{
    uint8_t mac[MAC_SIZE];
    TRIB_ASSERT(peer < auth->count && len >= TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE);
    struct peer *from = &auth->peer[peer];
    TRIB_ASSERT(from->cipher.block != NULL);
    const uint8_t *authenticator = data + len - TRIB_AUTHENTICATOR_SIZE;
    uint16_t receiver = (uint16_t)get(authenticator + 2, 2);
    uint64_t number = get(authenticator + 4, 8);
    bool is_for_own = receiver == auth->own || (from->is_above && trib_auth_is_for(receiver, auth->own));
    if (get(authenticator, 2) != from->id || !is_for_own) {
        return TRIB_DROP_AUTH;
    }
    if (was_here(from, number)) {
        return TRIB_DROP_REPLAY;
    }
    uint8_t pad[BLOCK];
    bool is_in_row = from->row.number == number / ROW;
    if (is_in_row) {
        memcpy(pad, from->row.pad[number % ROW], BLOCK);
    } else { /* a forged number must not take the row that true packets use, nor cost more than one block */
        first_block(pad, from->id, number, 1);
        encrypt_blocks(&from->cipher, pad, BLOCK, pad);
    }
    const struct pieces packet = {data, authenticator, data + TRIB_HEADER_SIZE,
                                  len - TRIB_HEADER_SIZE - TRIB_AUTHENTICATOR_SIZE};
    make_mac(&from->cipher.hash, &packet, pad, mac);
    if (CRYPTO_memcmp(mac, authenticator + NAMES_SIZE, MAC_SIZE) != 0) {
        return TRIB_DROP_AUTH;
    }
    if (!is_in_row && (from->row.number == NO_ROW || number / ROW > from->row.number)) {
        fill_row(&from->cipher, &from->row, from->id, number / ROW);
    }
    note(from, number);
    return TRIB_DROP_NONE;
}
