/* SPDX-License-Identifier: Apache-2.0 */
/* assert.c: what a failed TRIB_ASSERT does in a program: one line on stderr, then abort(). Read next: core/assert.h. */
#include "core/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expr);
    abort();
}
