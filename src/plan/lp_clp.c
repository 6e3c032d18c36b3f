/* SPDX-License-Identifier: Apache-2.0 */
/* lp_clp.c: the linear program by COIN-OR CLP, through its C interface, which is loaded with the first program
 * (io/library.h). See lp.h. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <coin/Clp_C_Interface.h>

#include "io/explain.h"
#include "io/library.h"
#include "plan/lp.h"

#define AT_LOWER_BOUND 3 /* of a column, for Clp_setColumnStatus */

struct trib_lp {
    Clp_Simplex *clp;
    uint32_t rows;
    double *lower; /* by row */
    double *upper;
};

/* CLP's functions, without "Clp_". */
/* clang-format off */
#define FUNCTIONS(X) \
    X(addColumns) X(chgRowLower) X(chgRowUpper) X(deleteModel) \
    X(dualRowSolution) X(newModel) X(numberColumns) X(numberIterations) \
    X(objective) X(objectiveValue) X(primal) X(primalColumnSolution) \
    X(resize) X(setColumnStatus) X(setLogLevel) X(setOptimizationDirection) \
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
        free(lp->lower);
        free(lp->upper);
        free(lp);
    }
}

/* The columns in CLP's form: all their numbers in one list. */
struct batch {
    double *costs, *uppers, *values;
    int *starts, *rows;
};

static bool make_batch(struct batch *batch, uint32_t count, const struct trib_lp_column *columns)
{
    size_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += columns[i].count;
    }
    *batch = (struct batch){.costs = calloc(count + 1U, sizeof *batch->costs),
                            .uppers = calloc(count + 1U, sizeof *batch->uppers),
                            .values = calloc(all + 1, sizeof *batch->values),
                            .starts = calloc(count + 1U, sizeof *batch->starts),
                            .rows = calloc(all + 1, sizeof *batch->rows)};
    if (!batch->costs || !batch->uppers || !batch->values || !batch->starts || !batch->rows) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct trib_lp_column *column = &columns[i];
        int at = batch->starts[i];
        batch->costs[i] = column->cost;
        batch->uppers[i] = clp_bound(column->upper);
        for (uint32_t k = 0; k < column->count; k++, at++) {
            batch->rows[at] = (int)column->rows[k];
            batch->values[at] = column->values[k];
        }
        batch->starts[i + 1] = at;
    }
    return true;
}

enum trib_status trib_lp_add(struct trib_lp *lp, uint32_t count, const struct trib_lp_column *columns)
{
    struct batch batch;
    bool is_good = make_batch(&batch, count, columns);
    if (is_good) {
        int first = clp.numberColumns(lp->clp);
        clp.addColumns(lp->clp, (int)count, NULL, batch.uppers, batch.costs, batch.starts, batch.rows, batch.values);
        for (int i = first; i < first + (int)count && clp.statusExists(lp->clp); i++) {
            (void)clp.setColumnStatus(lp->clp, i, AT_LOWER_BOUND);
        }
    }
    free(batch.costs);
    free(batch.uppers);
    free(batch.values);
    free(batch.starts);
    free(batch.rows);
    return is_good ? TRIB_OK : TRIB_ERR_MEMORY;
}

void trib_lp_bound(struct trib_lp *lp, uint32_t row, double lower, double upper)
{
    lp->lower[row] = clp_bound(lower);
    lp->upper[row] = clp_bound(upper);
}

void trib_lp_cost(struct trib_lp *lp, uint32_t column, double cost)
{
    clp.objective(lp->clp)[column] = cost;
}

enum trib_status trib_lp_solve(struct trib_lp *lp, char *error)
{
    clp.chgRowLower(lp->clp, lp->lower);
    clp.chgRowUpper(lp->clp, lp->upper);
    (void)clp.primal(lp->clp, 0);
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
        trib_explain(error, "the solver gave up after %d steps", clp.numberIterations(lp->clp));
        return TRIB_ERR_SYSTEM;
    }
}

double trib_lp_value(const struct trib_lp *lp)
{
    return clp.objectiveValue(lp->clp);
}

const double *trib_lp_primal(const struct trib_lp *lp)
{
    return clp.primalColumnSolution(lp->clp);
}

const double *trib_lp_dual(const struct trib_lp *lp)
{
    return clp.dualRowSolution(lp->clp);
}
