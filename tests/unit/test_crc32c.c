/* SPDX-License-Identifier: Apache-2.0 */
/* test_crc32c.c: known answers, and that all implementations agree. The oracle below works bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cpu.h"
#include "core/crc32c.h"
#include "core/crc32c_fold.h"
#include "core/prng.h"

#define POLYNOMIAL 0x82f63b78U /* reflected */
#define LEN_MAX 9000           /* more than the longest payload */

struct implementation {
    const char *name;
    uint32_t (*run)(uint32_t crc, const void *data, size_t len);
};

/* Filled at start, because what the CPU has is no constant. */
static struct implementation implementations[4];
static size_t implementation_count;

static void add(const char *name, uint32_t (*run)(uint32_t crc, const void *data, size_t len), int available)
{
    if (available) {
        implementations[implementation_count++] = (struct implementation){name, run};
    } else {
        print_message("%s left out: this CPU has no such instructions\n", name);
    }
}

static int find_implementations(void **state)
{
    (void)state;
    add("chosen", trib_crc32c, 1);
    add("table", trib_crc32c_table, 1);
#if defined(__x86_64__)
    int clmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
    add("clmul", trib_crc32c_clmul, clmul);
    add("vpclmul", trib_crc32c_vpclmul,
        clmul && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl"));
#elif defined(__aarch64__)
    add("clmul", trib_crc32c_clmul, trib_cpu_has_clmul());
#endif
    return 0;
}

static uint32_t bitwise(uint32_t crc, const uint8_t *data, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1U) != 0 ? POLYNOMIAL : 0U);
        }
    }
    return ~crc;
}

static void fill(struct trib_prng *prng, uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        data[i] = (uint8_t)trib_prng_next(prng);
    }
}

/* RFC 3720, B.4, and the check value of "123456789". */
static void crc32c__known_answers(void **state)
{
    static const uint8_t read_command[48] = {
        0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02,
    };
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    uint8_t up[32];
    uint8_t down[32];
    (void)state;
    memset(ones, 0xff, sizeof ones);
    for (uint8_t i = 0; i < 32; i++) {
        up[i] = i;
        down[i] = (uint8_t)(31 - i);
    }
    const struct {
        const void *data;
        size_t len;
        uint32_t crc;
    } answers[] = {
        {zeros, 32, 0x8a9136aa}, {ones, 32, 0x62a8ab43},         {up, 32, 0x46dd794e},
        {down, 32, 0x113fdb5c},  {read_command, 48, 0xd9963a56}, {"123456789", 9, 0xe3069283},
    };
    for (size_t i = 0; i < implementation_count; i++) {
        for (size_t j = 0; j < sizeof answers / sizeof answers[0]; j++) {
            assert_int_equal(implementations[i].run(0, answers[j].data, answers[j].len), answers[j].crc);
        }
    }
}

static void crc32c__of_nothing_is_the_crc_so_far(void **state)
{
    (void)state;
    for (size_t i = 0; i < implementation_count; i++) {
        assert_int_equal(implementations[i].run(0, "", 0), 0);
        assert_int_equal(implementations[i].run(0x12345678, "", 0), 0x12345678);
    }
}

/* Each length once, at an alignment by chance and with a crc so far by chance. The memory ends where the data ends, so
 * that the address sanitizer sees a read beyond it. */
static void crc32c__implementations_agree(void **state)
{
    struct trib_prng prng = {.state = 1};
    (void)state;
    for (size_t len = 0; len <= LEN_MAX; len++) {
        size_t offset = trib_prng_below(&prng, 64);
        uint8_t *memory = malloc(offset + len + (offset + len == 0));
        assert_non_null(memory);
        fill(&prng, memory, offset + len);
        uint32_t so_far = (uint32_t)trib_prng_next(&prng);
        uint32_t expected = len % 16 == 0 || len < 600 ? bitwise(so_far, memory + offset, len)
                                                       : trib_crc32c_table(so_far, memory + offset, len);
        for (size_t i = 0; i < implementation_count; i++) {
            uint32_t crc = implementations[i].run(so_far, memory + offset, len);
            if (crc != expected) {
                fail_msg("%s len %zu offset %zu: %08x, expected %08x", implementations[i].name, len, offset,
                         (unsigned)crc, (unsigned)expected);
            }
        }
        free(memory);
    }
}

static void crc32c__chains(void **state)
{
    static uint8_t data[LEN_MAX];
    struct trib_prng prng = {.state = 2};
    (void)state;
    fill(&prng, data, sizeof data);
    for (int trial = 0; trial < 2000; trial++) {
        size_t len = trib_prng_below(&prng, LEN_MAX + 1);
        size_t first = trib_prng_below(&prng, len + 1);
        for (size_t i = 0; i < implementation_count; i++) {
            uint32_t crc = implementations[i].run(0, data, first);
            assert_int_equal(implementations[i].run(crc, data + first, len - first), trib_crc32c_table(0, data, len));
        }
    }
}

/* The fastest that runs here, which is the last one that was added. */
static void crc32c_name__is_the_fastest(void **state)
{
    (void)state;
    assert_string_equal(trib_crc32c_name(), implementations[implementation_count - 1].name);
}

/* x^n mod P, reflected, one multiplication by x after another. */
static uint64_t x_to_the(unsigned n)
{
    uint32_t r = 0x80000000U;
    for (unsigned i = 0; i < n; i++) {
        r = (r >> 1) ^ ((r & 1U) != 0 ? POLYNOMIAL : 0U);
    }
    return r;
}

static void fold__constants_are_powers_of_x(void **state)
{
    (void)state;
#define X(bits, low, high)                                           \
    assert_true(trib_fold_##bits[0] == x_to_the((bits) + 63) << 32); \
    assert_true(trib_fold_##bits[1] == x_to_the((bits)-1) << 32);
    TRIB_FOLD_MAP(X)
#undef X
#if defined(__x86_64__) || defined(__aarch64__)
    for (unsigned n = 1; n <= TRIB_SHIFT_STEPS; n++) {
        assert_int_equal(trib_crc32c_shift[n - 1], x_to_the(512 * n - 33));
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c__known_answers),         cmocka_unit_test(crc32c__of_nothing_is_the_crc_so_far),
        cmocka_unit_test(crc32c__implementations_agree), cmocka_unit_test(crc32c__chains),
        cmocka_unit_test(crc32c_name__is_the_fastest),   cmocka_unit_test(fold__constants_are_powers_of_x),
    };
    return cmocka_run_group_tests(tests, find_implementations, NULL);
}
