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
#include "io/clock.h"

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

/* One of two ranks cannot be started (RLIMIT_NPROC does not bind root, so it is said here): the other would wait for it. */
static void wait__ends_the_others_if_a_rank_is_lacking(void **state)
{
    struct spawn_ranks ranks = {.count = 0};
    uint64_t begin = trib_clock_ns();
    (void)state;
    spawn_catch();
    if (spawn_rank(&ranks) == 0) {
        (void)sleep(60);
        _exit(0);
    }
    ranks.lacks = true;
    assert_int_equal(spawn_wait(&ranks, true), 1);
    assert_true(trib_clock_ns() - begin < 50 * TRIB_SECOND_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait__ends_the_others_if_a_rank_is_lacking),
        cmocka_unit_test(signal__behind_the_last_rank_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
