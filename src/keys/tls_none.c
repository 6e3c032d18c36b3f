/* SPDX-License-Identifier: Apache-2.0 */
/* tls_none.c: a build without OpenSSL: there are no keys (trib_keys_explain_lack), so no connection begins (tls.h). */
#include <errno.h>

#include "io/explain.h"
#include "keys/tls.h"

struct trib_tls_side *trib_tls_client(const struct trib_keys *keys, bool is_switch, char *error)
{
    (void)keys;
    (void)is_switch;
    trib_explain(error, "%s", trib_keys_explain_lack());
    return NULL;
}

struct trib_tls_side *trib_tls_server(const struct trib_keyring *keys, char *error)
{
    (void)keys;
    trib_explain(error, "%s", trib_keys_explain_lack());
    return NULL;
}

struct trib_tls_side *trib_tls_share(struct trib_tls_side *side)
{
    return side;
}

void trib_tls_release(struct trib_tls_side *side)
{
    (void)side;
}

struct trib_tls *trib_tls_open(struct trib_tls_side *side)
{
    (void)side;
    return NULL;
}

void trib_tls_close(struct trib_tls *tls)
{
    (void)tls;
}

bool trib_tls_feed(struct trib_tls *tls, const uint8_t *bytes, size_t count)
{
    (void)tls;
    (void)bytes;
    (void)count;
    return false;
}

size_t trib_tls_peek(const struct trib_tls *tls, const uint8_t **bytes)
{
    (void)tls;
    *bytes = NULL;
    return 0;
}

void trib_tls_sent(struct trib_tls *tls, size_t count)
{
    (void)tls;
    (void)count;
}

bool trib_tls_shake(struct trib_tls *tls)
{
    (void)tls;
    return false;
}

bool trib_tls_is_new(const struct trib_tls *tls)
{
    (void)tls;
    return false;
}

bool trib_tls_is_open(const struct trib_tls *tls)
{
    (void)tls;
    return false;
}

ssize_t trib_tls_read(struct trib_tls *tls, uint8_t *bytes, size_t room)
{
    (void)tls;
    (void)bytes;
    (void)room;
    errno = EPROTO;
    return -1;
}

ssize_t trib_tls_write(struct trib_tls *tls, const uint8_t *bytes, size_t count)
{
    (void)tls;
    (void)bytes;
    (void)count;
    errno = EPROTO;
    return -1;
}

bool trib_tls_is_refused(const struct trib_tls *tls)
{
    (void)tls;
    return false;
}

const char *trib_tls_cause(const struct trib_tls *tls)
{
    (void)tls;
    return "";
}

uint64_t trib_tls_key_id(const struct trib_tls *tls)
{
    (void)tls;
    return 0;
}
