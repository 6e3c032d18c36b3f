/* SPDX-License-Identifier: Apache-2.0 */
/* test_draw.c: random numbers differ, and ids are never 0. Mirrors src/io/draw.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/draw.h"

#define DRAWS 256

/* Two of so many numbers of 64 bits are equal once in 5e14 runs; a bit that never changes would show in all but one of
 * 2^255. */
static void draw__numbers_differ_in_every_bit(void **state)
{
    uint64_t number[DRAWS];
    uint64_t ones = 0, zeros = 0;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        number[i] = trib_draw();
        ones |= number[i];
        zeros |= ~number[i];
        for (int before = 0; before < i; before++) {
            assert_true(number[i] != number[before]);
        }
    }
    assert_true(ones == UINT64_MAX && zeros == UINT64_MAX);
}

static void draw_id__is_not_0(void **state)
{
    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        assert_int_not_equal(trib_draw_id(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draw__numbers_differ_in_every_bit),
        cmocka_unit_test(draw_id__is_not_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
