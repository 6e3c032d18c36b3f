/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: lines for people, on standard error: timestamped, lower case, one write(2) per line, so threads and processes
 * do not mix theirs. TRIB_DEBUG=WARN, INFO or TRACE says how much; without it WARN, or what the program chose as its
 * default. Core and schemes never log: they count (core/counters.h). */
#ifndef TRIB_IO_LOG_H
#define TRIB_IO_LOG_H

#include <stdbool.h>

enum trib_log_level {
    TRIB_LOG_NONE = 0,
    TRIB_LOG_WARN = 1, /* somebody should do something */
    TRIB_LOG_INFO = 2, /* what a job or a daemon did */
    TRIB_LOG_TRACE = 3 /* every message and decision */
};

/* The level while TRIB_DEBUG is not set (WARN unless called). Any thread; call it before the first line. */
void trib_log_set_default(enum trib_log_level level);
/* True if lines of this level are written: for work that only a line needs. */
bool trib_log_enabled(enum trib_log_level level);
/* Writes one line (no newline in format), cut at 1000 bytes. Keeps errno. Any thread. */
void trib_log(enum trib_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
