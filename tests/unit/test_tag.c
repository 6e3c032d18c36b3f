/* SPDX-License-Identifier: Apache-2.0 */
/* test_tag.c: the tag accepts right sums and no others; kernels against 128-bit arithmetic; the vectors of
 * tests/vectors/tag.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/quorum.h"
#include "core/tag.h"
#include "core/value.h"
#include "unit/tag_vectors.h"

#define RANKS_MAX 64
#define WORDS 16
#define WORDS_MAX (TRIB_TAG_ROW * TRIB_TAG_ROWS)
#define SUMS 5000
#define WRONG_EACH 220 /* of a sum: 1,100,000 in all */

__extension__ typedef __int128 wide;

static struct trib_tag tag;
static struct trib_tag_memory memory;

/* ---- kernels ---- */

static const char *const names[] = {"scalar", "avx2", "ifma"};

static int32_t draw_word(struct trib_prng *prng)
{
    static const int32_t borders[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    uint64_t die = trib_prng_next(prng);

    return die % 4 == 0 ? borders[(die >> 8) % 5] : (int32_t)(uint32_t)(die >> 32);
}

/* The sum without any of the tricks: each term is reduced. */
static uint64_t slow_hash(const int32_t *word, size_t count)
{
    wide total = 0;

    for (size_t i = 0; i < count; i++) {
        wide number = (wide)tag.r[i % TRIB_TAG_ROW] * tag.s[i / TRIB_TAG_ROW] % (wide)TRIB_TAG_PRIME;
        wide term = number * word[i] % (wide)TRIB_TAG_PRIME;
        total = (total + term + (wide)TRIB_TAG_PRIME) % (wide)TRIB_TAG_PRIME;
    }
    return (uint64_t)total;
}

static void fill(struct trib_prng *prng, int kind, int32_t *word, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        word[i] = kind == 0 ? INT32_MIN : kind == 1 ? INT32_MAX : draw_word(prng);
    }
}

static void tag__kernels_agree(void **state)
{
    static int32_t word[WORDS_MAX + 1];
    struct trib_prng prng = {.state = 7};
    uint8_t key[TRIB_TAG_KEY] = {9};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const struct trib_tag_kernel *kernel = trib_tag_kernel_named(names[k]);
        if (kernel == NULL) {
            print_message("%s left out: this CPU has no such instructions\n", names[k]);
            continue;
        }
        assert_string_equal(kernel->name, names[k]);
        trib_tag_init(&tag, kernel, key, 4);
        for (int trial = 0; trial < 400; trial++) {
            size_t count = trial < 4 ? WORDS_MAX : trib_prng_below(&prng, WORDS_MAX + 1);
            uint8_t *at = (uint8_t *)word + trial % 4; /* any alignment */
            int32_t copy[WORDS_MAX];
            fill(&prng, trial, word, WORDS_MAX + 1);
            memcpy(copy, at, 4 * count);
            assert_true(trib_tag_hash(&tag, at, 4 * count) == slow_hash(copy, count));
        }
        for (uint32_t i = 0; i < TRIB_TAG_ROW; i++) {
            tag.r[i] = TRIB_TAG_PRIME - 1; /* the largest products */
        }
        fill(&prng, 1, word, TRIB_TAG_ROW);
        for (uint32_t i = 0; i < TRIB_TAG_ROWS; i++) {
            tag.s[i] = TRIB_TAG_PRIME - 1;
        }
        fill(&prng, 1, word, WORDS_MAX);
        for (size_t count = 0; count <= WORDS_MAX; count++) {
            uint64_t term = trib_tag_times(trib_tag_times(TRIB_TAG_PRIME - 1, TRIB_TAG_PRIME - 1), UINT32_MAX);
            assert_true(kernel->sum(tag.r, tag.s, word, count) == trib_tag_times(term, count));
        }
    }
    assert_null(trib_tag_kernel_named("none"));
    assert_non_null(trib_tag_kernel());
}

/* ---- residues and ChaCha20 ---- */

