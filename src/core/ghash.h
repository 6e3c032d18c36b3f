/* SPDX-License-Identifier: Apache-2.0 */
/* ghash.h: GHASH, the universal hash of AES-GCM (NIST SP 800-38D, section 6.4). Hash and key are elements of GF(2^128);
 * blocks of 16 bytes are added, and after each the sum is multiplied by the key.
 *
 * Inside, bytes are reversed and products are Montgomery's, so a product needs no shift (RFC 8452, appendix A: the key
 * times x, and POLYVAL; Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and its Usage for Computing
 * the GCM Mode", 2014). A kernel multiplies up to TRIB_GHASH_POWERS blocks by powers of the key and reduces their sum
 * once. No kernel has a branch or a place in memory that depends on key or data.
 *
 * Plain data; any thread. Read next: ghash.c; keys/auth.h (the use). */
#ifndef TRIB_CORE_GHASH_H
#define TRIB_CORE_GHASH_H

#include <stddef.h>
#include <stdint.h>

#define TRIB_GHASH_BLOCK 16U  /* bytes */
#define TRIB_GHASH_POWERS 32U /* of the key */

/* An element, bytes reversed: the lower word first. */
struct trib_ghash_element {
    uint64_t low, high;
};

struct trib_ghash;

/* One file per instruction set (ghash_kernels.h). */
struct trib_ghash_kernel {
    const char *name;
    void (*add)(const struct trib_ghash *hash, struct trib_ghash_element *sum, const uint8_t *data, size_t len);
};

/* A key: its powers from TRIB_GHASH_POWERS down to 1, then zeros, since a kernel may load four at once. Secret. */
struct trib_ghash {
    const struct trib_ghash_kernel *kernel;
    struct trib_ghash_element power[TRIB_GHASH_POWERS + 3];
    struct trib_ghash_element words[TRIB_GHASH_POWERS + 3]; /* low: both words of the power added, for Karatsuba */
};

/* The kernel without special instructions (ghash.c). */
extern const struct trib_ghash_kernel trib_ghash_scalar;

/* choice.c: the fastest kernel of this CPU; the kernel "vpclmul", "clmul" or "scalar", NULL if the CPU lacks its
 * instructions, or for any other name. */
const struct trib_ghash_kernel *trib_ghash_kernel(void);
const struct trib_ghash_kernel *trib_ghash_kernel_named(const char *name);

void trib_ghash_create(struct trib_ghash *hash, const struct trib_ghash_kernel *kernel,
                       const uint8_t key[TRIB_GHASH_BLOCK]);

/* Adds len bytes to a sum that begins with zeros. A last block that is not whole counts as filled up with zeros. */
static inline void trib_ghash_add(const struct trib_ghash *hash, struct trib_ghash_element *sum, const void *data,
                                  size_t len)
{
    hash->kernel->add(hash, sum, data, len);
}

/* Index of a power: with `blocks` blocks in a row the first is multiplied by this power, the next by the one below, the
 * last by the key. */
static inline size_t trib_ghash_power(size_t blocks)
{
    return TRIB_GHASH_POWERS - blocks;
}

/* The hash as 16 bytes. */
void trib_ghash_bytes(const struct trib_ghash_element *sum, uint8_t bytes[TRIB_GHASH_BLOCK]);

#endif
