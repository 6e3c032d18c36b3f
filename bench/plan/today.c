/* SPDX-License-Identifier: Apache-2.0 */
/* today.c: plans against today's choice of trees by load, both simulated:
 *   bench-plan-today [SETS [SEED [TREES [K]]]]
 * Over SETS (20) drawn oversubscribed networks and job sets (tests/plan_scenarios.h; K: fat trees of so many
 * ports) the rate of the slowest job, by a
 * plan of at most TREES (32) trees of a job, and with so many trees as they are chosen today:
 *   roots alone  the control plane's (fabric/choose.h): only roots add, streams take all shortest paths
 *   on the way   the simulator's (sim/jobs/tree.c): all switches on the way that can add do
 * Rates are those of fragments that all ranks have, from FROM_PS to END_PS. */
#include <inttypes.h>
#include <math.h>

#include "fabric/choose.h"
#include "plan/lp.h"
#include "plan_scenarios.h"

#define SETS_MAX 1000U
#define FROM_PS UINT64_C(30000000000)
#define END_PS UINT64_C(60000000000)
#define STEP 20000U

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

/* ---- rates ---- */

/* Bytes on the link that all ranks of a job have done with. */
static double done(const struct sim_run *run, uint32_t number)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        uint64_t mark = job->scheme->worker->mark(run->jobs.endpoints[i].node);
        lowest = mark < lowest ? mark : lowest;
    }
    return (double)lowest * (job->data + SIM_JOB_HEADERS);
}

/* Rates of a run with a wrong sum, or without any, say nothing. */
static void fail(uint64_t seed, const char *cause)
{
    (void)fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, cause);
    exit(1);
}

/* bit/s of the slowest job; negative: error says why it cannot be. */
static double slowest(uint64_t seed, struct sim_scenario *scenario, char *error)
{
    struct sim_run *run = calloc(1, sizeof *run);
    double before[SIM_JOB_TABLES_MAX], least = HUGE_VAL;
    for (uint32_t j = 0; j < scenario->job_count; j++) {
        scenario->jobs[j].bytes = UINT64_C(1000000000);
    }
    if (!sim_scenario_run(run, scenario, error)) {
        least = -1;
    }
    while (least > 0 && sim_run_now(run) < FROM_PS && sim_run_advance(run, STEP)) {
    }
    uint64_t from_ps = sim_run_now(run);
    for (uint32_t j = 0; least > 0 && j < scenario->job_count; j++) {
        before[j] = done(run, j);
    }
    while (least > 0 && sim_run_now(run) < END_PS && sim_run_advance(run, STEP)) {
    }
    const char *fault = least > 0 ? sim_run_check(run) : NULL;
    if (fault != NULL) {
        fail(seed, fault);
    }
    double seconds = (double)(sim_run_now(run) - from_ps) / 1e12;
    for (uint32_t j = 0; least > 0 && j < scenario->job_count; j++) {
        least = fmin(least, 8 * (done(run, j) - before[j]) / seconds);
    }
    sim_run_deinit(run);
    free(run);
    return least;
}

/* ---- today's roots ---- */

/* A fabric in which each switch that adds has a place beside it, as choose.h wants roots; then hosts, then switches. */
static void make_fabric(struct trib_fabric *f, const struct plan_network *net, uint32_t *switch_of, uint32_t *roots)
{
    const struct trib_fabric *from = &net->fabric;
    *roots = 0;
    for (uint32_t i = 0; i < net->switches; i++) {
        if (net->adds_bps[i] != PLAN_ADDS_NOT) {
            switch_of[(*roots)++] = net->hosts + i;
        }
    }
    if (!trib_fabric_init(f, from->places + *roots, net->hosts + *roots, from->link_count + 2 * *roots)) {
        abort();
    }
    for (uint32_t i = 0; i < from->link_count; i++) {
        (void)trib_fabric_add(f, from->from[i] + *roots, from->to[i] + *roots, from->rate_bps[i]);
    }
    for (uint32_t i = 0; i < *roots; i++) {
        (void)trib_fabric_add(f, i, switch_of[i] + *roots, TRIB_LINK_RATE_MAX);
        (void)trib_fabric_add(f, switch_of[i] + *roots, i, TRIB_LINK_RATE_MAX);
    }
    if (!trib_fabric_ready(f)) {
        abort();
    }
}

