/* SPDX-License-Identifier: Apache-2.0 */
/* goat_bound.c: GOAT's problem relaxed, collapsed to one gradient, and a bound from its prices. See goat.h.
 *
 * Variables: x (gradient, switch) and y (gradient, worker, switch). The objective is the saving against sending
 * everything to the server: y saves the hops by which the switch is nearer than the server, x costs the hops of its
 * sum. Rows: the y of a worker and a gradient are at most 1; the x of a switch fit its memory; y <= x. Costs and memory
 * are divided by the bytes of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/goat.h"
#include "plan/lp.h"

/* ---- collapsing ---- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t trib_goat_usable_memory(const struct trib_goat *p, uint32_t node)
{
    uint64_t unit = 0;

    if (p->memory[node] >= p->total) {
        return p->total;
    }
    for (uint32_t g = 0; g < p->gradients && unit != 1; g++) {
        unit = divisor(p->bytes[g], unit);
    }
    return unit != 0 ? p->memory[node] - p->memory[node] % unit : 0;
}

static bool is_same_worker(const struct trib_goat *p, uint32_t a, uint32_t b)
{
    size_t row = p->switches * sizeof *p->to_switch;
    return p->to_server[a] == p->to_server[b] &&
           memcmp(&p->to_switch[(size_t)a * p->switches], &p->to_switch[(size_t)b * p->switches], row) == 0;
}

static bool is_same_switch(const struct trib_goat *p, uint32_t a, uint32_t b)
{
    bool is_same = p->from_switch[a] == p->from_switch[b];

    for (uint32_t w = 0; w < p->workers && is_same; w++) {
        const uint32_t *to = &p->to_switch[(size_t)w * p->switches];
        is_same = to[a] == to[b];
    }
    return is_same;
}

/* Numbers the classes of `count` things by their first members. Returns how many classes there are. */
static uint32_t classify(const struct trib_goat *p, uint32_t count,
                         bool (*is_same)(const struct trib_goat *p, uint32_t a, uint32_t b), uint32_t *class)
{
    uint32_t classes = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < i && !is_same(p, i, k)) {
            k++;
        }
        class[i] = k < i ? class[k] : classes++;
    }
    return classes;
}

enum trib_status trib_goat_collapse(const struct trib_goat *p, struct trib_goat *collapsed, uint32_t *worker_class,
                                    uint32_t *switch_class)
{
    uint32_t workers = classify(p, p->workers, is_same_worker, worker_class);
    uint32_t switches = classify(p, p->switches, is_same_switch, switch_class);
    enum trib_status status = trib_goat_allocate(collapsed, workers, switches, 1);

    if (status != TRIB_OK) {
        return status;
    }
    collapsed->bytes[0] = p->total;
    collapsed->total = p->total;
    for (uint32_t s = 0; s < p->switches; s++) {
        collapsed->from_switch[switch_class[s]] = p->from_switch[s];
        collapsed->memory[switch_class[s]] += trib_goat_usable_memory(p, s);
    }
    for (uint32_t w = 0; w < p->workers; w++) {
        collapsed->weight[worker_class[w]] += p->weight[w];
        collapsed->to_server[worker_class[w]] = p->to_server[w];
        for (uint32_t s = 0; s < p->switches; s++) {
            collapsed->to_switch[(size_t)worker_class[w] * switches + switch_class[s]] =
                p->to_switch[(size_t)w * p->switches + s];
        }
    }
    return TRIB_OK;
}

/* ---- the linear program ---- */

#define PROGRAM_ROWS_MAX 100000000U /* numbers of rows and coefficients then stay within 31 bits */

struct program {
    const struct trib_goat *problem;
    const double *extra; /* by switch, hops; NULL: none */
    struct trib_lp *lp;
    uint32_t rows;
    uint32_t count;    /* of columns */
    uint32_t *column;  /* by gradient, worker and switch: of y; UINT32_MAX: none */
    uint32_t *link;    /* likewise: row of y <= x */
    double *upper;     /* by row */
    double *lower;     /* by row */
    uint32_t *rows_of; /* coefficients of all columns */
    double *values_of; /* likewise */
    uint32_t coefficients;
    struct trib_lp_column *columns; /* x of all gradients and switches, then y */
};

