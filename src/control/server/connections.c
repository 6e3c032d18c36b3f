/* SPDX-License-Identifier: Apache-2.0 */
/* connections.c: see connections.h.
 *
 * A connection that must end is marked, and freed only in trib_connections_sweep, never in the middle of a call. So
 * jobs may send to any session at any time. OPEN: as usual. ENDING: the last messages are being written. DRAINING: the
 * last messages are written and our side is shut. Bytes from the peer are then read and discarded, since unread bytes
 * would turn the close into a reset that can overtake the last messages. BROKEN: to be freed. */
#include "control/server/connections.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/jobs/jobs.h"
#include "control/server/accept.h"
#include "control/server/connection.h"
#include "control/server/keyed.h"
#include "core/assert.h"
#include "core/wipe.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/inherit.h"
#include "io/log.h"

#define LAST_READS_MAX 4096
/* A root gets a message for each rank of the communicator at once, and again at registration: 2 x 1024 messages of 32
 * bytes. */
#define OUT_MAX ((size_t)32 * TRIB_MESSAGE_MAX)
/* A rank sends at most some dozen messages a second, and all at once after a silence of 30 s. A rank with many more
 * messages is broken: it would take the time of all ranks, and bytes waiting in the socket would hide the end of the
 * session. */
#define MESSAGE_GAP_NS (5 * TRIB_MILLISECOND_NS)
#define MESSAGES_AT_ONCE 1024

enum trib_status trib_connections_init(struct trib_connections *connections, int listen_fd, struct trib_jobs *jobs,
                                       const struct trib_channel_verbs *channels, char *error)
{
    memset(connections, 0, offsetof(struct trib_connections, all));
    connections->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (connections->epoll_fd < 0) {
        trib_explain(error, "cannot make an epoll descriptor: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    connections->limit = trib_connections_limit(!jobs->config->is_guest);
    connections->jobs = jobs;
    connections->channels = channels;
    connections->due_ns = TRIB_NEVER;
    trib_connections_listen(connections, listen_fd);
    return TRIB_OK;
}

void trib_connections_listen(struct trib_connections *connections, int listen_fd)
{
    TRIB_ASSERT(connections->listen_count < TRIB_ROOTS_MAX);
    connections->listen_fd[connections->listen_count++] = listen_fd;
}

void trib_connection_break(struct trib_connections *connections, struct trib_connection *connection, const char *cause)
{
    if (connection->state != CONNECTION_BROKEN) {
        connection->state = CONNECTION_BROKEN;
        connections->broken++;
        (void)snprintf(connection->cause, sizeof connection->cause, "%s", cause);
    }
}

void trib_connection_log_reject(struct trib_connections *connections, const struct trib_address *peer, const char *why)
{
    if (connections->logged_ns != 0 && connections->now_ns - connections->logged_ns < TRIB_SECOND_NS) {
        connections->unlogged++;
        return;
    }
    char text[64];
    trib_address_format(peer, text);
    trib_log(TRIB_LOG_WARN, "session from %s ended: %s (and %llu others since the last such line)", text, why,
             (unsigned long long)connections->unlogged);
    connections->logged_ns = connections->now_ns;
    connections->unlogged = 0;
}

void trib_connection_reject(struct trib_connections *connections, struct trib_connection *connection, uint64_t *counter,
                            const char *why)
{
    char cause[128];
    (*counter)++;
    trib_connection_log_reject(connections, &connection->session.peer, why);
    (void)snprintf(cause, sizeof cause, "its session was ended: %s", why);
    trib_connection_break(connections, connection, cause);
}

/* Waits for room to write as long as something is to be written. */
static void set_interest(const struct trib_connections *connections, struct trib_connection *connection)
{
    bool waits = connection->line.kind->waits(&connection->line, connection->out.len > 0);
    if (waits != connection->waits_to_write) {
        struct epoll_event event = {.events = waits ? EPOLLIN | EPOLLRDHUP | EPOLLOUT : EPOLLIN | EPOLLRDHUP,
                                    .data.ptr = connection};
        connection->waits_to_write = waits;
        (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_MOD, connection->fd,
                        &event); /* add() has added the descriptor */
    }
}

void trib_connection_say(struct trib_connections *connections, struct trib_connection *connection,
                         const struct trib_message *message)
{
    bool is_there = connection->state == CONNECTION_OPEN || connection->state == CONNECTION_ENDING;
    if (is_there && !trib_outbox_add(&connection->out, message)) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_unread, "answers pile up unread");
    }
}

