/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c: the arithmetic of the window, against sequences dealt one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/node.h"
#include "core/prng.h"
#include "core/window.h"

#define SEQUENCES 1200

/* A window outside a node. */
struct held {
    struct trib_session_config session;
    struct trib_window window;
    struct trib_turn table[TRIB_ROOTS_MAX * UINT8_MAX];
};

static struct held windows[] = {
    {.session = {.roots = 1, .train = 1, .slots = 1}},
    {.session = {.roots = 1, .train = 7, .slots = 4, .weight = {9}}},
    {.session = {.roots = 2, .train = 1, .slots = 3}},
    {.session = {.roots = 2, .train = 32, .slots = 64}},
    {.session = {.roots = 3, .train = 4, .slots = 5}},
    {.session = {.roots = 4, .train = 5, .slots = 16, .weight = {3, 3, 3, 3}}},
    {.session = {.roots = 32, .train = 3, .slots = 1}},
    {.session = {.roots = 16, .train = 32, .slots = 2048}},
    {.session = {.roots = 2, .train = 1, .slots = 3, .weight = {2, 1}}},
    {.session = {.roots = 2, .train = 3, .slots = 8, .weight = {0, 5}}},
    {.session = {.roots = 3, .train = 2, .slots = 7, .weight = {4, 2, 6}}},
    {.session = {.roots = 4, .train = 1, .slots = 16, .weight = {1, 7, 1, 2}}},
    {.session = {.roots = 2, .train = 1, .slots = 5, .weight = {255, 1}}},
    {.session = {.roots = 16, .train = 2, .slots = 64, .weight = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}}},
    {.session = {.roots = 32, .train = 2, .slots = 64, .weight = {1, 2, 3, 4, 5, 6, 7, 8, 9, [31] = 200}}},
};
#define WINDOWS (sizeof windows / sizeof windows[0])

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        trib_window_init(&windows[i].window, &windows[i].session, windows[i].table);
    }
    return 0;
}

/* ---- against a table made one train at a time ---- */

struct dealt {
    uint32_t count;
    uint32_t root[TRIB_ROOTS_MAX * UINT8_MAX];
};

/* Whose place is lowest is next. Weights as they are, with common factors. */
static void deal(const struct trib_session_config *session, struct dealt *dealt)
{
    uint32_t had[TRIB_ROOTS_MAX] = {0};

    dealt->count = 0;
    for (;;) {
        uint32_t next = UINT32_MAX;
        uint32_t best = 0;
        for (uint32_t root = 0; root < session->roots; root++) {
            uint32_t weight = session->weight[root] == 0 ? 1 : session->weight[root];
            if (had[root] < weight &&
                (next == UINT32_MAX || (2 * session->roots * had[root] + 2 * root + 1) * best <
                                           (2 * session->roots * had[next] + 2 * next + 1) * weight)) {
                next = root;
                best = weight;
            }
        }
        if (next == UINT32_MAX) {
            return;
        }
        had[next]++;
        dealt->root[dealt->count++] = next;
    }
}

static void expect_dealt(const struct held *held, uint64_t sequences)
{
    static struct dealt dealt;
    const struct trib_window *w = &held->window;
    uint64_t next[TRIB_ROOTS_MAX] = {0};

    deal(&held->session, &dealt);
    for (uint64_t sequence = 0; sequence < sequences; sequence++) {
        uint32_t root = dealt.root[sequence / w->train % dealt.count];
        for (uint32_t other = 0; other < w->roots; other++) {
            assert_int_equal(trib_window_dense_below(w, other, sequence), next[other]);
        }
        assert_int_equal(trib_window_root(w, sequence), root);
        assert_int_equal(trib_window_dense(w, sequence), next[root]);
        assert_int_equal(trib_window_slot(w, sequence), next[root] % w->slots);
        assert_int_equal(trib_window_sequence(w, root, next[root]), sequence);
        next[root]++;
    }
}

static void trains__are_dealt_by_weight(void **state)
{
    static struct held held;
    struct trib_prng prng = {.state = 4};

    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        expect_dealt(&windows[i], SEQUENCES);
    }
    for (int trial = 0; trial < 300; trial++) {
        held.session.roots = 1 + (uint32_t)trib_prng_below(&prng, TRIB_ROOTS_MAX);
        held.session.train = 1 + (uint32_t)trib_prng_below(&prng, 4);
        held.session.slots = 1 + (uint32_t)trib_prng_below(&prng, 40);
        uint64_t most = trial % 4 == 0 ? UINT8_MAX + 1 : 1 + trib_prng_below(&prng, 12);
        for (uint32_t root = 0; root < held.session.roots; root++) {
            held.session.weight[root] = (uint8_t)trib_prng_below(&prng, most);
        }
        assert_in_range(trib_window_table_size(&held.session), 0, sizeof held.table);
        trib_window_init(&held.window, &held.session, held.table);
        expect_dealt(&held, trial % 4 == 0 ? 10000 : 2000);
    }
}

