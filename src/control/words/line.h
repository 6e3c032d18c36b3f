/* SPDX-License-Identifier: Apache-2.0 */
/* line.h: carries bytes of a session to the socket and back, in clear or by TLS. Only this file reads and writes
 * sockets of sessions; no layer above knows of TLS records. There is a row for each way (struct trib_line_kind).
 * Read next: outbox.h, keys/tls.h. */
#ifndef TRIB_CONTROL_LINE_H
#define TRIB_CONTROL_LINE_H

#include <sys/types.h>

#include "keys/tls.h"

struct trib_line;

struct trib_line_kind {
    const char *name;
    /* Sends waiting bytes of the line: of the handshake, or encrypted. False: the connection has ended; errno has the
     * cause. */
    bool (*flush)(struct trib_line *line, int fd);
    /* As send(2) and recv(2), without blocking. fd -1: takes only bytes already in memory. EPROTO: trib_line_cause has
     * the text. */
    ssize_t (*send)(struct trib_line *line, int fd, const uint8_t *bytes, size_t count);
    ssize_t (*receive)(struct trib_line *line, int fd, uint8_t *bytes, size_t room);
    /* True if the line must be flushed once the socket has room. has_bytes: the owner has bytes to send. */
    bool (*waits)(const struct trib_line *line, bool has_bytes);
};

struct trib_line {
    const struct trib_line_kind *kind; /* NULL: no line */
    struct trib_tls_side *side;        /* borrowed; of a server that has received nothing from the client yet */
    struct trib_tls *tls;              /* NULL: in clear */
};

/* A line as a client. side: NULL, or borrowed while the line is open. False: out of memory. */
bool trib_line_connect(struct trib_line *line, struct trib_tls_side *side);
/* A line as a server. With a side, the first byte of the client shows whether the client uses TLS. */
void trib_line_accept(struct trib_line *line, struct trib_tls_side *side);
void trib_line_close(struct trib_line *line);
/* Id of the shared key; 0: none, or the handshake is not over. */
uint64_t trib_line_key_id(const struct trib_line *line);
/* True if TLS has failed and another try is useless (trib_tls_is_refused). */
bool trib_line_is_refused(const struct trib_line *line);
/* The cause of a failure of TLS, at most 399 bytes; "": no failure. */
const char *trib_line_cause(const struct trib_line *line);

#endif
