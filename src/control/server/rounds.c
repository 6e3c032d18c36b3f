/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c: the descriptors to poll, one round of poll: new connections and active sessions; and the last rounds at the
 * end. Read next: connections.c (one session), accept.c (limits). */
#include <errno.h>
#include <unistd.h>

#include "control/server/accept.h"
#include "control/server/connection.h"
#include "control/server/connections.h"
#include "control/server/rounds.h"
#include "control/words/silence.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"

#define ACCEPTS_AT_ONCE 64
#define LAST_WORDS_MAX 4 /* reads from a refused peer */
#define ACCEPT_PAUSE_NS (100 * TRIB_MILLISECOND_NS)
#define WARN_GAP_NS (10 * TRIB_SECOND_NS) /* between log lines on the same lack of descriptors */
#define GOODBYE_NS (250 * TRIB_MILLISECOND_NS)

/* Sends AWAY, or an equivalent for a peer with a key, which would not trust a message in clear. The first byte of the
 * peer, if already here, shows a key. Else the peer has a key if only jobs with a key may come here. */
static void say_away(const struct trib_connections *connections, int fd, const struct trib_message *message)
{
    const struct trib_keyring *keys = connections->jobs->config->keys;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    uint8_t first = 0;
    bool has_spoken = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
    bool is_clear = !connections->side || (has_spoken && first != TRIB_TLS_FIRST_BYTE);
    if (is_clear) {
        (void)send(fd, bytes, trib_message_encode(message, bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (has_spoken || (keys && keys->is_for_jobs)) {
        (void)send(fd, TRIB_TLS_NO_ROOM, TRIB_TLS_NO_ROOM_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* A peer without room gets AWAY, and comes again; without a message the peer would report that no switch is there. All
 * received bytes are read first, since unread bytes make the close a reset. */
static void turn_away(struct trib_connections *connections, int fd, const struct trib_address *peer, bool is_share)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY};
    struct trib_address here = {.len = sizeof here.storage};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    if (getsockname(fd, (struct sockaddr *)(void *)&here.storage, &here.len) != 0) {
        here.len = 0;
    }
    trib_connections_explain_room(connections, &here, is_share, message.note.text);
    say_away(connections, fd, &message);
    for (int i = 0; i < LAST_WORDS_MAX && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++) {
    }
    *(is_share ? &connections->stats.rejected_address : &connections->stats.rejected_full) += 1;
    trib_connection_log_reject(connections, peer, is_share ? "too many from one address" : "too many connections");
    (void)close(fd);
}

static void add(struct trib_connections *connections, int fd, const struct trib_address *peer)
{
    bool is_share = false;
    struct trib_connection *connection =
        trib_connections_lack_room(connections, peer, &is_share) ? NULL : trib_connection_add(connections, fd, peer);
    if (!connection) {
        turn_away(connections, fd, peer, is_share);
        return;
    }
    trib_session_bound_silence(fd, TRIB_SILENCE_NS);
    connection->session.local.len = sizeof connection->session.local.storage;
    if (getsockname(fd, (struct sockaddr *)(void *)&connection->session.local.storage,
                    &connection->session.local.len) != 0) {
        connection->session.local.len = 0;
    }
    /* A rank accepts packets only from the address to which the rank sends, and routes may use another local
     * address. */
    if (trib_address_is_any(&connections->jobs->config->listen)) {
        trib_address_set_source(&connection->session.peer, &connection->session.local);
    }
}

static void pause_accepting(struct trib_connections *connections, int cause)
{
    connections->accept_ns = connections->now_ns + ACCEPT_PAUSE_NS;
    if (connections->warned_ns == 0 || connections->now_ns - connections->warned_ns >= WARN_GAP_NS) {
        trib_log(TRIB_LOG_WARN, "cannot accept a session now: %s", trib_explain_errno(cause));
        connections->warned_ns = connections->now_ns;
    }
}

static void accept_some(struct trib_connections *connections, int listen_fd)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct trib_address peer = {.len = sizeof peer.storage};
        int fd = accept4(listen_fd, (struct sockaddr *)(void *)&peer.storage, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            add(connections, fd, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(connections, errno);
        }
        if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

bool trib_connections_is_paused(const struct trib_connections *connections, uint64_t now_ns)
{
    return now_ns < connections->accept_ns;
}

uint32_t trib_connections_poll(const struct trib_connections *connections, struct pollfd *fds, uint64_t now_ns)
{
    bool is_paused = trib_connections_is_paused(connections, now_ns);
    for (uint32_t i = 0; i < connections->listen_count; i++) {
        fds[i] = (struct pollfd){.fd = is_paused ? -1 : connections->listen_fd[i], .events = POLLIN};
    }
    fds[connections->listen_count] = (struct pollfd){.fd = connections->epoll_fd, .events = POLLIN};
    return connections->listen_count + 1;
}

/* Handles the active sessions. */
static void take_sessions(struct trib_connections *connections)
{
    const uint32_t ended = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    int moved = epoll_wait(connections->epoll_fd, connections->events, TRIB_CONNECTIONS_MAX, 0);
    /* Ended sessions come first: a rank that comes back at once must find the rank's place and the job's name free. */
    for (int i = 0; i < moved; i++) {
        if (connections->events[i].events & ended) {
            trib_connection_read_last(connections, connections->events[i].data.ptr);
        }
    }
    for (int i = 0; i < moved; i++) {
        struct trib_connection *connection = connections->events[i].data.ptr;
        if (connection->state != CONNECTION_BROKEN && (connections->events[i].events & EPOLLOUT)) {
            trib_connection_flush(connections, connection);
        }
        if (connection->state != CONNECTION_BROKEN && (connections->events[i].events & EPOLLIN)) {
            (void)trib_connection_take_bytes(connections, connection);
        }
    }
}

void trib_connections_ready(struct trib_connections *connections, const struct pollfd *fds, uint32_t count,
                            uint64_t now_ns)
{
    uint32_t listeners = count - 1;
    connections->now_ns = now_ns;
    if (fds[listeners].revents != 0) {
        take_sessions(connections);
    }
    for (uint32_t i = 0; i < listeners; i++) {
        if (fds[i].revents != 0) {
            accept_some(connections, connections->listen_fd[i]);
        }
    }
}

/* Number of connections that carry the channel. */
static uint32_t depth_of(const struct trib_connection *connection)
{
    uint32_t depth = 0;
    while (connection->over) {
        connection = connection->over;
        depth++;
    }
    return depth;
}

static void say_farewell(struct trib_connections *connections, struct trib_connection *connection,
                         enum trib_status status, const char *text)
{
    if (status != TRIB_OK && (connection->is_proved || connection->pass)) { /* channels may have waiting messages */
        trib_connections_end(connections, &connection->session);
    } else if (status != TRIB_OK && connection->line.side) {
        /* A rank with a key would take a message in clear for an answer. */
        trib_connection_break(connections, connection, text);
    } else if (status != TRIB_OK) {
        trib_connection_fail(connections, connection, status, text);
    } else if (connection->state == CONNECTION_OPEN) {
        trib_connection_break(connections, connection, "this control plane has ended");
    }
}

void trib_connections_deinit(struct trib_connections *connections, enum trib_status status, const char *text)
{
    uint64_t end_ns = trib_clock_ns() + GOODBYE_NS;
    while (connections->listen_count > 0) {
        (void)close(connections->listen_fd[--connections->listen_count]);
    }
    for (uint32_t depth = TRIB_HOPS_MAX + 2; depth-- > 0;) { /* channels first, then the carrying connections */
        for (uint32_t i = 0; i < connections->count; i++) {
            if (depth_of(connections->all[i]) == depth) {
                say_farewell(connections, connections->all[i], status, text);
            }
        }
    }
    trib_connections_sweep(connections, trib_clock_ns());
    struct pollfd fds[TRIB_CONNECTIONS_POLLED];
    for (uint64_t now_ns = trib_clock_ns(); connections->count > 0 && now_ns < end_ns; now_ns = trib_clock_ns()) {
        uint32_t count = trib_connections_poll(connections, fds, now_ns);
        (void)poll(fds, count, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_connections_ready(connections, fds, count, trib_clock_ns());
        trib_connections_sweep(connections, trib_clock_ns());
    }
    while (connections->count > 0) {
        trib_connections_remove_at(connections, connections->count - 1);
    }
    if (connections->epoll_fd >= 0) {
        (void)close(connections->epoll_fd);
        connections->epoll_fd = -1;
    }
}
