/* SPDX-License-Identifier: Apache-2.0 */
/* test_kind.c: mirrors tests/api/kind.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/kind.h"

static void same__whatever_rank_step_value_and_words_of_the_library(void **state)
{
    (void)state;
    assert_true(is_same_kind("rank 0: step 3: reduce of 5 int8 (sum): element 4 is 17, and not 18",
                             "rank 2: step 0: allreduce of 1 float32 (max): element 0 is 1.5e+10, and not -2"));
    assert_true(is_same_kind("rank 1: step 4: split: PEER, and not OK; rank 3 is gone: its session closed",
                             "rank 0: trib_comm_close: PEER, and not OK"));
    assert_true(is_same_kind("hangs; ranks are in steps 3 3 join", "hangs; ranks are in steps close done"));
    assert_true(is_same_kind("crashes\n    assertion a failed", "crashes\n    assertion b failed"));
    assert_true(
        is_same_kind("rank 4 crashed (wait status 0x8b) in step 6", "rank 0 crashed (wait status 0xb) in step 1"));
}

static void other__status_cause_or_check(void **state)
{
    (void)state;
    assert_false(is_same_kind("rank 0: step 3: split: PEER, and not OK", "rank 0: step 3: split: TIMEOUT, and not OK"));
    assert_false(
        is_same_kind("rank 0: step 3: split: PEER, and not OK", "rank 0: step 3: split: PEER, and not OK or PEER"));
    assert_false(is_same_kind("rank 0: step 3: reduce of 5 int8 (sum): element 4 is 17, and not 18",
                              "rank 0: step 3: reduce: writes outside of its buffer"));
    assert_false(is_same_kind("hangs; ranks are in steps 3 3", "crashes\n    hangs"));
    assert_false(
        is_same_kind("rank 0: trib_comm_create (rank 0 of job a cannot listen at the rendezvous 127.0.0.1:5: cannot "
                     "listen on TCP 127.0.0.1:5: Address already in use; it must): SYSTEM, and not OK",
                     "rank 0: trib_comm_create (refused: no): SYSTEM, and not OK"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same__whatever_rank_step_value_and_words_of_the_library),
        cmocka_unit_test(other__status_cause_or_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
