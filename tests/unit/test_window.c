/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c: the arithmetic of the window, against sequences dealt one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/packet.h"
#include "core/prng.h"
#include "core/window.h"

#define SEQUENCES 600

static const struct trib_window windows[] = {
    {1, 1, 1}, {1, 7, 4}, {2, 1, 3}, {2, 32, 64}, {3, 4, 5}, {4, 5, 16}, {16, 3, 1}, {16, 32, 2048},
};
#define WINDOWS (sizeof windows / sizeof windows[0])

static void root_and_dense__number_each_root_without_gaps(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i];
        uint64_t next[16] = {0};
        for (uint64_t sequence = 0; sequence < SEQUENCES; sequence++) {
            uint32_t root = (uint32_t)(sequence / w->train % w->roots);
            assert_int_equal(trib_window_root(w, sequence), root);
            assert_int_equal(trib_window_dense(w, sequence), next[root]);
            assert_int_equal(trib_window_slot(w, sequence), next[root] % w->slots);
            next[root]++;
        }
    }
}

static void sequence__is_the_inverse_of_root_and_dense(void **state)
{
    struct trib_prng prng = {.state = 1};

    (void)state;
    for (int trial = 0; trial < 200000; trial++) {
        const struct trib_window *w = &windows[trib_prng_below(&prng, WINDOWS)];
        uint64_t sequence = trib_prng_next(&prng) >> (16 + trib_prng_below(&prng, 48));
        assert_int_equal(trib_window_sequence(w, trib_window_root(w, sequence), trib_window_dense(w, sequence)),
                         sequence);
    }
}

static void dense_below__counts_sequences_below_a_mark(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i];
        uint64_t below[16] = {0};
        for (uint64_t mark = 0; mark < SEQUENCES; mark++) {
            for (uint32_t root = 0; root < w->roots; root++) {
                assert_int_equal(trib_window_dense_below(w, root, mark), below[root]);
            }
            below[trib_window_root(w, mark)]++;
        }
    }
}

static void dense_below__holds_up_to_the_last_sequence(void **state)
{
    const struct trib_window w = {3, 7, 64};

    (void)state;
    for (uint64_t mark = TRIB_SEQUENCE_MAX - 100; mark <= TRIB_SEQUENCE_MAX; mark++) {
        uint32_t root = trib_window_root(&w, mark);
        assert_int_equal(trib_window_dense_below(&w, root, mark), trib_window_dense(&w, mark));
        assert_int_equal(trib_window_dense_below(&w, root, mark + 1), trib_window_dense(&w, mark) + 1);
    }
}

static void end__leaves_every_root_a_sequence_to_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i];
        uint64_t end = trib_window_end(w);
        for (uint32_t root = 0; root < w->roots; root++) {
            uint64_t unsent = trib_window_sequence(w, root, trib_window_dense_below(w, root, end));
            assert_in_range(unsent, end, TRIB_SEQUENCE_MAX);
        }
    }
}

static void admits__exactly_the_next_slots_of_each_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i];
        for (uint64_t mark = 0; mark < 100; mark++) {
            uint32_t admitted[16] = {0};
            for (uint64_t s = mark; s < mark + 3 * (uint64_t)w->roots * (w->slots + w->train); s++) {
                admitted[trib_window_root(w, s)] += trib_window_admits(w, mark, s) != 0;
            }
            for (uint32_t root = 0; root < w->roots; root++) {
                assert_int_equal(admitted[root], w->slots);
            }
        }
    }
}

/* What the whole window rests on: two admitted sequences never share a slot. */
static void admits__never_two_of_one_slot(void **state)
{
    struct trib_prng prng = {.state = 2};

    (void)state;
    for (int trial = 0; trial < 300000; trial++) {
        const struct trib_window *w = &windows[trib_prng_below(&prng, WINDOWS)];
        uint64_t mark = trib_prng_next(&prng) >> 20;
        uint64_t span = 2 * (uint64_t)w->roots * (w->slots + w->train);
        uint64_t a = mark + trib_prng_below(&prng, span);
        uint64_t b = mark + trib_prng_below(&prng, span);
        bool same =
            trib_window_root(w, a) == trib_window_root(w, b) && trib_window_slot(w, a) == trib_window_slot(w, b);
        assert_false(a != b && same && trib_window_admits(w, mark, a) && trib_window_admits(w, mark, b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_and_dense__number_each_root_without_gaps),
        cmocka_unit_test(sequence__is_the_inverse_of_root_and_dense),
        cmocka_unit_test(dense_below__counts_sequences_below_a_mark),
        cmocka_unit_test(dense_below__holds_up_to_the_last_sequence),
        cmocka_unit_test(end__leaves_every_root_a_sequence_to_name),
        cmocka_unit_test(admits__exactly_the_next_slots_of_each_root),
        cmocka_unit_test(admits__never_two_of_one_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
