/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: writes the cause of a failure to the caller's buffer. Read next: net/socket.c (a user). */
#ifndef TRIB_IO_EXPLAIN_H
#define TRIB_IO_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* error: TRIB_ERROR_TEXT_MAX bytes, or NULL: nothing is written. Longer texts are cut, control bytes are escaped. */
__attribute__((format(printf, 2, 3))) void trib_explain(char *error, const char *format, ...);
/* Escapes each byte that a terminal could read as a command, as in "\x1b": control characters, and bytes that are no
 * UTF-8. A text that then exceeds size bytes is cut. */
void trib_make_printable(char *text, size_t size);
/* True if trib_make_printable would not change the text. */
bool trib_is_printable(const char *text);
/* True for printable ASCII without quotes and backslashes: names end up in logs, labels and JSON. */
bool trib_is_plain(const char *text);

/* The system's text for an errno; for EMFILE and ENFILE with the limit to raise. Valid until the thread's next call. */
const char *trib_explain_errno(int cause);

/* Text to follow two descriptions of different operations: says so if the first TRIB_ALIKE_SHOWN characters are equal;
 * else "". */
#define TRIB_ALIKE_SHOWN 160
const char *trib_explain_alike(const char *one, const char *other);

/* Explains that a rank of another run has arrived after rank `first`. A run without a name is "". */
void trib_explain_runs(char *error, const char *job, const char *first_run, uint32_t first, const char *run,
                       uint32_t rank);

#endif
