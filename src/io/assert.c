/* SPDX-License-Identifier: Apache-2.0 */
/* assert.c: a failed TRIB_ASSERT of a program writes one line to stderr and calls abort(). Read next: core/assert.h. */
#include "core/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expr);
    abort();
}
