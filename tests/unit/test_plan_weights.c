/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_weights.c: whole weights of drawn trees that share links, against rounding each tree by itself. Mirrors
 * src/plan/weights.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/weights.h"
#include "plan_networks.h"

#define TREES 32U
#define LOADS 10U
#define DRAWS 100U
#define ROWS 4096U /* room for */

struct subject {
    struct plan_network net;
    struct plan_pack pack;
    struct plan_tree trees[TREES];
    struct plan_load loads[TREES][LOADS];
    double rates[TREES];
    uint32_t list[TREES];
    double others[ROWS]; /* fill by other jobs, by row */
};

/* Trees over drawn links, the fastest first, and other jobs that fill what the trees leave of each link. */
static void begin(struct subject *s, uint64_t seed)
{
    struct drawn d = {.prng = {seed}, .over = 1, .can_add = 1, .adding = PLAN_ADDS_ALL};
    memset(s, 0, sizeof *s);
    draw_leaf_spine(&s->net, &d, 4, 4, 4);
    assert_in_range(plan_rows(&s->net), 1, ROWS - 1);
    s->pack = (struct plan_pack){.net = &s->net, .trees = s->trees, .tree_count = TREES, .rates = s->rates};
    for (uint32_t i = 0; i < TREES; i++) {
        s->list[i] = i;
        s->rates[i] = (i == 0 ? 1e9 : s->rates[i - 1] * (0.8 + 0.001 * (double)trib_prng_below(&d.prng, 200)));
        s->trees[i].loads = s->loads[i];
        for (uint32_t row = 0; row < s->net.fabric.link_count && s->trees[i].load_count < LOADS; row++) {
            uint64_t capacity = plan_capacity(&s->net, row);
            if (capacity != 0 && capacity != UINT64_MAX && trib_prng_below(&d.prng, 3) == 0) {
                s->loads[i][s->trees[i].load_count++] = (struct plan_load){.row = row, .amount = PLAN_SHARE};
            }
        }
    }
    for (uint32_t i = 0; i < TREES; i++) {
        plan_pack_load(&s->pack, &s->pack.trees[i], s->pack.rates[i], s->others);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        s->others[row] = 1 - s->others[row];
    }
}

/* Fill of the fullest row that the trees use. fill: by row, written. */
static double fill_by(struct subject *s, const double *shares, double *fill)
{
    double all = 0, most = 0;
    for (uint32_t i = 0; i < TREES; i++) {
        all += s->rates[i];
    }
    memcpy(fill, s->others, sizeof s->others);
    for (uint32_t i = 0; i < TREES; i++) {
        const double rate = s->rates[i];
        s->rates[i] = all * shares[i];
        plan_pack_load(&s->pack, &s->pack.trees[i], s->pack.rates[i], fill);
        s->rates[i] = rate;
    }
    for (uint32_t i = 0; i < TREES; i++) {
        for (uint32_t k = 0; k < s->trees[i].load_count; k++) {
            most = fmax(most, fill[s->loads[i][k].row]);
        }
    }
    return most;
}

static double fill_of(struct subject *s, const uint8_t *weights, double *fill)
{
    double shares[TREES], sum = 0;
    for (uint32_t i = 0; i < TREES; i++) {
        sum += weights[i];
    }
    for (uint32_t i = 0; i < TREES; i++) {
        shares[i] = weights[i] / sum;
    }
    return fill_by(s, shares, fill);
}

static void weights__fill_no_row_more_than_rounding_does(void **state)
{
    static struct subject s;
    static double fill[ROWS], again[ROWS];
    double alone = 0, together = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        uint8_t weights[TREES], rounded[TREES];
        begin(&s, seed);
        memcpy(fill, s.others, sizeof fill);
        for (uint32_t i = 0; i < TREES; i++) {
            rounded[i] = (uint8_t)lround(255 * s.rates[i] / s.rates[0]);
            plan_pack_load(&s.pack, &s.pack.trees[i], s.pack.rates[i], fill);
        }
        assert_true(plan_weigh(&s.pack, s.list, TREES, fill, weights));
        double most = fill_of(&s, weights, again);
        assert_true(weights[0] > 0);
        for (uint32_t row = 0; row < plan_rows(&s.net); row++) {
            assert_true(fabs(fill[row] - again[row]) < 1e-9);
        }
        together += most - 1;
        double other = fill_of(&s, rounded, again);
        assert_true(most <= other + 1e-12);
        alone += other - 1;
        plan_network_free(&s.net);
    }
    assert_true(together < 0.59 * alone); /* 0.574, and 0.611 if no single weight moves */
}

/* One tree has all weight, whatever its rate. */
static void weights__of_one_tree(void **state)
{
    static struct subject s;
    static double fill[ROWS];
    uint8_t weight = 0;
    (void)state;
    begin(&s, 1);
    assert_true(plan_weigh(&s.pack, s.list + 3, 1, fill, &weight));
    assert_int_equal(weight, 255);
    plan_network_free(&s.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights__fill_no_row_more_than_rounding_does),
                                       cmocka_unit_test(weights__of_one_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
