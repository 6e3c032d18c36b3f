/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h. The formulas are part of the protocol: docs/PROTOCOL.md, "Samples". */
#include "core/sample.h"

#include "core/assert.h"

#define BLOCK ((size_t)4 * TRIB_CHACHA20_WORDS)                 /* bytes */
#define NUMBERS (TRIB_CHACHA20_WORDS / 2 * TRIB_CHACHA20_LANES) /* of the blocks that are made at once */

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
    *sample = (struct trib_sample){
        .elements = elements, .drawn = strata(runs_of(elements), every), .every = every, .blocks = tag->kernel->blocks};
    trib_tag_sample_key(tag, number, sample->key);
}

/* The stream's blocks from number `first` on, a multiple of TRIB_CHACHA20_LANES. */
static void make_blocks(const struct trib_sample *sample, struct trib_chacha20_blocks *made, uint64_t first,
                        uint32_t rank, enum use use)
{
    TRIB_ASSERT(first % TRIB_CHACHA20_LANES == 0); /* or the lower half of a counter begins anew within them */
    trib_chacha20_many(sample->blocks, made, sample->key,
                       (uint32_t[4]){(uint32_t)first, (uint32_t)(first >> 32), rank, use});
}

void trib_sample_draw(const struct trib_sample *sample, uint64_t *at)
{
    struct trib_chacha20_blocks made = {0};
    uint64_t runs = runs_of(sample->elements);

    for (uint64_t i = 0; i < sample->drawn; i++) {
        uint64_t block = i / (TRIB_CHACHA20_WORDS / 2);
        uint32_t lane = (uint32_t)(block % TRIB_CHACHA20_LANES);
        uint32_t word = (uint32_t)(i % (TRIB_CHACHA20_WORDS / 2)) * 2;
        if (i % NUMBERS == 0) {
            make_blocks(sample, &made, block, 0, USE_DRAW);
        }
        uint64_t first = i * sample->every;
        TRIB_ASSERT(first < runs && sample->every > 0); /* a stratum has a run */
        uint64_t size = runs - first < sample->every ? runs - first : sample->every;
        uint64_t number = (uint64_t)made.word[word + 1][lane] << 32 | made.word[word][lane];
        /* The remainder's bias is below 2^-43. */
        at[i] = (first + number % size) * TRIB_SAMPLE_RUN;
    }
}

void trib_sample_hide(const struct trib_sample *sample, uint32_t rank, uint8_t *part, size_t len)
{
    struct trib_chacha20_blocks made;
    uint8_t stream[BLOCK * TRIB_CHACHA20_LANES];

    for (size_t at = 0; at < len; at += sizeof stream) {
        size_t some = len - at < sizeof stream ? len - at : sizeof stream;
        make_blocks(sample, &made, at / BLOCK, rank, USE_HIDE);
        for (size_t i = 0; i < sizeof stream; i += 4) {
            uint32_t word = made.word[i % BLOCK / 4][i / BLOCK];
            stream[i] = (uint8_t)word;
            stream[i + 1] = (uint8_t)(word >> 8);
            stream[i + 2] = (uint8_t)(word >> 16);
            stream[i + 3] = (uint8_t)(word >> 24);
        }
        for (size_t i = 0; i < some; i++) {
            part[at + i] ^= stream[i];
        }
    }
}
