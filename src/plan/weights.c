/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c: see weights.h. First all trees are rounded alike, by each of many largest weights; then single weights
 * move by one while the fullest row gets emptier. */
#include "plan/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX 255U
#define MOVES_MAX 100

/* One job, and the rows that its trees use. */
struct mix {
    const double *rates;
    const uint32_t *list;
    uint32_t count;
    double rate; /* of all trees */
    uint32_t rows;
    uint32_t *number; /* by row of these: of the network */
    double *others;   /* by row of these: fill without this job */
    double *parts;    /* by tree, by row of these: fill of a tree with the whole rate */
    double *sums;     /* by row of these: of parts times weights */
    uint32_t weight;  /* sum of weights */
};

static bool begin(struct mix *mix, const struct plan_pack *pack, const double *fill)
{
    uint32_t rows = plan_rows(pack->net);
    uint32_t *place = calloc(rows + 1U, sizeof *place); /* by row of the network: number among those used, and one */
    mix->number = calloc(rows + 1U, sizeof *mix->number);
    for (uint32_t i = 0; place != NULL && mix->number != NULL && i < mix->count; i++) {
        const struct plan_tree *tree = &pack->trees[mix->list[i]];
        mix->rate += mix->rates[mix->list[i]];
        for (uint32_t k = 0; k < tree->load_count; k++) {
            uint32_t row = tree->loads[k].row;
            if (place[row] == 0) {
                mix->number[mix->rows++] = row;
                place[row] = mix->rows;
            }
        }
    }
    mix->others = calloc(mix->rows + 1U, sizeof *mix->others);
    mix->sums = calloc(mix->rows + 1U, sizeof *mix->sums);
    mix->parts = calloc((size_t)mix->count * mix->rows + 1, sizeof *mix->parts);
    bool is_good = place && mix->number && mix->others && mix->sums && mix->parts;
    for (uint32_t i = 0; is_good && i < mix->rows; i++) {
        mix->others[i] = fill[mix->number[i]];
    }
    for (uint32_t i = 0; is_good && i < mix->count; i++) {
        const struct plan_tree *tree = &pack->trees[mix->list[i]];
        double *parts = mix->parts + (size_t)i * mix->rows;
        for (uint32_t k = 0; k < tree->load_count; k++) {
            uint32_t at = place[tree->loads[k].row] - 1;
            parts[at] = plan_part_of(pack, &tree->loads[k], mix->rate);
            mix->others[at] -= parts[at] * mix->rates[mix->list[i]] / mix->rate;
        }
    }
    free(place);
    return is_good;
}

static void end(struct mix *mix)
{
    free(mix->number);
    free(mix->others);
    free(mix->parts);
    free(mix->sums);
}

/* Fill of the fullest row if the weight of one tree changes by so much. */
static double fullest(const struct mix *mix, uint32_t tree, int by)
{
    const double *parts = mix->parts + (size_t)tree * mix->rows;
    double each = 1 / ((double)mix->weight + by), most = 0;
    for (uint32_t i = 0; i < mix->rows; i++) {
        double fill = mix->others[i] + each * (mix->sums[i] + by * parts[i]);
        most = fill > most ? fill : most;
    }
    return most;
}

static void add(struct mix *mix, uint32_t tree, int by, uint8_t *weights)
{
    const double *parts = mix->parts + (size_t)tree * mix->rows;
    weights[tree] = (uint8_t)(weights[tree] + by);
    mix->weight += (uint32_t)by;
    for (uint32_t i = 0; i < mix->rows; i++) {
        mix->sums[i] += by * parts[i];
    }
}

/* Weights of which the largest is `top`. */
static void set(struct mix *mix, uint32_t top, uint8_t *weights)
{
    memset(mix->sums, 0, mix->rows * sizeof *mix->sums);
    memset(weights, 0, mix->count);
    mix->weight = 0;
    for (uint32_t i = 0; i < mix->count; i++) {
        add(mix, i, (int)lround(top * mix->rates[mix->list[i]] / mix->rates[mix->list[0]]), weights);
    }
}

/* Makes the best change of one weight by one. False: no such change is better. */
static bool move(struct mix *mix, double *most, uint8_t *weights)
{
    uint32_t best = 0;
    int best_by = 0;
    for (uint32_t i = 0; i < mix->count; i++) {
        for (int by = -1; by <= 1; by += 2) {
            bool is_possible = by > 0 ? weights[i] < WEIGHT_MAX : weights[i] > 1;
            double fill = is_possible ? fullest(mix, i, by) : HUGE_VAL;
            if (fill < *most) {
                *most = fill;
                best = i;
                best_by = by;
            }
        }
    }
    add(mix, best, best_by, weights);
    return best_by != 0;
}

bool plan_weigh(const struct plan_pack *pack, const uint32_t *list, uint32_t count, double *fill, uint8_t *weights)
{
    struct mix mix = {.rates = pack->rates, .list = list, .count = count};
    double most = HUGE_VAL;
    uint32_t best = 0;
    bool is_good = begin(&mix, pack, fill);
    for (uint32_t top = WEIGHT_MAX; is_good && top >= WEIGHT_MAX / 2; top--) {
        set(&mix, top, weights);
        double tried = fullest(&mix, 0, 0);
        best = tried < most ? top : best;
        most = tried < most ? tried : most;
    }
    if (is_good) {
        set(&mix, best, weights);
        for (uint32_t i = 0; i < MOVES_MAX && move(&mix, &most, weights);) {
            i++;
        }
    }
    for (uint32_t i = 0; is_good && i < mix.rows; i++) {
        fill[mix.number[i]] = mix.others[i] + mix.sums[i] / mix.weight;
    }
    end(&mix);
    return is_good;
}
