/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.c: see plan_print.h. */
#include "cli/plan_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/units.h"
#include "plan/round.h"
#include "report/json.h"

#define FULL_ROWS 10 /* that --explain lists */

/* Seconds of a sum of the job's bytes: the time of the bytes, and the overhead of two steps, up and down. */
static double step_s(const struct plan_view *v, uint32_t j)
{
    return (double)v->jobs->list[j].bytes * 8 / (double)v->plan->grants[j].rate_bps + 2e-9 * (double)v->net->step_ns;
}

static void format_step(const struct plan_view *v, uint32_t j, char text[TRIB_UNITS_TEXT_MAX])
{
    (void)snprintf(text, TRIB_UNITS_TEXT_MAX, "-");
    if (v->jobs->list[j].bytes > 0) {
        trib_format_duration((uint64_t)(step_s(v, j) * 1e9), text);
    }
}

static double gbps(uint64_t bps)
{
    return (double)bps / 1e9;
}

static double bound_of(const struct plan_view *v, uint32_t job)
{
    return gbps(v->plan->stages[v->plan->grants[job].stage].bound_bps) * v->jobs->list[job].weight;
}

static void print_proof(const struct plan_view *v)
{
    const struct plan *plan = v->plan;
    char name[PLAN_ROW_NAME_MAX];
    plan_row_name(v->net, v->proof->fullest, name);
    (void)printf(
        "\nproved: no plan of the family \"%s\" gives the slowest job more than %.4g Gbps for each unit of weight;\n"
        "before rounding it has %.4g (gap %.3f %%; worst gap of %u %s %.3f %%); weights of %u trees at most "
        "take %.2f %%\n"
        "the fullest link or adder is %s, %.2f %% of its rate\n",
        plan_family_name(plan->family), gbps(plan->stages[0].bound_bps), gbps(plan->stages[0].level_bps),
        100 * v->proof->first_gap, plan->stage_count, plan->stage_count == 1 ? "stage" : "stages", 100 * v->proof->gap,
        v->plan->most, 100 * v->proof->loss, name, 100 * v->proof->fill);
    if (plan->is_early) {
        (void)printf("--seconds has ended the search: a longer one may find a better plan, and a lower bound\n");
    }
    if (v->proof->memory_left != PLAN_MEMORY_ALL) {
        char left[TRIB_UNITS_TEXT_MAX], all[TRIB_UNITS_TEXT_MAX];
        trib_format_size(v->proof->memory_left, left);
        trib_format_size(v->net->memory[v->proof->tightest - v->net->hosts], all);
        (void)printf("the switch with the least memory left is %s: %s of %s\n", v->net->names.list[v->proof->tightest],
                     left, all);
    }
}

void plan_print(const struct plan_view *v)
{
    uint32_t adders = 0;
    for (uint32_t i = 0; i < v->net->switches; i++) {
        adders += v->net->adds_bps[i] != PLAN_ADDS_NOT;
    }
    (void)printf("network: %u hosts, %u switches of which %u add, paths %s, multicast %s\n\n", v->net->hosts,
                 v->net->switches, adders, plan_paths_name(v->net->paths), v->net->has_multicast ? "yes" : "no");
    if (v->net->headroom > 0) {
        (void)printf("headroom for uneven flows: %u %% of a link's part in one stream, %u in 4, %u in 16\n\n",
                     v->net->headroom, plan_headroom(v->net, 4), plan_headroom(v->net, 16));
    }
    (void)printf("%-16s %6s %6s %6s %12s %12s %10s\n", "job", "hosts", "weight", "trees", "rate, Gbps", "bound, Gbps",
                 "step");
    for (uint32_t j = 0; j < v->plan->job_count; j++) {
        const struct plan_grant *grant = &v->plan->grants[j];
        const struct plan_job *job = &v->jobs->list[j];
        char step[TRIB_UNITS_TEXT_MAX];
        format_step(v, j, step);
        (void)printf("%-16s %6u %6u %6u %12.4g %12.4g %10s\n", job->name, job->host_count, job->weight, grant->count,
                     gbps(grant->rate_bps), bound_of(v, j), step);
    }
    print_proof(v);
}

/* ---- explain ---- */

static uint32_t count_adders(const struct plan_tree *tree)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        count += tree->hops[i].adds;
    }
    return count;
}

struct full_row {
    uint32_t row;
    double fill;
};

static int compare_rows(const void *one, const void *other)
{
    const struct full_row *a = one, *b = other;
    return a->fill != b->fill ? (a->fill > b->fill ? -1 : 1) : a->row < b->row ? -1 : a->row > b->row;
}

static void print_rows(const struct plan_view *v)
{
    uint32_t rows = plan_rows(v->net), count = 0;
    uint64_t *loads = calloc(rows + 1U, sizeof *loads);
    struct full_row *list = calloc(rows + 1U, sizeof *list);
    if (loads != NULL && list != NULL && plan_loads(v->plan, v->net, v->jobs, loads)) {
        for (uint32_t row = 0; row < rows; row++) {
            uint64_t capacity = plan_capacity(v->net, row);
            if (loads[row] > 0 && capacity != UINT64_MAX) {
                list[count++] = (struct full_row){row, (double)loads[row] / (double)capacity};
            }
        }
        qsort(list, count, sizeof *list, compare_rows);
        (void)printf("\nfullest: (a switch's name: its adding; a host's: its cable)\n");
        for (uint32_t i = 0; i < count && i < FULL_ROWS; i++) {
            char name[PLAN_ROW_NAME_MAX];
            plan_row_name(v->net, list[i].row, name);
            (void)printf("  %-32s %6.2f %% of %.4g Gbps\n", name, 100 * list[i].fill,
                         gbps(plan_capacity(v->net, list[i].row)));
        }
    }
    free(loads);
    free(list);
}

