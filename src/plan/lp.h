/* SPDX-License-Identifier: Apache-2.0 */
/* lp.h: a linear program that grows by columns: maximise cost . x, where lower <= A x <= upper by row and
 * 0 <= x <= upper by column. One implementation: lp_clp.c (COIN-OR CLP, loaded with the first program); in a build
 * without a solver lp_none.c, which names the package to install. The same rows and columns, added in the same order,
 * give the same solution.
 *
 * Nothing here has to be trusted: a plan's bound is computed again from its prices, in integers (check.h).
 *
 * Use: trib_lp_create, trib_lp_add, trib_lp_solve, read the solution; add or bound more, solve again;
 * trib_lp_destroy. Read next: pack.h (its user). */
#ifndef TRIB_PLAN_LP_H
#define TRIB_PLAN_LP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

struct trib_lp;

struct trib_lp_column {
    double cost;          /* in the objective */
    double upper;         /* HUGE_VAL: no bound */
    uint32_t count;       /* number of coefficients */
    const uint32_t *rows; /* of these, each row once */
    const double *values; /* of these */
};

/* Loads the solver once. NULL: done; else the cause and the remedy. Any thread may call. */
const char *trib_lp_explain_lack(void);
static inline bool trib_lp_is_there(void)
{
    return trib_lp_explain_lack() == NULL;
}
/* Creates a program with `rows` rows and no column. lower, upper: by row; -HUGE_VAL, HUGE_VAL: no bound. NULL: out of
 * memory, or no solver. */
struct trib_lp *trib_lp_create(uint32_t rows, const double *lower, const double *upper);
void trib_lp_destroy(struct trib_lp *lp); /* NULL: no effect */
/* Appends columns; the first one ever is column 0. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_lp_add(struct trib_lp *lp, uint32_t count, const struct trib_lp_column *columns);
/* Changes the bounds of a row. */
void trib_lp_bound(struct trib_lp *lp, uint32_t row, double lower, double upper);
/* Changes the cost of a column. */
void trib_lp_cost(struct trib_lp *lp, uint32_t column, double cost);
/* Of a long solve: is_enough is called now and then, with the solution so far; true ends the solve. */
void trib_lp_watch(struct trib_lp *lp, bool (*is_enough)(void *user), void *user);
/* Solves by the primal simplex method, from the basis of the last solution if there is one. error: TRIB_ERROR_TEXT_MAX
 * bytes, or NULL. ERR_INVALID: no x fits all bounds, or the objective has no maximum; ERR_SYSTEM: the solver gave up;
 * ERR_TIMEOUT: is_enough has ended it, and there is the solution so far, if it fits. */
TRIB_MUST_USE enum trib_status trib_lp_solve(struct trib_lp *lp, char *error);
/* True if the solution so far fits all bounds. */
bool trib_lp_fits(const struct trib_lp *lp);
/* Of the last solution. Both lists belong to the program, and are valid until it changes. */
double trib_lp_value(const struct trib_lp *lp);
const double *trib_lp_primal(struct trib_lp *lp); /* x, by column; 0 of columns that came after the solution */
/* By row: gain of the maximum if the row's bound moves up by one. >= 0 at an upper bound, <= 0 at a lower one, up to
 * the solver's tolerance. */
const double *trib_lp_dual(const struct trib_lp *lp);

#endif
