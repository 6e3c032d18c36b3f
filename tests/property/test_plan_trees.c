/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_trees.c: plans of small drawn networks against the best level with all trees that there are, by brute force;
 * and the proof of each plan. Mirrors src/plan/pack.h, src/plan/check.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/check.h"
#include "plan/lp.h"
#include "plan/make.h"
#include "plan_networks.h"
#include "plan_trees.h"

#define NETWORKS 40U
#define MEMORY_NETWORKS 24U
#define SLOW_NETWORKS 60U
#define TOLERANCE 1e-6

static void draw_network(struct plan_network *net, struct drawn *d, uint64_t seed)
{
    *d = (struct drawn){.prng = {seed}, .over = 1 + (double)(seed % 4), .can_add = 0.7};
    d->uneven = seed % 2 == 0 ? 0.4 : 0;
    d->adding = seed % 3 == 0 ? 300 * GBPS : PLAN_ADDS_ALL;
    draw_leaf_spine(net, d, 2 + (uint32_t)(seed % 2), 2, 3);
    net->has_multicast = seed % 4 < 2;
}

/* Makes a plan and proves it. Free the plan. */
static void prove(struct plan *plan, struct plan_proof *proof, const struct plan_network *net,
                  const struct plan_jobs *jobs, const struct plan_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (plan_make(plan, net, jobs, options, error) != TRIB_OK || !plan_check(plan, net, jobs, proof, error)) {
        fail_msg("%s", error);
    }
}

static double level_of(const struct plan_network *net, const struct plan_jobs *jobs, enum plan_family family)
{
    struct plan plan;
    struct plan_proof proof;
    const struct plan_options options = {.family = family};
    prove(&plan, &proof, net, jobs, &options);
    assert_true(proof.gap <= 2 * PLAN_GAP);
    assert_true(plan.stages[0].level_bps <= plan.stages[0].bound_bps);
    double level = (double)plan.stages[0].level_bps;
    plan_free(&plan);
    return level;
}

static void level__against_all_trees(void **state)
{
    uint32_t near = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= NETWORKS; seed++) {
        struct plan_network net;
        struct plan_jobs jobs;
        struct drawn d;
        draw_network(&net, &d, seed);
        draw_jobs(&jobs, &net, &d, 1 + (uint32_t)(seed % 3), 4, false);
        double all = every_level(&net, &jobs);
        double skeletons = level_of(&net, &jobs, PLAN_SKELETONS), middle = level_of(&net, &jobs, PLAN_MIDDLE);
        assert_true(skeletons <= all * (1 + TOLERANCE));
        assert_true(skeletons <= middle * (1 + 2 * PLAN_GAP));
        near += middle >= all * 0.99;
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
    assert_true(near >= NETWORKS * 98 / 100);
}

/* Memory for one job, or for two, at each switch, against all ways to share the switches among the jobs. No plan has
 * more than the best way, and there is no plan only where there is no way, in one network. In the mean the slowest job
 * has 0.963 of the best rate; 0.90 without new trees at the switches that jobs have, 0.93 with one cut. */
static void rate__with_little_memory(void **state)
{
    double sum = 0;
    uint32_t plans = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= MEMORY_NETWORKS; seed++) {
        struct plan_network net;
        struct plan_jobs jobs;
        struct drawn d;
        struct plan plan;
        struct plan_proof proof;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        uint32_t count = 2 + (uint32_t)(seed / 2 % 2), room = count > 2 && seed % 2 == 0 ? 2 : 1;
        draw_network(&net, &d, seed);
        draw_jobs(&jobs, &net, &d, count, 4, false);
        double best = every_level_within(&net, &jobs, room);
        for (uint32_t j = 0; j < count; j++) {
            jobs.list[j].memory = 1;
        }
        for (uint32_t i = 0; i < net.switches; i++) {
            net.memory[i] = room;
        }
        const struct plan_options options = {.family = PLAN_MIDDLE};
        enum trib_status status = plan_make(&plan, &net, &jobs, &options, error);
        double rate = HUGE_VAL;
        for (uint32_t j = 0; j < count && status == TRIB_OK; j++) {
            rate = fmin(rate, (double)plan.grants[j].rate_bps);
        }
        if (status == TRIB_OK) {
            assert_true(plan_check(&plan, &net, &jobs, &proof, error));
            assert_true(rate <= best * (1 + TOLERANCE));
            sum += rate / best;
            plans++;
        } else {
            assert_true(best < 1);
        }
        plan_free(&plan);
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
    assert_true(plans == MEMORY_NETWORKS - 1 && sum / plans > 0.95);
}

