/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka.h: as much of cmocka as the tests of the kernels use, for a processor that no package of it is for
 * (tools/aarch64.sh). A check that fails ends the program. */
#ifndef TRIB_TESTS_AARCH64_CMOCKA_H
#define TRIB_TESTS_AARCH64_CMOCKA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function) \
    {                              \
#function, function        \
    }
#define cmocka_run_group_tests(tests, setup, teardown) \
    run_group((tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))
#define print_message(...) (void)fprintf(stderr, __VA_ARGS__)
#define fail_msg(...) ((void)fprintf(stderr, __VA_ARGS__), fail_at(__FILE__, __LINE__, "see above"))

__attribute__((noreturn, unused)) static void fail_at(const char *file, int line, const char *check)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, check);
    exit(1);
}

#define MUST(check, text) ((check) ? (void)0 : fail_at(__FILE__, __LINE__, (text)))
#define assert_true(value) MUST((value), #value)
#define assert_false(value) MUST(!(value), "not " #value)
#define assert_null(value) MUST((const void *)(value) == NULL, #value " is NULL")
#define assert_non_null(value) MUST((const void *)(value) != NULL, #value " is not NULL")
#define assert_ptr_equal(a, b) MUST((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_int_equal(a, b) MUST((uint64_t)(a) == (uint64_t)(b), #a " == " #b)
#define assert_int_not_equal(a, b) MUST((uint64_t)(a) != (uint64_t)(b), #a " != " #b)
#define assert_in_range(value, low, high) \
    MUST(is_in_range((uint64_t)(value), (uint64_t)(low), (uint64_t)(high)), #value " in its range")
#define assert_memory_equal(a, b, size) MUST(memcmp((a), (b), (size)) == 0, #a " == " #b)
#define assert_string_equal(a, b) MUST(strcmp((a), (b)) == 0, #a " == " #b)
#define assert_string_not_equal(a, b) MUST(strcmp((a), (b)) != 0, #a " != " #b)

static inline int is_in_range(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

static inline int run_group(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                            int (*teardown)(void **))
{
    void *state = NULL;
    if (setup != NULL && setup(&state) != 0) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        tests[i].run(&state);
    }
    (void)printf("%zu tests passed\n", count);
    return teardown != NULL ? teardown(&state) : 0;
}

#endif
