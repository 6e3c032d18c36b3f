/* SPDX-License-Identifier: Apache-2.0 */
/* tag.c: keys, masks and residues of tag.h; payloads are hashed by the kernels.
 * Read next: protocol/worker_lane.c. */
#include "core/tag.h"

#include <string.h>

#include "core/assert.h"
#include "core/quorum.h"
#include "core/value.h"

/* The uppermost byte of the last input word is the use, so no two uses have the same input of ChaCha20. */
enum use {
    USE_MASK = 1, /* sequence / 8 (45 bits) and attempt, digest, rank */
    USE_NUMBERS,  /* r, g and u */
    USE_KEY,      /* communicator, generation */
    USE_NONCE,    /* a rank's nonce, rank */
    USE_SAMPLE    /* number of the sampled operation */
};

#define NO_RANK UINT16_MAX /* of masks: sums over all ranks */

static uint32_t last_word(enum use use, uint32_t number)
{
    return (uint32_t)use << 24 | number;
}

/* ---- residues ---- */

/* 1 / a, by Fermat. */
static uint64_t inverse(uint64_t a)
{
    uint64_t result = 1;

    for (uint64_t bits = TRIB_TAG_PRIME - 2; bits != 0; bits >>= 1) {
        result = (bits & 1) != 0 ? trib_tag_times(result, a) : result;
        a = trib_tag_times(a, a);
    }
    return result;
}

/* The residue of two words of a block: of their lower 52 bits. 47 residues have two such values. */
static uint64_t residue(uint32_t low, uint32_t high)
{
    return trib_tag_reduce(((uint64_t)high << 32 | low) & ((UINT64_C(1) << 52) - 1));
}

/* ---- keys ---- */

void trib_tag_key(uint8_t key[TRIB_TAG_KEY], const uint8_t job[TRIB_TAG_KEY], uint32_t communicator,
                  uint16_t generation, const uint64_t *nonces, uint32_t count)
{
    trib_chacha20_key(key, job, (uint32_t[4]){communicator, generation, count, last_word(USE_KEY, 0)});
    for (uint32_t rank = 0; rank < count; rank++) {
        trib_chacha20_key(
            key, key,
            (uint32_t[4]){(uint32_t)nonces[rank], (uint32_t)(nonces[rank] >> 32), rank, last_word(USE_NONCE, 0)});
    }
}

void trib_tag_sample_key(const struct trib_tag *tag, uint64_t number, uint8_t key[TRIB_TAG_KEY])
{
    trib_chacha20_key(key, tag->key,
                      (uint32_t[4]){(uint32_t)number, (uint32_t)(number >> 32), 0, last_word(USE_SAMPLE, 0)});
}

/* Draws numbers of the key's stream, the first at index `from`, a multiple of TRIB_TAG_BATCH. */
static void draw(const uint8_t key[TRIB_TAG_KEY], uint32_t from, uint64_t *number, uint32_t count)
{
    uint32_t block[TRIB_CHACHA20_WORDS];

    for (uint32_t i = 0; i < count; i++) {
        if (i % TRIB_TAG_BATCH == 0) {
            trib_chacha20(block, key, (uint32_t[4]){(from + i) / TRIB_TAG_BATCH, 0, 0, last_word(USE_NUMBERS, 0)});
        }
        uint32_t word = 2 * (i % TRIB_TAG_BATCH);
        number[i] = residue(block[word], block[word + 1]);
    }
}

void trib_tag_init(struct trib_tag *tag, const struct trib_tag_kernel *kernel, const uint8_t key[TRIB_TAG_KEY],
                   uint32_t ranks)
{
    uint64_t last[TRIB_TAG_BATCH];

    TRIB_ASSERT(ranks >= 1 && ranks < NO_RANK);
    memcpy(tag->key, key, TRIB_TAG_KEY);
    tag->kernel = kernel;
    tag->ranks = ranks;
    tag->epoch++;
    draw(key, 0, tag->r, TRIB_TAG_ROW);
    draw(key, TRIB_TAG_ROW, tag->s, TRIB_TAG_ROWS);
    draw(key, TRIB_TAG_ROW + TRIB_TAG_ROWS, tag->exponent, TRIB_TAG_EXPONENTS);
    draw(key, TRIB_TAG_ROW + TRIB_TAG_ROWS + TRIB_TAG_EXPONENTS, last, TRIB_TAG_BATCH);
    tag->own = last[0] != 0 ? last[0] : 1;
    tag->own_inverse = inverse(tag->own);
    for (uint32_t i = 0; i < TRIB_TAG_ROW; i++) {
        uint64_t more = trib_tag_times(tag->r[i], UINT64_C(1) << 31);
        tag->offset[i + 1] = trib_tag_add(tag->offset[i], more);
    }
    for (uint32_t i = 0; i < TRIB_TAG_ROWS; i++) {
        uint64_t more = trib_tag_times(tag->offset[TRIB_TAG_ROW], tag->s[i]);
        tag->offsets[i + 1] = trib_tag_add(tag->offsets[i], more);
    }
}

/* ---- of a fragment ---- */