void plan_print_explain(const struct plan_view *v)
{
    const struct plan *plan = v->plan;
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        (void)printf("\n%s: %u of %u trees; stage %u; %.4g Gbps before rounding\n", v->jobs->list[j].name, grant->count,
                     grant->wanted, grant->stage + 1, gbps(grant->level_bps));
        for (uint32_t i = 0; i < grant->count; i++) {
            const struct plan_tree *tree = &grant->shares[i].tree;
            (void)printf("  root %-16s weight %3u, %u switches add, %s\n", v->net->names.list[tree->root],
                         grant->shares[i].weight, count_adders(tree),
                         tree->is_multicast ? "results are copied on the way" : "each child gets its own result");
        }
    }
    (void)printf("\nstages: the jobs of each can have no more, whatever later ones get\n");
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        (void)printf("  %u: %.6g Gbps for each unit of weight, bound %.6g\n", i + 1, gbps(plan->stages[i].level_bps),
                     gbps(plan->stages[i].bound_bps));
    }
    print_rows(v);
    if (plan->solved > 0) {
        (void)printf("\nsearch: %u trees, %u linear programs\n", plan->tree_count, plan->solved);
    }
}

/* ---- JSON ---- */

static void json_jobs(struct report_json *json, const struct plan_view *v)
{
    report_json_open(json, "jobs", '[');
    for (uint32_t j = 0; j < v->plan->job_count; j++) {
        const struct plan_grant *grant = &v->plan->grants[j];
        const struct plan_job *job = &v->jobs->list[j];
        report_json_open(json, NULL, '{');
        report_json_say(json, "name", job->name);
        report_json_count(json, "hosts", job->host_count);
        report_json_count(json, "weight", job->weight);
        report_json_count(json, "rate_bps", grant->rate_bps);
        report_json_count(json, "level_bps", grant->level_bps);
        report_json_count(json, "bound_bps", v->plan->stages[grant->stage].bound_bps * job->weight);
        report_json_count(json, "stage", grant->stage + 1);
        report_json_count(json, "trees_wanted", grant->wanted);
        if (job->bytes > 0) {
            report_json_real(json, "step_s", step_s(v, j));
        }
        report_json_open(json, "trees", '[');
        for (uint32_t i = 0; i < grant->count; i++) {
            report_json_open(json, NULL, '{');
            report_json_say(json, "root", v->net->names.list[grant->shares[i].tree.root]);
            report_json_count(json, "weight", grant->shares[i].weight);
            report_json_count(json, "adders", count_adders(&grant->shares[i].tree));
            report_json_flag(json, "multicast", grant->shares[i].tree.is_multicast);
            report_json_close(json, '}');
        }
        report_json_close(json, ']');
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
}

void plan_print_json(const struct plan_view *v)
{
    struct report_json json = {.out = stdout};
    report_json_open(&json, NULL, '{');
    report_json_put(&json, "network", "\"%016" PRIx64 "\"", v->plan->network_digest);
    report_json_say(&json, "family", plan_family_name(v->plan->family));
    report_json_say(&json, "paths", plan_paths_name(v->plan->paths));
    report_json_put(&json, "headroom_percent", "%u", v->plan->headroom);
    report_json_flag(&json, "multicast", v->plan->has_multicast);
    report_json_real(&json, "gap", v->proof->gap);
    report_json_real(&json, "first_gap", v->proof->first_gap);
    report_json_real(&json, "loss", v->proof->loss);
    report_json_flag(&json, "ended_early", v->plan->is_early);
    if (v->proof->memory_left != PLAN_MEMORY_ALL) {
        report_json_count(&json, "memory_left_bytes", v->proof->memory_left);
    }
    json_jobs(&json, v);
    report_json_close(&json, '}');
    (void)putchar('\n');
}

/* ---- a change ---- */

void plan_print_change(const struct plan_view *before, const struct plan_view *after, const char *change)
{
    double slowest[2] = {0, 0};
    (void)printf("%-16s %14s %14s %8s\n", "job", "now, Gbps", "then, Gbps", "");
    for (uint32_t j = 0; j < before->plan->job_count; j++) {
        double now = gbps(before->plan->grants[j].rate_bps), then = gbps(after->plan->grants[j].rate_bps);
        uint32_t weight = before->jobs->list[j].weight;
        (void)printf("%-16s %14.4g %14.4g %+7.1f%%\n", before->jobs->list[j].name, now, then, 100 * (then / now - 1));
        slowest[0] = j == 0 || now / weight < slowest[0] ? now / weight : slowest[0];
        slowest[1] = j == 0 || then / weight < slowest[1] ? then / weight : slowest[1];
    }
    (void)printf("\n%s: the slowest job %+.1f %%, for each unit of weight\n", change,
                 100 * (slowest[1] / slowest[0] - 1));
}
