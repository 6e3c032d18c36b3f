/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tls.c: bytes to one end of TLS in memory: to a server or a client in its handshake, or to one of two that are
 * open (the first byte says which). No such bytes may open a connection, and none may come out as a message. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "keys/tls.h"

static struct trib_keyring known;
static struct trib_tls_side *sides[2]; /* client, server */

static void must(bool holds, const char *text)
{
    if (!holds) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
}

static void make_sides(void)
{
    static const uint8_t key[TRIB_KEY_MIN] = "the key of both ends of a fuzzer";
    must(trib_keys_derive(key, sizeof key, &known.own, NULL) == TRIB_OK, "tls: no keys");
    sides[0] = trib_tls_client(&known.own, false, NULL);
    sides[1] = trib_tls_server(&known, NULL);
    must(sides[0] != NULL && sides[1] != NULL, "tls: no sides");
}

static size_t carry(struct trib_tls *from, struct trib_tls *to)
{
    const uint8_t *bytes = NULL;
    size_t count = trib_tls_peek(from, &bytes);
    must(trib_tls_feed(to, bytes, count), "tls: out of memory");
    trib_tls_sent(from, count);
    (void)trib_tls_shake(to);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || trib_keys_explain_lack() != NULL) {
        return 0;
    }
    if (sides[0] == NULL) {
        make_sides();
    }
    struct trib_tls *ends[2] = {trib_tls_open(sides[0]), trib_tls_open(sides[1])};
    must(ends[0] != NULL && ends[1] != NULL, "tls: out of memory");
    bool is_open = (data[0] & 2) != 0;
    struct trib_tls *end = ends[data[0] & 1];
    uint8_t bytes[64];
    (void)trib_tls_shake(ends[0]);
    while (is_open && carry(ends[0], ends[1]) + carry(ends[1], ends[0]) > 0) {
    }
    must(trib_tls_is_open(end) == is_open, "tls: open without its handshake, or not open with it");
    must(trib_tls_feed(end, data + 1, size - 1), "tls: out of memory");
    must(trib_tls_read(end, bytes, sizeof bytes) <= 0, "tls: forged bytes are a message");
    must(is_open || !trib_tls_is_open(end), "tls: forged bytes are a handshake");
    must(trib_tls_key_id(end) == 0 || is_open, "tls: a key without a handshake");
    trib_tls_close(ends[0]);
    trib_tls_close(ends[1]);
    return 0;
}