/* 2^31 times the numbers of the first `count` words: what kernels add to the hash. */
static uint64_t offset_of(const struct trib_tag *tag, size_t count)
{
    size_t rows = count / TRIB_TAG_ROW;
    size_t left = count % TRIB_TAG_ROW;
    uint64_t rest = left == 0 ? 0 : trib_tag_times(tag->offset[left], tag->s[rows]);

    return trib_tag_add(tag->offsets[rows], rest);
}

uint64_t trib_tag_hash(const struct trib_tag *tag, const void *payload, size_t len)
{
    size_t words = len / 4;
    size_t left = len % 4;

    TRIB_ASSERT(len <= (size_t)4 * TRIB_TAG_ROW * TRIB_TAG_ROWS);
    uint64_t hash = tag->kernel->sum(tag->r, tag->s, payload, words);
    if (left != 0) {
        uint32_t word = 0;
        memcpy(&word, (const uint8_t *)payload + 4 * words, left);
        uint64_t last = tag->kernel->sum(tag->r + words % TRIB_TAG_ROW, tag->s + words / TRIB_TAG_ROW, &word, 1);
        hash = trib_tag_add(hash, last);
        words++;
    }
    return trib_tag_less(hash, offset_of(tag, words));
}

uint64_t trib_tag_exponent(const struct trib_tag *tag, int16_t exponent)
{
    uint32_t at = (uint32_t)(exponent + 149);

    if (exponent == TRIB_EXPONENT_ZERO || exponent == TRIB_EXPONENT_RAW) {
        at = TRIB_TAG_EXPONENTS - (exponent == TRIB_EXPONENT_ZERO ? 2 : 1);
    }
    TRIB_ASSERT(at < TRIB_TAG_EXPONENTS);
    return tag->exponent[at];
}

/* Adds P(rank) of each sequence of the group. */
static void add_masks(const struct trib_tag *tag, uint32_t rank, struct trib_tag_masks *m)
{
    struct trib_chacha20_blocks made;
    uint64_t batch = m->group * TRIB_CHACHA20_LANES;
    uint32_t input[4] = {(uint32_t)batch, (uint32_t)(batch >> 32) << 8 | m->attempt, m->digest,
                         last_word(USE_MASK, rank)};

    trib_chacha20_many(tag->kernel->blocks, &made, tag->key, input);
    for (uint32_t word = 0; word < TRIB_CHACHA20_WORDS; word += 2) {
        for (uint32_t lane = 0; lane < TRIB_CHACHA20_LANES; lane++) {
            uint64_t *mask = &m->mask[lane * TRIB_TAG_BATCH + word / 2];
            *mask = trib_tag_add(*mask, residue(made.word[word][lane], made.word[word + 1][lane]));
        }
    }
}

/* P(rank), where rank may be tag->ranks; with NO_RANK the sum of P over all ranks. m: memory of the group. */
static uint64_t mask_of(const struct trib_tag *tag, struct trib_tag_masks *m, const struct trib_tag_id *id,
                        uint32_t rank)
{
    uint64_t group = id->sequence / TRIB_TAG_MASKS;

    TRIB_ASSERT(rank <= tag->ranks || rank == NO_RANK);
    if (m->group != group || m->digest != id->digest || m->rank != rank || m->attempt != id->attempt ||
        m->epoch != tag->epoch) {
        *m = (struct trib_tag_masks){
            .group = group, .digest = id->digest, .epoch = tag->epoch, .rank = (uint16_t)rank, .attempt = id->attempt};
        for (uint32_t i = rank != NO_RANK ? rank : 0; i < (rank != NO_RANK ? rank + 1 : tag->ranks); i++) {
            add_masks(tag, i, m);
        }
    }
    return m->mask[id->sequence % TRIB_TAG_MASKS];
}

uint64_t trib_tag_mask_of_all(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id)
{
    return mask_of(tag, &memory->all[id->sequence / TRIB_TAG_MASKS % 2], id, tag->ranks);
}

uint64_t trib_tag_mask(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                       uint32_t rank)
{
    uint64_t mask = mask_of(tag, &memory->own, id, rank);

    TRIB_ASSERT(rank < tag->ranks);
    mask = trib_tag_less(mask, mask_of(tag, &memory->next, id, (rank + 1) % tag->ranks));
    return rank == 0 ? trib_tag_add(mask, trib_tag_mask_of_all(tag, memory, id)) : mask;
}

uint64_t trib_tag_lone_mask(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                            uint32_t rank)
{
    TRIB_ASSERT(rank < tag->ranks);
    return mask_of(tag, &memory->own, id, rank);
}

uint64_t trib_tag_lone_masks(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                             const uint8_t *list)
{
    uint64_t mask = mask_of(tag, &memory->all[id->sequence / TRIB_TAG_MASKS % 2], id, NO_RANK);

    for (uint32_t rank = 0; rank < tag->ranks; rank++) {
        if (list != NULL && !trib_quorum_has(list, rank)) {
            mask = trib_tag_less(mask, mask_of(tag, &memory->lacking, id, rank));
        }
    }
    return mask;
}

bool trib_tag_is_own(const struct trib_tag *tag, uint64_t rest)
{
    uint64_t count = trib_tag_times(rest, tag->own_inverse);

    return count >= 1 && count <= tag->ranks;
}