static void tag__residues(void **state)
{
    struct trib_prng prng = {.state = 11};
    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        uint64_t a = trial == 0 ? TRIB_TAG_PRIME - 1 : trib_prng_next(&prng) % TRIB_TAG_PRIME;
        uint64_t b = trial < 2 ? TRIB_TAG_PRIME - 1 : trib_prng_next(&prng) % TRIB_TAG_PRIME;
        uint64_t any = trial == 0 ? UINT64_MAX : trib_prng_next(&prng);
        assert_true(trib_tag_times(a, b) == (uint64_t)((wide)a * b % (wide)TRIB_TAG_PRIME));
        assert_true(trib_tag_add(a, b) == (a + b) % TRIB_TAG_PRIME);
        assert_true(trib_tag_less(a, b) == (a + TRIB_TAG_PRIME - b) % TRIB_TAG_PRIME);
        assert_true(trib_tag_reduce(any) == any % TRIB_TAG_PRIME);
    }
}

/* RFC 8439, section 2.3.2. */
static void tag__chacha20(void **state)
{
    static const uint32_t expected[TRIB_CHACHA20_WORDS] = {
        0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
        0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
    const uint32_t input[4] = {1, 0x09000000, 0x4a000000, 0};
    uint32_t block[TRIB_CHACHA20_WORDS];
    uint8_t key[TRIB_CHACHA20_KEY];
    (void)state;
    for (uint8_t i = 0; i < sizeof key; i++) {
        key[i] = i;
    }
    trib_chacha20(block, key, input);
    assert_memory_equal(block, expected, sizeof block);
}

/* Each kernel makes the blocks of consecutive counters, also where these begin again at 0. */
static void tag__blocks(void **state)
{
    struct trib_prng prng = {.state = 23};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const struct trib_tag_kernel *kernel = trib_tag_kernel_named(names[k]);
        for (int trial = 0; kernel != NULL && trial < 1000; trial++) {
            struct trib_chacha20_blocks made;
            uint32_t block[TRIB_CHACHA20_WORDS];
            uint32_t input[4];
            uint8_t key[TRIB_CHACHA20_KEY];
            for (size_t i = 0; i < 4; i++) {
                input[i] = (uint32_t)trib_prng_next(&prng);
            }
            for (size_t i = 0; i < sizeof key; i++) {
                key[i] = (uint8_t)trib_prng_next(&prng);
            }
            input[0] = trial == 0 ? UINT32_MAX - 2 : input[0];
            trib_chacha20_many(kernel->blocks, &made, key, input);
            for (uint32_t lane = 0; lane < TRIB_CHACHA20_LANES; lane++, input[0]++) {
                trib_chacha20(block, key, input);
                for (uint32_t word = 0; word < TRIB_CHACHA20_WORDS; word++) {
                    assert_int_equal(made.word[word][lane], block[word]);
                }
            }
        }
    }
}

/* ---- sums ---- */

struct parts {
    struct trib_tag_id id;
    uint32_t ranks;
    int16_t exponent;
    int32_t word[RANKS_MAX][WORDS];
    uint64_t lane[RANKS_MAX];
    int32_t sum[WORDS];
    uint64_t whole; /* lane */
};

static uint64_t lane_of(const struct parts *p, const struct trib_tag_id *id, uint32_t rank, int16_t exponent)
{
    uint64_t lane = trib_tag_hash(&tag, p->word[rank], sizeof p->word[rank]);

    lane = trib_tag_add(lane, trib_tag_exponent(&tag, exponent));
    lane = trib_tag_add(lane, rank % 3 == 0 ? tag.own : 0);
    return trib_tag_add(lane, trib_tag_mask(&tag, &memory, id, rank));
}

/* The lane of a sum less all terms that a rank knows. */
static uint64_t rest_of(const struct parts *p, const int32_t *sum, uint64_t lane)
{
    uint64_t rest = trib_tag_less(trib_tag_reduce(lane), trib_tag_hash(&tag, sum, sizeof p->sum));

    rest = trib_tag_less(rest, trib_tag_times(p->ranks, trib_tag_exponent(&tag, p->exponent)));
    return trib_tag_less(rest, trib_tag_mask_of_all(&tag, &memory, &p->id));
}