/* Moves waiting bytes of the channels onto the connection, up to TRIB_FILLED_MAX. */
static void fill(struct trib_connections *connections, struct trib_connection *connection)
{
    while (connection->carried.first && connection->out.len < TRIB_FILLED_MAX) {
        struct trib_connection *channel = trib_connection_of_channel(trib_mux_take(&connection->carried));
        struct trib_message message;
        fill(connections, channel);
        if (channel->out.len > 0) {
            trib_outbox_carry(&channel->out, channel->channel.number, &message);
            trib_connection_say(connections, connection, &message);
            trib_message_wipe(&message);
        }
        if (channel->out.len > 0 || channel->carried.first) {
            trib_mux_queue(&connection->carried, &channel->channel); /* behind the others */
        } else if (channel->state == CONNECTION_ENDING) {
            message = trib_mux_end(channel->channel.number, false);
            trib_connection_say(connections, connection, &message);
            channel->channel.end_is_known = true;
            trib_connection_break(connections, channel, "its session closed");
        }
    }
}

/* Writes as much as the kernel takes now. */
static void write_some(struct trib_connections *connections, struct trib_connection *connection)
{
    do {
        fill(connections, connection);
        if (!trib_outbox_send(&connection->out, &connection->line, connection->fd)) {
            /* In OPEN the peer's last messages may still be unread: reading finds the end behind these messages. */
            if (connection->state != CONNECTION_OPEN) {
                char cause[128];
                (void)snprintf(cause, sizeof cause, "its session broke: %s", trib_explain_errno(errno));
                trib_connection_break(connections, connection, cause);
            }
            trib_outbox_drop(&connection->out);
            return;
        }
    } while (connection->out.len == 0 && connection->carried.first);
    bool is_sent =
        !connection->line.kind->waits(&connection->line, connection->out.len > 0) && connection->out.len == 0;
    if (is_sent && connection->state == CONNECTION_ENDING) {
        connection->state = CONNECTION_DRAINING;
        (void)shutdown(connection->fd, SHUT_WR);
    }
}

void trib_connection_flush(struct trib_connections *connections, struct trib_connection *connection)
{
    if (connection->over) {
        trib_mux_queue(&connection->over->carried, &connection->channel);
        trib_connection_flush(connections, connection->over);
    } else if (connection->fd >= 0) {
        write_some(connections, connection);
        set_interest(connections, connection);
    }
}

/* Time of the connection's next deadline. */
static uint64_t connection_timeout(const struct trib_connection *connection)
{
    switch (connection->state) {
    case CONNECTION_OPEN:
        if (!trib_connection_is_joined(connection)) {
            return trib_time_earlier(connection->since_ns + TRIB_JOIN_WAIT_NS, connection->asked_ns);
        }
        return trib_time_earlier(connection->half_ns ? connection->half_ns + TRIB_HALF_WAIT_NS : TRIB_NEVER,
                                 connection->ping.next_ns);
    case CONNECTION_ENDING: /* ranks of a switch that does not read are not at fault, and END comes last */
    case CONNECTION_DRAINING:
        return connection->since_ns + (connection->over ? TRIB_SILENCE_NS : TRIB_DRAIN_WAIT_NS);
    case CONNECTION_BROKEN:
        return 0;
    case CONNECTION_NONE:
        break;
    }
    return TRIB_NEVER;
}

