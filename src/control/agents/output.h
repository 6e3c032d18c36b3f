/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: requests of jobs and agents, which have no sockets, no clock and no log, to the driver: server.c, or a
 * test. Each function may be called at any time, and none calls back. */
#ifndef TRIB_CONTROL_OUTPUT_H
#define TRIB_CONTROL_OUTPUT_H

#include "control/words/words.h"
#include "io/log.h"

struct trib_session;

struct trib_jobs_output {
    void *owner;
    void (*send)(void *owner, struct trib_session *session, const struct trib_message *message);
    /* No more messages: end the connection when all sent messages have left. */
    void (*end)(void *owner, struct trib_session *session);
    /* Ask whether the other end still reads (ping.h); if not, the session is gone. */
    void (*ping)(void *owner, struct trib_session *session);
    /* An unpredictable 64-bit number, for ids and secrets. */
    uint64_t (*draw)(void *owner);
    /* Writes a line for the operator. NULL: there is no log. */
    void (*say)(void *owner, enum trib_log_level level, const char *line);
};

/* A line for the operator, cut at 1000 bytes. */
void trib_output_say(const struct trib_jobs_output *output, enum trib_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
