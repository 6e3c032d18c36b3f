/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h: one session, shared by connections.c and channels.c: a TCP connection, or a channel on the connection
 * of a switch below. Other files use connections.h. */
#ifndef TRIB_CONTROL_CONNECTION_H
#define TRIB_CONTROL_CONNECTION_H

#include <stddef.h>

#include "control/server/connections.h"
#include "control/server/mux.h"
#include "control/words/line.h"
#include "control/words/outbox.h"
#include "control/words/ping.h"

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

/* connections.c, for channels.c and rounds.c. */

/* True for the session of a job or a controller, the usable connection of a switch below, and a connection that is
 * passed on. */
static inline bool trib_connection_is_joined(const struct trib_connection *connection)
{
    return trib_session_is_joined(&connection->session) || connection->is_proved || connection->pass;
}

/* A new connection to peer; fd -1: a channel. NULL: out of memory. */
struct trib_connection *trib_connection_add(struct trib_connections *connections, int fd,
                                            const struct trib_address *peer);
/* accept.c: number of sessions within the limit of open files. may_raise: raises the limit first, as far as allowed. */
uint32_t trib_connections_limit(bool may_raise);
/* True if there is no room for another session of the peer. *is_share: the peer has used up its share. */
bool trib_connections_lack_room(struct trib_connections *connections, const struct trib_address *peer, bool *is_share);
void trib_connections_explain_room(const struct trib_connections *connections, const struct trib_address *local,
                                   bool is_share, char *text);
/* Sends a message to the peer of the connection, before all waiting bytes of channels. */
void trib_connection_say(struct trib_connections *connections, struct trib_connection *connection,
                         const struct trib_message *message);
/* Bytes for the peer, unread. */
void trib_connection_write(struct trib_connections *connections, struct trib_connection *connection,
                           const uint8_t *bytes, size_t count);
/* To be freed at the next sweep. */
void trib_connection_break(struct trib_connections *connections, struct trib_connection *connection, const char *cause);
/* As trib_connection_break, counted and logged: the peer is at fault. */
void trib_connection_reject(struct trib_connections *connections, struct trib_connection *connection, uint64_t *counter,
                            const char *why);
/* Writes the log's line about a rejected peer; at most one in a second. */
void trib_connection_log_reject(struct trib_connections *connections, const struct trib_address *peer, const char *why);
/* Reads once, and passes on whole messages. False: no bytes have come. */
bool trib_connection_take_bytes(struct trib_connections *connections, struct trib_connection *connection);
/* Frees the ended connection at index `at`. */
void trib_connections_remove_at(struct trib_connections *connections, uint32_t at);
/* FAIL, and the end of the session. */
void trib_connection_fail(struct trib_connections *connections, struct trib_connection *connection,
                          enum trib_status status, const char *text);
/* Writes as much as the kernel takes now. */
void trib_connection_flush(struct trib_connections *connections, struct trib_connection *connection);
/* Reads the bytes already received by the kernel. */
void trib_connection_read_last(struct trib_connections *connections, struct trib_connection *connection);
/* Takes received bytes of a channel. */
void trib_connection_feed(struct trib_connections *connections, struct trib_connection *connection,
                          const uint8_t *bytes, size_t count);
/* The timeout of the connection may be earlier from now on. */
void trib_connection_watch(struct trib_connections *connections, const struct trib_connection *connection);
/* keyed.c: true if the first message needs a key and the session has none; cause: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_connection_lacks_key(const struct trib_connections *connections, const struct trib_connection *connection,
                               const struct trib_message *message, char *cause);
/* Pays gap_ns from the saved time, which is most_ns at most. False: too little is saved. */
bool trib_connection_pay(const struct trib_connections *connections, struct trib_connection *connection,
                         uint64_t gap_ns, uint64_t most_ns);

#endif
