/* SPDX-License-Identifier: Apache-2.0 */
/* ghash.c: powers of a key, and the kernel without special instructions. */
#include "core/ghash.h"

#define STRIDE 5U /* bits from one of a number's bits to the next */
#define WIDE unsigned __int128

/* ---- the kernel without special instructions ---- */

/* Each fifth bit of a 128-bit number, from bit 0, 1, 2, 3 and 4 on. */
#define WORDS(high, low) __extension__((WIDE)UINT64_C(high) << 64 | UINT64_C(low))
__extension__ static const WIDE spread[STRIDE] = {
    WORDS(0x2108421084210842, 0x1084210842108421), WORDS(0x4210842108421084, 0x2108421084210842),
    WORDS(0x8421084210842108, 0x4210842108421084), WORDS(0x0842108421084210, 0x8421084210842108),
    WORDS(0x1084210842108421, 0x0842108421084210)};

/* The product without carries. A factor is cut into five numbers with four zeros behind each bit. A product of two such
 * has at most 13 ones at one bit, which carry into the zeros only. */
__extension__ static WIDE multiply(uint64_t a, uint64_t b)
{
    WIDE sum[STRIDE] = {0};
    for (unsigned i = 0; i < STRIDE; i++) {
        for (unsigned k = 0; k < STRIDE; k++) {
            sum[(i + k) % STRIDE] ^= (WIDE)(a & (uint64_t)spread[i]) * (b & (uint64_t)spread[k]);
        }
    }
    WIDE product = 0;
    for (unsigned i = 0; i < STRIDE; i++) {
        product |= sum[i] & spread[i];
    }
    return product;
}

/* Adds `low` times the field's polynomial, x^128 + x^127 + x^126 + x^121 + 1, which makes the word `low` zero: what it
 * adds to the words above. */
static void reduce_word(uint64_t low, uint64_t *next, uint64_t *above)
{
    *next ^= low << 63 ^ low << 62 ^ low << 57;
    *above ^= low ^ low >> 1 ^ low >> 2 ^ low >> 7;
}

/* a * b / x^128 in the field. */
__extension__ static struct trib_ghash_element times(struct trib_ghash_element a, struct trib_ghash_element b)
{
    WIDE low = multiply(a.low, b.low);
    WIDE high = multiply(a.high, b.high);
    WIDE middle = multiply(a.low ^ a.high, b.low ^ b.high) ^ low ^ high;
    uint64_t word[4] = {(uint64_t)low, (uint64_t)(low >> 64) ^ (uint64_t)middle,
                        (uint64_t)high ^ (uint64_t)(middle >> 64), (uint64_t)(high >> 64)};
    reduce_word(word[0], &word[1], &word[2]);
    reduce_word(word[1], &word[2], &word[3]);
    return (struct trib_ghash_element){word[2], word[3]};
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) {
        word = word << 8 | bytes[i];
    }
    return word;
}

static struct trib_ghash_element element(const uint8_t bytes[TRIB_GHASH_BLOCK])
{
    return (struct trib_ghash_element){.low = word_at(bytes + 8), .high = word_at(bytes)};
}

static void add(const struct trib_ghash *hash, struct trib_ghash_element *sum, const uint8_t *data, size_t len)
{
    for (size_t at = 0; at < len; at += TRIB_GHASH_BLOCK) {
        uint8_t block[TRIB_GHASH_BLOCK] = {0};
        for (size_t i = 0; i < TRIB_GHASH_BLOCK && at + i < len; i++) {
            block[i] = data[at + i];
        }
        struct trib_ghash_element x = element(block);
        *sum =
            times((struct trib_ghash_element){sum->low ^ x.low, sum->high ^ x.high}, hash->power[trib_ghash_power(1)]);
    }
}

const struct trib_ghash_kernel trib_ghash_scalar = {.name = "scalar", .add = add};

/* ---- keys ---- */

void trib_ghash_create(struct trib_ghash *hash, const struct trib_ghash_kernel *kernel,
                       const uint8_t key[TRIB_GHASH_BLOCK])
{
    struct trib_ghash_element h = element(key);
    const uint64_t over = 0 - (h.high >> 63); /* all ones if the key times x is longer than the field's numbers */
    h = (struct trib_ghash_element){h.low << 1, h.high << 1 | h.low >> 63};
    h.low ^= over & 1;
    h.high ^= over & UINT64_C(0xc200000000000000);
    *hash = (struct trib_ghash){.kernel = kernel};
    struct trib_ghash_element power = h;
    for (size_t i = 1; i <= TRIB_GHASH_POWERS; i++) {
        hash->power[TRIB_GHASH_POWERS - i] = power;
        hash->words[TRIB_GHASH_POWERS - i].low = power.low ^ power.high;
        power = times(power, h);
    }
}

void trib_ghash_bytes(const struct trib_ghash_element *sum, uint8_t bytes[TRIB_GHASH_BLOCK])
{
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(sum->high >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(sum->low >> (56 - 8 * i));
    }
}
