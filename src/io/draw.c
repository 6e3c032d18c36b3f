/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c: random numbers of the kernel. */
#include "io/draw.h"

#include <errno.h>
#include <sys/random.h>

#include "core/assert.h"

uint64_t trib_draw(void)
{
    uint64_t value = 0;
    ssize_t got;
    do {
        got = getrandom(&value, sizeof value, 0);
    } while (got < 0 && errno == EINTR);
    TRIB_ASSERT(got == (ssize_t)sizeof value); /* 8 bytes are never cut, and a seeded pool never fails */
    return value;
}
