/* SPDX-License-Identifier: Apache-2.0 */
/* round.c: see round.h. */
#include "plan/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/choice.h"
#include "plan/merge.h"
#include "plan/weights.h"

#define FEW_JOBS 8U      /* of more jobs a packing is made anew once at most, as the first time gains the most */
#define KEPT_ENOUGH 0.98 /* of the slowest job's level: a cut that keeps so much is not made again */
#define MEMORY_CUTS 12
#define OPEN_CUTS 8       /* with new trees, at most */
#define LEAST_GAIN 0.0005 /* of the slowest job's level: two cuts in a row that gain less are the last */
#define WEIGHINGS 3       /* of all jobs, before the last one */

/* ---- weights ---- */

/* Gives the trees of all jobs rates by whole weights, a job at a time: the next choice of a job's weights can make up
 * for those of the others. fill: by row, of all jobs. list: room for all trees. False: out of memory. */
static bool weigh_all(struct plan_pack *pack, uint32_t most, uint32_t *list, double *fill)
{
    uint8_t weights[PLAN_TREES_MAX];
    for (uint32_t i = 0; i < WEIGHINGS * pack->jobs->count; i++) {
        uint32_t count = plan_pack_list(pack, i % pack->jobs->count, list);
        double rate = 0, sum = 0;
        count = count < most ? count : most;
        if (!plan_weigh(pack, list, count, fill, weights)) {
            return false;
        }
        for (uint32_t k = 0; k < count; k++) {
            rate += pack->rates[list[k]];
            sum += weights[k];
        }
        for (uint32_t k = 0; k < count; k++) {
            pack->rates[list[k]] = rate * weights[k] / sum;
        }
    }
    return true;
}

/* Trees with a weight of 0 are left behind. fill: by row, of all jobs. */
static bool take_trees(struct plan_pack *pack, struct plan_grant *grant, const uint32_t *list, uint32_t count,
                       double *fill)
{
    uint8_t weights[PLAN_TREES_MAX];
    if (!plan_weigh(pack, list, count, fill, weights)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (weights[i] > 0) {
            grant->shares[grant->count++] = (struct plan_share){weights[i], pack->trees[list[i]]};
            pack->trees[list[i]] = (struct plan_tree){.job = UINT32_MAX};
        }
    }
    return true;
}

/* ---- rates ---- */

static uint32_t sum_weights(const struct plan_grant *grant)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < grant->count; i++) {
        sum += grant->shares[i].weight;
    }
    return sum;
}

/* Amount on a row that a job uses, of all its trees: over sum_weights, in PLAN_SHARE. */
struct use {
    uint32_t row;
    uint64_t amount;
};

static int compare_uses(const void *one, const void *other)
{
    const struct use *a = one, *b = other;
    return a->row != b->row ? (a->row < b->row ? -1 : 1) : 0;
}

/* Rows that a job uses, each once; NULL: out of memory. */
static struct use *list_uses(const struct plan_network *net, const struct plan_job *job, const struct plan_grant *grant,
                             uint32_t *count)
{
    size_t all = job->host_count;
    for (uint32_t i = 0; i < grant->count; i++) {
        all += grant->shares[i].tree.load_count;
    }
    struct use *uses = calloc(all + 1, sizeof *uses);
    uint32_t found = 0, kept = 0;
    for (uint32_t i = 0; uses != NULL && i < grant->count; i++) {
        const struct plan_tree *tree = &grant->shares[i].tree;
        for (uint32_t k = 0; k < tree->load_count; k++) {
            uses[found++] = (struct use){tree->loads[k].row, tree->loads[k].amount * grant->shares[i].weight};
        }
    }
    for (uint32_t i = 0; uses != NULL && i < job->host_count; i++) {
        uses[found++] = (struct use){plan_row_of_host(net, job->hosts[i]), PLAN_SHARE * sum_weights(grant)};
    }
    if (uses != NULL) {
        qsort(uses, found, sizeof *uses, compare_uses);
    }
    for (uint32_t i = 0; i < found; i++) {
        if (kept > 0 && uses[kept - 1].row == uses[i].row) {
            uses[kept - 1].amount += uses[i].amount;
        } else {
            uses[kept++] = uses[i];
        }
    }
    *count = kept;
    return uses;
}

