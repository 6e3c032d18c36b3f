/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h: one end of a TLS 1.3 connection with a pre-shared key and ephemeral Diffie-Hellman, in memory: bytes in, bytes
 * out. No certificate, no early data, no tickets. The identity of the key is its id. Knows no socket and no time: the
 * owner carries the bytes, and bounds the handshake. One thread at a time per object. Without OpenSSL: tls_none.c. Read
 * next: control/words/line.h (the sockets). */
#ifndef TRIB_KEYS_TLS_H
#define TRIB_KEYS_TLS_H

#include <sys/types.h>

#include "keys/keyring.h"

/* A fatal alert, internal_error, in clear: a server says so that it has no room for a connection. The client has a text
 * for it, and comes again. */
#define TRIB_TLS_NO_ROOM "\x15\x03\x03\x00\x02\x02\x50"
#define TRIB_TLS_NO_ROOM_SIZE (sizeof TRIB_TLS_NO_ROOM - 1)

struct trib_tls_side; /* shared by all connections of one side, which are counted */
struct trib_tls;

#define TRIB_TLS_FIRST_BYTE 0x16 /* of a connection with TLS; no message of a session begins with it */

/* A client with this key, which is copied: a rank, or a switch with the operator's key, for which trib_tls_cause has
 * another remedy. NULL: error says why, TRIB_ERROR_TEXT_MAX bytes. */
struct trib_tls_side *trib_tls_client(const struct trib_keys *keys, bool is_switch, char *error);
/* A server with this keyring, borrowed until the last connection has ended. NULL: as above. */
struct trib_tls_side *trib_tls_server(const struct trib_keyring *keys, char *error);
/* One user more, or less; the last one frees it. NULL is possible. */
struct trib_tls_side *trib_tls_share(struct trib_tls_side *side);
void trib_tls_release(struct trib_tls_side *side);

/* A new connection, which keeps the side. NULL: out of memory. */
struct trib_tls *trib_tls_open(struct trib_tls_side *side);
void trib_tls_close(struct trib_tls *tls);

/* Bytes that have come from the peer; all are taken. False: out of memory. */
bool trib_tls_feed(struct trib_tls *tls, const uint8_t *bytes, size_t count);
/* Bytes to be sent to the peer now, and their number; trib_tls_sent takes them out. */
size_t trib_tls_peek(const struct trib_tls *tls, const uint8_t **bytes);
void trib_tls_sent(struct trib_tls *tls, size_t count);

/* Goes on with the handshake as far as the bytes fed allow. False: it has failed (trib_tls_cause); an alert for the
 * peer may wait. */
bool trib_tls_shake(struct trib_tls *tls);
/* True before the first trib_tls_shake. */
bool trib_tls_is_new(const struct trib_tls *tls);
/* True after the handshake: both sides have the key. */
bool trib_tls_is_open(const struct trib_tls *tls);
/* As recv(2) and send(2). -1: errno is EAGAIN if bytes must come or leave first, else EPROTO. 0: the peer has ended. */
ssize_t trib_tls_read(struct trib_tls *tls, uint8_t *bytes, size_t room);
ssize_t trib_tls_write(struct trib_tls *tls, const uint8_t *bytes, size_t count);

/* True if the handshake has failed for a key that the server does not have, or has otherwise, or for a server without
 * TLS: another try is no use. */
bool trib_tls_is_refused(const struct trib_tls *tls);
/* Why the connection has failed, with the remedy, in at most 399 bytes. */
const char *trib_tls_cause(const struct trib_tls *tls);
/* Id of the key of both sides; 0: the handshake is not over. */
uint64_t trib_tls_key_id(const struct trib_tls *tls);

#endif
