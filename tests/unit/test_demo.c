/* SPDX-License-Identifier: Apache-2.0 */
/* test_demo.c: what `tributary demo` tells is so: the story under both rules, and random runs that are the same for the
 * same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "demo/demo.h"
#include "published/published.h"

static struct demo_story story;

static uint32_t steps_with(const char *text)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < story.count; i++) {
        count += strstr(story.steps[i].text, text) != NULL;
    }
    return count;
}

static void demo__published_rule_gets_a_sum_wrong_and_is_caught(void **state)
{
    (void)state;
    assert_true(demo_story_tell(&story, trib_published_find("switchml-literal")));
    assert_int_equal(story.expected, 333);
    assert_int_equal(story.got, 331); /* worker 0's part is that of fragment 0 */
    assert_int_equal(story.caught, 3);
    assert_int_equal(story.taken, 0);
    assert_int_equal(steps_with("WRONG"), 1);
    assert_int_equal(steps_with("error on 3 of 3 workers"), 1);
    assert_int_equal(steps_with("added: to what will be fragment 2's sum"), 1);
}

static void demo__own_rule_gets_it_right(void **state)
{
    (void)state;
    assert_true(demo_story_tell(&story, trib_published_find("switchml")));
    assert_int_equal(story.expected, 333);
    assert_int_equal(story.got, 333);
    assert_int_equal(story.taken, 3);
    assert_int_equal(steps_with("WRONG"), 0);
    assert_int_equal(steps_with("DETOUR"), 1);
    assert_int_equal(steps_with("LOST"), 1);
    assert_int_equal(steps_with("dropped: already had"), 1);
    assert_int_equal(steps_with("send your part again"), 1);
}

static struct demo_runs runs_of(const char *scheme, const struct demo_faults *faults, uint32_t count)
{
    struct demo_runs runs = {.scheme = trib_published_find(scheme)};

    for (uint32_t i = 0; i < count; i++) {
        assert_true(demo_run(&runs, faults, 1000 + i));
    }
    assert_int_equal(runs.runs, count);
    assert_int_equal(runs.right + runs.failed + runs.hung, count);
    return runs;
}

static void demo__runs_show_the_difference(void **state)
{
    struct demo_faults faults = {.loss = 0.01, .late = 0.01, .late_ns = 3 * DEMO_MS};
    (void)state;

    struct demo_runs literal = runs_of("switchml-literal", &faults, 40);
    assert_in_range(literal.wrong, 10, 40);
    assert_int_equal(literal.caught, literal.wrong);
    assert_int_equal(literal.delivered, 0);
    assert_in_range(literal.failed, 1, 40);
    assert_int_equal(runs_of("switchml", &faults, 40).right, 40);
    faults.restart = true;
    literal = runs_of("switchml-literal", &faults, 40);
    assert_in_range(literal.hung, 1, 40);
    assert_int_equal(runs_of("switchml", &faults, 40).right, 40);
}

static void demo__runs_without_faults_are_right(void **state)
{
    struct demo_faults none = {0};
    (void)state;

    assert_int_equal(runs_of("switchml-literal", &none, 3).right, 3);
    assert_int_equal(runs_of("switchml", &none, 3).right, 3);
}

static void demo__same_seed_same_run(void **state)
{
    struct demo_faults faults = {.loss = 0.02, .late = 0.02, .late_ns = DEMO_MS, .restart = true};
    (void)state;

    struct demo_runs one = runs_of("switchml", &faults, 5);
    struct demo_runs two = runs_of("switchml", &faults, 5);
    assert_memory_equal(&one, &two, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demo__published_rule_gets_a_sum_wrong_and_is_caught),
        cmocka_unit_test(demo__own_rule_gets_it_right),
        cmocka_unit_test(demo__runs_show_the_difference),
        cmocka_unit_test(demo__runs_without_faults_are_right),
        cmocka_unit_test(demo__same_seed_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
