/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.c: see refusal.h. */
#include "comm/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "comm/state.h"
#include "io/log.h"

static _Thread_local struct {
    uint64_t serial; /* of the communicator; 0: none was named */
    char text[TRIB_ERROR_TEXT_MAX];
} last;

static uint64_t serial_of(const struct trib_comm *comm)
{
    return comm != NULL ? comm->serial : 0;
}

void trib_note_refusal(uint64_t serial, const char *text)
{
    last.serial = serial;
    (void)snprintf(last.text, sizeof last.text, "%s", text);
}

enum trib_status trib_refuse(const struct trib_comm *comm, enum trib_status status, const char *format, ...)
{
    char text[TRIB_ERROR_TEXT_MAX];
    char whole[TRIB_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (comm != NULL) {
        (void)snprintf(whole, sizeof whole, "rank %u: %.480s", comm->config.rank, text);
    }
    trib_note_refusal(serial_of(comm), comm != NULL ? whole : text);
    trib_log(TRIB_LOG_WARN, "%s: %s", trib_status_text(status), last.text);
    return status;
}

const char *trib_refusal_of(const struct trib_comm *comm)
{
    return last.serial == serial_of(comm) ? last.text : "";
}
