/* SPDX-License-Identifier: Apache-2.0 */
/* goat_sets.c: gradients dealt to sets of switches. See goat.h.
 *
 * A gradient that a set of switches buffers has a cost by this set alone. A linear program gives each set its share of
 * the model, such that memories suffice; its columns are sets, and prices of memory tell which set to add next. An
 * optimum has few sets, so gradients are dealt to them by bytes. Greedy opens switches one by one instead, so its last
 * gradients get the switches that the others left.
 *
 * Workers and switches are those of the collapsed problem: of equal switches a gradient needs one at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/goat.h"
#include "plan/lp.h"

#define SETS_MAX 400U
#define SMALL 1e-9

struct sets {
    const struct trib_goat *problem; /* collapsed */
    struct trib_lp *lp;              /* row 0: all shares are 1; then a row for each switch */
    uint32_t count;
    bool *in;      /* by set and then by switch */
    double *share; /* by set */
    double *price; /* by switch, of its memory, in hops per byte */
    uint32_t *node;
};

/* ---- one set ---- */

/* Hops of a byte, and the prices of the memory. Every switch of the set sends a sum. */
static double cost_with_prices(const struct sets *z, const bool *in)
{
    const struct trib_goat *p = z->problem;
    uint32_t list[TRIB_GOAT_SWITCHES_MAX];
    uint32_t count = 0;
    uint64_t hops = 0;
    double price = 0;

    for (uint32_t s = 0; s < p->switches; s++) {
        if (in[s]) {
            list[count++] = s;
            hops += p->from_switch[s];
            price += z->price[s];
        }
    }
    for (uint32_t w = 0; w < p->workers; w++) {
        uint32_t way = p->to_server[w];
        for (uint32_t i = 0; i < count; i++) {
            uint32_t to = p->to_switch[(size_t)w * p->switches + list[i]];
            way = to < way ? to : way;
        }
        hops += (uint64_t)way * p->weight[w];
    }
    return (double)hops + price;
}

/* Puts in, or out, the one switch that lowers the cost most. False: none does. */
static bool change_one(const struct sets *z, bool *in, double *cost)
{
    const struct trib_goat *p = z->problem;
    uint32_t best = p->switches;
    double least = *cost - SMALL;

    for (uint32_t s = 0; s < p->switches; s++) {
        in[s] = !in[s];
        double its = cost_with_prices(z, in);
        in[s] = !in[s];
        if (its < least) {
            best = s;
            least = its;
        }
    }
    if (best == p->switches) {
        return false;
    }
    in[best] = !in[best];
    *cost = least;
    return true;
}

/* Exchanges the first pair of switches that lowers the cost. False: none does. */
static bool exchange(const struct sets *z, bool *in, double *cost)
{
    const struct trib_goat *p = z->problem;

    for (uint32_t out = 0; out < p->switches; out++) {
        for (uint32_t s = 0; s < p->switches && in[out]; s++) {
            if (in[s]) {
                continue;
            }
            in[out] = false;
            in[s] = true;
            double its = cost_with_prices(z, in);
            if (its < *cost - SMALL) {
                *cost = its;
                return true;
            }
            in[out] = true;
            in[s] = false;
        }
    }
    return false;
}

static double improve(const struct sets *z, bool *in)
{
    double cost = cost_with_prices(z, in);
    while (change_one(z, in, &cost) || exchange(z, in, &cost)) {
    }
    return cost;
}

/* A set that costs less than `most` at these prices. First by changes to the empty set. If that finds none, by the
 * relaxed problem without limits of memory: its shares are nearly always 0 or 1, so they name a set. */
static enum trib_status find_set(const struct sets *z, double most, bool *in, bool *is_found, char *error)
{
    const struct trib_goat *p = z->problem;
    struct trib_goat_relaxed relaxed;