bool plan_loads(const struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, uint64_t *loads)
{
    memset(loads, 0, plan_rows(net) * sizeof *loads);
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        uint32_t count = 0;
        struct use *uses = list_uses(net, &jobs->list[j], grant, &count);
        __extension__ unsigned __int128 whole = (uint64_t)PLAN_SHARE * sum_weights(grant);
        for (uint32_t i = 0; uses != NULL && whole > 0 && i < count; i++) {
            loads[uses[i].row] +=
                (uint64_t) __extension__(((unsigned __int128)uses[i].amount * grant->rate_bps + whole - 1) / whole);
        }
        free(uses);
        if (uses == NULL) {
            return false;
        }
    }
    return true;
}

/* Each job is slowed down by the row of its own that is the fullest. */
static bool fit_rates(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs)
{
    uint64_t *loads = calloc(plan_rows(net) + 1U, sizeof *loads);
    bool is_good = loads != NULL && plan_loads(plan, net, jobs, loads);
    for (uint32_t j = 0; is_good && j < plan->job_count; j++) {
        uint32_t count = 0;
        double over = 1;
        struct use *uses = list_uses(net, &jobs->list[j], &plan->grants[j], &count);
        for (uint32_t i = 0; uses != NULL && i < count; i++) {
            uint64_t capacity = plan_capacity(net, uses[i].row);
            over = capacity != UINT64_MAX ? fmax(over, (double)loads[uses[i].row] / (double)capacity) : over;
        }
        is_good = uses != NULL;
        free(uses);
        uint64_t rate = (uint64_t)((double)plan->grants[j].rate_bps / over);
        uint64_t slack = rate / 1000000000 + plan->job_count; /* bits that were rounded up */
        plan->grants[j].rate_bps = rate > slack ? rate - slack : 1;
    }
    free(loads);
    return is_good;
}

/* The slowest job's rate, by weight, beside that of the packing. */
static double part_kept(const struct plan_pack *pack, const uint64_t *levels)
{
    double least = HUGE_VAL, level = HUGE_VAL;
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        least = fmin(least, (double)levels[j] / pack->jobs->list[j].weight);
        level = fmin(level, (double)pack->level[j] / pack->jobs->list[j].weight);
    }
    return least / level;
}

/* Rates of trees and levels of jobs, of the best cut so far. */
struct best {
    double *rates; /* by tree, of the first `trees` */
    uint64_t *levels;
    uint32_t trees;
    double kept;
};

static bool keep_best(struct best *best, const struct plan_pack *pack, const uint64_t *levels)
{
    double kept = part_kept(pack, levels);
    if (best->levels != NULL && kept <= best->kept) {
        return true;
    }
    double *rates = realloc(best->rates, (pack->tree_count + 1U) * sizeof *rates);
    if (rates == NULL) {
        return false;
    }
    best->rates = rates;
    uint64_t *copy = realloc(best->levels, (pack->jobs->count + 1U) * sizeof *copy);
    if (copy == NULL) {
        return false;
    }
    best->levels = copy;
    memcpy(best->rates, pack->rates, pack->tree_count * sizeof *rates);
    memcpy(best->levels, levels, pack->jobs->count * sizeof *copy);
    best->trees = pack->tree_count;
    best->kept = kept;
    return true;
}

/* No effect if there is none. */
static void take_best(const struct best *best, struct plan_pack *pack, uint64_t *levels)
{
    if (best->rates == NULL || best->levels == NULL) {
        return;
    }
    memset(pack->rates, 0, pack->tree_count * sizeof *pack->rates);
    memcpy(pack->rates, best->rates, best->trees * sizeof *best->rates);
    memcpy(levels, best->levels, pack->jobs->count * sizeof *levels);
}

