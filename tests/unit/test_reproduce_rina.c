/* SPDX-License-Identifier: Apache-2.0 */
/* test_reproduce_rina.c: steps of Rina's chains, counted in packets, and the paper's accounts of time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reproduce/rina.h"

/* 2 G - 1 of the published rule, 2 (N - 1) without a switch that adds. */
static void steps__are_the_papers(void **state)
{
    static const struct {
        const char *claim;
        double steps;
    } cases[] = {{"eight-racks", 15}, {"four-racks", 7}, {"eights", 15},     {"mixed", 23},
                 {"ring", 30},        {"ours", 1},       {"ours-mixed", 17}, {"per-phase", 8}};
    struct reproduce_run run;

    (void)state;
    reproduce_init(&run, reproduce_experiment_find("rina-steps"));
    assert_true(rina_steps(&run));
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double ours = -1;
        for (uint32_t i = 0; i < run.value_count; i++) {
            ours = strcmp(run.values[i].name, cases[k].claim) == 0 ? run.values[i].ours : ours;
        }
        assert_true(ours == cases[k].steps);
    }
    const struct report_plot *panel = &run.panels[0];
    assert_int_equal(panel->lines[0].count, 12);
    for (uint32_t racks = 1; racks <= 12; racks++) {
        assert_true(panel->lines[0].y[racks - 1] == 2.0 * racks - 1);
        assert_true(panel->lines[1].y[racks - 1] == 1);
    }
    reproduce_deinit(&run);
}

/* 98 MB at 10 Gbps are 78.4 ms. */
static void accounts__are_the_papers(void **state)
{
    const struct rina_model m = {.bytes = 98e6, .rate_bps = 10e9, .overhead_s = 1e-3};
    const double whole = 0.0784;

    (void)state;
    assert_true(fabs(rina_model_ring(&m, 16) - (0.030 + 30.0 / 16 * whole)) < 1e-12);
    assert_true(fabs(rina_model_hybrid(&m, 16, 2) - (0.016 + (1 + 14.0 / 8 / 2) * whole)) < 1e-12);
    assert_true(fabs(rina_model_chain(&m, 8, 16) - (0.015 + 15.0 / 8 * whole)) < 1e-12);
    assert_true(fabs(rina_model_chain(&m, 16, 16) - rina_model_ring(&m, 16)) < 1e-12);
    assert_true(fabs(rina_model_tree(&m, 0.5) - (0.002 + 4 * whole)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps__are_the_papers),
        cmocka_unit_test(accounts__are_the_papers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
