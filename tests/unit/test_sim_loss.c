/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_loss.c: jobs whose packets are lost now and then, each with the same probability, which no congestion does:
 * windows that follow the network cost little more than fixed ones, and nobody stands still for long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/sim_text.h"

#define SEEDS 12
#define MS_PS UINT64_C(1000000000)
#define LONGEST_PS (500 * MS_PS) /* that no rank of a job gets a result */

/* One operation of 4 workers on an otherwise idle network; how long it takes. */
static uint64_t time_of(const char *scheme, uint32_t percent, uint32_t seed)
{
    uint64_t results = 0;
    uint64_t at_ps = 0;

    open_text(
        "duration = \"60s\"\nseed = %u\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"2us\"\n"
        "[faults]\nloss = \"%u%%\"\n[[job]]\nscheme = \"%s\"\nworkers = 4\nsize = \"512KB\"\niterations = 1\n",
        seed, percent, scheme);
    while (sim_run_advance(&run, 1)) {
        uint64_t now = sim_jobs_counters(&run.jobs, 0).workers.results;
        if (now == results && sim_run_now(&run) - at_ps > LONGEST_PS) {
            fail_msg("%s, %u %%, seed %u: no result since %.0f ms", scheme, percent, seed,
                     (double)at_ps / (double)MS_PS);
        }
        at_ps = now == results ? at_ps : sim_run_now(&run);
        results = now;
    }
    assert_int_equal(run.jobs.done_jobs, 1);
    close_run();
    return at_ps;
}

static void loss__costs_panama_little_more_than_switchml(void **state)
{
    static const struct {
        uint32_t percent;
        uint64_t times_tenths; /* of switchml's time, at most */
    } cases[] = {{5, 15}, {10, 15}, {30, 50}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t fixed_ps = 0;
        uint64_t paced_ps = 0;
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            fixed_ps += time_of("switchml", cases[i].percent, seed);
            paced_ps += time_of("panama", cases[i].percent, seed);
        }
        print_message("%u %%: switchml %.1f ms, panama %.1f\n", cases[i].percent,
                      (double)fixed_ps / (double)(SEEDS * MS_PS), (double)paced_ps / (double)(SEEDS * MS_PS));
        assert_true(10 * paced_ps <= cases[i].times_tenths * fixed_ps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss__costs_panama_little_more_than_switchml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
