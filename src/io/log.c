/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: see log.h. A line is built on the stack and leaves in one write, so no lock is needed. A pipe or a terminal
 * without a reader would hold up the writer, and so all jobs of a switch. So a line is written only where there is
 * room. */
#define _GNU_SOURCE
#include "io/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "io/explain.h"

#define LINE_MAX_LEN 1000
#define LEVEL_UNKNOWN (-1)

static atomic_int level_default = TRIB_LOG_WARN;
static atomic_int level_environment = LEVEL_UNKNOWN;
static atomic_uint lost; /* lines without room since the last report */

static const char *level_name(enum trib_log_level level)
{
    switch (level) {
    case TRIB_LOG_NONE:
        return "none";
    case TRIB_LOG_WARN:
        return "warn";
    case TRIB_LOG_INFO:
        return "info";
    case TRIB_LOG_TRACE:
        return "trace";
    }
    return "unknown";
}

/* NONE if text is no level. */
static int level_of(const char *text)
{
    for (int level = TRIB_LOG_WARN; level <= TRIB_LOG_TRACE; level++) {
        if (strcasecmp(text, level_name((enum trib_log_level)level)) == 0) {
            return level;
        }
    }
    return TRIB_LOG_NONE;
}

/* Level in TRIB_DEBUG; NONE if unset, empty or unknown. The first caller logs an unknown value. */
static int read_environment(void)
{
    const char *text = getenv("TRIB_DEBUG");
    bool is_set = text != NULL && *text != '\0';
    int level = is_set ? level_of(text) : TRIB_LOG_NONE;

    if (atomic_exchange(&level_environment, level) == LEVEL_UNKNOWN && is_set && level == TRIB_LOG_NONE) {
        trib_log(TRIB_LOG_WARN, "TRIB_DEBUG: \"%.40s\" is none of WARN, INFO and TRACE, and changes nothing", text);
    }
    return level;
}

void trib_log_set_default(enum trib_log_level level)
{
    atomic_store(&level_default, (int)level);
}

bool trib_log_enabled(enum trib_log_level level)
{
    int limit = atomic_load_explicit(&level_environment, memory_order_relaxed);
    if (limit == LEVEL_UNKNOWN) {
        limit = read_environment();
    }
    if (limit == TRIB_LOG_NONE) {
        limit = atomic_load_explicit(&level_default, memory_order_relaxed);
    }
    return (int)level <= limit;
}

/* Writes time, process and level. Returns the length. */
static size_t begin_line(char line[LINE_MAX_LEN], enum trib_log_level level)
{
    struct timespec now;
    struct tm day;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &day);
    size_t len = strftime(line, LINE_MAX_LEN, "%Y-%m-%dT%H:%M:%S", &day);
    return len + (size_t)snprintf(line + len, LINE_MAX_LEN - len, ".%06ldZ tributary[%ld] %s ", now.tv_nsec / 1000,
                                  (long)getpid(), level_name(level));
}

/* False: there is no room, or no reader. A pipe that is ready has room for PIPE_BUF bytes; files are always ready. */
static bool write_line(const char *line, size_t len)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&error, 1, 0) == 1 && error.revents == POLLOUT && write(STDERR_FILENO, line, len) == (ssize_t)len;
}

static bool say_lost(unsigned count)
{
    char line[LINE_MAX_LEN];
    size_t len = begin_line(line, TRIB_LOG_WARN);
    len += (size_t)snprintf(line + len, sizeof line - len,
                            "%u lines of this log are lost: nobody read standard error, or its disk was full\n", count);
    return write_line(line, len);
}

void trib_log(enum trib_log_level level, const char *format, ...)
{
    if (!trib_log_enabled(level)) {
        return;
    }
    int saved = errno;
    char line[LINE_MAX_LEN + 2];
    size_t len = begin_line(line, level);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + len, LINE_MAX_LEN + 1 - len, format, arguments);
    va_end(arguments);
    trib_make_printable(line + len, LINE_MAX_LEN + 1 - len); /* names in the line may come from another host */
    len = strlen(line);
    line[len] = '\n';
    unsigned count = atomic_exchange(&lost, 0);
    if (count != 0 && !say_lost(count)) {
        atomic_fetch_add(&lost, count + 1);
    } else if (!write_line(line, len + 1)) {
        atomic_fetch_add(&lost, 1);
    }
    errno = saved;
}
