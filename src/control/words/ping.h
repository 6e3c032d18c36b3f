/* SPDX-License-Identifier: Apache-2.0 */
/* ping.h: whether the process at the other end of a session still reads. The kernel of a stopped process still takes
 * bytes, so the connection does not end. The next process on the session's way answers PING by PONG.
 *
 * Silence is counted in questions, not in time. A question counts if the other kernel has all bytes and nothing has
 * come since the question before. So neither a pause of the asking process nor a cut link (silence.h) makes the other
 * end look stopped. Read next: comm/silent.c (a rank asks), server/uplinks.c, server/connections.c. */
#ifndef TRIB_CONTROL_PING_H
#define TRIB_CONTROL_PING_H

#include "control/words/words.h"

#define TRIB_PING_GAP_NS (UINT64_C(1) * 1000000000)
/* Unanswered questions after which a control plane gives up another control plane. */
#define TRIB_PING_LIMIT 10

/* The cause, for texts. */
#define TRIB_PING_SILENT "its process does not answer (is it stopped?)"

struct trib_ping {
    uint64_t gap_ns;   /* between questions */
    uint64_t next_ns;  /* when to ask; TRIB_NEVER: nothing is being asked */
    uint64_t since_ns; /* when the first of the questions without an answer was asked */
    uint64_t number;   /* of the next question */
    uint32_t silent;   /* unanswered questions that the other kernel has taken */
    bool is_open;      /* a question has no answer yet */
};

void trib_ping_init(struct trib_ping *ping, uint64_t gap_ns);
/* A message has come. next_ns: when to ask again; TRIB_NEVER: not before trib_ping_begin. */
void trib_ping_heard(struct trib_ping *ping, uint64_t next_ns);
/* Asks from now on, until a message comes. */
void trib_ping_begin(struct trib_ping *ping, uint64_t now_ns);
/* Writes the next question, which is due, to *message. fd: the connection. */
void trib_ping_ask(struct trib_ping *ping, int fd, uint64_t now_ns, struct trib_message *message);
/* True if the unanswered questions last for limit_ns, and are three at least. */
bool trib_ping_is_silent(const struct trib_ping *ping, uint64_t limit_ns);

#endif
