/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: the one source of random numbers for ids and secrets: the kernel's. Not for tests and simulations, which
 * repeat what they draw from a seed. */
#ifndef TRIB_IO_DRAW_H
#define TRIB_IO_DRAW_H

#include <stdint.h>

/* Any 64-bit number, 0 as well. */
uint64_t trib_draw(void);

/* Any 32-bit number but 0, which is nobody's id. */
static inline uint32_t trib_draw_id(void)
{
    uint32_t id;
    do {
        id = (uint32_t)trib_draw();
    } while (id == 0);
    return id;
}

#endif
