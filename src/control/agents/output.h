/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: what jobs and agents, which have no sockets, no clock and no log, ask of their driver: server.c, or a test.
 * All may be called at any time, and none calls back. */
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
    /* Any 64-bit number that nobody can foresee: ids and secrets. */
    uint64_t (*draw)(void *owner);
    /* A line for the operator; NULL: nobody reads them. */
    void (*say)(void *owner, enum trib_log_level level, const char *line);
};

/* A line for the operator, cut at 1000 bytes. */
void trib_output_say(const struct trib_jobs_output *output, enum trib_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