void trib_connection_watch(struct trib_connections *connections, const struct trib_connection *connection)
{
    connections->due_ns = trib_time_earlier(connections->due_ns, connection_timeout(connection));
}

void trib_connections_send(void *connections, struct trib_session *session, const struct trib_message *message)
{
    struct trib_connections *all = connections;
    struct trib_connection *connection = trib_connection_of(session);
    if (connection->state != CONNECTION_OPEN) {
        return;
    }
    if (!trib_outbox_add(&connection->out, message)) {
        trib_connection_reject(all, connection, &all->stats.rejected_unread, "answers pile up unread");
        return;
    }
    trib_connection_flush(all, connection);
}

void trib_connection_write(struct trib_connections *connections, struct trib_connection *connection,
                           const uint8_t *bytes, size_t count)
{
    if (connection->state != CONNECTION_OPEN) {
        return;
    }
    if (!trib_outbox_add_bytes(&connection->out, bytes, count)) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_unread, "answers pile up unread");
        return;
    }
    trib_connection_flush(connections, connection);
}

void trib_connections_end(void *connections, struct trib_session *session)
{
    struct trib_connections *all = connections;
    struct trib_connection *connection = trib_connection_of(session);
    if (connection->state == CONNECTION_OPEN) {
        connection->state = CONNECTION_ENDING;
        connection->since_ns = all->now_ns;
        trib_connection_flush(all, connection);
        trib_connection_watch(all, connection);
    }
}

void trib_connections_ping(void *connections, struct trib_session *session)
{
    struct trib_connections *all = connections;
    struct trib_connection *connection = trib_connection_of(session);
    trib_ping_begin(&connection->ping, all->now_ns);
    trib_connection_watch(all, connection);
}

void trib_connection_fail(struct trib_connections *connections, struct trib_connection *connection,
                          enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "%s", text);
    trib_connections_send(connections, &connection->session, &message);
    trib_connections_end(connections, &connection->session);
}

/* The peer is at fault, and is told the cause. cause: for the other ranks of the peer's job; NULL: the peer has not
 * joined a job. */
static void refuse(struct trib_connections *connections, struct trib_connection *connection, uint64_t *counter,
                   enum trib_status status, const char *cause, const char *text)
{
    (*counter)++;
    trib_connection_log_reject(connections, &connection->session.peer, text);
    if (cause) {
        trib_jobs_expel(connections->jobs, &connection->session, cause, connections->now_ns);
    }
    trib_connection_fail(connections, connection, status, text);
}

/* The message needs a feature of a later version. */
static void refuse_item(struct trib_connections *connections, struct trib_connection *connection,
                        const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "message %s needs feature %u, which this switch (tributary %s) does not know: update it",
                 trib_message_name(message->kind), message->unknown_item, TRIB_VERSION);
    refuse(connections, connection, &connections->stats.rejected_version, TRIB_ERR_VERSION,
           "it sent a message that needs a later version", text);
}

static void refuse_version(struct trib_connections *connections, struct trib_connection *connection,
                           const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    if (message->unknown_item != 0) {
        refuse_item(connections, connection, message);
        return;
    }
    trib_explain(
        text,
        "versions differ: the sender speaks session %u and packet %u, this switch (tributary %s) session %d and "
        "packet %d: update the older one",
        message->join.version, message->join.wire_version, TRIB_VERSION, TRIB_SESSION_VERSION, TRIB_WIRE_VERSION);
    refuse(connections, connection, &connections->stats.rejected_version, TRIB_ERR_VERSION, NULL, text);
}

static void refuse_key(struct trib_connections *connections, struct trib_connection *connection, const char *cause)
{
    refuse(connections, connection, &connections->stats.rejected_key, TRIB_ERR_REFUSED, NULL, cause);
}

