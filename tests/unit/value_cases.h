/* SPDX-License-Identifier: Apache-2.0 */
/* value_cases.h: what test_value.c and test_value_rows.c share: a loop over the tables that this CPU has, and buffers
 * filled with copies of one case, long enough for whole vectors and a tail. Include it after cmocka.h. */
#ifndef TRIB_TESTS_UNIT_VALUE_CASES_H
#define TRIB_TESTS_UNIT_VALUE_CASES_H

#include <stdint.h>
#include <string.h>

#include "core/value.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define REPEAT 101 /* copies of one case: whole vectors and a tail of every table */

static const char *const table_names[] = {"scalar", "avx2", "avx512"};

static inline const struct trib_value_kernels *table(size_t index)
{
    return trib_value_kernels_named(table_names[index]);
}

#define FOR_EACH_TABLE(k)                                          \
    for (size_t table_ = 0; table_ < COUNT(table_names); table_++) \
        for (const struct trib_value_kernels *k = table(table_); k != NULL; k = NULL)

static inline float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline void fill_u32(void *dst, uint32_t bits)
{
    for (size_t i = 0; i < REPEAT; i++) {
        memcpy((unsigned char *)dst + 4 * i, &bits, 4);
    }
}

static inline void fill_u16(uint16_t *dst, uint16_t bits)
{
    for (size_t i = 0; i < REPEAT; i++) {
        dst[i] = bits;
    }
}

/* All REPEAT elements have these bits. */
static inline void assert_all_u32(const void *src, uint32_t bits, const char *what, size_t index)
{
    for (size_t i = 0; i < REPEAT; i++) {
        uint32_t found;
        memcpy(&found, (const unsigned char *)src + 4 * i, 4);
        if (found != bits) {
            fail_msg("%s, case %zu, element %zu: %08x, should be %08x", what, index, i, (unsigned)found,
                     (unsigned)bits);
        }
    }
}

static inline void assert_all_u16(const uint16_t *src, uint16_t bits, const char *what, size_t index)
{
    for (size_t i = 0; i < REPEAT; i++) {
        if (src[i] != bits) {
            fail_msg("%s, case %zu, element %zu: %04x, should be %04x", what, index, i, src[i], bits);
        }
    }
}

#endif
