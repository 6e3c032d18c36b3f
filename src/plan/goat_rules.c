/* SPDX-License-Identifier: Apache-2.0 */
/* goat_rules.c: planners of GOAT's problem by name: the paper's, its baselines, and ours. See goat.h. */
#include <stdlib.h>
#include <string.h>

#include "plan/goat.h"

/* Geryon, as the paper has it: no aggregation. */
static enum trib_status make_geryon(const struct trib_goat *p, const struct trib_goat_options *options,
                                    struct trib_goat_plan *plan)
{
    (void)options;
    trib_goat_count(p, plan);
    return TRIB_OK;
}

/* ATP, as the paper has it: a worker's nearest switch adds the first gradients, as many as its memory holds. A switch
 * does not wait for late workers, so their parts go to the server. */
static enum trib_status make_atp(const struct trib_goat *p, const struct trib_goat_options *options,
                                 struct trib_goat_plan *plan)
{
    for (uint32_t w = options->late; w < p->workers; w++) {
        const uint32_t *to = &p->to_switch[(size_t)w * p->switches];
        uint32_t nearest = 0;
        uint64_t held = 0;
        for (uint32_t s = 1; s < p->switches; s++) {
            nearest = to[s] < to[nearest] ? s : nearest;
        }
        for (uint32_t g = 0; g < p->gradients && p->switches > 0 && to[nearest] <= p->to_server[w]; g++) {
            held += p->bytes[g];
            if (held <= p->memory[nearest]) {
                plan->is_open[(size_t)g * p->switches + nearest] = true;
                plan->node[(size_t)g * p->workers + w] = nearest;
            }
        }
    }
    trib_goat_count(p, plan);
    return TRIB_OK;
}

/* The farthest switch from the server with room for so many bytes; of equal ones the first. */
static uint32_t farthest(const struct trib_goat *p, const uint64_t *held, uint64_t bytes)
{
    uint32_t best = TRIB_GOAT_SERVER;

    for (uint32_t s = 0; s < p->switches; s++) {
        if (p->from_switch[s] != TRIB_NO_WAY && held[s] <= p->memory[s] && bytes <= p->memory[s] - held[s] &&
            (best == TRIB_GOAT_SERVER || p->from_switch[s] > p->from_switch[best])) {
            best = s;
        }
    }
    return best;
}

/* The largest gradient that has no switch yet, and was not tried. */
static uint32_t largest(const struct trib_goat *p, const bool *is_done)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t g = 0; g < p->gradients; g++) {
        if (!is_done[g] && (best == UINT32_MAX || p->bytes[g] > p->bytes[best])) {
            best = g;
        }
    }
    return best;
}

/* Form (4) of the slides: a gradient gains (workers - 1) x the hops from its switch to the server, however far the
 * workers are from that switch. So all of them send it to the farthest switch. */
static enum trib_status make_slide(const struct trib_goat *p, const struct trib_goat_options *options,
                                   struct trib_goat_plan *plan)
{
    uint64_t *held = calloc(p->switches + 1U, sizeof *held);
    bool *is_done = calloc(p->gradients + 1U, sizeof *is_done);

    (void)options;
    for (uint32_t i = 0; held != NULL && is_done != NULL && i < p->gradients; i++) {
        uint32_t g = largest(p, is_done);
        uint32_t s = farthest(p, held, p->bytes[g]);
        is_done[g] = true;
        if (s == TRIB_GOAT_SERVER) {
            continue;
        }
        held[s] += p->bytes[g];
        plan->is_open[(size_t)g * p->switches + s] = true;
        for (uint32_t w = 0; w < p->workers; w++) {
            bool is_reached = p->to_switch[(size_t)w * p->switches + s] != TRIB_NO_WAY;
            plan->node[(size_t)g * p->workers + w] = is_reached ? s : TRIB_GOAT_SERVER;
        }
    }
    bool is_good = held != NULL && is_done != NULL;
    free(held);
    free(is_done);
    trib_goat_count(p, plan);
    return is_good ? TRIB_OK : TRIB_ERR_MEMORY;
}