/* A message of a known kind with a bad field is answered: the text names the field. Other bytes are not answered. */
static void refuse_malformed(struct trib_connections *connections, struct trib_connection *connection,
                             const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    if (connection->in[0] == TRIB_TLS_FIRST_BYTE && !trib_connection_is_joined(connection)) {
        refuse_key(connections, connection,
                   "it comes with a key, but there is none here: see --keys of the switch, or TRIB_KEY_FILE of rank 0");
        return;
    }
    if (message->kind == TRIB_MESSAGE_NONE) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_malformed,
                               "bytes that are no message");
        return;
    }
    trib_explain(text, "a malformed message %s: its field \"%s\" is cut off, too long or has an invalid value",
                 trib_message_name(message->kind), message->bad_field);
    refuse(connections, connection, &connections->stats.rejected_malformed, TRIB_ERR_INVALID,
           "it sent a malformed message", text);
}

static void refuse_turn(struct trib_connections *connections, struct trib_connection *connection,
                        const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "message %s is unexpected at this point of the session", trib_message_name(message->kind));
    refuse(connections, connection, &connections->stats.rejected_turn, TRIB_ERR_INVALID,
           "it sent a message out of turn", text);
}

/* True if a session has come over IPv4 to a listener at ::, which has no data path over IPv4; the cause is for the
 * rank. */
static bool lacks_way(const struct trib_connections *connections, const struct trib_connection *connection, char *cause)
{
    const struct trib_address *peer = &connection->session.peer;
    char from[64];
    if (connections->jobs->config->shards == 0 || !trib_address_is_mapped(peer)) {
        return false;
    }
    trib_address_format(peer, from);
    trib_explain(cause,
                 "%s comes over IPv4, and this switch moves data over IPv6 only: name it by an IPv6 address, or let "
                 "it listen at 0.0.0.0",
                 from);
    return true;
}

bool trib_connection_pay(const struct trib_connections *connections, struct trib_connection *connection,
                         uint64_t gap_ns, uint64_t most_ns)
{
    uint64_t saved_ns = connections->now_ns > most_ns ? connections->now_ns - most_ns : 0;
    if (connection->paid_ns < saved_ns) {
        connection->paid_ns = saved_ns;
    }
    connection->paid_ns += gap_ns;
    return connection->paid_ns <= connections->now_ns;
}

/* False: the peer sends too many messages. A controller, which the operator has named, sends for all ranks of many
 * jobs. */
static bool pay_message(const struct trib_connections *connections, struct trib_connection *connection,
                        const struct trib_message *message)
{
    if (connection->below) {
        return connections->channels->may_say(connections, connection, message);
    }
    return connection->session.master ||
           trib_connection_pay(connections, connection, MESSAGE_GAP_NS, MESSAGES_AT_ONCE * MESSAGE_GAP_NS);
}

static void refuse_flood(struct trib_connections *connections, struct trib_connection *connection)
{
    bool is_switch = connection->below != NULL;
    const char *text =
        is_switch ? "it sent more than 1000 messages a second" : "it sent more than 200 messages a second";
    connections->stats.rejected_flood++;
    trib_connection_log_reject(connections, &connection->session.peer, text);
    trib_jobs_expel(connections->jobs, &connection->session, text, connections->now_ns);
    trib_connection_fail(connections, connection, TRIB_ERR_INVALID,
                         is_switch ? text : "this rank sent more than 200 messages a second");
}

static bool begins(const struct trib_message *message)
{
    return message->kind == TRIB_MESSAGE_JOIN || message->kind == TRIB_MESSAGE_CONTROL;
}

