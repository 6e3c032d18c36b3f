/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c: the memory of a switch divided into caps: equal shares, and never more given out than there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/share.h"

static void share__one_has_all_that_it_can_use(void **state)
{
    struct trib_share s[2] = {{.first = 2, .most = 100, .room = 4, .is_active = true},
                              {.first = 2, .most = 100, .room = 4}};
    (void)state;

    trib_share_divide(104, s, 2);
    assert_int_equal(s[0].cap, 50); /* 104 less the 4 of the idle one */
    assert_int_equal(s[1].cap, 2);
    trib_share_divide(1000, s, 2);
    assert_int_equal(s[0].cap, 100);
}

static void share__active_ones_have_equal_parts(void **state)
{
    struct trib_share s[4];
    (void)state;

    for (int i = 0; i < 4; i++) {
        s[i] = (struct trib_share){.first = 1, .most = 1000, .room = 2, .is_active = true};
    }
    trib_share_divide(800, s, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s[i].cap, 100);
    }
    for (int i = 0; i < 4; i++) {
        s[i].room = 2 * s[i].cap;
    }
    s[0].most = 10; /* what it has no use for goes to the others */
    s[0].room = 20;
    trib_share_divide(800, s, 4);
    assert_int_equal(s[0].cap, 10);
    assert_int_equal(s[1].cap, 130);
    assert_int_equal(s[3].cap, 130);
}

/* Who joins waits until the others have heard of their smaller caps. */
static void share__who_joins_gets_what_is_free(void **state)
{
    struct trib_share s[2] = {{.first = 1, .most = 1000, .room = 2, .is_active = true},
                              {.first = 1, .most = 1000, .room = 2}};
    (void)state;

    trib_share_divide(200, s, 2);
    assert_int_equal(s[0].cap, 99);
    s[0].room = 198;
    s[1].is_active = true;
    trib_share_divide(200, s, 2);
    assert_int_equal(s[0].cap, 50);
    assert_int_equal(s[1].cap, 1);
    s[0].room = 150; /* ranks that go by 99 have come closer to their mark */
    trib_share_divide(200, s, 2);
    assert_int_equal(s[1].cap, 25);
    s[0].room = 100;
    s[1].room = 50;
    trib_share_divide(200, s, 2);
    assert_int_equal(s[0].cap, 50);
    assert_int_equal(s[1].cap, 50);
}

/* A node that is made when others have grown: it stands in the list, and opens when they have heard. */
static void share__who_is_added_later_opens_when_there_is_room(void **state)
{
    struct trib_share s[2] = {{.first = 1, .most = 100, .room = 2, .is_active = true},
                              {.first = 10, .most = 100, .room = 20}};
    (void)state;

    trib_share_divide(200, s, 1);
    assert_int_equal(s[0].cap, 100);
    s[0].room = 200;
    trib_share_divide(200, s, 2);
    assert_int_equal(s[0].cap, 90);
    assert_int_equal(s[1].cap, 10);
    assert_true(s[0].room + s[1].room > 200); /* not yet */
    s[0].room = 180;
    trib_share_divide(200, s, 2);
    assert_true(s[0].room + s[1].room <= 200);
}

/* Jobs come and go; what ranks may claim follows the caps late, one after another. The sum stays within the memory. */
static void share__memory_never_runs_over(void **state)
{
    enum { NODES = 9 };
    struct trib_prng prng = {.state = 20261122};
    (void)state;

    for (int round = 0; round < 300; round++) {
        struct trib_share s[NODES];
        uint32_t memory = 0;
        for (int i = 0; i < NODES; i++) {
            uint32_t first = 1 + (uint32_t)trib_prng_below(&prng, 4);
            s[i] = (struct trib_share){.first = first, .room = 2 * first};
            s[i].most = first + (uint32_t)trib_prng_below(&prng, 200);
            memory += 2 * first;
        }
        memory += (uint32_t)trib_prng_below(&prng, 500);
        for (int step = 0; step < 100; step++) {
            uint32_t at = (uint32_t)trib_prng_below(&prng, NODES);
            s[at].is_active = trib_prng_below(&prng, 2) == 0;
            trib_share_divide(memory, s, NODES);
            uint64_t sum = 0;
            for (int i = 0; i < NODES; i++) {
                s[i].room = s[i].room < 2 * s[i].cap ? 2 * s[i].cap : s[i].room;
                sum += s[i].room;
                assert_in_range(s[i].cap, s[i].first, s[i].most);
            }
            assert_true(sum <= memory);
            at = (uint32_t)trib_prng_below(&prng, NODES);
            uint32_t over = s[at].room - 2 * s[at].cap;
            s[at].room -= (uint32_t)trib_prng_below(&prng, over + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share__one_has_all_that_it_can_use),
        cmocka_unit_test(share__active_ones_have_equal_parts),
        cmocka_unit_test(share__who_joins_gets_what_is_free),
        cmocka_unit_test(share__who_is_added_later_opens_when_there_is_room),
        cmocka_unit_test(share__memory_never_runs_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