/* A tree in which the root alone adds. */
static void make_tree(const struct plan_simulated *it, uint32_t job, uint32_t root, struct sim_planned_tree *out,
                      double share, double *loads)
{
    const struct plan_job *j = &it->jobs.list[job];
    struct plan_tree tree;
    if (!plan_tree_init(&tree, j->leaf_count, 0, 0)) {
        abort();
    }
    tree.root = root;
    for (uint32_t i = 0; i < j->leaf_count; i++) {
        if (j->leaves[i].place != root) {
            plan_tree_hop(&tree, j->leaves[i].place, root, false);
        }
    }
    struct plan_routes routes;
    struct plan_loader loader;
    if (!plan_simulated_tree(&it->net, &tree, false, out) || !plan_routes_init(&routes, &it->net) ||
        !plan_loader_init(&loader, &routes) || !plan_tree_load(&tree, &loader, j)) {
        abort();
    }
    for (uint32_t i = 0; i < tree.load_count; i++) {
        loads[tree.loads[i].row] += share * (double)tree.loads[i].amount / (double)PLAN_SHARE;
    }
    plan_loader_free(&loader);
    plan_routes_free(&routes);
    plan_tree_free(&tree);
}

/* Trees of all jobs, chosen one after another as trees.c of the control plane does. Returns the rate that all jobs can
 * have by the planner's model. */
static double choose(struct plan_simulated *it, uint32_t most)
{
    struct trib_fabric f;
    struct trib_choose c;
    uint32_t *switch_of = calloc(it->net.switches + 1U, sizeof *switch_of), roots = 0;
    make_fabric(&f, &it->net, switch_of, &roots);
    if (trib_choose_create(&c, &f, roots) != TRIB_OK) {
        abort();
    }
    bool *among = calloc(roots + 1U, sizeof *among);
    uint32_t trees = most < roots ? most : roots;
    double *loads = calloc(plan_rows(&it->net) + 1U, sizeof *loads), rate = HUGE_VAL;
    for (uint32_t j = 0; j < it->jobs.count; j++) {
        memset(among, true, roots * sizeof *among);
        for (uint32_t t = 0; t < trees; t++) {
            struct sim_planned *planned = &it->planned[j];
            trib_choose_begin(&c);
            for (uint32_t i = 0; i < it->jobs.list[j].host_count; i++) {
                trib_choose_add(&c, it->jobs.list[j].hosts[i] + roots, TRIB_STREAM / trees);
            }
            uint32_t root = trib_choose_root(&c, among, j % roots);
            trib_choose_load(&c, root);
            among[root] = false;
            make_tree(it, j, switch_of[root], &planned->trees[planned->count], 1.0 / trees, loads);
            planned->trees[planned->count++].weight = 1;
            planned->weights++;
        }
        it->scenario->jobs[j].planned = &it->planned[j];
    }
    for (uint32_t row = 0; row < it->net.fabric.link_count; row++) {
        rate = loads[row] > 0 ? fmin(rate, (double)plan_capacity(&it->net, row) / loads[row]) : rate;
    }
    for (uint32_t j = 0; j < it->jobs.count; j++) {
        for (uint32_t i = 0; i < it->jobs.list[j].host_count; i++) {
            uint32_t row = plan_row_of_host(&it->net, it->jobs.list[j].hosts[i]);
            rate = fmin(rate, (double)plan_capacity(&it->net, row));
        }
    }
    free(loads);
    free(among);
    free(switch_of);
    trib_choose_destroy(&c);
    trib_fabric_deinit(&f);
    return rate;
}

/* ---- one set ---- */

