/* SPDX-License-Identifier: Apache-2.0 */
/* line.c: see line.h. */
#include "control/words/line.h"

#include <errno.h>
#include <sys/socket.h>

#define READS_MAX 4 /* calls of recv(2) for one receive */
#define READ_MAX 4096

/* ---- in clear ---- */

static bool plain_flush(struct trib_line *line, int fd)
{
    (void)line;
    (void)fd;
    return true;
}

static ssize_t plain_send(struct trib_line *line, int fd, const uint8_t *bytes, size_t count)
{
    (void)line;
    return send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t plain_receive(struct trib_line *line, int fd, uint8_t *bytes, size_t room)
{
    (void)line;
    if (fd < 0) {
        errno = EAGAIN;
        return -1;
    }
    return recv(fd, bytes, room, MSG_DONTWAIT);
}

static bool plain_waits(const struct trib_line *line, bool has_bytes)
{
    (void)line;
    return has_bytes;
}

static const struct trib_line_kind plain = {"plain", plain_flush, plain_send, plain_receive, plain_waits};

/* ---- by TLS ---- */

static bool tls_flush(struct trib_line *line, int fd)
{
    const uint8_t *bytes = NULL;
    bool stands = trib_tls_shake(line->tls);
    for (size_t count = trib_tls_peek(line->tls, &bytes); count > 0; count = trib_tls_peek(line->tls, &bytes)) {
        ssize_t sent = plain_send(line, fd, bytes, count);
        if (sent >= 0) {
            trib_tls_sent(line->tls, (size_t)sent);
        } else if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
    }
    errno = EPROTO;
    return stands;
}

/* Encrypts more bytes only after the last encrypted bytes have left. */
static ssize_t tls_send(struct trib_line *line, int fd, const uint8_t *bytes, size_t count)
{
    const uint8_t *waiting = NULL;
    if (!tls_flush(line, fd)) {
        return -1;
    }
    if (trib_tls_peek(line->tls, &waiting) > 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t taken = trib_tls_write(line->tls, bytes, count);
    if (taken > 0 && !tls_flush(line, fd)) {
        return -1;
    }
    return taken;
}

/* Feeds the bytes of one recv(2) to TLS, and sends the answer of TLS. */
static ssize_t tls_take(struct trib_line *line, int fd)
{
    uint8_t bytes[READ_MAX];
    ssize_t got = plain_receive(line, fd, bytes, sizeof bytes);
    if (got <= 0) {
        return got;
    }
    if (!trib_tls_feed(line->tls, bytes, (size_t)got)) {
        errno = ENOMEM;
        return -1;
    }
    return tls_flush(line, fd) ? got : -1;
}

static ssize_t tls_receive(struct trib_line *line, int fd, uint8_t *bytes, size_t room)
{
    for (unsigned reads = 0; reads <= READS_MAX; reads++) {
        ssize_t got = trib_tls_read(line->tls, bytes, room);
        if (got >= 0 || errno != EAGAIN || fd < 0 || reads == READS_MAX) {
            return got;
        }
        got = tls_take(line, fd);
        if (got <= 0) {
            return got;
        }
    }
    return -1; /* not reached */
}

static bool tls_waits(const struct trib_line *line, bool has_bytes)
{
    const uint8_t *waiting = NULL;
    return trib_tls_peek(line->tls, &waiting) > 0 || (has_bytes && trib_tls_is_open(line->tls)) ||
           trib_tls_is_new(line->tls);
}

static const struct trib_line_kind tls = {"tls", tls_flush, tls_send, tls_receive, tls_waits};

/* ---- a server that has received nothing from the client yet ---- */

static ssize_t first_receive(struct trib_line *line, int fd, uint8_t *bytes, size_t room)
{
    uint8_t first = 0;
    ssize_t got = fd >= 0 ? recv(fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) : -1;
    if (got <= 0) {
        errno = fd >= 0 ? errno : EAGAIN;
        return got;
    }
    struct trib_tls_side *side = line->side;
    line->side = NULL;
    if (first != TRIB_TLS_FIRST_BYTE) {
        line->kind = &plain;
        return plain_receive(line, fd, bytes, room);
    }
    line->tls = trib_tls_open(side);
    if (line->tls == NULL) {
        errno = ENOMEM;
        return -1;
    }
    line->kind = &tls;
    return tls_receive(line, fd, bytes, room);
}

static const struct trib_line_kind undecided = {"undecided", plain_flush, plain_send, first_receive, plain_waits};

bool trib_line_connect(struct trib_line *line, struct trib_tls_side *side)
{
    *line = (struct trib_line){.kind = &plain};
    if (side == NULL) {
        return true;
    }
    line->tls = trib_tls_open(side);
    line->kind = &tls;
    return line->tls != NULL;
}

void trib_line_accept(struct trib_line *line, struct trib_tls_side *side)
{
    *line = (struct trib_line){.kind = side != NULL ? &undecided : &plain, .side = side};
}

void trib_line_close(struct trib_line *line)
{
    trib_tls_close(line->tls);
    *line = (struct trib_line){.kind = &plain};
}

uint64_t trib_line_key_id(const struct trib_line *line)
{
    return line->tls != NULL ? trib_tls_key_id(line->tls) : 0;
}

bool trib_line_is_refused(const struct trib_line *line)
{
    return line->tls != NULL && trib_tls_is_refused(line->tls);
}

const char *trib_line_cause(const struct trib_line *line)
{
    return line->tls != NULL ? trib_tls_cause(line->tls) : "";
}
