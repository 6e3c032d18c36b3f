/* SPDX-License-Identifier: Apache-2.0 */
/* goat_cost.c: GOAT's simulations: bytes x hops on a leaf-spine network and a fat tree, with late workers, and compared
 * with the bound of the relaxed problem. Read next: goat.h, goat.c. */
#include <math.h>
#include <stddef.h>

#include "reproduce/goat.h"

/* Model size, memory and networks are from the authors' script. */
#define SCRIPT 16, 0, 15 * GOAT_MB, 60 * GOAT_MB

static const struct goat_case leaf_spine = {"leaf-spine", &goat_leaf_spine, 35, 5, SCRIPT};
static const struct goat_case fat_tree = {"fat tree", &goat_fat_tree_8, 70, 10, SCRIPT};

/* ---- cost ---- */

static const struct {
    const char *rule, *name;
    double late; /* share of workers */
} ways[] = {{"greedy", "GOAT", 0},
            {"goat-slide", "form (4)", 0},
            {"krgs", "Algorithm 1", 0},
            {"atp", "ATP, a fifth late", 0.2},
            {"geryon", "no aggregation", 0}};

enum { GOAT = 0, SLIDE, PRINTED, ATP, NONE, WAYS };

/* Computes the means of the case, by way. False: as goat_plan. */
static bool compare(struct reproduce_run *run, const struct goat_case *c, double cost[WAYS])
{
    for (uint32_t way = 0; way < WAYS; way++) {
        struct goat_result mean;
        if (!goat_mean(run, c, ways[way].rule, ways[way].late, &mean)) {
            return false;
        }
        cost[way] = mean.cost;
    }
    return true;
}

/* Finds the largest cost ratios of any draw: GOAT to ATP, and ATP to no aggregation. False: as goat_plan. */
static bool order(struct reproduce_run *run, const struct goat_case *c, double *most)
{
    bool is_good = true;

    for (uint64_t seed = 1; seed <= GOAT_SEEDS && is_good; seed++) {
        struct trib_goat_options options = {.late = c->workers / 5, .error = run->error};
        struct goat_result result[3] = {{.cost = 0}};
        struct trib_goat p;
        if (!goat_draw(c, seed, &p)) {
            run->is_out_of_memory = true;
            return false;
        }
        is_good = goat_plan(run, &p, "greedy", &options, &result[0]) &&
                  goat_plan(run, &p, "atp", &options, &result[1]) && goat_plan(run, &p, "geryon", &options, &result[2]);
        trib_goat_destroy(&p);
        *most = fmax(*most, fmax(result[0].cost / result[1].cost, result[1].cost / result[2].cost));
    }
    return is_good;
}

static double saved_percent(const double cost[WAYS], uint32_t way)
{
    return 100 - 100 * cost[way] / cost[NONE];
}

/* Draws the network's panel, by workers. cost: for the most workers. */
static bool draw_costs(struct reproduce_run *run, const struct goat_case *c, uint32_t step, double cost[WAYS])
{
    (void)reproduce_panel(run, c->name, "workers", "GB x hops");
    for (uint32_t workers = c->workers - 3 * step; workers <= c->workers; workers += step) {
        struct goat_case its = *c;
        its.workers = workers;
        if (!compare(run, &its, cost)) {
            return false;
        }
        for (uint32_t way = 0; way < WAYS; way++) {
            reproduce_point(run, ways[way].name, workers, cost[way] / 1e9);
        }
    }
    return true;
}

