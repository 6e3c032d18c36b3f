/* SPDX-License-Identifier: Apache-2.0 */
/* session_client.c: see session_client.h. */
#include "control/words/session_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/silence.h"
#include "core/assert.h"
#include "core/wipe.h"
#include "io/explain.h"

#define READS_MAX 16 /* at a time */
#define OUT_MAX (8 * TRIB_MESSAGE_MAX)

#define BIT(state) (1U << TRIB_SESSION_##state)

/* By the state before. After a loss, an earlier message may still show that no switch answers. */
static const unsigned may_follow[] = {
    [TRIB_SESSION_CLOSED] = BIT(CLOSED) | BIT(CONNECTING) | BIT(LOST),
    [TRIB_SESSION_CONNECTING] = BIT(CLOSED) | BIT(OPEN) | BIT(LOST),
    [TRIB_SESSION_OPEN] = BIT(CLOSED) | BIT(ENDING) | BIT(LOST) | BIT(FOREIGN),
    [TRIB_SESSION_ENDING] = BIT(CLOSED) | BIT(LOST),
    [TRIB_SESSION_LOST] = BIT(CLOSED) | BIT(LOST) | BIT(FOREIGN),
    [TRIB_SESSION_FOREIGN] = BIT(CLOSED),
};

static void enter(struct trib_session_client *client, enum trib_session_state state)
{
    bool has_fd = state == TRIB_SESSION_CONNECTING || state == TRIB_SESSION_OPEN || state == TRIB_SESSION_ENDING;
    TRIB_ASSERT((may_follow[client->state] >> state & 1) != 0);
    TRIB_ASSERT((client->fd >= 0) == has_fd);
    client->state = state;
}

/* After a fork, the child shares the connection: close alone would leave the descriptor in the epoll set. */
static void end_connection(struct trib_session_client *client, enum trib_session_state state)
{
    if (client->epoll_fd >= 0) {
        (void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
        client->epoll_fd = -1;
    }
    if (client->fd >= 0) {
        (void)close(client->fd);
        client->fd = -1;
    }
    trib_line_close(&client->line);
    trib_outbox_drop(&client->out);
    enter(client, state);
}

/* Received bytes may be of a message with a key. */
static void forget_input(struct trib_session_client *client)
{
    trib_wipe(client->in, sizeof client->in);
    client->in_len = 0;
}

void trib_session_client_lose(struct trib_session_client *client, const char *cause)
{
    end_connection(client, TRIB_SESSION_LOST);
    (void)snprintf(client->cause, sizeof client->cause, "%s", cause);
}

void trib_session_client_refuse(struct trib_session_client *client, const char *cause)
{
    end_connection(client, TRIB_SESSION_FOREIGN);
    forget_input(client);
    (void)snprintf(client->cause, sizeof client->cause, "%s", cause);
}

void trib_session_client_hang_up(struct trib_session_client *client)
{
    end_connection(client, TRIB_SESSION_CLOSED);
    forget_input(client);
}

static void lose_errno(struct trib_session_client *client, int error)
{
    trib_session_client_lose(client, trib_explain_errno(error)); /* in lower case, for use in a sentence */
    if (client->cause[0] >= 'A' && client->cause[0] <= 'Z' && client->cause[1] >= 'a') {
        client->cause[0] = (char)(client->cause[0] - 'A' + 'a');
    }
}

void trib_session_client_init(struct trib_session_client *client)
{
    client->out = (struct trib_outbox){.max = OUT_MAX};
    client->fd = -1;
    client->side = NULL;
    (void)trib_line_connect(&client->line, NULL);
    client->epoll_fd = -1;
    client->state = TRIB_SESSION_CLOSED;
    client->in_len = 0;
    client->cause[0] = '\0';
}

void trib_session_client_open(struct trib_session_client *client, const struct trib_address *peer,
                              const struct trib_address *local, uint64_t silence_ns)
{
    trib_session_client_hang_up(client);
    client->fd = socket(peer->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0) {
        lose_errno(client, errno);
        return;
    }
    if (!trib_line_connect(&client->line, client->side)) {
        lose_errno(client, ENOMEM);
        return;
    }
    trib_session_bound_silence(client->fd, silence_ns);
    if (local && bind(client->fd, (const struct sockaddr *)&local->storage, local->len) != 0) {
        lose_errno(client, errno);
        return;
    }
    enter(client, TRIB_SESSION_CONNECTING);
    if (connect(client->fd, (const struct sockaddr *)&peer->storage, peer->len) == 0) {
        enter(client, TRIB_SESSION_OPEN);
    } else if (errno != EINPROGRESS) {
        lose_errno(client, errno);
    }
}

void trib_session_client_close(struct trib_session_client *client)
{
    trib_session_client_hang_up(client);
    client->cause[0] = '\0';
}

short trib_session_client_interest(const struct trib_session_client *client)
{
    switch (client->state) {
    case TRIB_SESSION_CONNECTING:
        return POLLOUT;
    case TRIB_SESSION_OPEN:
    case TRIB_SESSION_ENDING:
        return client->line.kind->waits(&client->line, client->out.len > 0) ? POLLIN | POLLOUT : POLLIN;
    case TRIB_SESSION_CLOSED:
    case TRIB_SESSION_LOST:
    case TRIB_SESSION_FOREIGN:
        return 0;
    }
    return 0;
}

static void finish_connecting(struct trib_session_client *client)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error != 0) {
        lose_errno(client, error);
    } else {
        enter(client, TRIB_SESSION_OPEN);
    }
}

