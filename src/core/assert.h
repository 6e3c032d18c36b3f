/* SPDX-License-Identifier: Apache-2.0 */
/* assert.h: TRIB_ASSERT, for programmer errors only, kept in release builds: a sum made after a broken invariant is
 * worth less than none. Never for input from a network or a user: that is a counted drop or a status. The hook is
 * defined by the program that links core (src/io/assert.c for programs), so that core needs no stdio and no abort. */
#ifndef TRIB_CORE_ASSERT_H
#define TRIB_CORE_ASSERT_H

#include <stdbool.h>

/* Prints the failed condition and ends the program. */
_Noreturn void trib_assert_failed(const char *expr, const char *file, int line);

/* A function, so that where branches are counted the one that no test may take is counted here, once. */
static inline void trib_assert(bool holds, const char *expr, const char *file, int line)
{
    if (!holds) {
        trib_assert_failed(expr, file, line);
    }
}

#define TRIB_ASSERT(expr) trib_assert(expr, #expr, __FILE__, __LINE__)

#endif