bool goat_cost(struct reproduce_run *run)
{
    struct goat_case short_hops = leaf_spine;
    double leaf[WAYS];
    double fat[WAYS];
    double script[WAYS];
    double most = 0;

    short_hops.hops_less = 1;
    if (!draw_costs(run, &leaf_spine, 5, leaf) || !draw_costs(run, &fat_tree, 10, fat) ||
        !compare(run, &short_hops, script) || !order(run, &leaf_spine, &most) || !order(run, &fat_tree, &most)) {
        return run->is_out_of_memory;
    }
    reproduce_got(run, "leaf-spine", saved_percent(leaf, GOAT));
    reproduce_got(run, "fat-tree", saved_percent(fat, GOAT));
    reproduce_got(run, "script-data", 100 - 100 * 13680 / 37103.0);
    reproduce_got(run, "script-hops", saved_percent(script, SLIDE));
    reproduce_got(run, "script-exact", saved_percent(script, GOAT));
    reproduce_got(run, "to-none", fmax(leaf[GOAT] / leaf[NONE], fat[GOAT] / fat[NONE]));
    reproduce_got(run, "to-atp", fmax(leaf[GOAT] / leaf[ATP], fat[GOAT] / fat[ATP]));
    reproduce_got(run, "order", most);
    reproduce_got(run, "printed", fmin(leaf[PRINTED] / leaf[GOAT], fat[PRINTED] / fat[GOAT]));
    return true;
}

/* ---- late workers ---- */

/* Finds the largest ratio of a form's cost to ATP's with late workers, over all draws. False: as goat_plan. */
static bool draw_late(struct reproduce_run *run, const struct goat_case *c, double *exact, double *slide)
{
    (void)reproduce_panel(run, c->name, "late workers, %", "GB x hops");
    for (uint32_t percent = 0; percent <= 50; percent += 10) {
        double sums[3] = {0, 0, 0};
        for (uint64_t seed = 1; seed <= GOAT_SEEDS; seed++) {
            struct trib_goat_options options = {.late = c->workers * percent / 100, .error = run->error};
            struct goat_result result[3] = {{.cost = 0}};
            struct trib_goat p;
            if (!goat_draw(c, seed, &p)) {
                run->is_out_of_memory = true;
                return false;
            }
            bool is_good = goat_plan(run, &p, "greedy", &options, &result[0]) &&
                           goat_plan(run, &p, "goat-slide", &options, &result[1]) &&
                           goat_plan(run, &p, "atp", &options, &result[2]);
            trib_goat_destroy(&p);
            if (!is_good) {
                return false;
            }
            *exact = fmax(*exact, result[0].cost / result[2].cost);
            *slide = fmax(*slide, result[1].cost / result[2].cost);
            for (uint32_t i = 0; i < 3; i++) {
                sums[i] += result[i].cost / GOAT_SEEDS;
            }
        }
        reproduce_point(run, "GOAT", percent, sums[0] / 1e9);
        reproduce_point(run, "form (4)", percent, sums[1] / 1e9);
        reproduce_point(run, "ATP", percent, sums[2] / 1e9);
    }
    return true;
}

bool goat_dynamics(struct reproduce_run *run)
{
    double exact = 0;
    double slide = 0;

    if (!draw_late(run, &leaf_spine, &exact, &slide) || !draw_late(run, &fat_tree, &exact, &slide)) {
        return run->is_out_of_memory;
    }
    reproduce_got(run, "exact", exact);
    reproduce_got(run, "slide", slide);
    reproduce_got(run, "script-data", 62520 / 56780.0);
    return true;
}

/* ---- the bound ---- */

/* Largest ratios of cost to the bound, over all draws. */
struct gaps {
    double divided, other; /* rule goat: with whole gradients that fill the memory, and otherwise */
    double greedy;
    double excess; /* total bytes beyond the memory in plans of the repaired Algorithm 1 */
};

/* Rounds up to a thousandth: another version of the solver can change the last digits. */
static double round_up(double gap)
{
    return ceil(gap * 1000 - 0.01) / 1000;
}