struct outcome {
    double planned, rate, model, roots, way; /* bit/s; negative: there are no such trees */
};

static bool run(uint64_t seed, uint32_t trees, uint32_t k, struct outcome *out)
{
    static struct drawn_scenario d;
    static struct sim_scenario scenario;
    const struct scenario_wish wish = {.k = k, .over = 4, .kinds = 3, .paths = "explicit", .buffer = "none"};
    struct plan_simulated it = {.scenario = NULL};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    scenario_text(&d, seed, &wish);
    if (!sim_scenario_parse(&scenario, d.text, "drawn", NULL, error) || !scenario_plan(&it, &scenario, trees, error)) {
        (void)printf("| %lu | %s |\n", (unsigned long)seed, error);
        plan_simulated_free(&it);
        sim_scenario_free(&scenario);
        return false;
    }
    out->planned = HUGE_VAL;
    for (uint32_t j = 0; j < it.jobs.count; j++) {
        out->planned = fmin(out->planned, (double)it.plan.grants[j].rate_bps);
    }
    out->rate = slowest(seed, &scenario, error);
    plan_simulated_free(&it);
    if (!plan_simulated_init(&it, &scenario, error)) {
        abort();
    }
    out->model = choose(&it, trees);
    out->roots = slowest(seed, &scenario, error);
    if (!(out->rate > 0) || !(out->roots > 0)) {
        fail(seed, error[0] != '\0' ? error : "a job made no progress");
    }
    plan_simulated_free(&it);
    for (uint32_t j = 0; j < scenario.job_count; j++) {
        scenario.jobs[j].trees = trees;
    }
    out->way = slowest(seed, &scenario, error);
    (void)printf("| %lu | %s, %u hosts | %u | %.3f | %.3f | %.3f (%.3f) | %.2f |", (unsigned long)seed,
                 sim_topology_name(scenario.topology.kind), d.hosts, scenario.job_count, out->planned / 1e9,
                 out->rate / 1e9, out->roots / 1e9, out->model / 1e9, out->rate / out->roots);
    if (out->way > 0) {
        (void)printf(" %.3f | %.2f |\n", out->way / 1e9, out->rate / out->way);
    } else {
        (void)printf(" none | |\n"); /* no switch that adds is above all ranks of a job */
    }
    (void)fflush(stdout);
    sim_scenario_free(&scenario);
    return true;
}

static void print(const char *what, double *list, uint32_t count)
{
    uint32_t worse = 0;
    if (count == 0) {
        (void)printf("%s: none\n", what);
        return;
    }
    qsort(list, count, sizeof *list, compare);
    for (uint32_t i = 0; i < count; i++) {
        worse += list[i] < 1;
    }
    (void)printf("%s: worst %.3f, median %.2f, best %.2f; below 1 in %u of %u\n", what, list[0], list[count / 2],
                 list[count - 1], worse, count);
}

int main(int argc, char **argv)
{
    static double roots[SETS_MAX], fit[SETS_MAX], way[SETS_MAX];
    uint32_t sets = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20, count = 0, ways = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint32_t trees = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : PLAN_TREES_MAX;
    uint32_t k = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    if (!trib_lp_is_there()) {
        (void)fprintf(stderr, "%s\n", trib_lp_explain_lack());
        return 77;
    }
    (void)printf("| seed | network | jobs | planned Gbps | simulated | roots alone (by the model) | times | on the way "
                 "| times |\n"
                 "|---|---|---|---|---|---|---|---|---|\n");
    for (sets = sets < SETS_MAX ? sets : SETS_MAX; count < sets; seed++) {
        struct outcome out = {0};
        if (!run(seed, trees, k, &out)) {
            continue;
        }
        fit[count] = out.roots / out.model;
        roots[count++] = out.rate / out.roots;
        if (out.way > 0) {
            way[ways++] = out.rate / out.way;
        }
    }
    (void)printf("\n");
    print("roots alone", roots, count);
    print("on the way", way, ways);
    print("roots alone, of their rate by the model", fit, count);
    return 0;
}
