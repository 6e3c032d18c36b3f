/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: see share.h. */
#include "core/share.h"

#include "core/assert.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Its part of equal shares of so many. */
static uint32_t part_of(const struct trib_share *share, uint32_t equal)
{
    uint32_t part = !share->is_active || equal < share->first ? share->first : equal;

    return part < share->most ? part : share->most;
}

static uint64_t sum_of(const struct trib_share *shares, uint32_t count, uint32_t equal)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += 2 * (uint64_t)part_of(&shares[i], equal);
    }
    return sum;
}

/* The largest equal share for which there is memory: a part without use goes to the others. */
static uint32_t equal_share(uint32_t memory, const struct trib_share *shares, uint32_t count)
{
    uint32_t equal = 0;

    for (uint32_t step = (UINT16_MAX + 1) / 2; step > 0; step /= 2) {
        equal += sum_of(shares, count, equal + step) <= memory ? step : 0;
    }
    return equal;
}

void trib_share_divide(uint32_t memory, struct trib_share *shares, uint32_t count)
{
    uint32_t equal = equal_share(memory, shares, count);
    uint64_t taken = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct trib_share *share = &shares[i];
        uint32_t part = part_of(share, equal);
        TRIB_ASSERT(share->first >= 1 && share->first <= share->most);
        share->cap = share->cap == 0 ? share->first : share->cap;
        share->cap = part < share->cap ? part : share->cap;
        taken += larger(share->room, 2 * (uint64_t)share->cap);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct trib_share *share = &shares[i];
        uint64_t part = part_of(share, equal);
        uint64_t has = larger(share->room, 2 * (uint64_t)share->cap);
        uint64_t most = (has + (memory > taken ? memory - taken : 0)) / 2;
        uint64_t cap = part < most ? part : most;
        if (cap > share->cap) {
            share->cap = (uint32_t)cap;
            taken += larger(has, 2 * cap) - has;
        }
        TRIB_ASSERT(share->cap >= 1 && share->cap <= share->most); /* a rank without a cap could never go on */
    }
}
