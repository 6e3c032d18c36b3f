/* SPDX-License-Identifier: Apache-2.0 */
/* gaps.c: what the planner reaches on drawn networks:  bench-plan [SETS [SEED [NETWORK [JOBS [ROOM [TREES [SECONDS]]]]]]]
 * For each kind of network, and 1 to 100 jobs, over SETS (24) draws, of networks with this text in their name and at
 * most so many jobs: the gap between the best packing that was found and its bound, the loss by rounding to whole
 * weights of at most TREES (0: 32) trees, and the time of one core. Each switch has memory for ROOM jobs (0: for all);
 * if no switches are found for a job, the loss is 1. Each search ends after about SECONDS of that time (0: no limit). */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "plan/check.h"
#include "plan/make.h"
#include "plan_networks.h"

struct kind {
    const char *name;
    void (*draw)(struct plan_network *net, struct drawn *d);
    uint32_t jobs[4]; /* 0: no more */
    uint32_t size;
};

static uint32_t between(struct drawn *d, uint32_t low, uint32_t high)
{
    return low + (uint32_t)trib_prng_below(&d->prng, high - low + 1);
}

static void draw_small(struct plan_network *net, struct drawn *d)
{
    uint32_t leaves = between(d, 4, 16), spines = between(d, 2, 12);
    draw_leaf_spine(net, d, leaves, spines, 8);
}

static void draw_k4(struct plan_network *net, struct drawn *d)
{
    draw_fat_tree(net, d, 4);
}

static void draw_k8(struct plan_network *net, struct drawn *d)
{
    draw_fat_tree(net, d, 8);
}

static void draw_k16(struct plan_network *net, struct drawn *d)
{
    draw_fat_tree(net, d, 16);
}

static void draw_groups(struct plan_network *net, struct drawn *d)
{
    draw_dragonfly(net, d, 4, 2, 2);
}

static const struct kind kinds[] = {
    {"leaf-spine 4-16 x 2-12", draw_small, {1, 5, 20, 100}, 16},
    {"fat tree k = 4", draw_k4, {1, 5, 20, 100}, 8},
    {"fat tree k = 8", draw_k8, {1, 5, 20, 100}, 32},
    {"dragonfly 4, 9, 2", draw_groups, {1, 5, 20, 100}, 16},
    {"fat tree k = 16", draw_k16, {1, 5, 20, 0}, 64},
};

static uint64_t room;  /* jobs that have memory at a switch; 0: all */
static uint32_t trees; /* of a job at most; 0: as many as a plan may have */
static double limit_s; /* of a search; 0: none */

static void limit_memory(struct plan_network *net, const struct plan_jobs *jobs)
{
    for (uint32_t j = 0; j < jobs->count; j++) {
        jobs->list[j].memory = 1;
    }
    for (uint32_t i = 0; i < net->switches; i++) {
        net->memory[i] = room;
    }
}

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_late(void *user)
{
    const double *until = user;
    return limit_s > 0 && seconds() >= *until;
}

/* Of one draw. */
struct outcome {
    double gap, loss, plan_s, check_s, trees;
};

static void end(struct plan_network *net, struct plan_jobs *jobs, struct plan *plan)
{
    plan_free(plan);
    plan_jobs_free(jobs);
    plan_network_free(net);
}

static struct outcome run(const struct kind *kind, uint32_t count, uint64_t seed)
{
    struct drawn d = {.prng = {seed}};
    d.over = seed % 2 == 0 ? 1 : 4;
    d.uneven = seed / 2 % 2 == 0 ? 0 : 0.3;
    d.adding = seed / 4 % 2 == 0 ? PLAN_ADDS_ALL : 300 * GBPS;
    d.can_add = 0.3 + 0.1 * (double)trib_prng_below(&d.prng, 6);
    struct plan_network net;
    struct plan_jobs jobs;
    struct plan plan;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct outcome out = {0};
    kind->draw(&net, &d);
    net.has_multicast = seed / 8 % 2 == 0;
    draw_jobs(&jobs, &net, &d, count, kind->size, seed / 16 % 2 == 1);
    if (room != 0) {
        limit_memory(&net, &jobs);
    }
    double begin = seconds(), until = begin + limit_s;
    const struct plan_options options = {
        .family = plan_family_of(&net), .most = trees, .is_late = is_late, .user = &until};
    enum trib_status status = plan_make(&plan, &net, &jobs, &options, error);
    out.plan_s = seconds() - begin;
    if (status == TRIB_ERR_INVALID && room != 0) {
        out.loss = 1;
        end(&net, &jobs, &plan);
        return out;
    }
    if (status != TRIB_OK) {
        (void)printf("%s, seed %lu: %s\n", kind->name, (unsigned long)seed, error);
        exit(1);
    }
    begin = seconds();
    struct plan_proof proof;
    if (!plan_check(&plan, &net, &jobs, &proof, error)) {
        (void)printf("%s, seed %lu: %s\n", kind->name, (unsigned long)seed, error);
        exit(1);
    }
    out.check_s = seconds() - begin;
    out.gap = proof.gap;
    out.loss = proof.loss;
    for (uint32_t j = 0; j < plan.job_count; j++) {
        out.trees = fmax(out.trees, plan.grants[j].wanted);
    }
    end(&net, &jobs, &plan);
    return out;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static void print_row(const struct kind *kind, uint32_t count, uint32_t sets, uint64_t seed)
{
    double *losses = calloc(sets, sizeof *losses);
    struct outcome worst = {0};
    uint32_t bad = 0;
    for (uint32_t i = 0; i < sets; i++) {
        struct outcome out = run(kind, count, seed + i);
        worst.gap = fmax(worst.gap, out.gap);
        worst.plan_s = fmax(worst.plan_s, out.plan_s);
        worst.check_s = fmax(worst.check_s, out.check_s);
        worst.trees = fmax(worst.trees, out.trees);
        losses[i] = out.loss;
        bad += out.loss > 0.05;
    }
    qsort(losses, sets, sizeof *losses, compare);
    (void)printf("| %s | %u | %.3f %% | %.2f / %.2f %% | %u of %u | %.0f | %.2f s | %.3f s |\n", kind->name, count,
                 100 * worst.gap, 100 * losses[sets - 1], 100 * losses[sets / 2], bad, sets, worst.trees, worst.plan_s,
                 worst.check_s);
    (void)fflush(stdout);
    free(losses);
}

int main(int argc, char **argv)
{
    uint32_t sets = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 24;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *name = argc > 3 ? argv[3] : "";
    uint32_t most = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : UINT32_MAX;
    room = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
    trees = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : 0;
    limit_s = argc > 7 ? strtod(argv[7], NULL) : 0;
    (void)printf(
        "| network | jobs | gap, worst | rounding loss, slowest job: worst / median | over 5 %% | trees of a job "
        "| planned in | checked in |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (uint32_t i = 0; i < 4 && kinds[k].jobs[i] != 0; i++) {
            if (strstr(kinds[k].name, name) != NULL && kinds[k].jobs[i] <= most) {
                print_row(&kinds[k], kinds[k].jobs[i], sets, seed);
            }
        }
    }
    return 0;
}
