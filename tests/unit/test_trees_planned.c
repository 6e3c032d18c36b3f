/* SPDX-License-Identifier: Apache-2.0 */
/* test_trees_planned.c: jobs whose switches a plan names, as the control plane deals them. Mirrors
 * src/control/roots/trees.c; the rest of it is in test_trees.c, the plan's file in test_planned.c. */
#include "some_harness.h"

#include "control/jobs/check.h"
#include "control/jobs/progress.h"
#include "fabric/planned.h"

/* The plan has the switches of some jobs, with their weights; the others are dealt as without it. */
static void plan__names_the_switches(void **state)
{
    struct switches *s = *state;
    struct trib_planned_job jobs[] = {
        {.name = "one", .rate_bps = 8000000, .count = 2, .switches = {0, 2}, .weight = {3, 1}},
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
    assert_int_equal(s->h.process[0].welcome.welcome.rate, 1000000);
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "D");
    assert_int_equal(s->h.process[2].welcome.welcome.rate, 0);
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

static void progress(struct switches *s, uint32_t session, uint64_t bytes, uint64_t busy_ns)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_PROGRESS,
                                         .progress = {.bytes = bytes, .busy_ns = busy_ns}};
    assert_true(say(&s->h, session, &message));
}

/* A job's rate is that of its fastest rank, once each has told one. From a fifth beside the plan on it misses that. */
static void plan__is_missed_from_a_fifth_on(void **state)
{
    static const struct {
        uint64_t bytes;
        bool misses;
    } cases[] = {{2000000, false}, {1600002, false}, {1600000, true}, {2399998, false}, {2400000, true}, {0, true}};
    struct switches *s = *state;
    struct trib_planned_job planned_job = {
        .name = "one", .rate_bps = 8000000, .count = 1, .switches = {0}, .weight = {1}};
    const struct trib_planned planned = {.count = 1, .jobs = &planned_job};
    s->h.config.planned = &planned;
    join_two(s, "one", 0, 0);
    register_ranks(s, 2, 0);
    const struct trib_job *job = s->h.process[0].session.job;
    assert_int_equal(trib_job_planned_rate(&s->h.jobs, job), 1000000);
    assert_int_equal(trib_job_achieved_rate(job), 0);
    progress(s, 0, 1000, 2 * TRIB_SECOND_NS);
    assert_int_equal(trib_job_achieved_rate(job), 0);
    assert_false(trib_job_misses_plan(&s->h.jobs, job));
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        progress(s, 1, cases[i].bytes, 2 * TRIB_SECOND_NS);
        assert_int_equal(trib_job_achieved_rate(job), cases[i].bytes > 1000 ? cases[i].bytes / 2 : 500);
        assert_int_equal(trib_job_misses_plan(&s->h.jobs, job), cases[i].misses);
        assert_int_equal(job->misses_plan, i >= 2); /* the log has it once */
    }
    progress(s, 0, UINT64_C(4000000), 3 * TRIB_SECOND_NS);
    assert_int_equal(trib_job_achieved_rate(job), 1333333);
    join_two(s, "two", 2, 2);
    register_rank(&s->h, 2, 0);
    assert_int_equal(trib_job_planned_rate(&s->h.jobs, s->h.process[2].session.job), 0);
    assert_false(trib_job_misses_plan(&s->h.jobs, s->h.process[2].session.job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plan__names_the_switches, start_two, stop),
        cmocka_unit_test_setup_teardown(plan__of_one_where_others_have_all, start_two, stop),
        cmocka_unit_test_setup_teardown(plan__is_left_where_a_switch_refuses, start_two, stop),
        cmocka_unit_test_setup_teardown(plan__is_missed_from_a_fifth_on, start_two, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
