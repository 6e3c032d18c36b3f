/* SPDX-License-Identifier: Apache-2.0 */
/* test_ghash.c: every kernel against a hash that works bit by bit, for all lengths that kernels treat differently, in
 * pieces, and against the values of the paper on GCM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/ghash.h"
#include "core/prng.h"

#define BLOCK TRIB_GHASH_BLOCK
#define LEN_MAX 1300 /* more than twice the blocks with one reduction */

static const char *const kernels[] = {"scalar", "clmul", "vpclmul"};

/* sum * key as SP 800-38D says, algorithm 1: bit 0 is the highest bit of byte 0. */
static void multiply(uint8_t sum[BLOCK], const uint8_t key[BLOCK])
{
    uint8_t product[BLOCK] = {0};
    uint8_t v[BLOCK];
    memcpy(v, key, BLOCK);
    for (unsigned bit = 0; bit < 128; bit++) {
        const int has_bit = sum[bit / 8] >> (7 - bit % 8) & 1;
        const int is_over = v[BLOCK - 1] & 1;
        for (unsigned i = 0; i < BLOCK; i++) {
            product[i] ^= has_bit ? v[i] : 0;
        }
        for (unsigned i = BLOCK; i-- > 0;) {
            v[i] = (uint8_t)(v[i] >> 1 | (i > 0 ? v[i - 1] << 7 : 0));
        }
        v[0] ^= is_over ? 0xe1 : 0;
    }
    memcpy(sum, product, BLOCK);
}

static void expect(const uint8_t key[BLOCK], const uint8_t *data, size_t len, uint8_t sum[BLOCK])
{
    memset(sum, 0, BLOCK);
    for (size_t at = 0; at < len; at += BLOCK) {
        for (size_t i = 0; i < BLOCK && at + i < len; i++) {
            sum[i] ^= data[at + i];
        }
        multiply(sum, key);
    }
}

static void fill(struct trib_prng *prng, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)trib_prng_next(prng);
    }
}

/* Memory of LEN_MAX bytes, the last before a page that nothing can read. */
static uint8_t *guarded_memory(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED && page >= LEN_MAX);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    return memory + page - LEN_MAX;
}

static void hash_pieces(const struct trib_ghash *hash, const uint8_t *data, size_t first, size_t len, uint8_t *bytes)
{
    struct trib_ghash_element sum = {0, 0};
    trib_ghash_add(hash, &sum, data, first);
    trib_ghash_add(hash, &sum, data + first, len - first);
    trib_ghash_bytes(&sum, bytes);
}

static void check_kernel(const struct trib_ghash_kernel *kernel)
{
    struct trib_prng prng = {3};
    uint8_t key[BLOCK], expected[BLOCK], bytes[BLOCK];
    uint8_t *const memory = guarded_memory();
    struct trib_ghash hash;
    for (size_t len = 0; len <= LEN_MAX; len = len < 600 ? len + 1 : len + 100) {
        uint8_t *const data = memory + LEN_MAX - len;
        fill(&prng, key, BLOCK);
        fill(&prng, data, len);
        key[0] |= (uint8_t)(len % 2 << 7); /* keys that times x are too long, and others */
        trib_ghash_create(&hash, kernel, key);
        expect(key, data, len, expected);
        for (unsigned i = 0; i < 3; i++) {
            const size_t pieces = len / BLOCK + 1;
            hash_pieces(&hash, data, i == 0 ? 0 : trib_prng_next(&prng) % pieces * BLOCK, len, bytes);
            assert_memory_equal(bytes, expected, BLOCK);
        }
    }
}

static void ghash__kernels_agree(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const struct trib_ghash_kernel *kernel = trib_ghash_kernel_named(kernels[i]);
        if (kernel == NULL) {
            print_message("%s left out: this CPU has no such instructions\n", kernels[i]);
            continue;
        }
        assert_string_equal(kernel->name, kernels[i]);
        check_kernel(kernel);
    }
    assert_non_null(trib_ghash_kernel());
}

static void ghash__kernels_have_whole_names(void **state)
{
    static const char *const others[] = {"", "s", "c", "v", "scala", "scalar2", "CLMUL", "clmul ", "vclmul", "none"};
    (void)state;
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_null(trib_ghash_kernel_named(others[i]));
    }
    assert_ptr_equal(trib_ghash_kernel(), trib_ghash_kernel_named(trib_ghash_kernel()->name));
}

/* McGrew and Viega, "The Galois/Counter Mode of Operation", test case 2: H, a ciphertext, its length, and the hash. */
static void ghash__known_answer(void **state)
{
    static const uint8_t key[BLOCK] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                       0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
    static const uint8_t data[2 * BLOCK] = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2,
                                            0xb9, 0x71, 0xb2, 0xfe, 0x78, 0,    0,    0,    0,    0,    0,
                                            0,    0,    0,    0,    0,    0,    0,    0,    0,    0x80};
    static const uint8_t expected[BLOCK] = {0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc,
                                            0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85};
    uint8_t bytes[BLOCK];
    struct trib_ghash hash;
    (void)state;
    trib_ghash_create(&hash, trib_ghash_kernel(), key);
    hash_pieces(&hash, data, BLOCK, sizeof data, bytes);
    assert_memory_equal(bytes, expected, BLOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ghash__kernels_agree),
        cmocka_unit_test(ghash__kernels_have_whole_names),
        cmocka_unit_test(ghash__known_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
