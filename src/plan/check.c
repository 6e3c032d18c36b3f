/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: see check.h. */
#include "plan/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/memory.h"
#include "plan/round.h"

bool plan_check_network(const struct plan *plan, const struct plan_network *net, char *error)
{
    if (plan->paths != net->paths || plan->has_multicast != net->has_multicast) {
        trib_explain(error,
                     "the plan is for paths \"%s\", multicast %s, but the network has \"%s\", multicast %s: plan again",
                     plan_paths_name(plan->paths), plan->has_multicast ? "yes" : "no", plan_paths_name(net->paths),
                     net->has_multicast ? "yes" : "no");
        return false;
    }
    if (plan->headroom != net->headroom) {
        trib_explain(error, "the plan has a headroom of %u %% on links, but the network wants %u %%: plan again",
                     plan->headroom, net->headroom);
        return false;
    }
    if (plan->network_digest != plan_network_digest(net)) {
        trib_explain(error,
                     "the plan is for another network (digest %016" PRIx64 ", this one's is %016" PRIx64
                     "): plan again, or name the topology that it was made for",
                     plan->network_digest, plan_network_digest(net));
        return false;
    }
    return true;
}

bool plan_check_jobs(const struct plan *plan, const struct plan_jobs *jobs, char *error)
{
    if (plan->jobs_digest != plan_jobs_digest(jobs) || plan->job_count != jobs->count) {
        trib_explain(error,
                     "the plan is for other jobs (digest %016" PRIx64 ", that of these is %016" PRIx64
                     "): plan again, or name the jobs that it was made for",
                     plan->jobs_digest, plan_jobs_digest(jobs));
        return false;
    }
    return true;
}

/* Checks all trees, and finds their loads. */
static bool check_grants(struct plan *plan, const struct plan_pricer *p, char *error)
{
    for (uint32_t j = 0; j < plan->job_count; j++) {
        struct plan_grant *grant = &plan->grants[j];
        const struct plan_job *job = &p->jobs->list[j];
        if (grant->count == 0 || grant->rate_bps == 0 || grant->rate_bps > TRIB_LINK_RATE_MAX) {
            trib_explain(error, "job %s has no tree, or no rate up to 3200Gbps", job->name);
            return false;
        }
        for (uint32_t i = 0; i < grant->count; i++) {
            if (grant->shares[i].weight == 0) {
                trib_explain(error, "job %s has a tree of weight 0", job->name);
                return false;
            }
            if (!plan_tree_check(&grant->shares[i].tree, &p->routes, job, error)) {
                return false;
            }
            if (!plan_tree_load(&grant->shares[i].tree, &p->loader, job)) {
                trib_explain(error, "out of memory");
                return false;
            }
        }
    }
    return true;
}

/* Finds the switch with the least memory left. */
static void find_tightest(const struct plan_memory *memory, struct plan_proof *proof)
{
    const struct plan_network *net = memory->net;
    proof->memory_left = PLAN_MEMORY_ALL;
    for (uint32_t i = 0; i < net->switches; i++) {
        if (net->adds_bps[i] != PLAN_ADDS_NOT && memory->left[i] < proof->memory_left) {
            proof->memory_left = memory->left[i];
            proof->tightest = net->hosts + i;
        }
    }
}

/* Is there memory for all trees? */
static bool check_memory(const struct plan *plan, const struct plan_pricer *p, struct plan_proof *proof, char *error)
{
    struct plan_memory memory;
    bool is_good = plan_memory_init(&memory, p->net, p->jobs, error) == TRIB_OK;
    for (uint32_t j = 0; is_good && j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        for (uint32_t i = 0; is_good && i < grant->count; i++) {
            uint32_t place = plan_memory_take(&memory, &grant->shares[i].tree);
            is_good = place == TRIB_NO_PLACE;
            if (!is_good) {
                trib_explain(error,
                             "the memory of %s, %" PRIu64 " bytes, is too small for the plan: none is left for job %s",
                             p->net->names.list[place], p->net->memory[place - p->net->hosts], p->jobs->list[j].name);
            }
        }
    }
    if (is_good) {
        find_tightest(&memory, proof);
    }
    plan_memory_free(&memory);
    return is_good;
}

static bool check_loads(const struct plan *plan, const struct plan_pricer *p, struct plan_proof *proof, char *error)
{
    const struct plan_network *net = p->net;
    uint64_t *loads = calloc(plan_rows(net) + 1U, sizeof *loads);
    bool is_good = loads != NULL && plan_loads(plan, net, p->jobs, loads);
    if (!is_good) {
        trib_explain(error, "out of memory");
    }
    for (uint32_t row = 0; is_good && row < plan_rows(net); row++) {
        uint64_t capacity = plan_capacity(net, row);
        if (loads[row] > capacity) {
            char name[PLAN_ROW_NAME_MAX];
            plan_row_name(net, row, name);
            trib_explain(error, "the plan overloads %s: %" PRIu64 " bit/s, of %" PRIu64 " that it can carry", name,
                         loads[row], capacity);
            is_good = false;
        } else if (capacity != UINT64_MAX && (double)loads[row] > proof->fill * (double)capacity) {
            proof->fill = (double)loads[row] / (double)capacity;
            proof->fullest = row;
        }
    }
    free(loads);
    return is_good;
}

