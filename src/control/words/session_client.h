/* SPDX-License-Identifier: Apache-2.0 */
/* session_client.h: the lower end of a connection to a control plane: non-blocking TCP with framing, for a rank or a
 * control plane. The dialogue is elsewhere (comm/join.c, server/uplinks.c). Nothing here waits: the owner polls fd for
 * `interest` and calls ready. One thread at a time per object. Read next: comm/join.c. */
#ifndef TRIB_CONTROL_SESSION_CLIENT_H
#define TRIB_CONTROL_SESSION_CLIENT_H

#include "control/words/outbox.h"
#include "net/address.h"

/* session_client.c has the allowed transitions. */
enum trib_session_state {
    TRIB_SESSION_CLOSED = 0,
    TRIB_SESSION_CONNECTING,
    TRIB_SESSION_OPEN,
    TRIB_SESSION_ENDING, /* sent messages are on their way; then LOST */
    TRIB_SESSION_LOST,   /* refused, reset, ended by the other side: see cause */
    TRIB_SESSION_FOREIGN /* no switch answers there: another attempt is no use */
};

struct trib_session_client {
    int fd; /* -1: none */
    struct trib_line line;
    struct trib_tls_side *side; /* set after init by a caller with a key; borrowed. NULL: no key */
    int epoll_fd;               /* set by a caller with an epoll set; fd is removed before the close. -1: none */
    enum trib_session_state state;
    size_t in_len;
    uint8_t in[2 * TRIB_MESSAGE_MAX];
    struct trib_outbox out; /* init sets its max to 8 messages */
    /* Why the latest connection failed or ended: "connection refused". Kept while the next one is being opened. "": no
     * connection has ended since init or close. */
    char cause[128];
};

void trib_session_client_init(struct trib_session_client *client);
/* Starts connecting; the outcome comes by ready(). local: from this address, port 0; NULL: the kernel chooses.
 * silence_ns: how long the peer's kernel may be silent before the connection counts as lost. */
void trib_session_client_open(struct trib_session_client *client, const struct trib_address *peer,
                              const struct trib_address *local, uint64_t silence_ns);
/* Nothing more will be sent. The session is LOST when all sent bytes have left and the other side has closed. Bytes
 * that still come are discarded, since unread bytes would turn the close into a reset that overtakes the last
 * messages. */
void trib_session_client_end(struct trib_session_client *client);
/* Ends the connection now: the session is LOST, or FOREIGN, or CLOSED with the cause as it was, or without one. */
void trib_session_client_lose(struct trib_session_client *client, const char *cause);
void trib_session_client_refuse(struct trib_session_client *client, const char *cause);
void trib_session_client_hang_up(struct trib_session_client *client);
void trib_session_client_close(struct trib_session_client *client);
/* poll(2) events to wait for. */
short trib_session_client_interest(const struct trib_session_client *client);
/* Takes the events of poll: finishes connecting, reads, writes. */
void trib_session_client_ready(struct trib_session_client *client, short revents);
/* Sends as much as fits, and keeps the rest. LOST when the rest exceeds the max of `out`, or memory runs out. */
void trib_session_client_send(struct trib_session_client *client, const struct trib_message *message);
/* The next whole message; false: none now. Messages from before a loss are still handed out. */
bool trib_session_client_next(struct trib_session_client *client, struct trib_message *message);

#endif
