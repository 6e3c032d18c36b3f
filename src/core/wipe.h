/* SPDX-License-Identifier: Apache-2.0 */
/* wipe.h: overwrites secrets. */
#ifndef TRIB_CORE_WIPE_H
#define TRIB_CORE_WIPE_H

#include <stddef.h>
#include <stdint.h>

/* Overwrites `size` bytes with zeros; no compiler removes it. */
static inline void trib_wipe(void *secret, size_t size)
{
    for (volatile uint8_t *at = secret; size > 0; size--) {
        *at++ = 0;
    }
}

#endif
