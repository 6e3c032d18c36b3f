/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_lp.c: linear programs with a known maximum: solutions, prices, columns and bounds that come later, and
 * programs without a maximum. Mirrors src/plan/lp.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/lp.h"

#define NEAR 1e-7

static const uint32_t both[] = {0, 1};

static void solve__maximum_and_prices(void **state)
{
    /* max 3x + 2y, x + y <= 4, x + 3y <= 6, x <= 3: x = 3, y = 1. */
    const double lower[] = {-HUGE_VAL, -HUGE_VAL};
    const double upper[] = {4, 6};
    const double one[] = {1, 1}, three[] = {1, 3};
    const struct trib_lp_column columns[] = {{3, 3, 2, both, one}, {2, HUGE_VAL, 2, both, three}};
    struct trib_lp *lp = trib_lp_create(2, lower, upper);
    (void)state;
    assert_non_null(lp);
    assert_int_equal(trib_lp_add(lp, 2, columns), TRIB_OK);
    assert_int_equal(trib_lp_solve(lp, NULL), TRIB_OK);
    assert_true(fabs(trib_lp_value(lp) - 11) < NEAR);
    assert_true(fabs(trib_lp_primal(lp)[0] - 3) < NEAR && fabs(trib_lp_primal(lp)[1] - 1) < NEAR);
    assert_true(trib_lp_dual(lp)[0] >= -NEAR && trib_lp_dual(lp)[1] >= -NEAR);

    /* max 3x + 2y + 5z, where z needs two of the first row: its price decides. */
    trib_lp_bound(lp, 0, -HUGE_VAL, 8);
    trib_lp_bound(lp, 1, 5, 6);
    assert_int_equal(trib_lp_solve(lp, NULL), TRIB_OK);
    assert_true(fabs(trib_lp_value(lp) - 11) < NEAR);
    const double two[] = {2};
    const struct trib_lp_column more = {5, HUGE_VAL, 1, both, two};
    assert_int_equal(trib_lp_add(lp, 1, &more), TRIB_OK);
    assert_int_equal(trib_lp_solve(lp, NULL), TRIB_OK);
    /* z = 2.5 where x = 3, y = 0; y = 2/3 for the second row's lower bound takes 1/3 of z. */
    assert_true(fabs(trib_lp_primal(lp)[0] - 3) < NEAR && fabs(trib_lp_primal(lp)[1] - 2.0 / 3) < NEAR);
    assert_true(fabs(trib_lp_primal(lp)[2] - (8 - 3 - 2.0 / 3) / 2) < NEAR);
    assert_true(fabs(trib_lp_dual(lp)[0] - 2.5) < NEAR);
    assert_true(fabs(trib_lp_dual(lp)[1] - (2 - 2.5) / 3) < NEAR);
    trib_lp_cost(lp, 2, 0);
    assert_int_equal(trib_lp_solve(lp, NULL), TRIB_OK);
    assert_true(fabs(trib_lp_value(lp) - 11) < NEAR);
    trib_lp_destroy(lp);
}

static void solve__without_a_maximum(void **state)
{
    const double lower[] = {2, -HUGE_VAL}, upper[] = {HUGE_VAL, 1};
    const double one[] = {1, 1};
    const struct trib_lp_column narrow = {1, HUGE_VAL, 2, both, one}, wide = {1, HUGE_VAL, 1, both, one};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_lp *lp = trib_lp_create(2, lower, upper);
    (void)state;
    assert_int_equal(trib_lp_add(lp, 1, &narrow), TRIB_OK);
    assert_int_equal(trib_lp_solve(lp, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "fits all its bounds"));
    assert_int_equal(trib_lp_add(lp, 1, &wide), TRIB_OK);
    assert_int_equal(trib_lp_solve(lp, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "no maximum"));
    trib_lp_destroy(lp);
    trib_lp_destroy(NULL);
}

/* A build or a machine without a solver has no program, and says what to install. */
static void create__without_a_solver(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    const char *lack = trib_lp_explain_lack();
    (void)state;
    assert_null(trib_lp_create(0, NULL, NULL));
    assert_non_null(strstr(lack, "install coinor-libclp"));
    if (strstr(lack, "this build") != NULL) {
        assert_int_equal(trib_lp_solve(NULL, error), TRIB_ERR_UNSUPPORTED);
        assert_non_null(strstr(error, "coinor-libclp-dev"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solve__maximum_and_prices),
        cmocka_unit_test(solve__without_a_maximum),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(create__without_a_solver)};
    return trib_lp_is_there() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
}