/* No better cut was found, and that so far stays: trees do not fit into memory, the solver gave up, or it is late. */
static bool is_bearable(enum trib_status status)
{
    return status == TRIB_ERR_INVALID || status == TRIB_ERR_SYSTEM || status == TRIB_ERR_TIMEOUT;
}

/* Finds rates with the chosen trees, and if is_open with new ones beside them, of which the fastest stay. */
static enum trib_status cut_once(struct plan_pack *pack, uint32_t most, bool is_open, uint64_t *levels,
                                 struct best *best, char *error)
{
    bool is_less = false;
    enum trib_status status = plan_pack_cut(pack, is_open, levels, error);
    status = status == TRIB_OK ? plan_choose_fastest(pack, most, &is_less) : status;
    status = status == TRIB_OK && is_less ? plan_pack_cut(pack, false, levels, error) : status;
    return status == TRIB_OK && !keep_best(best, pack, levels) ? TRIB_ERR_MEMORY : status;
}

/* Chooses trees, and finds new ones where memory has a limit, or, again and again, where the slowest job loses much
 * without. */
static enum trib_status choose_and_cut(struct plan_pack *pack, uint32_t most, uint64_t *levels, struct best *best,
                                       char *error)
{
    enum trib_status status = plan_choose(pack, most, error);
    status = status == TRIB_OK ? cut_once(pack, most, pack->has_memory, levels, best, error) : status;
    if (status != TRIB_OK || pack->has_memory) {
        return status;
    }
    double most_kept = part_kept(pack, levels);
    for (uint32_t i = 0, vain = 0; i < OPEN_CUTS && vain < 2 && most_kept < KEPT_ENOUGH && !plan_pack_is_late(pack);
         i++) {
        status = cut_once(pack, most, true, levels, best, error);
        if (status != TRIB_OK) {
            return is_bearable(status) ? TRIB_OK : status;
        }
        double kept = part_kept(pack, levels);
        vain = kept > most_kept + LEAST_GAIN ? 0 : vain + 1;
        most_kept = fmax(most_kept, kept);
    }
    return TRIB_OK;
}

/* The slowest jobs come first, by weight. */
static void put_slow_first(struct plan_pack *pack, const uint64_t *levels)
{
    for (uint32_t i = 1; i < pack->jobs->count; i++) {
        uint32_t job = pack->order[i], at = i;
        double rate = (double)levels[job] / pack->jobs->list[job].weight;
        for (; at > 0; at--) {
            uint32_t before = pack->order[at - 1];
            if ((double)levels[before] / pack->jobs->list[before].weight <= rate) {
                break;
            }
            pack->order[at] = before;
        }
        pack->order[at] = job;
    }
}

/* The first cut. Where memory has a limit it is made again at several prices of memory, each time for the slowest jobs
 * of the cut before first. ERR_INVALID: in no cut has each job a tree. */
static enum trib_status cut_first(struct plan_pack *pack, uint32_t most, uint64_t *levels, struct best *best,
                                  char *error)
{
    static const int64_t thrifts[] = {
        0, INT64_C(1) << 20, INT64_C(1) << 24, INT64_C(1) << 28, INT64_C(1) << 32, INT64_C(1) << 36};
    uint32_t trees = pack->tree_count, cuts = pack->has_memory ? MEMORY_CUTS : 1;
    double *rates = calloc(trees + 1U, sizeof *rates);
    enum trib_status status = rates != NULL ? TRIB_OK : TRIB_ERR_MEMORY;
    if (rates != NULL) {
        memcpy(rates, pack->rates, trees * sizeof *rates);
    }
    for (uint32_t i = 0; i < cuts && best->kept < KEPT_ENOUGH && (status == TRIB_OK || status == TRIB_ERR_INVALID) &&
                         (best->levels == NULL || !plan_pack_is_late(pack));
         i++) {
        memset(pack->rates, 0, pack->tree_count * sizeof *pack->rates);
        memcpy(pack->rates, rates, trees * sizeof *rates);
        pack->thrift = thrifts[i % (sizeof thrifts / sizeof thrifts[0])];
        status = choose_and_cut(pack, most, levels, best, error);
        if (status == TRIB_OK) {
            put_slow_first(pack, levels);
        }
    }
    pack->thrift = 0;
    free(rates);
    return status == TRIB_ERR_INVALID && best->levels != NULL ? TRIB_OK : status;
}