/* Checks the prices. A row without a limit has none. */
static bool check_prices(const struct plan_network *net, const int64_t *prices, char *error)
{
    for (uint32_t row = 0; row < plan_rows(net); row++) {
        if (prices[row] < 0 || prices[row] > PLAN_PRICE_MAX ||
            (prices[row] != 0 && plan_capacity(net, row) == UINT64_MAX)) {
            char name[PLAN_ROW_NAME_MAX];
            plan_row_name(net, row, name);
            trib_explain(error, "the price of %s is not a price", name);
            return false;
        }
    }
    return true;
}

static bool check_stage(const struct plan *plan, struct plan_pricer *p, uint32_t number, int64_t *cheapest,
                        uint64_t *fixed, char *error)
{
    const struct plan_stage *stage = &plan->stages[number];
    uint32_t own = 0;
    if (!check_prices(p->net, stage->prices, error)) {
        return false;
    }
    plan_pricer_set(p, stage->prices);
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        struct plan_offer offers[PLAN_OFFERS];
        (void)plan_price(p, j, offers);
        cheapest[j] = plan_bound_price(p->net, &p->jobs->list[j], offers[0].price, stage->prices);
        fixed[j] = grant->stage < number ? grant->level_bps : 0;
        own += grant->stage == number;
        if (grant->stage == number && grant->level_bps != stage->level_bps * p->jobs->list[j].weight) {
            trib_explain(error, "the level of job %s is not its weight's share of its stage's", p->jobs->list[j].name);
            return false;
        }
    }
    uint64_t bound = plan_bound(p->net, p->jobs, stage->prices, cheapest, fixed);
    if (bound != stage->bound_bps || stage->level_bps > bound || own == 0) {
        trib_explain(error,
                     "stage %" PRIu32 " does not hold: its prices prove a bound of %" PRIu64
                     " bit/s, the plan says %" PRIu64 ", for a level of %" PRIu64,
                     number + 1, bound, stage->bound_bps, stage->level_bps);
        return false;
    }
    return true;
}

static bool check_stages(const struct plan *plan, struct plan_pricer *p, struct plan_proof *proof, char *error)
{
    int64_t *cheapest = calloc(plan->job_count + 1U, sizeof *cheapest);
    uint64_t *fixed = calloc(plan->job_count + 1U, sizeof *fixed);
    bool is_good = cheapest != NULL && fixed != NULL;
    if (!is_good) {
        trib_explain(error, "out of memory");
    }
    for (uint32_t i = 0; is_good && i < plan->stage_count; i++) {
        const struct plan_stage *stage = &plan->stages[i];
        is_good = check_stage(plan, p, i, cheapest, fixed, error);
        double gap = (double)stage->bound_bps / (double)stage->level_bps - 1;
        proof->gap = fmax(proof->gap, gap);
        proof->first_gap = i == 0 ? gap : proof->first_gap;
    }
    free(cheapest);
    free(fixed);
    return is_good;
}

static void find_loss(const struct plan *plan, const struct plan_jobs *jobs, struct plan_proof *proof)
{
    double level = HUGE_VAL, rate = HUGE_VAL;
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        level = fmin(level, (double)grant->level_bps / jobs->list[j].weight);
        rate = fmin(rate, (double)grant->rate_bps / jobs->list[j].weight);
        proof->worst_loss = fmax(proof->worst_loss, 1 - (double)grant->rate_bps / (double)grant->level_bps);
    }
    proof->loss = fmax(0, 1 - rate / level);
}

bool plan_check(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs,
                struct plan_proof *proof, char *error)
{
    struct plan_pricer pricer;
    *proof = (struct plan_proof){0};
    if (!plan_check_network(plan, net, error) || !plan_check_jobs(plan, jobs, error)) {
        return false;
    }
    for (uint32_t j = 0; j < plan->job_count; j++) {
        if (plan->grants[j].stage >= plan->stage_count || plan->grants[j].level_bps == 0) {
            trib_explain(error, "job %s is in no stage", jobs->list[j].name);
            return false;
        }
    }
    bool is_good = plan_pricer_init(&pricer, net, jobs, plan->family, error) == TRIB_OK &&
                   check_grants(plan, &pricer, error) && check_memory(plan, &pricer, proof, error) &&
                   check_loads(plan, &pricer, proof, error) && check_stages(plan, &pricer, proof, error);
    plan_pricer_free(&pricer);
    if (is_good) {
        find_loss(plan, jobs, proof);
    }
    return is_good;
}

bool plan_check_loads(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, char *error)
{
    struct plan_proof proof = {0};
    struct plan_pricer pricer;
    bool is_good = plan_pricer_init(&pricer, net, jobs, plan->family, error) == TRIB_OK &&
                   check_grants(plan, &pricer, error) && check_loads(plan, &pricer, &proof, error);
    plan_pricer_free(&pricer);
    return is_good;
}
