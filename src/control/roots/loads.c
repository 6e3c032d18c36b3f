/* SPDX-License-Identifier: Apache-2.0 */
/* loads.c: see loads.h. Read next: choose.c (which link a tree uses). */
#include "control/roots/loads.h"

#include <stdlib.h>
#include <string.h>

#include "control/jobs/opening.h"
#include "core/assert.h"
#include "fabric/topology.h"
#include "io/list.h"

#define WEIGHT_BPS UINT64_C(1000000000)

struct trib_loads {
    struct trib_fabric star; /* if there is no topology */
    struct trib_choose choose;
    struct trib_job *stale;
    struct trib_link_load *list; /* room for all trees of one job */
    uint32_t tried;              /* entries of an unfinished choice in the list */
    uint64_t *recount;           /* by link, for check */
};

/* ---- members ---- */

struct trib_rank *trib_members_next(struct trib_members *m)
{
    while (m->next < m->job->settings.ranks) {
        struct trib_rank *rank = &m->job->ranks[m->next++];
        if (m->job->children == 0 ? rank->address.len > 0
                                  : rank->branch < TRIB_RANKS_MAX && !trib_rank_set_has(&m->seen, rank->branch)) {
            if (m->job->children > 0) {
                trib_rank_set_add(&m->seen, rank->branch);
            }
            return rank;
        }
    }
    return NULL;
}

struct trib_address trib_loads_seat(const struct trib_rank *rank, uint32_t card)
{
    return rank->seat.len > 0 ? rank->seat : trib_rank_place(rank, card);
}

/* Looked up once, as the topology is always the same. */
uint32_t trib_loads_place(const struct trib_jobs *jobs, struct trib_rank *rank, uint32_t card)
{
    const struct trib_topology *topology = jobs->config->topology;
    if (!topology) {
        return TRIB_NO_PLACE;
    }
    if (rank->subnet[card] == 0) {
        struct trib_address at = trib_loads_seat(rank, card);
        uint32_t place = trib_topology_find(topology, &at);
        rank->subnet[card] = (uint16_t)(place == TRIB_NO_PLACE ? UINT16_MAX : place + 1);
    }
    return rank->subnet[card] == UINT16_MAX ? TRIB_NO_PLACE : rank->subnet[card] - 1U;
}

void trib_loads_add_tree(const struct trib_jobs *jobs, struct trib_choose *choose, struct trib_job *job, uint32_t k,
                         uint32_t count, uint64_t amount)
{
    struct trib_members members = {.job = job};
    uint32_t shards = job->grant.roots > 0 && count > 0 ? (job->grant.roots + count - 1) / count : TRIB_ROOTS_MAX;
    struct trib_rank *rank;
    if (!jobs->config->topology) { /* all places are unknown; a returning job counts with all ranks */
        trib_choose_add(choose, TRIB_NO_PLACE, (job->children > 0 ? job->children : job->settings.ranks) * amount);
        return;
    }
    while ((rank = trib_members_next(&members)) != NULL) {
        uint32_t all = trib_rank_places(rank);
        uint32_t cards = 1;
        while (cards < shards && cards * count % all != 0) {
            cards++;
        }
        for (uint32_t i = 0; i < cards; i++) {
            trib_choose_add(choose, trib_loads_place(jobs, rank, (k + i * count) % all), amount / cards);
        }
    }
}

/* ---- one job's list ---- */

/* Load of the job's k-th tree, as a part of TRIB_STREAM. */
static uint64_t amount_of(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t k)
{
    uint32_t count = trib_trees_count(jobs, job);
    uint64_t own = job->grant.roots > 0 ? 0 : 1;
    uint64_t all = job->grant.roots > 0 ? 0 : count;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        uint64_t weight = job->grant.weight[t] > 0 ? job->grant.weight[t] : 1;
        own += t % count == k ? weight : 0;
        all += weight;
    }
    return TRIB_STREAM * own / all;
}

/* Writes the loads of all trees of the job to loads->list. Returns the number of entries. */
static uint32_t list_job(const struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_loads *loads = jobs->loads;
    uint32_t trees = trib_loads_is_settled(job) ? trib_trees_count(jobs, job) : 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < trees && k < TRIB_SWITCHES_MAX; k++) {
        trib_choose_begin(&loads->choose);
        trib_loads_add_tree(jobs, &loads->choose, job, k, trees, amount_of(jobs, job, k));
        count += trib_choose_list(&loads->choose, trib_trees_at(job, k), loads->list + count);
    }
    return count;
}

static void take_away(struct trib_loads *loads, struct trib_job *job)
{
    trib_choose_take(&loads->choose, job->loads, job->load_count);
    free(job->loads);
    job->loads = NULL;
    job->load_count = 0;
}

/* False: out of memory; the job is unchanged. */
static bool renew(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_loads *loads = jobs->loads;
    uint32_t count = list_job(jobs, job);
    struct trib_link_load *list = count > 0 ? calloc(count, sizeof *list) : NULL;
    if (count > 0 && !list) {
        return false;
    }
    if (list) {
        memcpy(list, loads->list, count * sizeof *list);
    }
    take_away(loads, job);
    trib_choose_put(&loads->choose, list, count);
    job->loads = list;
    job->load_count = count;
    TRIB_LIST_REMOVE(job, next_stale, stale_back);
    return true;
}

