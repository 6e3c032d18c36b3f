/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: writes the cause of a failure where the caller wants it. Read next:
 * socket.c (a user). */
#ifndef TRIB_IO_EXPLAIN_H
#define TRIB_IO_EXPLAIN_H

#include <stdint.h>

/* error: TRIB_ERROR_TEXT_MAX bytes, or NULL: nothing is written. Longer texts are cut. */
__attribute__((format(printf, 2, 3))) void trib_explain(char *error, const char *format, ...);

/* A rank has come of another run than rank `first`, which was there before. A run without a name is "". */
void trib_explain_runs(char *error, const char *job, const char *first_run, uint32_t first, const char *run,
                       uint32_t rank);

#endif