    memset(in, 0, p->switches * sizeof *in);
    *is_found = improve(z, in) < most;
    if (*is_found) {
        return TRIB_OK;
    }
    enum trib_status status = trib_goat_relax(p, z->price, &relaxed, error);
    if (status == TRIB_OK) {
        for (uint32_t s = 0; s < p->switches; s++) {
            in[s] = relaxed.shares.x[s] > 0.5;
        }
        *is_found = improve(z, in) < most;
        trib_goat_relaxed_destroy(&relaxed);
    }
    return status;
}

/* ---- shares of sets ---- */

static enum trib_status add_set(struct sets *z)
{
    const struct trib_goat *p = z->problem;
    const bool *in = &z->in[(size_t)z->count * p->switches];
    uint32_t rows[TRIB_GOAT_SWITCHES_MAX + 1];
    double values[TRIB_GOAT_SWITCHES_MAX + 1];
    struct trib_lp_column column = {
        .cost = -(double)trib_goat_gradient_cost(p, in, z->node), .upper = HUGE_VAL, .rows = rows, .values = values};

    rows[column.count] = 0;
    values[column.count++] = 1;
    for (uint32_t s = 0; s < p->switches; s++) {
        if (in[s]) {
            rows[column.count] = 1 + s;
            values[column.count++] = 1;
        }
    }
    z->count++;
    return trib_lp_add(z->lp, 1, &column);
}

static enum trib_status sets_create(struct sets *z, const struct trib_goat *p)
{
    double *lower = calloc(p->switches + 1U, sizeof *lower);
    double *upper = calloc(p->switches + 1U, sizeof *upper);

    *z = (struct sets){.problem = p,
                       .in = calloc((size_t)(SETS_MAX + 1) * p->switches + 1, sizeof *z->in),
                       .share = calloc(SETS_MAX + 1, sizeof *z->share),
                       .price = calloc(p->switches + 1U, sizeof *z->price),
                       .node = calloc(p->workers + 1U, sizeof *z->node)};
    if (lower != NULL && upper != NULL) {
        lower[0] = upper[0] = 1;
        for (uint32_t s = 0; s < p->switches; s++) {
            lower[1 + s] = -HUGE_VAL;
            upper[1 + s] = (double)p->memory[s] / (double)p->total;
        }
        z->lp = trib_lp_create(p->switches + 1, lower, upper);
    }
    free(lower);
    free(upper);
    bool is_good = z->lp && z->in && z->share && z->price && z->node;
    return is_good ? add_set(z) : TRIB_ERR_MEMORY; /* the empty set: everything to the server */
}

static void sets_destroy(struct sets *z)
{
    trib_lp_destroy(z->lp);
    free(z->in);
    free(z->share);
    free(z->price);
    free(z->node);
}

/* Adds sets until none is cheaper than the prices say, or the optimum is `enough`, hops per byte. */
static enum trib_status solve(struct sets *z, double enough, char *error)
{
    const struct trib_goat *p = z->problem;
    enum trib_status status = trib_lp_solve(z->lp, error);
    bool is_found = true;

    while (status == TRIB_OK && is_found && z->count < SETS_MAX && -trib_lp_value(z->lp) > enough) {
        const double *dual = trib_lp_dual(z->lp);
        for (uint32_t s = 0; s < p->switches; s++) {
            z->price[s] = fmax(0, dual[1 + s]);
        }
        /* -dual[0] is the cost, with prices, of the sets in use. */
        status = find_set(z, -dual[0] - 1e-6, &z->in[(size_t)z->count * p->switches], &is_found, error);
        if (status == TRIB_OK && is_found) {
            status = add_set(z);
            status = status == TRIB_OK ? trib_lp_solve(z->lp, error) : status;
        }
    }
    for (uint32_t i = 0; status == TRIB_OK && i < z->count; i++) {
        z->share[i] = trib_lp_primal(z->lp)[i];
    }
    return status;
}

/* ---- dealing ---- */

struct deal {
    const struct trib_goat *problem;
    const uint32_t *switch_class;
    struct trib_goat_plan *plan;
    uint64_t *left;   /* bytes free, by switch */
    bool *is_dealt;   /* by gradient */
    double *of_model; /* bytes that a set is still to have */
};

