/* SPDX-License-Identifier: Apache-2.0 */
/* auth_openssl.c: see auth.h. ChaCha20 and Poly1305 are OpenSSL's. One call of ChaCha20 gives the one-time keys of
 * LANES numbers in a row: the block counter is the place in the row. Senders count by ones, so receivers too find
 * nearly all keys made. Without OpenSSL: auth_none.c. */
#include "keys/auth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "keys/derive.h"
#include "keys/openssl.h"

#define LANES 8U
#define BLOCK 64U    /* bytes of a ChaCha20 block */
#define ONE_TIME 32U /* of a one-time key */
#define MAC_SIZE 16U
#define NAMES_SIZE (TRIB_AUTHENTICATOR_SIZE - MAC_SIZE) /* sender, receiver and number */
#define NO_ROW UINT64_MAX
#define WORDS (TRIB_AUTH_WINDOW / 64)

_Static_assert(WORDS * 64 == TRIB_AUTH_WINDOW && (WORDS & (WORDS - 1)) == 0, "the window is a ring of words");

/* Nonces of one-time keys and of payloads differ in the domain. */
enum domain { DOMAIN_MAC = 0, DOMAIN_PAYLOAD = 1 };

struct nonce {
    enum domain domain;
    uint16_t sender;
    uint64_t number; /* of the row of one-time keys, or of the packet */
};

/* One-time keys of a sender's numbers row x LANES, and behind. */
struct row {
    uint64_t number; /* NO_ROW: none */
    uint8_t block[LANES * BLOCK];
};

/* A sender. Bit n mod TRIB_AUTH_WINDOW of seen: number n has come, if n is in the window, which ends with the largest
 * word that has come. */
struct peer {
    uint64_t word; /* n / 64 of the largest number that has come */
    uint64_t seen[WORDS];
    struct row row;
    uint16_t id;
    bool is_above; /* takes packets for several to this receiver */
};

struct trib_auth {
    EVP_CIPHER *chacha;
    EVP_CIPHER_CTX *cipher;
    EVP_MAC *poly1305;
    EVP_MAC_CTX *mac;
    uint64_t next; /* number */
    struct row row;
    uint32_t count;
    uint16_t own;
    bool encrypts;
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

/* False: OpenSSL lacks one of the two, or memory. */
static bool open_contexts(struct trib_auth *auth, const uint8_t key[TRIB_AUTH_KEY])
{
    auth->chacha = EVP_CIPHER_fetch(NULL, "ChaCha20", NULL);
    auth->poly1305 = EVP_MAC_fetch(NULL, "Poly1305", NULL);
    auth->cipher = EVP_CIPHER_CTX_new();
    auth->mac = auth->poly1305 != NULL ? EVP_MAC_CTX_new(auth->poly1305) : NULL;
    return auth->chacha != NULL && auth->cipher != NULL && auth->mac != NULL &&
           EVP_EncryptInit_ex2(auth->cipher, auth->chacha, key, NULL, NULL) == 1;
}

struct trib_auth *trib_auth_create(const uint8_t key[TRIB_AUTH_KEY], uint16_t own, uint32_t count)
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
    auth->row.number = NO_ROW;
    for (uint32_t i = 0; i < count; i++) {
        trib_auth_set_peer(auth, i, TRIB_AUTH_ALL);
    }
    if (!open_contexts(auth, key)) {
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
    EVP_CIPHER_CTX_free(auth->cipher);
    EVP_CIPHER_free(auth->chacha);
    EVP_MAC_CTX_free(auth->mac);
    EVP_MAC_free(auth->poly1305);
    trib_auth_wipe(auth, sizeof *auth + auth->count * sizeof auth->peer[0]);
    free(auth);
}

void trib_auth_set_peer(struct trib_auth *auth, uint32_t peer, uint16_t id)
{
    TRIB_ASSERT(peer < auth->count);
    auth->peer[peer] = (struct peer){.id = id, .row.number = NO_ROW};
}

void trib_auth_set_above(struct trib_auth *auth, uint32_t peer, uint16_t id)
{
    trib_auth_set_peer(auth, peer, id);
    auth->peer[peer].is_above = true;
}

uint16_t trib_auth_peer(const struct trib_auth *auth, uint32_t peer)
{
    TRIB_ASSERT(peer < auth->count);
    return auth->peer[peer].id;
}

/* Encrypts or decrypts len bytes with ChaCha20: block counter 0, and a nonce that begins with this domain. */
static void run_chacha(const struct trib_auth *auth, struct nonce nonce, const uint8_t *from, size_t len, uint8_t *to)
{
    uint8_t start[16] = {0}; /* counter, little-endian, then the nonce */
    int written = 0;
    put(start + 4, nonce.domain, 2);
    put(start + 6, nonce.sender, 2);
    put(start + 8, nonce.number, 8);
    bool is_done = EVP_EncryptInit_ex2(auth->cipher, NULL, NULL, start, NULL) == 1 &&
                   EVP_EncryptUpdate(auth->cipher, to, &written, from, (int)len) == 1 && written == (int)len;
    TRIB_ASSERT(is_done); /* else a key would not be secret, or a payload not encrypted */
}

/* The one-time key of this number of this sender, from the row. A row of other numbers is made anew. */
static const uint8_t *one_time_key(const struct trib_auth *auth, struct row *row, uint16_t sender, uint64_t number)
{
    static const uint8_t zeros[LANES * BLOCK];
    if (row->number != number / LANES) {
        row->number = number / LANES;
        run_chacha(auth, (struct nonce){DOMAIN_MAC, sender, row->number}, zeros, sizeof zeros, row->block);
    }
    return row->block + number % LANES * BLOCK;
}

/* The MAC of up to three pieces. False: OpenSSL has failed. */
static bool make_mac(const struct trib_auth *auth, const uint8_t *key, const void *const piece[3], const size_t size[3],
                     uint8_t mac[MAC_SIZE])
{
    size_t written = 0;
    bool is_made = EVP_MAC_init(auth->mac, key, ONE_TIME, NULL) == 1;
    for (unsigned i = 0; i < 3; i++) {
        is_made = is_made && (size[i] == 0 || EVP_MAC_update(auth->mac, piece[i], size[i]) == 1);
    }
    return is_made && EVP_MAC_final(auth->mac, mac, &written, MAC_SIZE) == 1 && written == MAC_SIZE;
}

void trib_auth_seal(struct trib_auth *auth, uint16_t receiver, const uint8_t *header, const void *payload,
                    size_t payload_len, uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE])
{
    uint64_t number = auth->next++;
    put(authenticator, auth->own, 2);
    put(authenticator + 2, receiver, 2);
    put(authenticator + 4, number, 8);
    bool is_made = make_mac(auth, one_time_key(auth, &auth->row, auth->own, number),
                            (const void *const[]){header, payload, authenticator},
                            (const size_t[]){TRIB_HEADER_SIZE, payload_len, NAMES_SIZE}, authenticator + NAMES_SIZE);
    TRIB_ASSERT(is_made);
}