/* Some of the switches of a dragonfly add, each at a limited rate. */
static void draw_limited(struct plan_network *net, struct plan_jobs *jobs, struct drawn d, uint32_t count,
                         bool is_disjoint)
{
    d.can_add = 0.3 + 0.1 * (double)trib_prng_below(&d.prng, 6);
    d.uneven = 0.3;
    d.adding = 300 * GBPS;
    draw_dragonfly(net, &d, 4, 2, 2);
    net->has_multicast = true;
    draw_jobs(jobs, net, &d, count, 16, is_disjoint);
}

/* Of the slowest job, with at most so many trees each. *wanted: trees of the first job in the packing. */
static double loss_of(const struct plan_network *net, const struct plan_jobs *jobs, uint32_t most, uint32_t *wanted)
{
    struct plan plan;
    struct plan_proof proof;
    const struct plan_options options = {.family = plan_family_of(net), .most = most};
    prove(&plan, &proof, net, jobs, &options);
    *wanted = plan.grants[0].wanted;
    plan_free(&plan);
    return proof.loss;
}

/* One job of 16 hosts in a dragonfly: the best packing has 27 trees. The 16 fastest alone lose 7.6 % of its rate, those
 * of a packing with fewer trees 1.8 %. */
static void packing__of_many_trees_becomes_one_of_few(void **state)
{
    struct plan_network net;
    struct plan_jobs jobs;
    uint32_t wanted = 0;

    (void)state;
    draw_limited(&net, &jobs, (struct drawn){.prng = {7}, .over = 4}, 1, false);
    assert_true(loss_of(&net, &jobs, 16, &wanted) < 0.05);
    assert_true(wanted > 16);
    plan_jobs_free(&jobs);
    plan_network_free(&net);
}

/* Loss of the slowest of twelve jobs with at most so many trees each: the mean of 20 networks. */
static double mean_loss(uint32_t most)
{
    double losses = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct drawn d = {.prng = {seed}, .over = 4, .uneven = 0.3, .can_add = 0.5, .adding = 300 * GBPS};
        struct plan_network net;
        struct plan_jobs jobs;
        uint32_t wanted = 0;
        draw_leaf_spine(&net, &d, 6, 4, 4);
        draw_jobs(&jobs, &net, &d, 12, 6, false);
        losses += loss_of(&net, &jobs, most, &wanted);
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
    return losses / 20;
}

/* 0.69 %. It is 1.55 % if packings are not made anew with fewer trees, and no new trees are found beside the chosen. */
static void packing__of_many_jobs_becomes_one_of_few(void **state)
{
    (void)state;
    assert_true(mean_loss(2) < 0.009);
}

/* All trees that they want: the rounding to weights alone costs 0.0088 %. It costs 0.0141 % if the weights of each job
 * are chosen once. */
static void weights__make_up_for_those_of_other_jobs(void **state)
{
    (void)state;
    assert_true(mean_loss(32) < 0.00012);
}

