/* SPDX-License-Identifier: Apache-2.0 */
/* goat_round.c: shares of a relaxed plan, and Algorithm 1 (KRGS), which draws a plan from them. See goat.h. */
#include <math.h>
#include <stdlib.h>

#include "core/prng.h"
#include "plan/goat.h"

#define SMALL 1e-9 /* shares below are the solver's noise */

/* ---- shares ---- */

enum trib_status trib_goat_shares_create(struct trib_goat_shares *shares, const struct trib_goat *p)
{
    *shares = (struct trib_goat_shares){.x = calloc(p->switches + 1U, sizeof *shares->x),
                                        .y = calloc((size_t)p->workers * p->switches + 1, sizeof *shares->y)};
    if (shares->x == NULL || shares->y == NULL) {
        trib_goat_shares_destroy(shares);
        return TRIB_ERR_MEMORY;
    }
    return TRIB_OK;
}

void trib_goat_shares_destroy(struct trib_goat_shares *shares)
{
    free(shares->x);
    free(shares->y);
    *shares = (struct trib_goat_shares){.x = NULL};
}

/* The switch without a share that is farthest from the server, and has a path to it; of equal ones the first. */
static uint32_t farthest(const struct trib_goat *p, const double *x)
{
    uint32_t best = TRIB_GOAT_SERVER;

    for (uint32_t s = 0; s < p->switches; s++) {
        if (p->from_switch[s] != TRIB_NO_WAY && x[s] == 0 && p->memory[s] > 0 &&
            (best == TRIB_GOAT_SERVER || p->from_switch[s] > p->from_switch[best])) {
            best = s;
        }
    }
    return best;
}

void trib_goat_relax_slide(const struct trib_goat *p, struct trib_goat_shares *shares)
{
    uint64_t rest = p->total;

    for (uint32_t s = 0; s < p->switches; s++) {
        shares->x[s] = 0;
    }
    for (uint32_t s = farthest(p, shares->x); rest > 0 && s != TRIB_GOAT_SERVER; s = farthest(p, shares->x)) {
        uint64_t held = p->memory[s] < rest ? p->memory[s] : rest;
        shares->x[s] = (double)held / (double)p->total;
        rest -= held;
    }
    for (size_t i = 0; i < (size_t)p->workers * p->switches; i++) {
        shares->y[i] = p->to_switch[i] != TRIB_NO_WAY ? shares->x[i % p->switches] : 0;
    }
}

/* ---- Algorithm 1 ---- */

struct bins {
    uint32_t count;
    uint32_t *bin; /* by switch */
    double *sum;   /* by bin, of shares */
    bool *is_done; /* by switch */
};

static void bins_destroy(struct bins *bins)
{
    free(bins->bin);
    free(bins->sum);
    free(bins->is_done);
}

static uint32_t largest(const struct trib_goat *p, const double *x, const bool *is_done)
{
    uint32_t best = TRIB_GOAT_SERVER;

    for (uint32_t s = 0; s < p->switches; s++) {
        if (!is_done[s] && x[s] > SMALL && (best == TRIB_GOAT_SERVER || x[s] > x[best])) {
            best = s;
        }
    }
    return best;
}

/* Step 2's knapsacks: the largest share first, each to the bin with the smallest sum. The paper's "min-max sum" is
 * NP-hard; this rule is within 4/3 of it. */
static enum trib_status bins_create(struct bins *bins, const struct trib_goat *p, const double *x)
{
    double sum = 0;

    for (uint32_t s = 0; s < p->switches; s++) {
        sum += x[s];
    }
    *bins = (struct bins){.count = (uint32_t)ceil(sum - SMALL),
                          .bin = calloc(p->switches + 1U, sizeof *bins->bin),
                          .is_done = calloc(p->switches + 1U, sizeof *bins->is_done)};
    bins->sum = calloc(bins->count + 1U, sizeof *bins->sum);
    if (bins->bin == NULL || bins->sum == NULL || bins->is_done == NULL) {
        return TRIB_ERR_MEMORY;
    }
    for (uint32_t s = largest(p, x, bins->is_done); s != TRIB_GOAT_SERVER; s = largest(p, x, bins->is_done)) {
        uint32_t least = 0;
        for (uint32_t i = 1; i < bins->count; i++) {
            least = bins->sum[i] < bins->sum[least] ? i : least;
        }
        bins->bin[s] = least;
        bins->sum[least] += x[s];
        bins->is_done[s] = true;
    }
    return TRIB_OK;
}

/* Step 2: a switch of each bin, by its share. With a null item a bin may have none, if its sum is below 1. */
static void draw_switches(const struct trib_goat *p, const double *x, const struct bins *bins, bool has_null,
                          struct trib_prng *prng, bool *is_open)
{
    for (uint32_t i = 0; i < bins->count; i++) {
        double rest = trib_prng_share(prng) * (has_null ? fmax(1, bins->sum[i]) : bins->sum[i]);
        bool is_drawn = false;
        for (uint32_t s = 0; s < p->switches && !is_drawn; s++) {
            if (bins->is_done[s] && bins->bin[s] == i) {
                is_drawn = rest < x[s];
                rest -= x[s];
                is_open[s] = is_open[s] || is_drawn;
            }
        }
    }
}

/* Step 3: by y / x of each open switch; the server has the rest. Probabilities with a sum above 1 are scaled. */
static uint32_t draw_node(const struct trib_goat *p, const struct trib_goat_shares *shares, uint32_t w,
                          const bool *is_open, struct trib_prng *prng)
{
    const double *y = &shares->y[(size_t)w * p->switches];
    double sum = 0;

    for (uint32_t s = 0; s < p->switches; s++) {
        sum += is_open[s] ? fmin(1, y[s] / shares->x[s]) : 0;
    }
    double rest = trib_prng_share(prng) * fmax(1, sum);
    for (uint32_t s = 0; s < p->switches; s++) {
        double its = is_open[s] ? fmin(1, y[s] / shares->x[s]) : 0;
        if (rest < its) {
            return s;
        }
        rest -= its;
    }
    return TRIB_GOAT_SERVER;
}

static void round_all(const struct trib_goat *p, const struct trib_goat_shares *shares, const struct bins *bins,
                      struct trib_prng prng, bool is_repaired, struct trib_goat_plan *plan)
{
    for (uint32_t g = 0; g < p->gradients; g++) {
        draw_switches(p, shares->x, bins, is_repaired, &prng, &plan->is_open[(size_t)g * p->switches]);
    }
    for (uint32_t w = 0; w < p->workers && !is_repaired; w++) {
        for (uint32_t g = 0; g < p->gradients; g++) {
            plan->node[(size_t)g * p->workers + w] =
                draw_node(p, shares, w, &plan->is_open[(size_t)g * p->switches], &prng);
        }
    }
}

enum trib_status trib_goat_round(const struct trib_goat *p, const struct trib_goat_shares *shares, uint64_t seed,
                                 bool is_repaired, struct trib_goat_plan *plan)
{
    struct bins bins;
    enum trib_status status = bins_create(&bins, p, shares->x);

    if (status == TRIB_OK) {
        round_all(p, shares, &bins, (struct trib_prng){seed}, is_repaired, plan);
        trib_goat_count(p, plan);
    }
    bins_destroy(&bins);
    if (status == TRIB_OK && is_repaired) {
        status = trib_goat_repair(p, plan);
    }
    return status == TRIB_OK && is_repaired ? trib_goat_fill(p, plan) : status;
}
