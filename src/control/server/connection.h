/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h: one session as connections.c and channels.c share it: a TCP connection, or a channel on that of a switch
 * below. Not for others: they have connections.h. */
#ifndef TRIB_CONTROL_CONNECTION_H
#define TRIB_CONTROL_CONNECTION_H

#include "control/server/connections.h"
#include "control/words/outbox.h"
#include "control/words/ping.h"

enum trib_connection_state {
    CONNECTION_NONE = 0,
    CONNECTION_OPEN,
    CONNECTION_ENDING,
    CONNECTION_DRAINING,
    CONNECTION_BROKEN
};

struct trib_below; /* channels.c */

struct trib_connection {
    struct trib_session session; /* first: a session is found in its connection by a cast */
    int fd;                      /* -1: a channel */
    enum trib_connection_state state;
    struct trib_below *below;     /* set: a switch below is at its other end, and the sessions of its ranks are on it */
    bool is_proved;               /* that switch has said the number of CHALLENGE again */
    uint64_t asked_ns;            /* until then it waits for the answer of another; TRIB_NEVER: it does not */
    struct trib_connection *over; /* set: it is a channel of that connection */
    uint32_t number;              /* of the channel */
    bool is_queued;               /* it has something to say on `over`, or its end */
    bool end_is_known;            /* of the channel, by the other side */
    struct trib_connection *next_queued;
    struct trib_ping ping;
    uint64_t since_ns; /* accepted, or ending */
    uint64_t half_ns;  /* since when a part of a message lies in `in`; 0: none */
    uint64_t paid_ns;  /* each message that it says costs MESSAGE_GAP_NS, and saved time pays for MESSAGES_AT_ONCE */
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

/* channels.c, for connections.c, which knows this table alone. */
struct trib_channel_verbs {
    /* A message of a switch below; or HELLO, of one that has said nothing. False: out of turn. */
    bool (*receive)(struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message);
    /* It may write so much without payment of its own: see trib_connection_pay. False: it says too much. */
    bool (*may_say)(const struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message);
    /* The channel has something to say, or has ended. */
    void (*queue)(struct trib_connections *connections, struct trib_connection *channel);
    /* Moves bytes that wait onto the connection, as far as that is empty enough. */
    void (*fill)(struct trib_connections *connections, struct trib_connection *connection);
    /* Does anything wait? */
    bool (*wait)(const struct trib_connection *connection);
    /* The connection has ended: so have all its channels, without a word. */
    void (*lose)(struct trib_connections *connections, struct trib_connection *connection, const char *cause);
    /* asked_ns has come. */
    void (*on_timeout)(struct trib_connections *connections, struct trib_connection *connection);
    /* The connection or channel is about to be freed. */
    void (*forget)(struct trib_connections *connections, struct trib_connection *connection);
};

/* connections.c, for channels.c. */

/* True if it is of a job, a controller, or a switch below that has proved itself. */
static inline bool trib_connection_is_joined(const struct trib_connection *connection)
{
    return trib_session_is_joined(&connection->session) || connection->is_proved;
}

/* A new one with this peer; fd -1: a channel. NULL: there is no memory for it. */
struct trib_connection *trib_connection_add(struct trib_connections *connections, int fd,
                                            const struct trib_address *peer);
/* No room for another one of this peer: says why, for it; is_share: it has its share of all. */
bool trib_connections_lack_room(struct trib_connections *connections, const struct trib_address *peer, bool *is_share);
void trib_connections_explain_room(const struct trib_connections *connections, const struct trib_address *local,
                                   bool is_share, char *text);
/* To be freed at the next sweep. */
void trib_connection_break(struct trib_connections *connections, struct trib_connection *connection, const char *cause);
/* The same, counted and logged: the peer is at fault. */
void trib_connection_reject(struct trib_connections *connections, struct trib_connection *connection, uint64_t *counter,
                            const char *why);
/* FAIL, and the end of the session. */
void trib_connection_fail(struct trib_connections *connections, struct trib_connection *connection,
                          enum trib_status status, const char *text);
/* Writes what the kernel takes now. */
void trib_connection_flush(struct trib_connections *connections, struct trib_connection *connection);
/* Reads what has come, as far as it has come already. */
void trib_connection_read_last(struct trib_connections *connections, struct trib_connection *connection);
/* Bytes that have come on a channel. */
void trib_connection_feed(struct trib_connections *connections, struct trib_connection *connection,
                          const uint8_t *bytes, size_t count);
/* Its time may be up earlier from now on. */
void trib_connection_watch(struct trib_connections *connections, const struct trib_connection *connection);
/* Costs that much time of what is saved, `most` at most. False: it has not so much. */
bool trib_connection_pay(const struct trib_connections *connections, struct trib_connection *connection,
                         uint64_t gap_ns, uint64_t most_ns);

#endif
