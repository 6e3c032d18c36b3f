/* SPDX-License-Identifier: Apache-2.0 */
/* master.c: see master.h. */
#include "plan/master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/price.h"

#define NO_ROW UINT32_MAX
#define WORTH (1 - 1e-7) /* a tree must be cheaper by this, beyond the solver's tolerance */

/* ---- rows ---- */

static uint32_t row_of_trees(const struct plan_master *m, uint32_t job)
{
    return m->limited + m->cable_count + job;
}

static uint32_t row_of_share(const struct plan_master *m, uint32_t job)
{
    return m->limited + m->cable_count + m->jobs->count + job;
}

static uint32_t row_of_floor(const struct plan_master *m, uint32_t job)
{
    return m->limited + m->cable_count + 2 * m->jobs->count + job;
}

/* Can this row be full? Links that are down have no trees. */
static bool is_limited(const struct plan_network *net, uint32_t row)
{
    const struct trib_fabric *f = &net->fabric;
    uint64_t capacity = plan_capacity(net, row);
    return capacity != 0 && capacity != UINT64_MAX &&
           (row >= f->link_count || (f->from[row] >= net->hosts && f->to[row] >= net->hosts));
}

static int compare_cables(const void *one, const void *other)
{
    const struct plan_cable *a = one, *b = other;
    if (a->job_count != b->job_count) {
        return a->job_count < b->job_count ? -1 : 1;
    }
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->host < b->host ? -1 : 1;
}

static bool has_same_jobs(const struct plan_master *m, const struct plan_cable *a, const struct plan_cable *b)
{
    return a->job_count == b->job_count &&
           memcmp(m->jobs_of + a->first_job, m->jobs_of + b->first_job, a->job_count * sizeof *m->jobs_of) == 0;
}

/* Of cables that the same jobs use the slowest is kept. */
static void merge_cables(struct plan_master *m)
{
    uint32_t kept = 0;
    qsort(m->cables, m->net->hosts, sizeof *m->cables, compare_cables);
    for (uint32_t i = 0; i < m->net->hosts; i++) {
        const struct plan_cable *cable = &m->cables[i];
        if (cable->job_count == 0) {
            continue;
        }
        if (kept == 0 || !has_same_jobs(m, cable, &m->cables[kept - 1])) {
            m->cables[kept++] = *cable;
        } else if (plan_capacity(m->net, plan_row_of_host(m->net, cable->host)) <
                   plan_capacity(m->net, plan_row_of_host(m->net, m->cables[kept - 1].host))) {
            m->cables[kept - 1] = *cable;
        }
    }
    m->cable_count = kept;
}

/* Lists the jobs of each host, in their order. */
static bool find_cables(struct plan_master *m)
{
    const struct plan_jobs *jobs = m->jobs;
    uint32_t *counts = calloc(m->net->hosts + 1U, sizeof *counts);
    uint32_t all = 0;
    for (uint32_t j = 0; counts != NULL && j < jobs->count; j++) {
        for (uint32_t i = 0; i < jobs->list[j].host_count; i++, all++) {
            counts[jobs->list[j].hosts[i]]++;
        }
    }
    m->cables = calloc(m->net->hosts + 1U, sizeof *m->cables);
    m->jobs_of = calloc(all + 1U, sizeof *m->jobs_of);
    bool is_good = counts != NULL && m->cables != NULL && m->jobs_of != NULL;
    for (uint32_t host = 0, first = 0; is_good && host < m->net->hosts; first += counts[host++]) {
        m->cables[host] = (struct plan_cable){host, first, 0, PLAN_DIGEST_BEGIN};
    }
    free(counts);
    for (uint32_t j = 0; is_good && j < jobs->count; j++) {
        for (uint32_t i = 0; i < jobs->list[j].host_count; i++) {
            struct plan_cable *cable = &m->cables[jobs->list[j].hosts[i]];
            m->jobs_of[cable->first_job + cable->job_count++] = j;
            cable->key = plan_digest_number(cable->key, j);
        }
    }
    if (is_good) {
        merge_cables(m);
    }
    return is_good;
}

static bool find_rows(struct plan_master *m)
{
    uint32_t rows = plan_rows(m->net);
    m->lp_row = malloc((rows + 1U) * sizeof *m->lp_row);
    m->row_of = calloc(rows + 1U, sizeof *m->row_of);
    if (m->lp_row == NULL || m->row_of == NULL || !find_cables(m)) {
        return false;
    }
    memset(m->lp_row, 0xff, rows * sizeof *m->lp_row);
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t capacity = plan_capacity(m->net, row);
        if (capacity != 0 && capacity != UINT64_MAX && (m->unit_bps == 0 || (double)capacity < m->unit_bps)) {
            m->unit_bps = (double)capacity;
        }
        if (row < rows - m->net->hosts && is_limited(m->net, row)) {
            m->lp_row[row] = m->limited;
            m->row_of[m->limited++] = row;
        }
    }
    for (uint32_t i = 0; i < m->cable_count; i++) {
        m->row_of[m->limited + i] = plan_row_of_host(m->net, m->cables[i].host);
    }
    return true;
}

/* ---- columns ---- */

static enum trib_status add_column(struct plan_master *m, double cost, uint32_t count)
{
    const struct trib_lp_column column = {cost, HUGE_VAL, count, m->list, m->values};
    return trib_lp_add(m->lp, 1, &column);
}

static uint32_t put(struct plan_master *m, uint32_t at, uint32_t row, double value)
{
    m->list[at] = row;
    m->values[at] = value;
    return at + 1;
}

/* Part of a row that one unit of rate fills. */
static double fill_of(const struct plan_master *m, uint32_t row)
{
    return m->unit_bps / (double)plan_capacity(m->net, row);
}

