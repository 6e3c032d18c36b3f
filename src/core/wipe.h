/* SPDX-License-Identifier: Apache-2.0 */
/* wipe.h: overwrites secrets. */
#ifndef TRIB_CORE_WIPE_H
#define TRIB_CORE_WIPE_H

#include <stddef.h>
#include <string.h>

/* Overwrites `size` bytes with zeros. For all the compiler knows, the bytes are read then, so it keeps the writes. */
static inline void trib_wipe(void *secret, size_t size)
{
    memset(secret, 0, size);
    __asm__ volatile("" : : "r"(secret) : "memory");
}

#endif
