/* SPDX-License-Identifier: Apache-2.0 */
/* tag_scalar.c: the reference kernel: 84-bit products, added in 128 bits, reduced once for each row. */
#include <string.h>

#include "core/chacha20_lanes.h"
#include "core/tag_kernels.h"

uint64_t trib_tag_scalar_row(const uint64_t *r, const void *words, size_t count)
{
    const uint8_t *at = words;
    __extension__ TRIB_TAG_WIDE total = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, at + 4 * i, sizeof word);
        total += __extension__((TRIB_TAG_WIDE)r[i] * (word ^ UINT32_C(0x80000000)));
    }
    return trib_tag_reduce_wide(total);
}

uint64_t trib_tag_sum_rows(uint64_t (*of_row)(const uint64_t *r, const void *words, size_t count), const uint64_t *r,
                           const uint64_t *s, const void *words, size_t count)
{
    const uint8_t *at = words;
    uint64_t sum = 0;

    for (size_t from = 0; from < count; from += TRIB_TAG_ROW) {
        size_t row = count - from < TRIB_TAG_ROW ? count - from : TRIB_TAG_ROW;
        uint64_t one = of_row(r, at + 4 * from, row);
        one = trib_tag_reduce_wide(__extension__((TRIB_TAG_WIDE)one * s[from / TRIB_TAG_ROW]));
        sum = trib_tag_add(sum, one);
    }
    return sum;
}

static uint64_t sum(const uint64_t *r, const uint64_t *s, const void *words, size_t count)
{
    return trib_tag_sum_rows(trib_tag_scalar_row, r, s, words, count);
}

const struct trib_tag_kernel trib_tag_scalar = {.name = "scalar", .sum = sum, .blocks = &chacha20_lanes};
