/* SPDX-License-Identifier: Apache-2.0 */
/* lp_clp.c: the linear program by COIN-OR CLP, through its C interface, which is loaded with the first program
 * (io/library.h). See lp.h. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <coin/Clp_C_Interface.h>

#include "io/explain.h"
#include "io/library.h"
#include "plan/lp.h"

#define AT_LOWER_BOUND 3 /* of a column, for Clp_setColumnStatus */
#define STOPPED 3        /* by the limit of iterations, for Clp_status */
#define ITERATIONS 1000  /* until is_enough is asked: a second of a large program */

/* Columns that CLP does not have yet, in its form: all their numbers in one list. */
struct batch {
    double *costs, *uppers, *values;
    int *starts, *rows; /* by column, and one more; by number */
    size_t count, room;
    size_t used, value_room;
};

struct trib_lp {
    Clp_Simplex *clp;
    struct batch batch;
    uint32_t rows;
    double *lower; /* by row */
    double *upper;
    bool (*is_enough)(void *user);
    void *user;
};

/* CLP's functions, without "Clp_". */
/* clang-format off */
#define FUNCTIONS(X) \
    X(addColumns) X(chgRowLower) X(chgRowUpper) X(deleteModel) \
    X(dualRowSolution) X(newModel) X(numberColumns) \
    X(objective) X(objectiveValue) X(primal) X(primalColumnSolution) X(primalFeasible) \
    X(resize) X(setColumnStatus) X(setLogLevel) X(setMaximumIterations) X(setOptimizationDirection) \
    X(status) X(statusExists)

static struct {
#define FIELD(name) __typeof__(Clp_##name) *(name);
    FUNCTIONS(FIELD)
#undef FIELD
} clp;

static const struct trib_library_function functions[] = {
#define ROW(name) {"Clp_" #name, &clp.name},
    FUNCTIONS(ROW)
#undef ROW
    {NULL, NULL},
};
/* clang-format on */

static struct trib_library library = {
    .need = "plans need the solver CLP",
    .files = {"libClp.so.1"},
    .package = "coinor-libclp1",
    .functions = functions,
    .once = PTHREAD_ONCE_INIT,
};

const char *trib_lp_explain_lack(void)
{
    return trib_library_explain_lack(&library);
}

/* CLP's infinity is the largest number. */
static double clp_bound(double bound)
{
    return bound > DBL_MAX ? DBL_MAX : bound < -DBL_MAX ? -DBL_MAX : bound;
}

struct trib_lp *trib_lp_create(uint32_t rows, const double *lower, const double *upper)
{
    struct trib_lp *lp = trib_lp_explain_lack() == NULL ? calloc(1, sizeof *lp) : NULL;
    if (lp == NULL) {
        return NULL;
    }
    lp->rows = rows;
    lp->lower = calloc(rows + 1U, sizeof *lp->lower);
    lp->upper = calloc(rows + 1U, sizeof *lp->upper);
    lp->clp = clp.newModel();
    if (lp->lower == NULL || lp->upper == NULL || lp->clp == NULL) {
        trib_lp_destroy(lp);
        return NULL;
    }
    clp.setLogLevel(lp->clp, 0);
    clp.setOptimizationDirection(lp->clp, -1);
    clp.resize(lp->clp, (int)rows, 0);
    for (uint32_t i = 0; i < rows; i++) {
        trib_lp_bound(lp, i, lower[i], upper[i]);
    }
    return lp;
}

void trib_lp_destroy(struct trib_lp *lp)
{
    if (lp != NULL) {
        if (lp->clp != NULL) {
            clp.deleteModel(lp->clp);
        }
        free(lp->batch.costs);
        free(lp->batch.uppers);
        free(lp->batch.values);
        free(lp->batch.starts);
        free(lp->batch.rows);
        free(lp->lower);
        free(lp->upper);
        free(lp);
    }
}

/* ---- columns ---- */

/* One column by itself would make CLP copy the whole program. */
static void flush(struct trib_lp *lp)
{
    struct batch *batch = &lp->batch;
    if (batch->count == 0) {
        return;
    }
    int first = clp.numberColumns(lp->clp), count = (int)batch->count;
    batch->starts[count] = (int)batch->used;
    clp.addColumns(lp->clp, count, NULL, batch->uppers, batch->costs, batch->starts, batch->rows, batch->values);
    for (int i = first; i < first + count && clp.statusExists(lp->clp); i++) {
        (void)clp.setColumnStatus(lp->clp, i, AT_LOWER_BOUND);
    }
    batch->count = 0;
    batch->used = 0;
}

