/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: struct trib_jobs_output.draw of tests: the same numbers in every run. One thread. */
#ifndef TRIB_TESTS_DRAW_H
#define TRIB_TESTS_DRAW_H

#include <stdint.h>

#include "core/prng.h"

static inline uint64_t test_draw(void *owner)
{
    static struct trib_prng prng = {20261123};
    (void)owner;
    return trib_prng_next(&prng);
}

#endif
