/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. */
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "io/clock.h"

struct progress progress_begin(bool is_quiet)
{
    uint64_t now_ns = trib_clock_ns();

    return (struct progress){.begin_ns = now_ns,
                             .next_ns = now_ns + TRIB_SECOND_NS,
                             .is_quiet = is_quiet,
                             .is_terminal = isatty(STDERR_FILENO) == 1};
}

bool progress_is_due(struct progress *p)
{
    uint64_t now_ns = trib_clock_ns();

    if (p->is_quiet || now_ns < p->next_ns) {
        return false;
    }
    p->next_ns = now_ns + (p->is_terminal ? TRIB_SECOND_NS / 4 : 10 * TRIB_SECOND_NS);
    p->is_shown = true;
    return true;
}

void progress_show(const struct progress *p, const char *format, ...)
{
    char text[PROGRESS_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, p->is_terminal ? "\r%s\033[K" : "%s\n", text); /* one write, beside those of other processes */
}

void progress_end(const struct progress *p)
{
    if (p->is_terminal && p->is_shown) {
        fprintf(stderr, "\r\033[K");
    }
}