/* As PROTOCOL shows it. */
static void trains__worked_example(void **state)
{
    static const uint32_t roots[10] = {0, 0, 1, 0, 2, 0, 0, 1, 0, 2};
    static struct held held = {.session = {.roots = 3, .train = 1, .slots = 4, .weight = {6, 2, 2}}};

    (void)state;
    trib_window_init(&held.window, &held.session, held.table);
    assert_int_equal(trib_window_table_size(&held.session), 5 * sizeof(struct trib_turn));
    for (uint32_t sequence = 0; sequence < 10; sequence++) {
        assert_int_equal(trib_window_root(&held.window, sequence), roots[sequence]);
    }
}

/* What the room for exponents rests on. */
static void span__is_that_of_any_P_of_one_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i].window;
        uint64_t most = 0;
        for (uint32_t root = 0; root < w->roots; root++) {
            for (uint64_t dense = 0; dense < 2000; dense++) {
                uint64_t span =
                    trib_window_sequence(w, root, dense + w->slots - 1) - trib_window_sequence(w, root, dense);
                most = span > most ? span : most;
            }
        }
        assert_in_range(most, 0, trib_window_span(&windows[i].session) - 1);
    }
}

/* And that of what roots may have drifted apart to, from any mark on. */
static void span__is_that_of_the_window_of_all_roots(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i].window;
        for (uint64_t mark = 0; mark < 2000; mark++) {
            for (uint32_t root = 0; root < w->roots; root++) {
                uint64_t dense = trib_window_dense_below(w, root, mark) + w->slots - 1;
                assert_in_range(trib_window_sequence(w, root, dense), mark,
                                mark + trib_window_span(&windows[i].session) - 1);
            }
        }
    }
}

static void next__is_the_next_of_its_root(void **state)
{
    struct trib_prng prng = {.state = 3};

    (void)state;
    for (int trial = 0; trial < 200000; trial++) {
        const struct trib_window *w = &windows[trib_prng_below(&prng, WINDOWS)].window;
        uint64_t sequence = trib_prng_next(&prng) >> (16 + trib_prng_below(&prng, 48));
        uint32_t root = trib_window_root(w, sequence);
        uint64_t dense = trib_window_dense(w, sequence);
        assert_int_equal(trib_window_next(w, sequence), trib_window_sequence(w, root, dense + 1));
    }
}

static void sequence__is_the_inverse_of_root_and_dense(void **state)
{
    struct trib_prng prng = {.state = 1};

    (void)state;
    for (int trial = 0; trial < 200000; trial++) {
        const struct trib_window *w = &windows[trib_prng_below(&prng, WINDOWS)].window;
        uint64_t sequence = trib_prng_next(&prng) >> (16 + trib_prng_below(&prng, 48));
        assert_int_equal(trib_window_sequence(w, trib_window_root(w, sequence), trib_window_dense(w, sequence)),
                         sequence);
    }
}

static void dense_below__holds_up_to_the_last_sequence(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i].window;
        for (uint64_t mark = TRIB_SEQUENCE_MAX - 100; mark <= TRIB_SEQUENCE_MAX; mark++) {
            uint32_t root = trib_window_root(w, mark);
            assert_int_equal(trib_window_dense_below(w, root, mark), trib_window_dense(w, mark));
            assert_int_equal(trib_window_dense_below(w, root, mark + 1), trib_window_dense(w, mark) + 1);
        }
    }
}

static void end__leaves_every_root_a_sequence_to_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct trib_window *w = &windows[i].window;
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
        const struct trib_window *w = &windows[i].window;
        uint64_t span = trib_window_span(&windows[i].session) + (uint64_t)w->train * (w->turns + w->roots);
        for (uint64_t mark = 0; mark < 100; mark++) {
            uint32_t admitted[TRIB_ROOTS_MAX] = {0};
            for (uint64_t s = mark; s < mark + span; s++) {
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
        const struct trib_window *w = &windows[trib_prng_below(&prng, WINDOWS)].window;
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
        cmocka_unit_test(trains__are_dealt_by_weight),
        cmocka_unit_test(trains__worked_example),
        cmocka_unit_test(span__is_that_of_any_P_of_one_root),
        cmocka_unit_test(span__is_that_of_the_window_of_all_roots),
        cmocka_unit_test(next__is_the_next_of_its_root),
        cmocka_unit_test(sequence__is_the_inverse_of_root_and_dense),
        cmocka_unit_test(dense_below__holds_up_to_the_last_sequence),
        cmocka_unit_test(end__leaves_every_root_a_sequence_to_name),
        cmocka_unit_test(admits__exactly_the_next_slots_of_each_root),
        cmocka_unit_test(admits__never_two_of_one_slot),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
