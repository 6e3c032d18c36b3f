/* SPDX-License-Identifier: Apache-2.0 */
/* test_trees_planned.c: jobs whose switches a plan names, as the control plane deals them. Mirrors
 * src/control/roots/trees.c; the rest of it is in test_trees.c, the plan's file in test_planned.c. */
#include "some_harness.h"

#include "fabric/planned.h"

/* The plan has the switches of some jobs, with their weights; the others are dealt as without it. */
static void plan__names_the_switches(void **state)
{
    struct switches *s = *state;
    struct trib_planned_job jobs[] = {
        {.name = "one", .count = 2, .switches = {0, 2}, .weight = {3, 1}},
        {.name = "two", .count = 1, .switches = {3}, .weight = {5}},
    };
    const struct trib_planned planned = {.count = 2, .jobs = jobs};
    s->h.config.planned = &planned;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "AC");
    const struct trib_grant *grant = &s->h.process[0].welcome.welcome.grant;
    assert_int_equal(grant->roots, 4);
    for (uint32_t t = 0; t < 4; t++) {
        assert_int_equal(grant->weight[t], t % 2 == 0 ? 3 : 1);
    }
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "D");
    s->h.jobs.turn = 0;
    join_two(s, "three", 4, 4); /* A, C and D have something to do */
    assert_trees(s, 4, "BC");
    trib_jobs_check(&s->h.jobs);
}

/* Also where jobs without a plan have all switches. */
static void plan__of_one_where_others_have_all(void **state)
{
    struct switches *s = *state;
    struct trib_planned_job job = {.name = "one", .count = 1, .switches = {1}, .weight = {1}};
    const struct trib_planned planned = {.count = 1, .jobs = &job};
    s->h.config.trees = 0;
    s->h.config.planned = &planned;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "B");
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "ABCD");
    trib_jobs_check(&s->h.jobs);
}

/* A switch that takes no part: the plan is advice, and the job is dealt without it. */
static void plan__is_left_where_a_switch_refuses(void **state)
{
    struct switches *s = *state;
    struct trib_planned_job job = {.name = "one", .count = 2, .switches = {0, 3}, .weight = {3, 1}};
    const struct trib_planned planned = {.count = 1, .jobs = &job};
    s->h.config.planned = &planned;
    s->h.jobs.remote[2].refused_ns = s->h.now_ns > 0 ? s->h.now_ns : 1;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "AB");
    const struct trib_grant *grant = &s->h.process[0].welcome.welcome.grant;
    assert_int_equal(grant->weight[0], grant->weight[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plan__names_the_switches, start_two, stop),
        cmocka_unit_test_setup_teardown(plan__of_one_where_others_have_all, start_two, stop),
        cmocka_unit_test_setup_teardown(plan__is_left_where_a_switch_refuses, start_two, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