static bool passes(const struct parts *p, const int32_t *sum, uint64_t lane)
{
    return trib_tag_is_own(&tag, rest_of(p, sum, lane));
}

static void draw_parts(struct trib_prng *prng, struct parts *p)
{
    int32_t most = (int32_t)(INT32_MAX / p->ranks);

    memset(p->sum, 0, sizeof p->sum);
    p->whole = 0;
    for (uint32_t rank = 0; rank < p->ranks; rank++) {
        for (uint32_t i = 0; i < WORDS; i++) {
            int32_t word = (int32_t)(trib_prng_next(prng) % ((uint64_t)most + 1));
            p->word[rank][i] = (trib_prng_next(prng) & 1) != 0 ? word : -word;
            p->sum[i] += p->word[rank][i];
        }
        p->lane[rank] = lane_of(p, &p->id, rank, p->exponent);
        p->whole += p->lane[rank];
    }
}

static void begin(struct trib_prng *prng, uint32_t ranks, struct parts *p)
{
    uint8_t key[TRIB_TAG_KEY];

    for (uint32_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)trib_prng_next(prng);
    }
    trib_tag_init(&tag, trib_tag_kernel(), key, ranks);
    *p = (struct parts){.id = {.sequence = trib_prng_next(prng) >> 17, .digest = (uint32_t)trib_prng_next(prng)},
                        .ranks = ranks,
                        .exponent = (int16_t)(trib_prng_below(prng, 278) - 149)};
    draw_parts(prng, p);
}

static uint32_t draw_ranks(struct trib_prng *prng)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, RANKS_MAX};

    return ranks[trib_prng_below(prng, 5)];
}

static void tag__right_sums_pass(void **state)
{
    struct trib_prng prng = {.state = 3};
    struct parts p;
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        begin(&prng, draw_ranks(&prng), &p);
        assert_true(passes(&p, p.sum, p.whole));
    }
}

/* Changes some words, at least one. */
static void falsify(struct trib_prng *prng, int32_t *sum)
{
    uint64_t die = trib_prng_next(prng);
    uint32_t at = (uint32_t)(die >> 8) % WORDS;
    uint32_t other = (at + 1 + (uint32_t)(die >> 16) % (WORDS - 1)) % WORDS;
    uint32_t *word = (uint32_t *)(void *)sum;

    switch (die % 4) {
    case 0:
        word[at] ^= UINT32_C(1) << (die >> 24) % 32;
        return;
    case 1:
        word[at] += 1;
        word[other] -= 1;
        return;
    case 2:
        for (uint32_t i = 0; i < WORDS; i++) {
            word[i] = (uint32_t)trib_prng_next(prng);
        }
        return;
    default:
        word[at] += 1 + (uint32_t)(die >> 24) % 1000;
        return;
    }
}

static uint64_t count_passes(struct trib_prng *prng, uint64_t mask_of_r, int sums)
{
    uint64_t passed = 0;
    struct parts p;

    for (int trial = 0; trial < sums; trial++) {
        begin(prng, 1 + (uint32_t)trib_prng_below(prng, 4), &p);
        for (uint32_t i = 0; i < TRIB_TAG_ROW; i++) {
            tag.r[i] &= mask_of_r;
            tag.offset[i + 1] = trib_tag_add(tag.offset[i], trib_tag_times(tag.r[i], UINT64_C(1) << 31));
        }
        draw_parts(prng, &p);
        assert_true(passes(&p, p.sum, p.whole));
        for (int wrong = 0; wrong < WRONG_EACH; wrong++) {
            int32_t sum[WORDS];
            memcpy(sum, p.sum, sizeof sum);
            falsify(prng, sum);
            passed += memcmp(sum, p.sum, sizeof sum) != 0 && passes(&p, sum, p.whole);
        }
    }
    return passed;
}

/* With eight bits of each r hundreds of wrong sums pass, so the test would see a weak tag. */
static void tag__wrong_values_fail(void **state)
{
    struct trib_prng prng = {.state = 17};
    (void)state;
    assert_int_equal(count_passes(&prng, UINT64_MAX, SUMS), 0);
    assert_in_range(count_passes(&prng, 0xff, SUMS / 10), 20, 10000);
}

