/* SPDX-License-Identifier: Apache-2.0 */
/* sim_text.h: a run of the simulator of a scenario that stands in a test as text, one at a time: open_text, finish,
 * close_run. Included after cmocka.h. Read next: test_sim_levers.c (who uses it). */
#ifndef TRIB_TEST_SIM_TEXT_H
#define TRIB_TEST_SIM_TEXT_H

#include <stdio.h>

#include "sim/scenario/scenario.h"

static struct sim_scenario s;
static struct sim_run run;

__attribute__((format(printf, 1, 2))) static inline void open_text(const char *format, ...)
{
    char text[4096];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!sim_scenario_parse(&s, text, "x", NULL, error) || !sim_run_init(&run, &s, error)) {
        fail_msg("%s", error);
    }
}

/* To its end; what must hold at any time does, and every sum is right. */
static inline void finish(void)
{
    while (sim_run_advance(&run, 20000)) {
        assert_null(sim_run_check(&run));
    }
    assert_null(sim_run_check(&run));
    for (uint32_t i = 0; i < run.jobs.count; i++) {
        assert_true(run.jobs.jobs[i].compared > 0 || run.jobs.jobs[i].iterations == 0 ||
                    run.jobs.jobs[i].scheme == NULL); /* in steps: without numbers */
        assert_int_equal(run.jobs.jobs[i].wrong, 0);
    }
}

static inline void close_run(void)
{
    sim_run_deinit(&run);
    sim_scenario_free(&s);
}

#endif