/* ---- all jobs ---- */

/* Without a topology each switch is one link away, with a rate in proportion to the weight. */
static bool make_star(struct trib_fabric *star, uint32_t switches)
{
    if (!trib_fabric_init(star, switches + 1, switches, 2 * switches)) {
        return false;
    }
    for (uint32_t i = 0; i < switches; i++) {
        (void)trib_fabric_add(star, i, switches, WEIGHT_BPS);
        (void)trib_fabric_add(star, switches, i, WEIGHT_BPS);
    }
    return trib_fabric_ready(star);
}

static void weigh_star(const struct trib_jobs *jobs, struct trib_fabric *star)
{
    for (uint32_t i = 0; i < star->link_count; i++) {
        uint64_t weight = i < 2 ? jobs->config->weight : jobs->remote[i / 2 - 1].weight;
        star->rate_bps[i] = (weight > 0 ? weight : 1) * WEIGHT_BPS;
    }
}

static bool create(struct trib_jobs *jobs)
{
    const struct trib_topology *topology = jobs->config->topology;
    uint32_t switches = jobs->config->lenders.count + 1;
    struct trib_loads *loads = calloc(1, sizeof *loads);
    if (!loads) {
        return false;
    }
    jobs->loads = loads;
    bool is_good = (topology || make_star(&loads->star, switches)) &&
                   trib_choose_create(&loads->choose, topology ? &topology->fabric : &loads->star, switches) == TRIB_OK;
    if (is_good) {
        uint32_t links = loads->choose.fabric->link_count;
        loads->list = calloc((size_t)links * TRIB_SWITCHES_MAX + 1, sizeof *loads->list);
        loads->recount = calloc(links + 1U, sizeof *loads->recount);
        is_good = loads->list && loads->recount;
    }
    if (!is_good) {
        trib_loads_deinit(jobs);
        return false;
    }
    for (struct trib_job *job = jobs->first; job; job = job->next) {
        trib_loads_change(jobs, job);
    }
    return true;
}

struct trib_choose *trib_loads_get(struct trib_jobs *jobs)
{
    if (!jobs->loads && !create(jobs)) {
        return NULL;
    }
    struct trib_loads *loads = jobs->loads;
    TRIB_ASSERT(loads->tried == 0);
    while (loads->stale) {
        if (!renew(jobs, loads->stale)) {
            return NULL;
        }
    }
    if (!jobs->config->topology) {
        weigh_star(jobs, &loads->star);
    }
    return &loads->choose;
}

void trib_loads_try(struct trib_jobs *jobs, uint32_t root)
{
    struct trib_loads *loads = jobs->loads;
    struct trib_link_load *list = loads->list + loads->tried;
    uint32_t count = trib_choose_list(&loads->choose, root, list);
    trib_choose_put(&loads->choose, list, count);
    loads->tried += count;
}

void trib_loads_end_try(struct trib_jobs *jobs)
{
    trib_choose_take(&jobs->loads->choose, jobs->loads->list, jobs->loads->tried);
    jobs->loads->tried = 0;
}

void trib_loads_change(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_loads *loads = jobs->loads;
    if (loads && !job->stale_back) {
        TRIB_LIST_ADD(&loads->stale, job, next_stale, stale_back);
    }
}

void trib_loads_leave(struct trib_jobs *jobs, struct trib_job *job)
{
    if (jobs->loads) {
        TRIB_LIST_REMOVE(job, next_stale, stale_back);
        take_away(jobs->loads, job);
    }
}

void trib_loads_check(const struct trib_jobs *jobs)
{
    struct trib_loads *loads = jobs->loads;
    if (!loads) {
        return;
    }
    const struct trib_fabric *f = loads->choose.fabric;
    memset(loads->recount, 0, f->link_count * sizeof *loads->recount);
    for (struct trib_job *job = jobs->first; job; job = job->next) {
        if (!job->stale_back) {
            TRIB_ASSERT(list_job(jobs, job) == job->load_count); /* no change without trib_loads_change */
            for (uint32_t i = 0; i < job->load_count; i++) {
                TRIB_ASSERT(loads->list[i].link == job->loads[i].link);
                TRIB_ASSERT(loads->list[i].amount == job->loads[i].amount);
            }
        }
        for (uint32_t i = 0; i < job->load_count; i++) {
            loads->recount[job->loads[i].link] += job->loads[i].amount;
            loads->recount[f->opposite[job->loads[i].link]] += job->loads[i].amount;
        }
    }
    TRIB_ASSERT(memcmp(loads->recount, loads->choose.load, f->link_count * sizeof *loads->recount) == 0); /* C-22 */
}

void trib_loads_deinit(struct trib_jobs *jobs)
{
    struct trib_loads *loads = jobs->loads;
    if (loads) {
        TRIB_ASSERT(!jobs->first || !jobs->first->loads);
        trib_choose_destroy(&loads->choose);
        trib_fabric_deinit(&loads->star);
        free(loads->list);
        free(loads->recount);
        free(loads);
        jobs->loads = NULL;
    }
}