static void add_words(int32_t *sum, const int32_t *word, int32_t times)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)times * (uint32_t)word[i]);
    }
}

/* One rank missing, doubled, or another one in its place; of another fragment, operation or exponent; nobody. */
static void tag__wrong_sets_fail(void **state)
{
    struct trib_prng prng = {.state = 23};
    struct parts p;
    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        begin(&prng, 2 + (uint32_t)trib_prng_below(&prng, 7), &p);
        uint32_t rank = (uint32_t)trib_prng_below(&prng, p.ranks);
        uint32_t next = (rank + 1) % p.ranks;
        struct trib_tag_id stale = p.id;
        struct trib_tag_id foreign = p.id;
        struct parts q = p;
        stale.sequence += trial % 2 == 0 ? 1 : UINT64_C(1) << trial % 47;
        foreign.digest ^= UINT32_C(1) << trial % 32;
        add_words(q.sum, p.word[rank], -1);
        assert_false(passes(&p, q.sum, p.whole - p.lane[rank]));
        add_words(q.sum, p.word[rank], 2);
        assert_false(passes(&p, q.sum, p.whole + p.lane[rank]));
        add_words(q.sum, p.word[rank], -2);
        add_words(q.sum, p.word[next], 1);
        assert_false(passes(&p, q.sum, p.whole - p.lane[rank] + p.lane[next]));
        uint64_t others = p.whole - p.lane[rank];
        assert_false(passes(&p, p.sum, others + lane_of(&p, &stale, rank, p.exponent)));
        assert_false(passes(&p, p.sum, others + lane_of(&p, &foreign, rank, p.exponent)));
        assert_false(passes(&p, p.sum, others + lane_of(&p, &p.id, rank, p.exponent == 0 ? 1 : 0)));
        memset(q.sum, 0, sizeof q.sum);
        assert_false(passes(&p, q.sum, 0));
    }
}

/* No rank had the exponent: it was too large, and the switch's. */
static void tag__exponent_of_none_fails(void **state)
{
    struct trib_prng prng = {.state = 29};
    struct parts p;
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        begin(&prng, draw_ranks(&prng), &p);
        uint64_t owners = (p.ranks + 2) / 3;
        assert_true(rest_of(&p, p.sum, p.whole) == trib_tag_times(owners, tag.own));
        assert_false(passes(&p, p.sum, p.whole + trib_tag_less(0, trib_tag_times(owners, tag.own))));
    }
}

/* A wrong list of ranks leaves a mask in the rest. */
static void tag__lists_of_ranks(void **state)
{
    struct trib_prng prng = {.state = 31};
    struct parts p;
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        uint8_t list[TRIB_QUORUM_LIST] = {0};
        uint8_t other[TRIB_QUORUM_LIST];
        uint64_t lanes = 0;
        begin(&prng, 2 + (uint32_t)trib_prng_below(&prng, 40), &p);
        for (uint32_t rank = 0; rank < p.ranks; rank++) {
            if (trib_prng_below(&prng, 4) != 0) {
                trib_quorum_add(list, rank);
                lanes += trib_tag_lone_mask(&tag, &memory, &p.id, rank);
            }
        }
        memcpy(other, list, sizeof list);
        other[0] ^= (uint8_t)(1U << trib_prng_below(&prng, 2));
        assert_true(trib_tag_reduce(lanes) == trib_tag_lone_masks(&tag, &memory, &p.id, list));
        assert_false(trib_tag_reduce(lanes) == trib_tag_lone_masks(&tag, &memory, &p.id, other));
        assert_true(trib_tag_reduce(lanes) == trib_tag_lone_masks(&tag, &memory, &p.id, list));
    }
}