void trib_auth_set_encrypting(struct trib_auth *auth)
{
    auth->encrypts = true;
}

bool trib_auth_encrypts(const struct trib_auth *auth)
{
    return auth->encrypts;
}

void trib_auth_encrypt(struct trib_auth *auth, const void *payload, size_t payload_len, uint8_t *to)
{
    TRIB_ASSERT(auth->encrypts && payload_len <= TRIB_PAYLOAD_MAX);
    run_chacha(auth, (struct nonce){DOMAIN_PAYLOAD, auth->own, auth->next}, payload, payload_len, to);
}

void trib_auth_decrypt(struct trib_auth *auth, uint8_t *data, size_t len)
{
    const uint8_t *authenticator = data + len - TRIB_AUTHENTICATOR_SIZE;
    uint8_t *payload = data + TRIB_HEADER_SIZE;
    TRIB_ASSERT(auth->encrypts && len >= TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE);
    const struct nonce nonce = {DOMAIN_PAYLOAD, (uint16_t)get(authenticator, 2), get(authenticator + 4, 8)};
    run_chacha(auth, nonce, payload, len - TRIB_HEADER_SIZE - TRIB_AUTHENTICATOR_SIZE, payload);
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
    struct row spare = {.number = NO_ROW}; /* a forged number must not take the row that true packets use */
    struct row *row = from->row.number == number / LANES ? &from->row : &spare;
    bool is_right = make_mac(auth, one_time_key(auth, row, from->id, number), (const void *const[]){data, NULL, NULL},
                             (const size_t[]){len - MAC_SIZE, 0, 0}, mac) &&
                    CRYPTO_memcmp(mac, authenticator + NAMES_SIZE, MAC_SIZE) == 0;
    if (!is_right) {
        return TRIB_DROP_AUTH;
    }
    if (row == &spare && (from->row.number == NO_ROW || spare.number > from->row.number)) {
        from->row = spare;
    }
    note(from, number);
    return TRIB_DROP_NONE;
}
