/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_fold.h: the folding implementations of CRC32C and their constants. Internal to crc32c*.c and their test.
 *
 * Folding (Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", Intel, 2009): a 128-bit
 * register R is moved D bits forward over the message by replacing it with something congruent to R * x^D mod P, which
 * takes two carry-less multiplications of 64 x 64 bits, and is added (xor) to the 128 message bits there. At the end
 * the register is a message of 16 bytes with the same remainder, which the crc32 instruction divides.
 *
 * The constants. In a reflected CRC bit m of a 128-bit register stands for x^(127-m), bit i of a 64-bit factor for
 * x^(63-i). The product of two such factors has bit i+j where it means x^(126-i-j), but the register reads that bit as
 * x^(127-i-j): every product comes out multiplied by x. With K the polynomial of a constant: low half of R:  it means A
 * * x^64; wanted A * x^64 * x^D = x * A * K, so K = x^(D+63) mod P; high half of R: it means A;        wanted A * x^D
 * = x * A * K, so K = x^(D-1) mod P. K has degree < 32, so as a reflected 64-bit factor it lies in the upper 32 bits.
 * tests/unit/test_crc32c.c computes x^n mod P step by step and compares each of these numbers.
 *
 * The crc32 instruction multiplies a 64-bit message by x^32. So a raw crc is moved over the 64n bytes of a stream, L =
 * 512n bits, by a multiplication with x^(L-33) mod P; the instruction divides the 64-bit product (again times x). */
#ifndef TRIB_CORE_CRC32C_FOLD_H
#define TRIB_CORE_CRC32C_FOLD_H

#include <stddef.h>
#include <stdint.h>

/* distance D in bits, constant for the low half, constant for the high half */
#define TRIB_FOLD_MAP(X)                                                \
    X(128, UINT64_C(0x3743f7bd00000000), UINT64_C(0x3171d43000000000))  \
    X(256, UINT64_C(0x33ccbbbc00000000), UINT64_C(0xa2158b3400000000))  \
    X(384, UINT64_C(0xa46ef4aa00000000), UINT64_C(0x6051243f00000000))  \
    X(512, UINT64_C(0x1c19243b00000000), UINT64_C(0x75bba45b00000000))  \
    X(1024, UINT64_C(0x6577b24500000000), UINT64_C(0x7417153f00000000)) \
    X(1536, UINT64_C(0x7ccbbbf200000000), UINT64_C(0x31c9460800000000)) \
    X(2048, UINT64_C(0xe9a5d8be00000000), UINT64_C(0x1426a81500000000))

#define X(bits, low, high) static const uint64_t trib_fold_##bits[2] __attribute__((unused)) = {low, high};
TRIB_FOLD_MAP(X)
#undef X

/* At n - 1: x^(512n - 33) mod P, in 32 bits. A payload of 8,192 bytes is 32 steps. */
#define TRIB_SHIFT_STREAMS 3
#define TRIB_SHIFT_STEPS 32
extern const uint32_t trib_crc32c_shift[TRIB_SHIFT_STEPS];

/* Only where the CPU has pclmul and sse4.2, or on ARM pmull and crc32. */
uint32_t trib_crc32c_clmul(uint32_t crc, const void *data, size_t len);
/* Only where it also has vpclmulqdq, avx512f, avx512bw and avx512vl. */
uint32_t trib_crc32c_vpclmul(uint32_t crc, const void *data, size_t len);

#endif
