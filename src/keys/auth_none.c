/* SPDX-License-Identifier: Apache-2.0 */
/* auth_none.c: a build without OpenSSL. A key is refused there (derive.h), so nobody gets an object. */
#include "core/assert.h"
#include "keys/auth.h"

struct trib_auth *trib_auth_create(const uint8_t key[TRIB_AUTH_KEY], uint16_t own, uint32_t count, bool encrypts)
{
    (void)key;
    (void)own;
    (void)count;
    (void)encrypts;
    return NULL;
}

void trib_auth_destroy(struct trib_auth *auth)
{
    TRIB_ASSERT(auth == NULL);
}

bool trib_auth_share_key(const struct trib_auth *auth, const struct trib_auth *other)
{
    TRIB_ASSERT(auth == NULL && other == NULL);
    return false;
}

bool trib_auth_set_peer(struct trib_auth *auth, uint32_t peer, uint16_t id, const uint8_t key[TRIB_AUTH_KEY])
{
    (void)peer;
    (void)id;
    (void)key;
    TRIB_ASSERT(auth == NULL);
    return false;
}

bool trib_auth_set_above(struct trib_auth *auth, uint32_t peer, uint16_t id, const uint8_t key[TRIB_AUTH_KEY])
{
    return trib_auth_set_peer(auth, peer, id, key);
}

uint16_t trib_auth_peer(const struct trib_auth *auth, uint32_t peer)
{
    (void)peer;
    TRIB_ASSERT(auth == NULL);
    return 0;
}

void trib_auth_seal(struct trib_auth *auth, uint16_t receiver, const uint8_t *header, const void *payload,
                    size_t payload_len, uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE])
{
    (void)receiver;
    (void)header;
    (void)payload;
    (void)payload_len;
    (void)authenticator;
    TRIB_ASSERT(auth == NULL);
}

bool trib_auth_encrypts(const struct trib_auth *auth)
{
    TRIB_ASSERT(auth == NULL);
    return false;
}

void trib_auth_encrypt(struct trib_auth *auth, const void *payload, size_t payload_len, uint8_t *to)
{
    (void)payload;
    (void)payload_len;
    (void)to;
    TRIB_ASSERT(auth == NULL);
}

void trib_auth_decrypt(struct trib_auth *auth, uint32_t peer, uint8_t *data, size_t len)
{
    (void)peer;
    (void)data;
    (void)len;
    TRIB_ASSERT(auth == NULL);
}

enum trib_drop trib_auth_check(struct trib_auth *auth, uint32_t peer, const uint8_t *data, size_t len)
{
    (void)auth;
    (void)peer;
    (void)data;
    (void)len;
    return TRIB_DROP_AUTH;
}