/* False: out of turn. */
static bool hand_over(struct trib_connections *connections, struct trib_connection *connection,
                      const struct trib_message *message)
{
    bool is_passed = message->kind == TRIB_MESSAGE_JOIN || message->kind == TRIB_MESSAGE_HELLO;
    if (connections->above && is_passed && !trib_connection_is_joined(connection)) {
        connection->pass = connections->above->begin(connections->above->owner, connection, message);
        if (!connection->pass) {
            trib_connections_end(connections, &connection->session);
        }
        return true;
    }
    bool is_hello = message->kind == TRIB_MESSAGE_HELLO;
    if (connection->below || (is_hello && !trib_connection_is_joined(connection))) {
        return connections->channels->receive(connections, connection, message);
    }
    return trib_jobs_receive(connections->jobs, &connection->session, message, connections->now_ns);
}

/* A rank sends JOIN again after a recall, and the controller cannot see the key of a connection that ends here. True:
 * the message is refused. */
static bool refuse_passed(struct trib_connections *connections, struct trib_connection *connection,
                          const uint8_t *bytes, size_t size)
{
    struct trib_message message;
    char cause[TRIB_ERROR_TEXT_MAX];
    size_t used = 0;
    enum trib_message_kind kind = bytes[4];
    if (kind != TRIB_MESSAGE_JOIN && kind != TRIB_MESSAGE_HELLO && kind != TRIB_MESSAGE_CONTROL) {
        return false;
    }
    if (trib_message_decode(bytes, size, &message, &used) != TRIB_OK) {
        refuse_malformed(connections, connection, &message);
        return true;
    }
    if (trib_connection_lacks_key(connections, connection, &message, cause)) {
        refuse_key(connections, connection, cause);
        return true;
    }
    return false;
}

/* Passes on the message at offset `at`. Returns the length; 0: a part is missing, or the session has ended. */
static size_t pass_one(struct trib_connections *connections, struct trib_connection *connection, size_t at)
{
    size_t left = connection->in_len - at;
    size_t size = left >= 4 ? trib_message_size(connection->in + at) : SIZE_MAX;
    if (size == 0) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_malformed,
                               "bytes that are no message");
        return 0;
    }
    if (left < size || refuse_passed(connections, connection, connection->in + at, size)) {
        return 0;
    }
    if (!connections->above->take(connections->above->owner, connection->pass, connection->in + at, size) &&
        !trib_connection_pay(connections, connection, MESSAGE_GAP_NS, MESSAGES_AT_ONCE * MESSAGE_GAP_NS)) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_flood,
                               "more than 200 messages a second");
    }
    return size;
}

/* Hands whole messages over until one ends the session. */
static void take_messages(struct trib_connections *connections, struct trib_connection *connection)
{
    struct trib_message message;
    char cause[TRIB_ERROR_TEXT_MAX];
    size_t at = 0;
    size_t used = 1;
    while (connection->state == CONNECTION_OPEN && used > 0) {
        if (connection->pass) {
            used = pass_one(connections, connection, at);
            at += used;
            continue;
        }
        enum trib_status status = trib_message_decode(connection->in + at, connection->in_len - at, &message, &used);
        if (status == TRIB_ERR_VERSION) {
            refuse_version(connections, connection, &message);
        } else if (status != TRIB_OK) {
            refuse_malformed(connections, connection, &message);
        } else if (used > 0 && !pay_message(connections, connection, &message)) {
            refuse_flood(connections, connection);
        } else if (used > 0 && trib_connection_lacks_key(connections, connection, &message, cause)) {
            refuse_key(connections, connection, cause);
        } else if (used > 0 && begins(&message) && lacks_way(connections, connection, cause)) {
            refuse(connections, connection, &connections->stats.rejected_way, TRIB_ERR_UNREACHABLE, NULL, cause);
        } else if (used > 0) {
            at += used;
            trib_log(TRIB_LOG_TRACE, "session message %s of %zu bytes", trib_message_name(message.kind), used);
            trib_ping_heard(&connection->ping, TRIB_NEVER);
            if (!hand_over(connections, connection, &message)) {
                refuse_turn(connections, connection, &message);
            }
            trib_message_wipe(&message);
        }
    }
    trib_bytes_take(connection->in, &connection->in_len, at);
    connection->half_ns = connection->in_len == 0              ? 0
                          : at > 0 || connection->half_ns == 0 ? connections->now_ns
                                                               : connection->half_ns;
    trib_connection_watch(connections, connection);
}

