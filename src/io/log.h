/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: lines for people, on standard error: timestamped, lower case, one write(2) per line, so lines of threads and
 * processes do not mix. A call never waits for a reader: lines without room are lost, and the next line counts them.
 * TRIB_DEBUG=WARN, INFO or TRACE sets the level; without it WARN, or the program's default. Core and schemes never log:
 * they count (core/counters.h). */
#ifndef TRIB_IO_LOG_H
#define TRIB_IO_LOG_H

#include <stdbool.h>

enum trib_log_level {
    TRIB_LOG_NONE = 0,
    TRIB_LOG_WARN = 1, /* needs action by the operator */
    TRIB_LOG_INFO = 2, /* actions of a job or a daemon */
    TRIB_LOG_TRACE = 3 /* every message and decision */
};

/* Sets the level used without TRIB_DEBUG (WARN unless called). Any thread; call before the first line. */
void trib_log_set_default(enum trib_log_level level);
/* True if lines of this level are written. For work that only a log line needs. */
bool trib_log_enabled(enum trib_log_level level);
/* Writes one line (no newline in format), cut at 1000 bytes. Keeps errno. Any thread. */
void trib_log(enum trib_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
