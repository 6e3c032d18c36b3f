/* SPDX-License-Identifier: Apache-2.0 */
/* test_spawn.c: a signal while a process waits for the ranks that it has started is not lost to the caller. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/interrupt.h"
#include "cli/spawn.h"

/* The last rank has ended well: no loop passes the signal on, and the status of the ranks is 0. */
static void signal__behind_the_last_rank_is_kept(void **state)
{
    struct spawn_ranks ranks = {.count = 0};
    (void)state;
    interrupt_catch();
    if (spawn_rank(&ranks) == 0) {
        _exit(0);
    }
    assert_int_equal(spawn_wait(&ranks, true), 0);
    assert_false(interrupt_came());
    assert_int_equal(raise(SIGTERM), 0);
    interrupt_catch();
    assert_true(interrupt_came());
    assert_int_equal(interrupt_status(), 128 + SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal__behind_the_last_rank_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