static bool add_rates(struct plan_master *m)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < m->jobs->count; j++) {
        count = put(m, count, row_of_share(m, j), -(double)m->jobs->list[j].weight);
    }
    if (add_column(m, 1, count) != TRIB_OK) {
        return false;
    }
    for (uint32_t j = 0; j < m->jobs->count; j++) {
        count = put(m, 0, row_of_trees(m, j), -1);
        count = put(m, count, row_of_share(m, j), 1);
        count = put(m, count, row_of_floor(m, j), 1);
        for (uint32_t i = 0; i < m->cable_count; i++) {
            const struct plan_cable *cable = &m->cables[i];
            for (uint32_t k = 0; k < cable->job_count; k++) {
                if (m->jobs_of[cable->first_job + k] == j) {
                    count = put(m, count, m->limited + i, fill_of(m, m->row_of[m->limited + i]));
                }
            }
        }
        if (add_column(m, 0, count) != TRIB_OK) {
            return false;
        }
    }
    return true;
}

enum trib_status plan_master_add(struct plan_master *m, const struct plan_tree *tree)
{
    double time = 0;
    uint32_t count = put(m, 0, row_of_trees(m, tree->job), 1);
    if (m->tree_count == m->tree_room) {
        uint32_t room = 2 * m->tree_room + 64;
        double *list = realloc(m->time, room * sizeof *list);
        if (list == NULL) {
            return TRIB_ERR_MEMORY;
        }
        m->time = list;
        m->tree_room = room;
    }
    for (uint32_t i = 0; i < tree->load_count; i++) {
        uint32_t row = tree->loads[i].row;
        if (m->lp_row[row] != NO_ROW) {
            double value = (double)tree->loads[i].amount / (double)PLAN_SHARE * fill_of(m, row);
            count = put(m, count, m->lp_row[row], value);
            time += value;
        }
    }
    m->time[m->tree_count++] = time;
    return add_column(m, 0, count);
}

void plan_master_settle(struct plan_master *m)
{
    trib_lp_cost(m->lp, 0, 0);
    for (uint32_t i = 0; i < m->tree_count; i++) {
        trib_lp_cost(m->lp, 1 + m->jobs->count + i, -m->time[i]);
    }
}

void plan_master_cost(struct plan_master *m, uint32_t tree, double cost)
{
    trib_lp_cost(m->lp, 1 + m->jobs->count + tree, -cost);
}

/* ---- begin and end ---- */

bool plan_master_init(struct plan_master *m, const struct plan_network *net, const struct plan_jobs *jobs)
{
    *m = (struct plan_master){.net = net, .jobs = jobs};
    if (!find_rows(m)) {
        return false;
    }
    uint32_t full = m->limited + m->cable_count, rows = full + 3 * jobs->count;
    double *lower = calloc(2 * (size_t)rows + 1, sizeof *lower);
    m->list = calloc(rows + 1U, sizeof *m->list);
    m->values = calloc(rows + 1U, sizeof *m->values);
    for (uint32_t i = 0; lower != NULL && i < rows; i++) {
        lower[i] = i < full ? -HUGE_VAL : 0;
        lower[rows + i] = i < full ? 1 : HUGE_VAL;
    }
    m->lp = lower != NULL ? trib_lp_create(rows, lower, lower + rows) : NULL;
    free(lower);
    return m->lp != NULL && m->list != NULL && m->values != NULL && add_rates(m);
}

void plan_master_free(struct plan_master *m)
{
    trib_lp_destroy(m->lp);
    free(m->lp_row);
    free(m->row_of);
    free(m->cables);
    free(m->jobs_of);
    free(m->list);
    free(m->values);
    free(m->time);
    *m = (struct plan_master){.net = NULL};
}

void plan_master_fix(struct plan_master *m, uint32_t job, uint64_t bps)
{
    trib_lp_bound(m->lp, row_of_share(m, job), -HUGE_VAL, HUGE_VAL);
    trib_lp_bound(m->lp, row_of_floor(m, job), (double)bps / m->unit_bps, HUGE_VAL);
}

/* ---- the solution ---- */

double plan_master_level(const struct plan_master *m)
{
    return trib_lp_primal(m->lp)[0] * m->unit_bps;
}

double plan_master_rate(const struct plan_master *m, uint32_t tree)
{
    return trib_lp_primal(m->lp)[1 + m->jobs->count + tree] * m->unit_bps;
}

double plan_master_part(const struct plan_master *m, uint32_t job)
{
    return -trib_lp_dual(m->lp)[row_of_share(m, job)] * m->jobs->list[job].weight;
}

void plan_master_prices(const struct plan_master *m, int64_t *prices, int64_t *limits)
{
    const double *dual = trib_lp_dual(m->lp);
    double most = 0;
    memset(prices, 0, plan_rows(m->net) * sizeof *prices);
    for (uint32_t i = 0; i < m->limited + m->cable_count; i++) {
        most = fmax(most, dual[i] * fill_of(m, m->row_of[i]));
    }
    double scale = most > 0 ? (double)PLAN_PRICE_MAX / most : 0;
    for (uint32_t i = 0; i < m->limited + m->cable_count; i++) {
        prices[m->row_of[i]] = (int64_t)llround(fmax(0, dual[i]) * fill_of(m, m->row_of[i]) * scale);
    }
    for (uint32_t j = 0; j < m->jobs->count; j++) {
        double limit = -dual[row_of_trees(m, j)] * scale * WORTH;
        limits[j] = limit < (double)PLAN_FAR ? (int64_t)fmax(0, limit) : PLAN_FAR;
    }
}