/* Hops that a byte saves at this switch. 0: none. */
static uint32_t saves(const struct trib_goat *p, uint32_t w, uint32_t s)
{
    uint32_t to = p->to_switch[(size_t)w * p->switches + s];
    return p->from_switch[s] != TRIB_NO_WAY && to < p->to_server[w] ? p->to_server[w] - to : 0;
}

static enum trib_status program_allocate(struct program *m, const struct trib_goat *p)
{
    size_t ys = (size_t)p->gradients * p->workers * p->switches;
    size_t xs = (size_t)p->gradients * p->switches;
    size_t rows = (size_t)p->gradients * p->workers + p->switches + ys;

    *m = (struct program){.problem = p};
    if (rows > PROGRAM_ROWS_MAX) {
        return TRIB_ERR_MEMORY;
    }
    *m = (struct program){.problem = p,
                          .column = calloc(ys + 1, sizeof *m->column),
                          .link = calloc(ys + 1, sizeof *m->link),
                          .upper = calloc(rows + 1, sizeof *m->upper),
                          .lower = calloc(rows + 1, sizeof *m->lower),
                          .rows_of = calloc(xs + 3 * ys + 1, sizeof *m->rows_of),
                          .values_of = calloc(xs + 3 * ys + 1, sizeof *m->values_of),
                          .columns = calloc(xs + ys + 1, sizeof *m->columns)};
    bool is_good = m->column && m->link && m->upper && m->lower && m->rows_of && m->values_of && m->columns;
    return is_good ? TRIB_OK : TRIB_ERR_MEMORY;
}

static void program_destroy(struct program *m)
{
    trib_lp_destroy(m->lp);
    free(m->column);
    free(m->link);
    free(m->upper);
    free(m->lower);
    free(m->rows_of);
    free(m->values_of);
    free(m->columns);
}

static void set_rows(struct program *m)
{
    const struct trib_goat *p = m->problem;
    size_t at = 0;

    m->rows = p->gradients * p->workers + p->switches;
    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t w = 0; w < p->workers; w++) {
            m->upper[g * p->workers + w] = 1;
            for (uint32_t s = 0; s < p->switches; s++) {
                m->link[at++] = saves(p, w, s) > 0 ? m->rows++ : UINT32_MAX; /* with the bound 0 */
            }
        }
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        m->upper[p->gradients * p->workers + s] = (double)p->memory[s] / (double)p->total;
    }
    for (uint32_t row = 0; row < m->rows; row++) {
        m->lower[row] = -HUGE_VAL;
    }
}

static void put(struct program *m, uint32_t row, double value)
{
    m->rows_of[m->coefficients] = row;
    m->values_of[m->coefficients++] = value;
    m->columns[m->count].count++;
}

/* No column has a bound of its own, not even 1 for an x, which the optimum does not exceed. Such a bound would have a
 * price too; of several equal switches together it would be one that no switch alone has. */
static void begin_column(struct program *m, double cost)
{
    m->columns[m->count] = (struct trib_lp_column){.cost = cost,
                                                   .upper = HUGE_VAL,
                                                   .rows = &m->rows_of[m->coefficients],
                                                   .values = &m->values_of[m->coefficients]};
}

static void set_columns(struct program *m)
{
    const struct trib_goat *p = m->problem;

    for (uint32_t g = 0; g < p->gradients; g++) {
        double share = (double)p->bytes[g] / (double)p->total;
        for (uint32_t s = 0; s < p->switches; s++, m->count++) {
            double hops = p->from_switch[s] + (m->extra != NULL ? m->extra[s] : 0);
            begin_column(m, p->from_switch[s] != TRIB_NO_WAY ? -share * hops : -1);
            put(m, p->gradients * p->workers + s, share);
            for (uint32_t w = 0; w < p->workers; w++) {
                uint32_t link = m->link[((size_t)g * p->workers + w) * p->switches + s];
                if (link != UINT32_MAX) {
                    put(m, link, -1);
                }
            }
        }
    }
    for (size_t i = 0; i < (size_t)p->gradients * p->workers * p->switches; i++) {
        uint32_t w = (uint32_t)(i / p->switches % p->workers);
        uint32_t g = (uint32_t)(i / p->switches / p->workers);
        m->column[i] = UINT32_MAX;
        if (m->link[i] != UINT32_MAX) {
            double share = (double)p->bytes[g] / (double)p->total;
            begin_column(m, share * p->weight[w] * saves(p, w, (uint32_t)(i % p->switches)));
            put(m, g * p->workers + w, 1);
            put(m, m->link[i], 1);
            m->column[i] = m->count++;
        }
    }
}

