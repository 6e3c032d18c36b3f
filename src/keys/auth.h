/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h: authenticated packets of a job with a key. Each packet ends in an authenticator: sender, receiver, number,
 * and a MAC: the tag of AES-256-GCM (NIST SP 800-38D). Its nonce is sender and number, its additional data are header
 * and these three, its ciphertext is the payload as sent: in clear (GMAC), or encrypted if the job wants it.
 * docs/PROTOCOL.md, "Authenticator", has the bytes.
 *
 * A *packet key* belongs to one incarnation of a communicator. Agents have this key. Each sender has a *sender key*,
 * made with the packet key and the sender's id; an agent with a parent has another one for packets up. A rank has its
 * own sender key, and that of the agents above for packets down, but not the packet key: so a rank cannot forge packets
 * of other ranks. In a ring all ranks have one sender key.
 *
 * Each sender has an id, which is in the nonce, so no two packets share key and nonce if each sender has one object per
 * packet key. A receiver takes each number of a sender once: within a window of TRIB_AUTH_WINDOW numbers in any order,
 * below the window none.
 *
 * One thread at a time per object. Read next: auth_openssl.c; comm/auth.c and switchd/members.c (their objects). */
#ifndef TRIB_KEYS_AUTH_H
#define TRIB_KEYS_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/node.h"
#include "core/wipe.h"

#define TRIB_AUTH_KEY 32       /* bytes of a packet key or a sender key */
#define TRIB_AUTH_WINDOW 2048U /* numbers of a sender that may come late */
#define TRIB_AUTH_ALL 0xffffU  /* receiver of a packet that all receive, or several */

/* An agent's part of an incarnation: packet key, and places in the tree. All 0: packets have no authenticators.
 * Secret: trib_wipe after use. */
struct trib_auth_key {
    uint8_t bytes[TRIB_AUTH_KEY]; /* the packet key */
    uint16_t below;               /* number of this agent, as trib_auth_switch takes it */
    uint16_t parent;              /* number of the agent above, if there is one */
    bool encrypts;                /* payloads are encrypted as well */
};

/* A rank's part. All 0, and secret, as above. */
struct trib_sender_keys {
    uint8_t own[TRIB_AUTH_KEY];   /* the rank's sender key */
    uint8_t heard[TRIB_AUTH_KEY]; /* sender key of all that the rank hears: of the agents above, or of a ring */
    uint16_t parent;              /* number of the agents above */
    bool encrypts;
};

static inline bool trib_auth_is_set(const uint8_t key[TRIB_AUTH_KEY])
{
    uint8_t any = 0;
    for (unsigned i = 0; i < TRIB_AUTH_KEY; i++) {
        any |= key[i];
    }
    return any != 0;
}

struct trib_auth;

/* Ids: of a rank, and of the agent with this number, for root `root`. The root has number 0; switches below have 1 +
 * their places in the controller's list, up to TRIB_SESSION_RANKS_MAX. Ranks are below 0x1000, agents below 0xa000. */
static inline uint16_t trib_auth_rank(uint32_t rank)
{
    return (uint16_t)rank;
}

static inline uint16_t trib_auth_switch(uint32_t below, uint32_t root)
{
    return (uint16_t)(0x1000U + below * TRIB_ROOTS_MAX + root);
}

static inline bool trib_auth_is_agent(uint16_t id)
{
    return id >= 0x1000U;
}

/* The number of an agent with this id. */
static inline uint16_t trib_auth_number(uint16_t id)
{
    return (uint16_t)((id - 0x1000U) / TRIB_ROOTS_MAX);
}

/* Receiver of a packet for all but this id: a result without payload is not for the root of a reduce, one with
 * payload not for the owner of a block. An agent is named without its root, which is the sender's. */
static inline uint16_t trib_auth_all_but(uint16_t id)
{
    return (uint16_t)(id < 0x1000U ? 0xa000U + id : 0xb000U + trib_auth_number(id));
}

/* True if the receiver with this id is among those of a packet for `receiver`. */
static inline bool trib_auth_is_for(uint16_t receiver, uint16_t id)
{
    bool is_all_but = receiver >= 0xa000U && receiver < 0xc000U;
    return receiver == id || receiver == TRIB_AUTH_ALL || (is_all_but && receiver != trib_auth_all_but(id));
}

#define TRIB_AUTH_UP 0x10000U /* and an agent's id: sender of its packets up. Ranks below have the key for those down */

/* Makes the sender key of a rank, of an agent for packets down, or (TRIB_AUTH_UP) for packets up. An agent has one for
 * all roots. TRIB_AUTH_ALL: of all ranks of a ring. The key is half of ChaCha20's block with counter 0 for the sender,
 * as RFC 8439 (section 2.6) makes keys of Poly1305. */
void trib_auth_make_sender_key(const uint8_t packet_key[TRIB_AUTH_KEY], uint32_t sender, uint8_t key[TRIB_AUTH_KEY]);

/* key, own: sender key and id of this sender, which hears `count` others, one trib_auth_set_... for each. encrypts:
 * payloads are encrypted, so trib_auth_encrypt comes before each trib_auth_seal of a payload, and trib_auth_decrypt
 * behind each NONE of trib_auth_check. NULL: no memory, or no OpenSSL. The key is copied. */
struct trib_auth *trib_auth_create(const uint8_t key[TRIB_AUTH_KEY], uint16_t own, uint32_t count, bool encrypts);
void trib_auth_destroy(struct trib_auth *auth); /* NULL is allowed */
/* True if both have one sender key: a sender with both, one after the other, would repeat nonces. */
bool trib_auth_share_key(const struct trib_auth *auth, const struct trib_auth *other);
/* Peer number `peer`, from 0, has this id and sender key from now on, and nothing was heard from this peer. False: no
 * memory; then auth can only be destroyed. */
TRIB_MUST_USE bool trib_auth_set_peer(struct trib_auth *auth, uint32_t peer, uint16_t id,
                                      const uint8_t key[TRIB_AUTH_KEY]);
/* The same of a root or parent: packets for several receivers count from there alone. */
TRIB_MUST_USE bool trib_auth_set_above(struct trib_auth *auth, uint32_t peer, uint16_t id,
                                       const uint8_t key[TRIB_AUTH_KEY]);
uint16_t trib_auth_peer(const struct trib_auth *auth, uint32_t peer);

/* Writes the authenticator of a packet to the receiver with this id, to all, or to all but one, with the next number.
 * header: TRIB_HEADER_SIZE bytes. Costs one MAC, and one call of AES for several packets. */
void trib_auth_seal(struct trib_auth *auth, uint16_t receiver, const uint8_t *header, const void *payload,
                    size_t payload_len, uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE]);
bool trib_auth_encrypts(const struct trib_auth *auth);
/* Encrypts the payload of the packet that trib_auth_seal gets next. */
void trib_auth_encrypt(struct trib_auth *auth, const void *payload, size_t payload_len, uint8_t *to);
/* Decrypts the payload of an authentic packet from this peer in place. */
void trib_auth_decrypt(struct trib_auth *auth, uint32_t peer, uint8_t *data, size_t len);
/* Checks a packet of len bytes, TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE at least, from peer number `peer`. NONE: the
 * packet is authentic, for this receiver, and new; the next time its number is a REPLAY. AUTH, REPLAY: no effect. */
enum trib_drop trib_auth_check(struct trib_auth *auth, uint32_t peer, const uint8_t *data, size_t len);

#endif