/* Measures a draw. gap: maximum so far for rule goat. False: as goat_plan. */
static bool measure_gap(struct reproduce_run *run, const struct goat_case *c, uint64_t seed, struct gaps *gaps,
                        double *gap)
{
    struct trib_goat_options options = {.seed = seed, .error = run->error};
    struct trib_goat_plan plan = {.cost = 0};
    struct goat_result greedy = {.cost = 0};
    struct goat_result repaired = {.cost = 0};
    struct trib_goat p;

    if (!goat_draw(c, seed, &p)) {
        run->is_out_of_memory = true;
        return false;
    }
    enum trib_status status = trib_goat_plan_create(&plan, &p);
    status = status == TRIB_OK ? trib_goat_rule_find("goat")->make(&p, &options, &plan) : status;
    run->is_out_of_memory |= status == TRIB_ERR_MEMORY;
    if (status != TRIB_OK) {
        trib_goat_plan_destroy(&plan);
        trib_goat_destroy(&p);
        return false;
    }
    bool is_good =
        goat_plan(run, &p, "greedy", &options, &greedy) && goat_plan(run, &p, "krgs-repaired", &options, &repaired);
    double its = round_up((double)plan.cost / (double)plan.bound);
    double *most = c->memory % c->gradient_bytes == 0 ? &gaps->divided : &gaps->other;
    *most = fmax(*most, its);
    *gap = fmax(*gap, its);
    gaps->greedy = fmax(gaps->greedy, round_up(greedy.cost / (double)plan.bound));
    gaps->excess += repaired.excess_bytes;
    trib_goat_plan_destroy(&plan);
    trib_goat_destroy(&p);
    return is_good;
}

/* Computes the ratio of the collapsed problem's optimum to the optimum with all gradients. False: as goat_plan. */
static bool collapse(struct reproduce_run *run, double *ratio)
{
    const struct goat_case c = {"", &goat_leaf_spine, 20, 5, 8, 0, 30 * GOAT_MB, 60 * GOAT_MB};
    struct trib_goat_relaxed all = {.price = NULL};
    struct trib_goat_relaxed one = {.price = NULL};
    struct trib_goat p;

    if (!goat_draw(&c, 1, &p)) {
        run->is_out_of_memory = true;
        return false;
    }
    enum trib_status status = trib_goat_relax(&p, NULL, &all, run->error);
    status = status == TRIB_OK ? trib_goat_bound(&p, &one, run->error) : status;
    run->is_out_of_memory |= status == TRIB_ERR_MEMORY;
    *ratio = one.cost / all.cost;
    trib_goat_relaxed_destroy(&all);
    trib_goat_relaxed_destroy(&one);
    trib_goat_destroy(&p);
    return status == TRIB_OK;
}

bool goat_bound(struct reproduce_run *run)
{
    static const uint32_t gradients[] = {24, 96, 240};
    static const uint32_t megabytes[] = {20, 22, 60};
    struct goat_case c[] = {
        {"leaf-spine", &goat_leaf_spine, 32, 0, 0, 0, 0, 0},
        {"fat tree, k = 4", &goat_fat_tree_4, 15, 0, 0, 0, 0, 0},
        {"fat tree, k = 8", &goat_fat_tree_8, 64, 0, 0, 0, 0, 0},
    };
    struct gaps gaps = {0, 0, 0, 0};
    double ratio = 0;

    (void)reproduce_panel(run, "Cost, of the bound", "gradients of a model of 240 MB", "times");
    for (size_t i = 0; i < 9; i++) {
        struct goat_case *its = &c[i / 3];
        double gap = 0;
        its->gradients = gradients[i % 3];
        its->gradient_bytes = 240 * GOAT_MB / its->gradients;
        for (uint32_t k = 0; k < 9; k++) {
            its->memory = megabytes[k / 3] * GOAT_MB;
            if (!measure_gap(run, its, k % 3 + 1, &gaps, &gap)) {
                return run->is_out_of_memory;
            }
        }
        reproduce_point(run, its->name, its->gradients, gap);
    }
    if (!collapse(run, &ratio)) {
        return run->is_out_of_memory;
    }
    reproduce_got(run, "divided", gaps.divided);
    reproduce_got(run, "other", gaps.other);
    reproduce_got(run, "greedy", gaps.greedy);
    reproduce_got(run, "repaired-memory", gaps.excess);
    reproduce_got(run, "collapse", ratio);
    return true;
}
