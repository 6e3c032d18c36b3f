/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h. The formulas are part of the protocol: docs/PROTOCOL.md, "Samples". */
#include "core/sample.h"

#include "core/assert.h"

#define BLOCK ((size_t)4 * TRIB_CHACHA20_WORDS) /* bytes */

/* The last input word is the use of a block. */
enum use { USE_DRAW = 0, USE_HIDE };

static uint64_t strata(uint64_t runs, uint32_t every)
{
    return runs == 0 ? 0 : (runs - 1) / every + 1;
}

static uint64_t runs_of(uint64_t elements)
{
    return elements == 0 ? 0 : (elements - 1) / TRIB_SAMPLE_RUN + 1;
}

void trib_sample_init(struct trib_sample *sample, const struct trib_tag *tag, uint32_t every, uint64_t number,
                      uint64_t elements)
{
    TRIB_ASSERT(every >= 1 && every <= TRIB_SAMPLE_EVERY_MAX);
    *sample = (struct trib_sample){.elements = elements, .drawn = strata(runs_of(elements), every), .every = every};
    trib_tag_sample_key(tag, number, sample->key);
}

void trib_sample_draw(const struct trib_sample *sample, uint64_t *at)
{
    uint32_t block[TRIB_CHACHA20_WORDS] = {0};
    uint64_t runs = runs_of(sample->elements);

    for (uint64_t i = 0; i < sample->drawn; i++) {
        uint32_t word = (uint32_t)(i % (TRIB_CHACHA20_WORDS / 2)) * 2;
        if (word == 0) {
            uint64_t counter = i / (TRIB_CHACHA20_WORDS / 2);
            trib_chacha20(block, sample->key, (uint32_t[4]){(uint32_t)counter, (uint32_t)(counter >> 32), 0, USE_DRAW});
        }
        uint64_t first = i * sample->every;
        TRIB_ASSERT(first < runs && sample->every > 0); /* a stratum has a run */
        uint64_t size = runs - first < sample->every ? runs - first : sample->every;
        uint64_t number = (uint64_t)block[word + 1] << 32 | block[word]; /* the remainder's bias is below 2^-43 */
        at[i] = (first + number % size) * TRIB_SAMPLE_RUN;
    }
}

void trib_sample_hide(const struct trib_sample *sample, uint32_t rank, uint8_t *part, size_t len)
{
    uint32_t block[TRIB_CHACHA20_WORDS];
    uint8_t stream[BLOCK];

    for (size_t at = 0; at < len; at += BLOCK) {
        uint64_t counter = at / BLOCK;
        size_t some = len - at < BLOCK ? len - at : BLOCK;
        trib_chacha20(block, sample->key, (uint32_t[4]){(uint32_t)counter, (uint32_t)(counter >> 32), rank, USE_HIDE});
        for (size_t i = 0; i < BLOCK; i++) {
            stream[i] = (uint8_t)(block[i / 4] >> 8 * (i % 4));
        }
        for (size_t i = 0; i < some; i++) {
            part[at + i] ^= stream[i];
        }
    }
}
