/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: random numbers of the kernel, the only source for ids and secrets. Not for tests and simulations, which draw
 * from a seed to be repeatable. */
#ifndef TRIB_IO_DRAW_H
#define TRIB_IO_DRAW_H

#include <stdint.h>

/* Any 64-bit number, 0 as well. */
uint64_t trib_draw(void);

/* Any 32-bit number but 0, which is no id. */
static inline uint32_t trib_draw_id(void)
{
    uint32_t id;
    do {
        id = (uint32_t)trib_draw();
    } while (id == 0);
    return id;
}

#endif
