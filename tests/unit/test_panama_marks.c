/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_marks.c: the scheme panama: whose marks a worker's windows follow. What a switch's results say of marks is
 * in test_panama.c. */
#include "trees_harness.h"

#include "schemes/panama/panama.h"

#define W trib_panama.worker

static const struct trib_session_config one = {.ranks = 2, .roots = 1, .train = 1, .slots = 256, .generation = 1};

static void worker__a_marked_tree_gives_way_and_others_do_not(void **state)
{
    struct trib_session_config two = one;
    struct trees t;
    (void)state;

    two.roots = 2;
    trees_start(&t, &trib_panama, &two, 256);
    trees_submit(&t, 40000, 1);
    trees_run(&t, 0, 40);
    t.is_marked[1] = true;
    uint32_t before = W->in_flight(t.workers[0], 0);
    assert_true(before >= 64);
    assert_true(trees_most_in_flight(&t, 0, 4) >= before); /* until M holds it */
    (void)trees_most_in_flight(&t, 1, 200);
    assert_true(trees_most_in_flight(&t, 1, 40) <= 2); /* all of it marked: one or two */
    assert_true(W->counters(t.workers[0])->results_marked > 100);
    t.is_marked[1] = false;
    trees_run(&t, 1, 100000);
    trees_check(&t);
    trees_stop(&t);
}

/* Of two ranks that know their numbers the way of one is narrow: the other hears no mark, and its window does not grow
 * for long, as nobody waits for it; but it does as soon as they are equal again. */
static void worker__heeds_its_own_marks_and_grows_while_waited_for(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_panama, &one, 256);
    W->set_child(t.workers[0], 0, 0);
    W->set_child(t.workers[1], 0, 1);
    t.is_marked[0] = true;
    t.spared = 1 << 0;
    trees_submit(&t, 4000, 1);
    trees_run(&t, 0, 1);
    uint32_t most = trees_most_in_flight(&t, 0, 1000);
    assert_in_range(most, 3, 2 + 4 * 2);
    assert_in_range(W->in_flight(t.workers[1], 0), 0, 2);
    assert_int_equal(W->counters(t.workers[0])->results_marked, 0);
    assert_true(W->counters(t.workers[1])->results_marked > 100);
    t.is_marked[0] = false;
    assert_true(trees_most_in_flight(&t, 0, 100) >= 20);
    trees_run(&t, 1, 1000);
    trees_check(&t);
    trees_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker__a_marked_tree_gives_way_and_others_do_not),
        cmocka_unit_test(worker__heeds_its_own_marks_and_grows_while_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