static enum trib_status make_greedy(const struct trib_goat *p, const struct trib_goat_options *options,
                                    struct trib_goat_plan *plan)
{
    (void)options;
    return trib_goat_fill(p, plan);
}

/* Algorithm 1 as printed: form (4), relaxed and rounded. */
static enum trib_status make_krgs(const struct trib_goat *p, const struct trib_goat_options *options,
                                  struct trib_goat_plan *plan)
{
    struct trib_goat_shares shares;
    enum trib_status status = trib_goat_shares_create(&shares, p);

    if (status == TRIB_OK) {
        trib_goat_relax_slide(p, &shares);
        status = trib_goat_round(p, &shares, options->seed, false, plan);
        trib_goat_shares_destroy(&shares);
    }
    return status;
}

/* The plan keeps the prices of the relaxed problem, which prove its bound. */
static void take_bound(const struct trib_goat *p, struct trib_goat_relaxed *relaxed, struct trib_goat_plan *plan)
{
    plan->bound = trib_goat_prove(p, relaxed->price);
    plan->price = relaxed->price;
    relaxed->price = NULL;
    trib_goat_relaxed_destroy(relaxed);
}

/* Algorithm 1 on the exact form, with a null item, and memory repaired. */
static enum trib_status make_krgs_repaired(const struct trib_goat *p, const struct trib_goat_options *options,
                                           struct trib_goat_plan *plan)
{
    struct trib_goat_relaxed relaxed;
    enum trib_status status = trib_goat_bound(p, &relaxed, options->error);

    if (status == TRIB_OK) {
        status = trib_goat_round(p, &relaxed.shares, options->seed, true, plan);
        take_bound(p, &relaxed, plan);
    }
    return status;
}

#define ENOUGH 1.0005 /* of the bound */

/* Replaces the plan by that of sets, if that is cheaper. */
static enum trib_status try_sets(const struct trib_goat *p, char *error, struct trib_goat_plan *plan)
{
    struct trib_goat_plan other;
    enum trib_status status = trib_goat_plan_create(&other, p);

    if (status != TRIB_OK) {
        return status;
    }
    status = trib_goat_deal(p, (double)plan->bound * ENOUGH, &other, error);
    if (status == TRIB_OK && other.cost < plan->cost) {
        struct trib_goat_plan kept = *plan;
        other.bound = plan->bound;
        other.price = plan->price;
        kept.price = NULL;
        *plan = other;
        other = kept;
    }
    trib_goat_plan_destroy(&other);
    return status;
}

/* The greedy plan; if that is above the bound, and sets have a cheaper one, the latter. */
static enum trib_status make_goat(const struct trib_goat *p, const struct trib_goat_options *options,
                                  struct trib_goat_plan *plan)
{
    struct trib_goat_relaxed relaxed;
    enum trib_status status = trib_goat_bound(p, &relaxed, options->error);

    if (status != TRIB_OK) {
        return status;
    }
    take_bound(p, &relaxed, plan);
    status = trib_goat_fill(p, plan);
    if (status == TRIB_OK && (double)plan->cost > (double)plan->bound * ENOUGH) {
        status = try_sets(p, options->error, plan);
    }
    return status;
}

static const struct trib_goat_rule rules[] = {
    {"goat", true, make_goat},      {"goat-slide", false, make_slide},
    {"krgs", false, make_krgs},     {"krgs-repaired", true, make_krgs_repaired},
    {"greedy", false, make_greedy}, {"geryon", false, make_geryon},
    {"atp", false, make_atp},
};

const struct trib_goat_rule *trib_goat_rule_at(uint32_t index)
{
    return index < sizeof rules / sizeof rules[0] ? &rules[index] : NULL;
}

const struct trib_goat_rule *trib_goat_rule_find(const char *name)
{
    for (uint32_t i = 0; trib_goat_rule_at(i) != NULL; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}
