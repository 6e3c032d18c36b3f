/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: writes the cause of a failure where the caller wants it. Read next: socket.c (a user). */
#ifndef TRIB_IO_EXPLAIN_H
#define TRIB_IO_EXPLAIN_H

/* error: TRIB_ERROR_TEXT_MAX bytes, or NULL: nothing is written. Longer texts are cut. */
__attribute__((format(printf, 2, 3))) void trib_explain(char *error, const char *format, ...);

#endif