void trib_connection_feed(struct trib_connections *connections, struct trib_connection *connection,
                          const uint8_t *bytes, size_t count)
{
    while (count > 0 && connection->state == CONNECTION_OPEN) {
        size_t room = sizeof connection->in - connection->in_len;
        size_t taken = count < room ? count : room;
        memcpy(connection->in + connection->in_len, bytes, taken);
        connection->in_len += taken;
        bytes += taken;
        count -= taken;
        take_messages(connections, connection);
    }
}

static void end_pass(const struct trib_connections *connections, struct trib_connection *connection)
{
    if (connection->pass) {
        connections->above->end(connections->above->owner, connection->pass);
        connection->pass = NULL;
    }
}

/* The peer has ended, or the peer's key is wrong. */
static void take_end(struct trib_connections *connections, struct trib_connection *connection, int error)
{
    char cause[128];
    if (error == EPROTO && connection->state == CONNECTION_OPEN) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_key,
                               trib_line_cause(&connection->line));
    }
    (void)snprintf(cause, sizeof cause, error != 0 ? "its session broke: %s" : "its session closed",
                   trib_explain_errno(error));
    trib_connection_break(connections, connection, cause);
    end_pass(connections, connection);
    trib_jobs_gone(connections->jobs, &connection->session, cause, connections->now_ns);
    if (connection->below) {
        connections->channels->lose(connections, connection, cause);
    }
}

/* As recv(2). fd -1: only bytes already received. */
static ssize_t receive(struct trib_connection *connection, int fd)
{
    return connection->line.kind->receive(&connection->line, fd, connection->in + connection->in_len,
                                          sizeof connection->in - connection->in_len);
}

/* One read per wake, so that no peer delays other peers. */
bool trib_connection_take_bytes(struct trib_connections *connections, struct trib_connection *connection)
{
    if (connection->state != CONNECTION_OPEN) {
        connection->in_len = 0;
    }
    ssize_t got = receive(connection, connection->fd);
    if (connection->line.tls) { /* the handshake may have an answer */
        set_interest(connections, connection);
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return false;
    }
    if (got <= 0) {
        take_end(connections, connection, got < 0 ? errno : 0);
        return false;
    }
    while (got > 0 && connection->state == CONNECTION_OPEN) {
        connection->in_len += (size_t)got;
        take_messages(connections, connection);
        got = receive(connection, -1);
    }
    return true;
}

