/* SPDX-License-Identifier: Apache-2.0 */
/* goat.c: planners of GOAT's problem on networks of the paper's size: time of the bound, cost against it and against no
 * aggregation, and bytes beyond the memory of switches. CPU time on one core; means and worst of ten draws. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "reproduce/goat.h"

#define SEEDS 10U

static const struct sim_topology fat_tree_16 = {
    .kind = SIM_FAT_TREE, .k = 16, .edge = {100000000000, 1}, .fabric = {100000000000, 1}};

static const struct goat_case cases[] = {
    {"leaf-spine, 5 switches", &goat_leaf_spine, 35, 5, 16, 0, 15 * GOAT_MB, 60 * GOAT_MB},
    {"fat tree 8, 10 switches", &goat_fat_tree_8, 70, 10, 16, 0, 15 * GOAT_MB, 60 * GOAT_MB},
    {"leaf-spine", &goat_leaf_spine, 32, 0, 50, 0, 4800000, 22 * GOAT_MB},
    {"leaf-spine, divided", &goat_leaf_spine, 32, 0, 240, 0, GOAT_MB, 22 * GOAT_MB},
    {"fat tree 4", &goat_fat_tree_4, 15, 0, 24, 0, 10 * GOAT_MB, 60 * GOAT_MB},
    {"fat tree 8", &goat_fat_tree_8, 64, 0, 100, 0, 2400000, 22 * GOAT_MB},
    {"fat tree 8, divided", &goat_fat_tree_8, 64, 0, 240, 0, GOAT_MB, 22 * GOAT_MB},
    {"fat tree 16", &fat_tree_16, 256, 0, 240, 0, GOAT_MB, 4 * GOAT_MB},
};

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct row {
    double bound_ms, plan_ms;      /* means */
    double to_none;                /* likewise: cost, of no aggregation */
    double goat, greedy, repaired; /* cost, of the bound, at most */
    double placed, excess;         /* bytes, of Algorithm 1 as printed */
};

static bool plan(struct reproduce_run *run, const struct trib_goat *p, uint64_t seed, const char *rule,
                 struct goat_result *result)
{
    struct trib_goat_options options = {.seed = seed, .error = run->error};
    return goat_plan(run, p, rule, &options, result);
}

static bool measure(struct reproduce_run *run, const struct trib_goat *p, uint64_t seed, struct row *row)
{
    struct trib_goat_relaxed relaxed;
    struct goat_result goat, greedy, repaired, printed, none;

    double start = now_ms();
    if (trib_goat_bound(p, &relaxed, run->error) != TRIB_OK) {
        return false;
    }
    row->bound_ms += (now_ms() - start) / SEEDS;
    double bound = (double)trib_goat_prove(p, relaxed.price);
    trib_goat_relaxed_destroy(&relaxed);
    start = now_ms();
    bool is_good = plan(run, p, seed, "goat", &goat);
    row->plan_ms += (now_ms() - start) / SEEDS;
    if (!is_good || !plan(run, p, seed, "greedy", &greedy) || !plan(run, p, seed, "krgs-repaired", &repaired) ||
        !plan(run, p, seed, "krgs", &printed) || !plan(run, p, seed, "geryon", &none)) {
        return false;
    }
    row->goat = fmax(row->goat, goat.cost / bound);
    row->greedy = fmax(row->greedy, greedy.cost / bound);
    row->repaired = fmax(row->repaired, repaired.cost / bound);
    row->to_none += goat.cost / none.cost / SEEDS;
    row->placed += printed.placed_bytes;
    row->excess += printed.excess_bytes;
    return true;
}

int main(void)
{
    static struct reproduce_run run;

    printf("| network | workers | gradients | bound, ms | goat, ms | goat | greedy | krgs-repaired | of none | krgs: "
           "excess |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct row row = {.goat = 0};
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct trib_goat p;
            if (!goat_draw(&cases[i], seed, &p)) {
                (void)fprintf(stderr, "out of memory\n");
                return 1;
            }
            bool is_good = measure(&run, &p, seed, &row);
            trib_goat_destroy(&p);
            if (!is_good) {
                (void)fprintf(stderr, "%s\n", run.error);
                return 1;
            }
        }
        printf("| %s | %u | %u | %.1f | %.1f | %.4f | %.4f | %.4f | %.3f | %.0f %% |\n", cases[i].name,
               cases[i].workers, cases[i].gradients, row.bound_ms, row.plan_ms, row.goat, row.greedy, row.repaired,
               row.to_none, 100 * row.excess / row.placed);
    }
    return 0;
}