/* 20 jobs with at most two trees each in a dragonfly: fixed rates do not fit together by the solver's tolerance. */
static void packing__of_rates_that_do_not_fit_together(void **state)
{
    struct plan_network net;
    struct plan_jobs jobs;
    uint32_t wanted = 0;

    (void)state;
    draw_limited(&net, &jobs, (struct drawn){.prng = {22}, .over = 1}, 20, true);
    (void)loss_of(&net, &jobs, 2, &wanted);
    assert_true(wanted > 2);
    plan_jobs_free(&jobs);
    plan_network_free(&net);
}

/* Returns true from the call on that *user counts down to. */
static bool is_late(void *user)
{
    uint32_t *left = user;
    *left -= *left > 0 ? 1 : 0;
    return *left == 0;
}

/* Five jobs on a fat tree: a search that ends early, in any of its steps, has a plan that holds, and says so. */
static void search__that_ends_early(void **state)
{
    struct drawn d = {.prng = {7}, .over = 4, .uneven = 0.3, .can_add = 0.5, .adding = 300 * GBPS};
    struct plan_network net;
    struct plan_jobs jobs;
    double first = 0, last = 0;

    (void)state;
    draw_fat_tree(&net, &d, 8);
    draw_jobs(&jobs, &net, &d, 5, 32, false);
    for (uint32_t calls = 1; calls < 200; calls += 1 + calls / 8) {
        struct plan plan;
        struct plan_proof proof;
        uint32_t left = calls;
        const struct plan_options options = {
            .family = plan_family_of(&net), .most = 4, .is_late = is_late, .user = &left};
        prove(&plan, &proof, &net, &jobs, &options);
        assert_true(plan.is_early == (left == 0));
        assert_true(plan.is_early || proof.gap <= 2 * PLAN_GAP);
        double level = (double)plan.stages[0].level_bps;
        assert_true(level <= (double)plan.stages[0].bound_bps);
        assert_true(calls > 1 || (plan.is_early && proof.first_gap > PLAN_GAP));
        assert_true(calls < 150 || !plan.is_early);
        first = calls == 1 ? level : first;
        last = level;
        plan_free(&plan);
    }
    assert_true(first < last);
    plan_jobs_free(&jobs);
    plan_network_free(&net);
}

/* ---- links of very different rates ---- */

static void slow_down(struct plan_network *net, struct drawn *d)
{
    static const uint64_t rates[] = {1000000, 3000000, 17000000, GBPS};
    for (uint32_t link = 0; link < net->fabric.link_count; link += 2) { /* both directions of a cable */
        if (trib_prng_chance(&d->prng, 0.25)) {
            net->fabric.rate_bps[link] = net->fabric.rate_bps[link + 1] = rates[trib_prng_below(&d->prng, 4)];
        }
    }
}

/* Links of 1 Mbit/s beside 100 Gbit/s: rates far below the fastest link are no rounding errors of the solver. */
static void level__of_slow_links(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SLOW_NETWORKS; seed++) {
        struct plan_network net;
        struct plan_jobs jobs;
        struct drawn d;
        draw_network(&net, &d, seed);
        slow_down(&net, &d);
        draw_jobs(&jobs, &net, &d, 1 + (uint32_t)(seed % 7), 4, false);
        for (uint32_t j = 0; j < jobs.count; j++) {
            jobs.list[j].weight = trib_prng_chance(&d.prng, 0.25) ? 100 : 1;
        }
        (void)level_of(&net, &jobs, plan_family_of(&net));
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(level__against_all_trees),
                                       cmocka_unit_test(rate__with_little_memory),
                                       cmocka_unit_test(packing__of_many_trees_becomes_one_of_few),
                                       cmocka_unit_test(packing__of_many_jobs_becomes_one_of_few),
                                       cmocka_unit_test(weights__make_up_for_those_of_other_jobs),
                                       cmocka_unit_test(packing__of_rates_that_do_not_fit_together),
                                       cmocka_unit_test(level__of_slow_links),
                                       cmocka_unit_test(search__that_ends_early)};
    return trib_lp_is_there() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