struct trib_connection *trib_connection_add(struct trib_connections *connections, int fd,
                                            const struct trib_address *peer)
{
    struct trib_connection *connection = calloc(1, sizeof *connection);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    if (!connection || (fd >= 0 && epoll_ctl(connections->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)) {
        free(connection);
        return NULL;
    }
    connection->session.peer = *peer;
    connection->fd = fd;
    trib_line_accept(&connection->line, fd >= 0 ? connections->side : NULL);
    connection->out.max = OUT_MAX;
    trib_ping_init(&connection->ping, connections->jobs->config->ping_gap_ns);
    connection->state = CONNECTION_OPEN;
    connection->since_ns = connections->now_ns;
    connection->asked_ns = TRIB_NEVER;
    connections->near[connections->count] = trib_address_near(peer);
    connections->all[connections->count++] = connection;
    connections->stats.accepted++;
    trib_connection_watch(connections, connection);
    return connection;
}

const struct trib_session *trib_connections_at(const struct trib_connections *connections, uint32_t index)
{
    return &connections->all[index]->session;
}

/* After the peer has shut its side, only the bytes in the socket's buffer are left. */
void trib_connection_read_last(struct trib_connections *connections, struct trib_connection *connection)
{
    for (int i = 0; i < LAST_READS_MAX && connection->state != CONNECTION_BROKEN; i++) {
        if (!trib_connection_take_bytes(connections, connection)) {
            return;
        }
    }
}

uint64_t trib_connections_next_timeout(const struct trib_connections *connections)
{
    uint64_t accept_ns = connections->accept_ns > connections->now_ns ? connections->accept_ns : TRIB_NEVER;
    return connections->broken > 0 ? 0 : trib_time_earlier(accept_ns, connections->due_ns);
}

static void ask(struct trib_connections *connections, struct trib_connection *connection)
{
    struct trib_message question;
    const struct trib_connection *carrier = connection;
    while (carrier->over) {
        carrier = carrier->over;
    }
    trib_ping_ask(&connection->ping, carrier->fd, connections->now_ns, &question);
    if (trib_ping_is_silent(&connection->ping, TRIB_PING_LIMIT * connection->ping.gap_ns)) {
        trib_connection_break(connections, connection, TRIB_PING_SILENT);
    } else {
        trib_connections_send(connections, &connection->session, &question);
    }
}

static void take_time(struct trib_connections *connections, struct trib_connection *connection)
{
    if (connection->state != CONNECTION_OPEN) {
        trib_connection_break(connections, connection, "its session closed");
    } else if (connections->now_ns >= connection->asked_ns) {
        connections->channels->on_timeout(connections, connection);
    } else if (!trib_connection_is_joined(connection)) {
        trib_connection_reject(connections, connection, &connections->stats.rejected_silent, "no JOIN within 10 s");
    } else if (connections->now_ns >= connection->ping.next_ns) {
        ask(connections, connection);
    } else {
        trib_connection_reject(connections, connection, &connections->stats.rejected_slow, "half a message for 10 s");
    }
}

void trib_connections_on_timeout(struct trib_connections *connections, uint64_t now_ns)
{
    connections->now_ns = now_ns;
    if (now_ns < connections->due_ns) {
        return;
    }
    connections->due_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < connections->count; i++) {
        struct trib_connection *connection = connections->all[i];
        if (now_ns >= connection_timeout(connection)) {
            take_time(connections, connection);
        }
        trib_connection_watch(connections, connection);
    }
}

/* A forked child may hold the descriptor as well, so a close alone does not remove the descriptor from the set. */
void trib_connections_remove_at(struct trib_connections *connections, uint32_t at)
{
    struct trib_connection *connection = connections->all[at];
    uint32_t last = --connections->count;
    end_pass(connections, connection);
    connections->channels->forget(connections, connection);
    if (connection->fd >= 0) {
        (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
        (void)close(connection->fd);
    }
    connections->all[at] = connections->all[last];
    connections->near[at] = connections->near[last];
    trib_outbox_drop(&connection->out);
    trib_line_close(&connection->line);
    trib_wipe(connection->in, sizeof connection->in); /* of a message that was not taken */
    free(connection);
}

void trib_connections_sweep(struct trib_connections *connections, uint64_t now_ns)
{
    connections->now_ns = now_ns;
    while (connections->broken > 0) { /* one end may break other connections, at lower indexes */
        for (uint32_t i = 0; i < connections->count; i++) {
            struct trib_connection *connection = connections->all[i];
            if (connection->state == CONNECTION_BROKEN) {
                trib_jobs_gone(connections->jobs, &connection->session, connection->cause, now_ns);
                connections->broken--;
                trib_connections_remove_at(connections, i--);
            }
        }
    }
}

void trib_connections_abandon(const struct trib_connections *connections)
{
    for (uint32_t i = 0; i < connections->listen_count; i++) {
        trib_inherit_drop(connections->listen_fd[i]);
    }
    for (uint32_t i = 0; i < connections->count; i++) {
        if (connections->all[i]->fd >= 0) {
            trib_inherit_drop(connections->all[i]->fd);
        }
    }
    trib_inherit_drop(connections->epoll_fd);
}