static bool grow_doubles(double **list, size_t room)
{
    double *larger = realloc(*list, room * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    *list = larger;
    return true;
}

static bool grow_ints(int **list, size_t room)
{
    int *larger = realloc(*list, room * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    *list = larger;
    return true;
}

/* False: out of memory. */
static bool make_room(struct batch *batch, const struct trib_lp_column *column)
{
    if (batch->count + 1 >= batch->room) {
        size_t room = 2 * batch->room + 64;
        if (!grow_doubles(&batch->costs, room) || !grow_doubles(&batch->uppers, room) ||
            !grow_ints(&batch->starts, room)) {
            return false;
        }
        batch->room = room;
    }
    if (batch->used + column->count > batch->value_room) {
        size_t room = 2 * (batch->used + column->count);
        if (!grow_ints(&batch->rows, room) || !grow_doubles(&batch->values, room)) {
            return false;
        }
        batch->value_room = room;
    }
    return true;
}

enum trib_status trib_lp_add(struct trib_lp *lp, uint32_t count, const struct trib_lp_column *columns)
{
    struct batch *batch = &lp->batch;
    for (uint32_t i = 0; i < count; i++) {
        const struct trib_lp_column *column = &columns[i];
        if (!make_room(batch, column)) {
            return TRIB_ERR_MEMORY;
        }
        batch->costs[batch->count] = column->cost;
        batch->uppers[batch->count] = clp_bound(column->upper);
        batch->starts[batch->count++] = (int)batch->used;
        for (uint32_t k = 0; k < column->count; k++) {
            batch->rows[batch->used] = (int)column->rows[k];
            batch->values[batch->used++] = column->values[k];
        }
    }
    return TRIB_OK;
}

/* ---- the rest ---- */

void trib_lp_bound(struct trib_lp *lp, uint32_t row, double lower, double upper)
{
    lp->lower[row] = clp_bound(lower);
    lp->upper[row] = clp_bound(upper);
}

void trib_lp_cost(struct trib_lp *lp, uint32_t column, double cost)
{
    flush(lp);
    clp.objective(lp->clp)[column] = cost;
}

void trib_lp_watch(struct trib_lp *lp, bool (*is_enough)(void *user), void *user)
{
    lp->is_enough = is_enough;
    lp->user = user;
}

bool trib_lp_fits(const struct trib_lp *lp)
{
    return clp.primalFeasible(lp->clp) != 0;
}

enum trib_status trib_lp_solve(struct trib_lp *lp, char *error)
{
    flush(lp);
    clp.chgRowLower(lp->clp, lp->lower);
    clp.chgRowUpper(lp->clp, lp->upper);
    /* By iterations, not by time: without an end the solution is the same each time. */
    for (int most = lp->is_enough != NULL ? ITERATIONS : INT_MAX;; most += most / 8) {
        clp.setMaximumIterations(lp->clp, most);
        (void)clp.primal(lp->clp, 0);
        if (clp.status(lp->clp) != STOPPED || most > INT_MAX / 2) {
            break;
        }
        if (lp->is_enough(lp->user)) {
            return TRIB_ERR_TIMEOUT;
        }
    }
    switch (clp.status(lp->clp)) {
    case 0:
        return TRIB_OK;
    case 1:
        trib_explain(error, "no solution of the linear program fits all its bounds");
        return TRIB_ERR_INVALID;
    case 2:
        trib_explain(error, "the objective of the linear program has no maximum");
        return TRIB_ERR_INVALID;
    default:
        trib_explain(error, "the solver gave up on the linear program");
        return TRIB_ERR_SYSTEM;
    }
}

double trib_lp_value(const struct trib_lp *lp)
{
    return clp.objectiveValue(lp->clp);
}

const double *trib_lp_primal(struct trib_lp *lp)
{
    flush(lp);
    return clp.primalColumnSolution(lp->clp);
}

const double *trib_lp_dual(const struct trib_lp *lp)
{
    return clp.dualRowSolution(lp->clp);
}
