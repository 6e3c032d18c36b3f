/* SPDX-License-Identifier: Apache-2.0 */
/* chacha20_lanes.h: a kernel of chacha20.h by the compiler's vectors: a lane for each block. Each file that includes it
 * has the kernel for the instruction set that it is compiled for. Read first: chacha20.c. */
#ifndef TRIB_CORE_CHACHA20_LANES_H
#define TRIB_CORE_CHACHA20_LANES_H

#include <string.h>

#include "core/chacha20.h"

/* A word of each block. */
struct trib_chacha20_lanes {
    uint32_t of __attribute__((vector_size(4 * TRIB_CHACHA20_LANES)));
};

static inline void rotate_lanes(struct trib_chacha20_lanes *x, uint32_t by)
{
    x->of = x->of << by | x->of >> (32 - by);
}

static inline void quarter_of_lanes(struct trib_chacha20_lanes *a, struct trib_chacha20_lanes *b,
                                    struct trib_chacha20_lanes *c, struct trib_chacha20_lanes *d)
{
    a->of += b->of;
    d->of ^= a->of;
    rotate_lanes(d, 16);
    c->of += d->of;
    b->of ^= c->of;
    rotate_lanes(b, 12);
    a->of += b->of;
    d->of ^= a->of;
    rotate_lanes(d, 8);
    c->of += d->of;
    b->of ^= c->of;
    rotate_lanes(b, 7);
}

static void make_lanes(struct trib_chacha20_blocks *made, const uint32_t start[TRIB_CHACHA20_WORDS])
{
    struct trib_chacha20_lanes first[TRIB_CHACHA20_WORDS];
    struct trib_chacha20_lanes x[TRIB_CHACHA20_WORDS];

    for (uint32_t i = 0; i < TRIB_CHACHA20_WORDS; i++) {
        first[i].of = (struct trib_chacha20_lanes){0}.of + start[i];
    }
    for (uint32_t lane = 0; lane < TRIB_CHACHA20_LANES; lane++) {
        first[12].of[lane] += lane;
    }
    _Static_assert(sizeof x == sizeof made->word, "a lane for each block");
    memcpy(x, first, sizeof x);
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            quarter_of_lanes(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            quarter_of_lanes(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
        }
    }
    for (uint32_t i = 0; i < TRIB_CHACHA20_WORDS; i++) {
        x[i].of += first[i].of;
    }
    memcpy(made->word, x, sizeof made->word);
}

static const struct trib_chacha20_kernel chacha20_lanes = {.make = make_lanes};

#endif
