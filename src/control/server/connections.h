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

#include "control/server/connection.h"

/* Takes listen_fd over. ERR_SYSTEM with the cause in error: no descriptor is left; listen_fd is the caller's. */
TRIB_MUST_USE enum trib_status trib_connections_init(struct trib_connections *connections, int listen_fd,
                                                     struct trib_jobs *jobs, const struct trib_channel_verbs *channels,
                                                     char *error);
/* Adds a listener at another address, before the first poll. Takes ownership of listen_fd. */
void trib_connections_listen(struct trib_connections *connections, int listen_fd);
/* In the child of a fork: gives up all descriptors. */
void trib_connections_abandon(const struct trib_connections *connections);

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

/* A new connection to peer; fd -1: a channel. NULL: out of memory. */
struct trib_connection *trib_connection_add(struct trib_connections *connections, int fd,
                                            const struct trib_address *peer);
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
/* Pays gap_ns from the saved time, which is most_ns at most. False: too little is saved. */
bool trib_connection_pay(const struct trib_connections *connections, struct trib_connection *connection,
                         uint64_t gap_ns, uint64_t most_ns);

#endif
