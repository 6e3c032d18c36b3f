/* SPDX-License-Identifier: Apache-2.0 */
/* connections.h: the TCP side of sessions: accept (rounds.c), framing, and limits against a hostile or broken peer.
 * Nothing here blocks or reads the fields of messages: whole messages go to trib_jobs_receive.
 *
 * Use: trib_connections_init; then poll(2) on the descriptors of trib_connections_poll, trib_connections_ready with the
 * answers, trib_connections_on_timeout at trib_connections_next_timeout, each followed by trib_connections_sweep. A
 * silent session costs nothing in any call: epoll names the active sessions, and deadlines are checked when the
 * earliest may be over. One thread at a time per object. Read next: server.c (the loop). */
#ifndef TRIB_CONTROL_CONNECTIONS_H
#define TRIB_CONTROL_CONNECTIONS_H

#include <poll.h>
#include <sys/epoll.h>

#include "control/jobs/jobs.h"

#define TRIB_CONNECTIONS_MAX 16384
/* Polled descriptors: listeners, and one for all sessions. */
#define TRIB_CONNECTIONS_POLLED (TRIB_ROOTS_MAX + 1)
#define TRIB_JOIN_WAIT_NS (UINT64_C(10) * 1000000000) /* longest silence of a connection before JOIN */
#define TRIB_HALF_WAIT_NS (UINT64_C(10) * 1000000000) /* longest silence between the parts of one message */
#define TRIB_DRAIN_WAIT_NS (UINT64_C(1) * 1000000000) /* time to read the last messages */

/* Why the server, not the peer, ended a connection. */
#define TRIB_REJECT_MAP(X)                      \
    X(full, "too many connections")             \
    X(address, "too many from one address")     \
    X(silent, "no JOIN within 10 s")            \
    X(slow, "half a message for 10 s")          \
    X(malformed, "bytes that are no message")   \
    X(version, "another version")               \
    X(turn, "a message out of turn")            \
    X(way, "no way for its data")               \
    X(unread, "answers pile up unread")         \
    X(flood, "more than 200 messages a second") \
    X(key, "no key, or a wrong one")

struct trib_connections_stats {
    uint64_t accepted;
#define X(name, text) uint64_t rejected_##name;
    TRIB_REJECT_MAP(X)
#undef X
};

struct trib_connection;
struct trib_channel_verbs; /* connection.h */
struct trib_pass_verbs;

struct trib_connections {
    uint32_t listen_count;
    int listen_fd[TRIB_ROOTS_MAX];
    int epoll_fd; /* set of all sessions' descriptors; -1: closed */
    uint32_t count;
    uint32_t limit;  /* of count */
    uint32_t broken; /* of count: to be freed */
    struct trib_jobs *jobs;
    const struct trib_channel_verbs *channels;
    struct trib_tls_side *side;          /* NULL: no keys */
    const struct trib_pass_verbs *above; /* NULL: this switch has no parent */
    uint64_t now_ns;                     /* of the call under way */
    uint64_t due_ns;                     /* no session's time is up before */
    uint64_t accept_ns;                  /* no accept before: the process was out of descriptors */
    uint64_t warned_ns;                  /* time of the last log line on the lack of descriptors */
    uint64_t logged_ns;                  /* of the last line about a rejected peer */
    uint64_t unlogged;                   /* rejected since */
    uint64_t lines_ns;                   /* time up to which lines of INFO are paid for */
    uint64_t lines_left_out;             /* since the last one */
    struct trib_connections_stats stats;
    /* From here on, memory is touched only as far as there are sessions. */
    struct trib_connection *all[TRIB_CONNECTIONS_MAX];
    uint64_t near[TRIB_CONNECTIONS_MAX]; /* of the peer of each (trib_address_near) */
    struct epoll_event events[TRIB_CONNECTIONS_MAX];
};

/* Takes listen_fd over. ERR_SYSTEM with the cause in error: no descriptor is left; listen_fd is the caller's. */
TRIB_MUST_USE enum trib_status trib_connections_init(struct trib_connections *connections, int listen_fd,
                                                     struct trib_jobs *jobs, const struct trib_channel_verbs *channels,
                                                     char *error);
/* Adds a listener at another address, before the first poll. Takes ownership of listen_fd. */
void trib_connections_listen(struct trib_connections *connections, int listen_fd);
/* In the child of a fork: gives up all descriptors. */
void trib_connections_abandon(const struct trib_connections *connections);
/* Sends the cause to all remaining sessions, waits a moment, and closes everything. A second call does nothing. */
void trib_connections_deinit(struct trib_connections *connections, enum trib_status status, const char *text);

/* True while the process is out of descriptors and nothing is accepted. Other listeners of the process should not be
 * polled either. */
bool trib_connections_is_paused(const struct trib_connections *connections, uint64_t now_ns);
/* Writes the descriptors to poll; fds has room for TRIB_CONNECTIONS_POLLED. Returns how many; the order holds until
 * _ready. */
uint32_t trib_connections_poll(const struct trib_connections *connections, struct pollfd *fds, uint64_t now_ns);
void trib_connections_ready(struct trib_connections *connections, const struct pollfd *fds, uint32_t count,
                            uint64_t now_ns);
/* Never later than the earliest deadline of a session. It may be earlier, once. */
uint64_t trib_connections_next_timeout(const struct trib_connections *connections);
void trib_connections_on_timeout(struct trib_connections *connections, uint64_t now_ns);
/* Frees ended connections, and tells the jobs. */
void trib_connections_sweep(struct trib_connections *connections, uint64_t now_ns);

/* The session of a connection. index: below `count`. */
const struct trib_session *trib_connections_at(const struct trib_connections *connections, uint32_t index);

/* struct trib_jobs_output. */
void trib_connections_send(void *connections, struct trib_session *session, const struct trib_message *message);
void trib_connections_end(void *connections, struct trib_session *session);
void trib_connections_ping(void *connections, struct trib_session *session);
/* Omits and counts lines of INFO beyond a limit, so that a peer with many connections does not fill the log. */
void trib_connections_say(void *connections, enum trib_log_level level, const char *line);

#endif
