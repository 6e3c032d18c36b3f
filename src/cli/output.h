/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: results that standard output does not take end in an error. Read next: output.c. */
#ifndef TRIB_CLI_OUTPUT_H
#define TRIB_CLI_OUTPUT_H

#include <stdbool.h>

/* Opens descriptors 0 to 2 where the caller has closed them, so that no socket gets their numbers; writing to them
 * still fails. False: standard output was closed, or is not open for writing. Call it first. */
bool output_begin(void);
/* Flushes standard output. Returns status, or 1 with a word on standard error if it did not take all results. */
int output_end(int status);

#endif
