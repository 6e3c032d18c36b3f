/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: how far a command is, on standard error: on a terminal one line that is written anew four times a second,
 * elsewhere a line every ten seconds. A command of less than a second shows nothing.
 * Read next: progress.c. */
#ifndef TRIB_CLI_PROGRESS_H
#define TRIB_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_TEXT_MAX 256U

struct progress {
    uint64_t begin_ns;
    uint64_t next_ns;
    bool is_quiet;
    bool is_terminal;
    bool is_shown;
};

struct progress progress_begin(bool is_quiet);
/* True if it is time for a new line: then show it. */
bool progress_is_due(struct progress *p);
/* At most 79 columns, or a narrow terminal keeps each line. */
void progress_show(const struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Clears the line on a terminal. */
void progress_end(const struct progress *p);

#endif