static bool is_standing(const struct trib_session_client *client)
{
    return client->state == TRIB_SESSION_OPEN || client->state == TRIB_SESSION_ENDING;
}

static void write_out(struct trib_session_client *client)
{
    if (is_standing(client) && !trib_outbox_send(&client->out, &client->line, client->fd)) {
        /* The last messages of the other side, such as FAIL, may be unread: reading finds the end behind these
         * messages. */
        trib_outbox_drop(&client->out);
        return;
    }
    if (client->line.kind->waits(&client->line, client->out.len > 0) || client->out.len > 0) {
        return;
    }
    if (client->state == TRIB_SESSION_ENDING) {
        (void)shutdown(client->fd, SHUT_WR);
    }
}

void trib_session_client_end(struct trib_session_client *client)
{
    if (client->state == TRIB_SESSION_OPEN) {
        enter(client, TRIB_SESSION_ENDING);
        forget_input(client);
        write_out(client);
    } else if (client->state != TRIB_SESSION_ENDING) {
        trib_session_client_close(client);
    }
}

static void lose_line(struct trib_session_client *client, int error)
{
    if (error != EPROTO) {
        lose_errno(client, error);
        return;
    }
    char cause[sizeof client->cause];
    (void)snprintf(cause, sizeof cause, "%s", trib_line_cause(&client->line));
    if (client->state == TRIB_SESSION_OPEN && trib_line_is_refused(&client->line)) {
        trib_session_client_refuse(client, cause);
    } else {
        trib_session_client_lose(client, cause);
    }
}

/* Discarded bytes fill no buffer, so READS_MAX bounds the reads from a peer with endless output. */
static void read_in(struct trib_session_client *client)
{
    for (unsigned reads = 0; reads < READS_MAX && is_standing(client) && client->in_len < sizeof client->in; reads++) {
        ssize_t got = client->line.kind->receive(&client->line, client->fd, client->in + client->in_len,
                                                 sizeof client->in - client->in_len);
        if (got > 0) {
            client->in_len += client->state == TRIB_SESSION_OPEN ? (size_t)got : 0;
        } else if (got == 0) {
            trib_session_client_lose(client, "connection closed");
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            lose_line(client, errno);
        }
    }
}

void trib_session_client_ready(struct trib_session_client *client, short revents)
{
    if (client->state == TRIB_SESSION_CONNECTING && revents != 0) {
        finish_connecting(client);
    }
    if (is_standing(client) && (revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        read_in(client);
    }
    bool is_due = client->line.tls != NULL && client->line.kind->waits(&client->line, client->out.len > 0);
    if (is_standing(client) && (is_due || (revents & POLLOUT) != 0)) {
        write_out(client);
    }
}

void trib_session_client_send(struct trib_session_client *client, const struct trib_message *message)
{
    if (client->state != TRIB_SESSION_OPEN) {
        return;
    }
    if (!trib_outbox_add(&client->out, message)) {
        trib_session_client_lose(client, "the control plane does not read its session");
        return;
    }
    write_out(client);
}

static void refuse_message(struct trib_session_client *client, const struct trib_message *message)
{
    char cause[sizeof client->cause] = "the answer is not from a tributary switch";
    if (client->line.tls == NULL && client->in[0] == TRIB_TLS_NO_ROOM[0]) {
        (void)snprintf(cause, sizeof cause,
                       "it takes sessions with a key only (TRIB_KEY_FILE), and has no room for another now");
    } else if (message->unknown_item != 0) {
        (void)snprintf(cause, sizeof cause,
                       "its %s needs feature %u, which tributary %s does not know: update this side",
                       trib_message_name(message->kind), message->unknown_item, TRIB_VERSION);
    } else if (message->kind != TRIB_MESSAGE_NONE && message->bad_field != NULL) {
        (void)snprintf(cause, sizeof cause,
                       "the answer is not from a tributary switch of this version: %s, field \"%s\"",
                       trib_message_name(message->kind), message->bad_field);
    }
    trib_session_client_refuse(client, cause);
}

/* More bytes, from the memory of the line. False: there are none, or no room. */
static bool read_more(struct trib_session_client *client)
{
    ssize_t got = client->state == TRIB_SESSION_OPEN && client->in_len < sizeof client->in
                      ? client->line.kind->receive(&client->line, -1, client->in + client->in_len,
                                                   sizeof client->in - client->in_len)
                      : 0;
    client->in_len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool trib_session_client_next(struct trib_session_client *client, struct trib_message *message)
{
    size_t used = 0;
    do {
        if (client->in_len > 0 && trib_message_decode(client->in, client->in_len, message, &used) != TRIB_OK) {
            refuse_message(client, message);
            return false;
        }
    } while (used == 0 && read_more(client));
    trib_bytes_take(client->in, &client->in_len, used);
    return used > 0;
}
