/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h: the data of sessions: one is a TCP connection, or a channel on the connection of a switch below. Read
 * next: connections.h (the functions). */
#ifndef TRIB_CONTROL_CONNECTION_H
#define TRIB_CONTROL_CONNECTION_H

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "control/jobs/state.h"
#include "control/server/mux.h"
#include "control/words/line.h"
#include "control/words/outbox.h"
#include "control/words/ping.h"

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

#define TRIB_SILENCE_NS (UINT64_C(30) * 1000000000) /* of a host that died without a message */

enum trib_connection_state {
    CONNECTION_NONE = 0,
    CONNECTION_OPEN,
    CONNECTION_ENDING,
    CONNECTION_DRAINING,
    CONNECTION_BROKEN
};

/* Limit of bytes that wait for a switch: an agent is told of each rank of many communicators at once, for each root. */
#define TRIB_TELL_MAX ((size_t)8192 * TRIB_MESSAGE_MAX)
/* Bytes of channels on one connection at a time. Few, so messages of the connection itself need not wait for long. */
#define TRIB_FILLED_MAX ((size_t)8 * TRIB_MESSAGE_MAX)

struct trib_connections;
struct trib_below; /* channels.c */
struct trib_pass;  /* passes.c */

struct trib_connection {
    struct trib_session session; /* first: a cast leads from the session to the connection */
    int fd;                      /* -1: a channel */
    struct trib_line line;       /* not of a channel */
    enum trib_connection_state state;
    struct trib_below *below;     /* set: the peer is a switch below, and sends ranks' sessions as channels */
    bool is_proved;               /* PROOF of the switch below has repeated the nonce */
    struct trib_pass *pass;       /* set: bytes go to and come from the parent of this switch, unread */
    uint64_t asked_ns;            /* end of waiting for an older connection's answer; TRIB_NEVER: none */
    struct trib_connection *over; /* set: connection that carries the channel */
    struct trib_mux_channel channel;
    struct trib_mux carried; /* channels of the connection */
    struct trib_ping ping;
    uint64_t since_ns; /* accepted, or ending */
    uint64_t half_ns;  /* since when a part of a message lies in `in`; 0: none */
    uint64_t paid_ns;  /* each message costs MESSAGE_GAP_NS; saved time pays for MESSAGES_AT_ONCE */
    bool waits_to_write;
    size_t in_len;
    char cause[128]; /* for the other ranks, when BROKEN */
    struct trib_outbox out;
    uint8_t in[TRIB_MESSAGE_MAX];
};

static inline struct trib_connection *trib_connection_of(struct trib_session *session)
{
    return (struct trib_connection *)(void *)session;
}

static inline struct trib_connection *trib_connection_of_channel(struct trib_mux_channel *channel)
{
    return (struct trib_connection *)(void *)((char *)channel - offsetof(struct trib_connection, channel));
}

/* The connection to the parent of this switch, for connections.c, which knows only the table. */
struct trib_pass_verbs {
    void *owner;
    /* Takes the first message of a connection, JOIN or HELLO. NULL: the message was answered, or out of memory; the
     * connection must end. */
    struct trib_pass *(*begin)(void *owner, struct trib_connection *connection, const struct trib_message *message);
    /* Takes the next message of the connection, as bytes. False: a PING, answered by the pass. */
    bool (*take)(void *owner, struct trib_pass *pass, const uint8_t *bytes, size_t count);
    /* The connection has ended. */
    void (*end)(void *owner, struct trib_pass *pass);
};

/* channels.c, for connections.c, which knows only the table. */
struct trib_channel_verbs {
    /* A message of a switch below, or the HELLO of a new connection. False: out of turn. */
    bool (*receive)(struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message);
    /* BYTES and END are free, other messages are paid for (trib_connection_pay). False: the peer sends too many
     * messages. */
    bool (*may_say)(const struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message);
    /* The connection has ended, and all channels with it, without a message. */
    void (*lose)(struct trib_connections *connections, struct trib_connection *connection, const char *cause);
    /* asked_ns has come. */
    void (*on_timeout)(struct trib_connections *connections, struct trib_connection *connection);
    /* The connection or channel is about to be freed. */
    void (*forget)(struct trib_connections *connections, struct trib_connection *connection);
};

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

/* True for the session of a job or a controller, the usable connection of a switch below, and a connection that is
 * passed on. */
static inline bool trib_connection_is_joined(const struct trib_connection *connection)
{
    return trib_session_is_joined(&connection->session) || connection->is_proved || connection->pass;
}

#endif