/* A mask from memory is equal to a computed one. */
static void tag__remembered_masks(void **state)
{
    struct trib_prng prng = {.state = 37};
    struct parts p;
    (void)state;
    begin(&prng, 5, &p);
    for (int trial = 0; trial < 20000; trial++) {
        struct trib_tag_memory none = {0};
        struct trib_tag_id id = {.sequence = trib_prng_below(&prng, 40), .digest = trib_prng_below(&prng, 8) == 0};
        uint32_t rank = (uint32_t)trib_prng_below(&prng, 5);
        assert_true(trib_tag_mask(&tag, &memory, &id, rank) == trib_tag_mask(&tag, &none, &id, rank));
    }
    uint64_t before = trib_tag_mask_of_all(&tag, &memory, &p.id);
    uint8_t key[TRIB_TAG_KEY] = {1};
    trib_tag_init(&tag, tag.kernel, key, 5);
    assert_true(before != trib_tag_mask_of_all(&tag, &memory, &p.id));
}

/* ---- vectors ---- */

static void check_parts(void)
{
    const struct trib_tag_id id = {.sequence = UINT64_C(0x0102030405), .digest = 0xd16e57aa};
    char name[16];
    uint64_t total = 0;

    for (int32_t rank = 0; rank < 4; rank++) {
        int32_t part[6] = {rank, -rank, (1 << 29) - 1, rank - (1 << 29), 7 * rank, -1};
        uint64_t mask = trib_tag_mask(&tag, &memory, &id, (uint32_t)rank);
        uint64_t lane = trib_tag_add(trib_tag_hash(&tag, part, sizeof part), trib_tag_exponent(&tag, 5));
        lane = trib_tag_add(trib_tag_add(lane, mask), rank != 2 ? tag.own : 0);
        total += lane;
        (void)snprintf(name, sizeof name, "mask-%d", (int)rank);
        assert_true(mask == vector(name));
        (void)snprintf(name, sizeof name, "lane-%d", (int)rank);
        assert_true(lane == vector(name));
    }
    assert_true(total == vector("lane-of-the-sum"));
    assert_true(trib_tag_mask_of_all(&tag, &memory, &id) == vector("mask-of-all"));
    assert_true(trib_tag_lone_mask(&tag, &memory, &id, 2) == vector("lone-mask-2"));
}

static void tag__vectors(void **state)
{
    static uint8_t payload[8192];
    uint64_t nonces[4];
    uint8_t job[TRIB_TAG_KEY];
    uint8_t key[TRIB_TAG_KEY];
    (void)state;
    for (uint32_t i = 0; i < TRIB_TAG_KEY; i++) {
        job[i] = (uint8_t)i;
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        nonces[rank] = UINT64_C(0x1111111111111111) * (rank + 1);
    }
    for (uint32_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 151 + 7);
    }
    trib_tag_key(key, job, 0xc0ffee, 3, NULL, 0);
    assert_true(first_bytes(key) == vector("key-without-nonces"));
    trib_tag_key(key, job, 0xc0ffee, 3, nonces, 4);
    assert_true(first_bytes(key) == vector("key"));
    trib_tag_init(&tag, trib_tag_kernel(), key, 4);
    assert_true(trib_tag_times(tag.r[0], tag.s[0]) == vector("r-0"));
    assert_true(trib_tag_times(tag.r[TRIB_TAG_ROW - 1], tag.s[TRIB_TAG_ROWS - 1]) == vector("r-2047"));
    assert_true(trib_tag_exponent(&tag, 0) == vector("g-of-0"));
    assert_true(trib_tag_exponent(&tag, TRIB_EXPONENT_ZERO) == vector("g-of-zeros"));
    assert_true(tag.own == vector("u"));
    assert_true(trib_tag_hash(&tag, "\x01\x02\x03\x84\xff", 5) == vector("hash-of-5-bytes"));
    assert_true(trib_tag_hash(&tag, payload, sizeof payload) == vector("hash-of-8192-bytes"));
    check_parts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tag__kernels_agree),   cmocka_unit_test(tag__residues),
        cmocka_unit_test(tag__chacha20),        cmocka_unit_test(tag__blocks),
        cmocka_unit_test(tag__right_sums_pass), cmocka_unit_test(tag__wrong_values_fail),
        cmocka_unit_test(tag__wrong_sets_fail), cmocka_unit_test(tag__exponent_of_none_fails),
        cmocka_unit_test(tag__lists_of_ranks),  cmocka_unit_test(tag__remembered_masks),
        cmocka_unit_test(tag__vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