/* Of equal switches that with the most room opens. */
static void open_class(struct deal *d, uint32_t gradient, uint32_t class)
{
    const struct trib_goat *p = d->problem;
    uint32_t best = p->switches;

    for (uint32_t s = 0; s < p->switches; s++) {
        if (d->switch_class[s] == class && (best == p->switches || d->left[s] > d->left[best])) {
            best = s;
        }
    }
    if (best < p->switches && d->left[best] >= p->bytes[gradient]) {
        d->left[best] -= p->bytes[gradient];
        d->plan->is_open[(size_t)gradient * p->switches + best] = true;
    }
}

static uint32_t largest_gradient(const struct deal *d)
{
    uint32_t best = d->problem->gradients;

    for (uint32_t g = 0; g < d->problem->gradients; g++) {
        if (!d->is_dealt[g] && (best == d->problem->gradients || d->problem->bytes[g] > d->problem->bytes[best])) {
            best = g;
        }
    }
    return best;
}

/* The largest gradient first, each to the set that lacks most bytes. */
static void deal_all(struct deal *d, const struct sets *z)
{
    const struct trib_goat *p = d->problem;

    for (uint32_t s = 0; s < p->switches; s++) {
        d->left[s] = p->memory[s];
    }
    for (uint32_t i = 0; i < z->count; i++) {
        d->of_model[i] = z->share[i] * (double)p->total;
    }
    for (uint32_t k = 0; k < p->gradients; k++) {
        uint32_t g = largest_gradient(d);
        uint32_t set = 0;
        for (uint32_t i = 1; i < z->count; i++) {
            set = d->of_model[i] > d->of_model[set] ? i : set;
        }
        d->is_dealt[g] = true;
        d->of_model[set] -= (double)p->bytes[g];
        for (uint32_t c = 0; c < z->problem->switches; c++) {
            if (z->in[(size_t)set * z->problem->switches + c]) {
                open_class(d, g, c);
            }
        }
    }
}

static enum trib_status deal(const struct trib_goat *p, const struct sets *z, const uint32_t *switch_class,
                             struct trib_goat_plan *plan)
{
    struct deal d = {.problem = p,
                     .switch_class = switch_class,
                     .plan = plan,
                     .left = calloc(p->switches + 1U, sizeof *d.left),
                     .is_dealt = calloc(p->gradients + 1U, sizeof *d.is_dealt),
                     .of_model = calloc(z->count + 1U, sizeof *d.of_model)};
    bool is_good = d.left != NULL && d.is_dealt != NULL && d.of_model != NULL;

    if (is_good) {
        deal_all(&d, z);
    }
    free(d.left);
    free(d.is_dealt);
    free(d.of_model);
    return is_good ? trib_goat_fill(p, plan) : TRIB_ERR_MEMORY;
}

enum trib_status trib_goat_deal(const struct trib_goat *p, double enough, struct trib_goat_plan *plan, char *error)
{
    struct trib_goat collapsed = {.workers = 0};
    struct sets z = {.problem = &collapsed};
    uint32_t *worker_class = calloc(p->workers + 1U, sizeof *worker_class);
    uint32_t *switch_class = calloc(p->switches + 1U, sizeof *switch_class);
    enum trib_status status = TRIB_ERR_MEMORY;

    if (worker_class != NULL && switch_class != NULL) {
        status = trib_goat_collapse(p, &collapsed, worker_class, switch_class);
    }
    if (status == TRIB_OK) {
        status = sets_create(&z, &collapsed);
    }
    for (uint32_t s = 0; s < collapsed.switches; s++) { /* from here on prices stand for memory */
        collapsed.memory[s] = p->total;
    }
    if (status == TRIB_OK) {
        status = solve(&z, enough / (double)p->total, error);
    }
    if (status == TRIB_OK) {
        status = deal(p, &z, switch_class, plan);
    }
    sets_destroy(&z);
    trib_goat_destroy(&collapsed);
    free(worker_class);
    free(switch_class);
    return status;
}
