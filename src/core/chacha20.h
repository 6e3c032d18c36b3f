/* SPDX-License-Identifier: Apache-2.0 */
/* chacha20.h: the ChaCha20 block function (RFC 8439, section 2.3) as a pseudorandom function of 16 bytes of input.
 *
 * No encryption is done with it. Core calls no library, and a node is copied as bytes, so the function is here; the
 * unit test compares it with the vector of the RFC, and the kernels, which make eight blocks at once, with it.
 * Read next: tag.h, keys/auth.h (its uses). */
#ifndef TRIB_CORE_CHACHA20_H
#define TRIB_CORE_CHACHA20_H

#include <stddef.h>
#include <stdint.h>

#define TRIB_CHACHA20_KEY 32   /* bytes */
#define TRIB_CHACHA20_WORDS 16 /* of 32 bits, of a block */
#define TRIB_CHACHA20_LANES 8  /* blocks that a kernel makes */

/* Word w of block b is word[w][b]. */
struct trib_chacha20_blocks {
    uint32_t word[TRIB_CHACHA20_WORDS][TRIB_CHACHA20_LANES];
};

/* Makes the blocks of consecutive counters. */
struct trib_chacha20_kernel {
    /* start: the RFC's state before the rounds, with the first counter. */
    void (*make)(struct trib_chacha20_blocks *made, const uint32_t start[TRIB_CHACHA20_WORDS]);
};

/* Writes the block of `key` for the four words of input: the RFC's counter, then its nonce. */
void trib_chacha20(uint32_t block[TRIB_CHACHA20_WORDS], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4]);
/* The blocks of input[0] + 0, 1, ... 7, modulo 2^32. kernel: of tag.h. */
void trib_chacha20_many(const struct trib_chacha20_kernel *kernel, struct trib_chacha20_blocks *made,
                        const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4]);
/* Makes another key: the first half of that block. made may be the same array as key. */
void trib_chacha20_key(uint8_t made[TRIB_CHACHA20_KEY], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4]);

#endif
