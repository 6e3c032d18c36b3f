/* SPDX-License-Identifier: Apache-2.0 */
/* chacha20.c: the ChaCha20 block function. */
#include "core/chacha20.h"

#include "core/wipe.h"

static uint32_t rotate(uint32_t x, uint32_t by)
{
    return x << by | x >> (32 - by);
}

static void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 12);
    *a += *b;
    *d = rotate(*d ^ *a, 8);
    *c += *d;
    *b = rotate(*b ^ *c, 7);
}

/* The state before the rounds. */
static void prepare(uint32_t start[TRIB_CHACHA20_WORDS], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4])
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (uint32_t i = 0; i < 4; i++) {
        start[i] = constants[i];
        start[12 + i] = input[i];
    }
    for (uint32_t i = 0; i < 8; i++) {
        const uint8_t *at = key + (size_t)4 * i;
        start[4 + i] = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    }
}

static void mix(uint32_t x[TRIB_CHACHA20_WORDS], const uint32_t start[TRIB_CHACHA20_WORDS])
{
    for (uint32_t i = 0; i < TRIB_CHACHA20_WORDS; i++) {
        x[i] = start[i];
    }
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            quarter(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            quarter(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
        }
    }
    for (uint32_t i = 0; i < TRIB_CHACHA20_WORDS; i++) {
        x[i] += start[i];
    }
}

void trib_chacha20(uint32_t block[TRIB_CHACHA20_WORDS], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4])
{
    uint32_t start[TRIB_CHACHA20_WORDS];

    prepare(start, key, input);
    mix(block, start);
}

void trib_chacha20_many(const struct trib_chacha20_kernel *kernel, struct trib_chacha20_blocks *made,
                        const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4])
{
    uint32_t start[TRIB_CHACHA20_WORDS];

    prepare(start, key, input);
    kernel->make(made, start);
}

/* Both keys leave no copy on the stack. */
void trib_chacha20_key(uint8_t made[TRIB_CHACHA20_KEY], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4])
{
    uint32_t start[TRIB_CHACHA20_WORDS];
    uint32_t block[TRIB_CHACHA20_WORDS];

    prepare(start, key, input);
    mix(block, start);
    for (uint32_t i = 0; i < TRIB_CHACHA20_KEY; i++) {
        made[i] = (uint8_t)(block[i / 4] >> 8 * (i % 4));
    }
    trib_wipe(start, sizeof start);
    trib_wipe(block, sizeof block);
}
