/* SPDX-License-Identifier: Apache-2.0 */
/* tag_scalar.c: the reference kernel: 84-bit products, added in 128 bits, reduced once. */
#include <string.h>

#include "core/tag_kernels.h"

static uint64_t sum(const uint64_t *r, const void *words, size_t count)
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

const struct trib_tag_kernel trib_tag_scalar = {.name = "scalar", .sum = sum};