static enum trib_status solve(struct program *m, char *error)
{
    set_rows(m);
    set_columns(m);
    m->lp = trib_lp_create(m->rows, m->lower, m->upper);
    if (m->lp == NULL) {
        return TRIB_ERR_MEMORY;
    }
    enum trib_status status = trib_lp_add(m->lp, m->count, m->columns);
    return status == TRIB_OK ? trib_lp_solve(m->lp, error) : status;
}

/* ---- solutions ---- */

static enum trib_status relaxed_create(struct trib_goat_relaxed *relaxed, const struct trib_goat *p)
{
    *relaxed = (struct trib_goat_relaxed){.price = calloc(p->workers + 1U, sizeof *relaxed->price)};
    if (relaxed->price == NULL || trib_goat_shares_create(&relaxed->shares, p) != TRIB_OK) {
        trib_goat_relaxed_destroy(relaxed);
        return TRIB_ERR_MEMORY;
    }
    return TRIB_OK;
}

void trib_goat_relaxed_destroy(struct trib_goat_relaxed *relaxed)
{
    trib_goat_shares_destroy(&relaxed->shares);
    free(relaxed->price);
    *relaxed = (struct trib_goat_relaxed){.price = NULL};
}

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* The price of a worker is the cost of its byte: the hops to the server, less the solver's price of its row. */
static void read_solution(const struct program *m, struct trib_goat_relaxed *relaxed)
{
    const struct trib_goat *p = m->problem;
    const double *x = trib_lp_primal(m->lp);
    const double *dual = trib_lp_dual(m->lp);
    double direct = 0;

    for (uint32_t w = 0; w < p->workers; w++) {
        double gain = 0;
        for (uint32_t g = 0; g < p->gradients; g++) {
            gain += dual[g * p->workers + w] / p->weight[w];
        }
        double price = between(p->to_server[w] - gain, 0, p->to_server[w]);
        relaxed->price[w] = (uint32_t)(price * TRIB_GOAT_PRICE_ONE);
        direct += (double)p->to_server[w] * p->weight[w];
    }
    relaxed->cost = (direct - trib_lp_value(m->lp)) * (double)p->total;
    for (uint32_t g = 0; g < p->gradients; g++) {
        double share = (double)p->bytes[g] / (double)p->total;
        for (uint32_t s = 0; s < p->switches; s++) {
            relaxed->shares.x[s] += share * between(x[g * p->switches + s], 0, 1);
        }
        for (uint32_t i = 0; i < p->workers * p->switches; i++) {
            uint32_t column = m->column[(size_t)g * p->workers * p->switches + i];
            relaxed->shares.y[i] += column != UINT32_MAX ? share * between(x[column], 0, 1) : 0;
        }
    }
}

enum trib_status trib_goat_relax(const struct trib_goat *p, const double *extra, struct trib_goat_relaxed *relaxed,
                                 char *error)
{
    struct program m;

    if (!trib_lp_is_there()) {
        *relaxed = (struct trib_goat_relaxed){.price = NULL};
        trib_explain(error, "%s", trib_lp_explain_lack());
        return TRIB_ERR_SYSTEM;
    }
    enum trib_status status = relaxed_create(relaxed, p);
    if (status != TRIB_OK || p->total == 0) { /* nothing to send */
        return status;
    }
    status = program_allocate(&m, p);
    m.extra = extra;
    if (status == TRIB_OK) {
        status = solve(&m, error);
    }
    if (status == TRIB_OK) {
        read_solution(&m, relaxed);
    } else {
        trib_goat_relaxed_destroy(relaxed);
    }
    program_destroy(&m);
    return status;
}

