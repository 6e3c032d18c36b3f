/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_lp.c: linear programs with a known maximum: solutions, prices, columns and bounds that come later; programs
 * without a maximum; the end of a long solve. Mirrors src/plan/lp.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
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
    assert_true(trib_lp_primal(lp)[2] == 0 && fabs(trib_lp_primal(lp)[0] - 3) < NEAR); /* as solved before */
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

#define ROWS 1000U
#define FILLED 10U /* rows of a column */

static bool count_and_answer(void *user)
{
    uint32_t *calls = user; /* odd: the answer is yes */
    *calls += 2;
    return *calls % 2 == 1;
}

/* A drawn program of 2,000 columns that takes more iterations than CLP gets at a time. */
static struct trib_lp *draw_large(void)
{
    double lower[ROWS], upper[ROWS];
    struct trib_prng prng = {1};
    for (uint32_t i = 0; i < ROWS; i++) {
        lower[i] = -HUGE_VAL;
        upper[i] = 1;
    }
    struct trib_lp *lp = trib_lp_create(ROWS, lower, upper);
    for (uint32_t i = 0; i < 2 * ROWS; i++) {
        uint32_t rows[FILLED], row = (uint32_t)trib_prng_below(&prng, ROWS / FILLED);
        double values[FILLED];
        for (uint32_t k = 0; k < FILLED; k++) {
            rows[k] = row;
            values[k] = 1 + (double)trib_prng_below(&prng, 100) / 10;
            row += 1 + (uint32_t)trib_prng_below(&prng, ROWS / FILLED - 1);
        }
        const struct trib_lp_column column = {1 + (double)trib_prng_below(&prng, 100) / 100, HUGE_VAL, FILLED, rows,
                                              values};
        assert_int_equal(trib_lp_add(lp, 1, &column), TRIB_OK);
    }
    return lp;
}

/* A long solve asks whether its solution so far is enough: the solution fits, and the next solve goes on from there. */
static void solve__until_it_is_enough(void **state)
{
    double most = 0;
    (void)state;
    for (uint32_t run = 0; run < 3; run++) {
        uint32_t calls = run == 2; /* 0: unwatched */
        struct trib_lp *lp = draw_large();
        if (run > 0) {
            trib_lp_watch(lp, count_and_answer, &calls);
        }
        assert_int_equal(trib_lp_solve(lp, NULL), run < 2 ? TRIB_OK : TRIB_ERR_TIMEOUT);
        assert_true(trib_lp_fits(lp));
        assert_true(run == 0 ? calls == 0 : calls >= 2 && (run < 2 || calls == 3));
        if (run == 2) {
            assert_true(trib_lp_value(lp) > most / 2 && trib_lp_value(lp) < most);
            trib_lp_watch(lp, NULL, NULL);
            assert_int_equal(trib_lp_solve(lp, NULL), TRIB_OK);
        }
        most = run == 0 ? trib_lp_value(lp) : most;
        assert_true(fabs(trib_lp_value(lp) / most - 1) < 1e-5); /* the solver's tolerances */
        trib_lp_destroy(lp);
    }
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
        cmocka_unit_test(solve__until_it_is_enough),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(create__without_a_solver)};
    return trib_lp_is_there() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
}
