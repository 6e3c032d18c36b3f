/* SPDX-License-Identifier: Apache-2.0 */
/* lp_none.c: the linear program in a build without a solver: there is none. See lp.h. */
#include <stddef.h>

#include "io/explain.h"
#include "plan/lp.h"

const char *trib_lp_explain_lack(void)
{
    return "this build has no solver: install coinor-libclp-dev, and build again";
}

struct trib_lp *trib_lp_create(uint32_t rows, const double *lower, const double *upper)
{
    (void)rows;
    (void)lower;
    (void)upper;
    return NULL;
}

void trib_lp_destroy(struct trib_lp *lp)
{
    (void)lp;
}

enum trib_status trib_lp_add(struct trib_lp *lp, uint32_t count, const struct trib_lp_column *columns)
{
    (void)lp;
    (void)count;
    (void)columns;
    return TRIB_ERR_UNSUPPORTED;
}

void trib_lp_bound(struct trib_lp *lp, uint32_t row, double lower, double upper)
{
    (void)lp;
    (void)row;
    (void)lower;
    (void)upper;
}

void trib_lp_cost(struct trib_lp *lp, uint32_t column, double cost)
{
    (void)lp;
    (void)column;
    (void)cost;
}

void trib_lp_watch(struct trib_lp *lp, bool (*is_enough)(void *user), void *user)
{
    (void)lp;
    (void)is_enough;
    (void)user;
}

bool trib_lp_fits(const struct trib_lp *lp)
{
    (void)lp;
    return false;
}

enum trib_status trib_lp_solve(struct trib_lp *lp, char *error)
{
    (void)lp;
    trib_explain(error, "%s", trib_lp_explain_lack());
    return TRIB_ERR_UNSUPPORTED;
}

double trib_lp_value(const struct trib_lp *lp)
{
    (void)lp;
    return 0;
}

const double *trib_lp_primal(struct trib_lp *lp)
{
    (void)lp;
    return NULL;
}

const double *trib_lp_dual(const struct trib_lp *lp)
{
    (void)lp;
    return NULL;
}