/* The collapsed solution, of each worker and switch. A class of switches shares its x by memory. */
static void expand(const struct trib_goat *p, const struct trib_goat *collapsed, const struct trib_goat_relaxed *from,
                   const uint32_t *class[2], struct trib_goat_relaxed *to)
{
    const uint32_t *worker_class = class[0];
    const uint32_t *switch_class = class[1];

    to->cost = from->cost;
    for (uint32_t s = 0; s < p->switches; s++) {
        uint32_t c = switch_class[s];
        double part =
            collapsed->memory[c] > 0 ? (double)trib_goat_usable_memory(p, s) / (double)collapsed->memory[c] : 0;
        to->shares.x[s] = from->shares.x[c] * part;
        for (uint32_t w = 0; w < p->workers; w++) {
            to->shares.y[(size_t)w * p->switches + s] =
                from->shares.y[(size_t)worker_class[w] * collapsed->switches + c] * part;
        }
    }
    for (uint32_t w = 0; w < p->workers; w++) {
        to->price[w] = from->price[worker_class[w]];
    }
}

enum trib_status trib_goat_bound(const struct trib_goat *p, struct trib_goat_relaxed *relaxed, char *error)
{
    struct trib_goat collapsed = {.workers = 0};
    struct trib_goat_relaxed small = {.price = NULL};
    uint32_t *worker_class = calloc(p->workers + 1U, sizeof *worker_class);
    uint32_t *switch_class = calloc(p->switches + 1U, sizeof *switch_class);
    enum trib_status status = relaxed_create(relaxed, p);

    if (status == TRIB_OK) {
        status = worker_class != NULL && switch_class != NULL
                     ? trib_goat_collapse(p, &collapsed, worker_class, switch_class)
                     : TRIB_ERR_MEMORY;
    }
    if (status == TRIB_OK) {
        status = trib_goat_relax(&collapsed, NULL, &small, error);
    }
    if (status == TRIB_OK) {
        expand(p, &collapsed, &small, (const uint32_t *[2]){worker_class, switch_class}, relaxed);
    } else {
        trib_goat_relaxed_destroy(relaxed);
    }
    trib_goat_relaxed_destroy(&small);
    trib_goat_destroy(&collapsed);
    free(worker_class);
    free(switch_class);
    return status;
}

/* ---- proof ---- */

/* The excess of a switch: sum over workers of weight x max(price - hops to the switch, 0), less the hops of the sum; at
 * least 0. For one gradient, the sum over workers of weight x price is at most its cost and the excess of its open
 * switches. For a worker that sends to the server pays the hops there, which are no less than its price; and workers
 * that send to a switch pay, with its sum, their prices less the excess. Over all gradients, a switch's excess counts
 * for the bytes that it buffers. */
uint64_t trib_goat_prove(const struct trib_goat *p, const uint32_t *price)
{
    __extension__ __int128 sum = 0;

    for (uint32_t w = 0; w < p->workers; w++) {
        __extension__ __int128 its = p->total;
        uint32_t most = p->to_server[w] * TRIB_GOAT_PRICE_ONE;
        sum += its * p->weight[w] * (price[w] < most ? price[w] : most);
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        __extension__ __int128 excess = -(int64_t)p->from_switch[s] * TRIB_GOAT_PRICE_ONE;
        for (uint32_t w = 0; w < p->workers; w++) {
            int64_t way = (int64_t)p->to_switch[(size_t)w * p->switches + s] * TRIB_GOAT_PRICE_ONE;
            excess += price[w] > way ? (price[w] - way) * p->weight[w] : 0;
        }
        sum -= excess > 0 ? excess * trib_goat_usable_memory(p, s) : 0;
    }
    return sum > 0 ? (uint64_t)((sum + TRIB_GOAT_PRICE_ONE - 1) / TRIB_GOAT_PRICE_ONE) : 0;
}