/* A cut that costs jobs much is made again, from packings with fewer trees, which have so much less. */
static enum trib_status cut(struct plan_pack *pack, uint32_t most, uint64_t *levels, char *error)
{
    static const double shares[] = {KEPT_ENOUGH, 0.95, 0.92, 0.88};
    struct best best = {.levels = NULL};
    enum trib_status status = cut_first(pack, most, levels, &best, error);
    size_t times = pack->jobs->count <= FEW_JOBS ? sizeof shares / sizeof shares[0] : 1;
    for (size_t i = 0; status == TRIB_OK && i < times && best.kept < shares[i] && !plan_pack_is_late(pack); i++) {
        take_best(&best, pack, levels);
        status = plan_pack_thin(pack, shares[i], error);
        for (uint32_t j = 0; j < pack->jobs->count && status == TRIB_OK; j++) {
            status = plan_merge(pack, j);
        }
        status = status == TRIB_OK ? choose_and_cut(pack, most, levels, &best, error) : status;
        status = is_bearable(status) ? TRIB_OK : status;
    }
    if (status == TRIB_OK) {
        take_best(&best, pack, levels);
    }
    free(best.rates);
    free(best.levels);
    return status;
}

enum trib_status plan_round(struct plan *plan, struct plan_pack *pack, char *error)
{
    uint32_t most = plan->most < PLAN_TREES_MAX ? plan->most : PLAN_TREES_MAX;
    uint32_t *list = calloc(pack->tree_count + 1U, sizeof *list);
    uint64_t *levels = calloc(plan->job_count + 1U, sizeof *levels);
    double *fill = calloc(plan_rows(pack->net) + 1U, sizeof *fill);
    bool is_good = list != NULL && levels != NULL && fill != NULL, is_cut = pack->has_memory;
    enum trib_status status = TRIB_OK;
    for (uint32_t j = 0; is_good && j < plan->job_count; j++) {
        plan->grants[j].wanted = plan_pack_list(pack, j, list);
        levels[j] = pack->level[j];
        is_cut = is_cut || plan->grants[j].wanted > most;
    }
    for (uint32_t j = 0; is_good && j < plan->job_count; j++) {
        is_good = plan->grants[j].wanted <= most || plan_merge(pack, j) == TRIB_OK;
    }
    if (is_good && is_cut) {
        status = cut(pack, most, levels, error);
        free(list);
        list = calloc(pack->tree_count + 1U, sizeof *list);
        is_good = list != NULL;
    }
    for (uint32_t j = 0; is_good && status == TRIB_OK && j < plan->job_count; j++) {
        uint32_t count = plan_pack_list(pack, j, list);
        for (uint32_t i = 0; i < count && i < most; i++) {
            plan_pack_load(pack, &pack->trees[list[i]], pack->rates[list[i]], fill);
        }
    }
    is_good = is_good && (status != TRIB_OK || weigh_all(pack, most, list, fill));
    for (uint32_t j = 0; is_good && status == TRIB_OK && j < plan->job_count; j++) {
        uint32_t count = plan_pack_list(pack, j, list);
        is_good = take_trees(pack, &plan->grants[j], list, count < most ? count : most, fill);
        plan->grants[j].stage = pack->stage_of[j];
        plan->grants[j].level_bps = pack->level[j];
        plan->grants[j].rate_bps = levels[j];
    }
    if (is_good && status == TRIB_OK) {
        is_good = fit_rates(plan, pack->net, pack->jobs);
    }
    free(list);
    free(levels);
    free(fill);
    if (!is_good) {
        trib_explain(error, "out of memory");
        return TRIB_ERR_MEMORY;
    }
    return status;
}
