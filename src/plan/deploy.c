/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.c: see deploy.h. */
#include "plan/deploy.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/prng.h"

#define DRAWS 2000U
#define SEED UINT64_C(0x6465706c6f79)

/* ---- the tree ---- */

/* Of all places: what a search from the server's switch finds. */
struct found {
    uint32_t *workers;
    uint32_t *below; /* workers on its hosts and those of all switches that it leads to */
    uint32_t *parents;
    uint32_t *order; /* of places, as they were found */
    uint32_t *numbers;
    uint32_t count;
};

/* Breadth first from the server's switch, over the links in their order. */
static void search(struct found *s, const struct trib_fabric *f, uint32_t root)
{
    memset(s->parents, 0xff, f->places * sizeof *s->parents);
    s->parents[root] = root;
    s->order[0] = root;
    s->count = 1;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = f->first[s->order[i]]; k < f->first[s->order[i] + 1]; k++) {
            uint32_t next = f->to[f->out[k]];
            if (next >= f->ends && s->parents[next] == PLAN_DEPLOY_NONE) {
                s->parents[next] = s->order[i];
                s->order[s->count++] = next;
            }
        }
    }
}

static uint32_t switch_of(const struct trib_fabric *f, uint32_t host)
{
    return f->to[f->out[f->first[host]]];
}

/* Switches with workers below them, in the order of the search. */
static void keep(struct plan_deploy *d, struct found *s)
{
    for (uint32_t i = s->count; i-- > 0;) {
        uint32_t place = s->order[i];
        s->below[place] += s->workers[place];
        s->below[s->parents[place]] += i != 0 ? s->below[place] : 0;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t place = s->order[i];
        if (s->below[place] == 0) {
            continue;
        }
        s->numbers[place] = d->count;
        d->switches[d->count++] = (struct plan_deploy_switch){
            .place = place,
            .parent = i == 0 ? PLAN_DEPLOY_NONE : s->numbers[s->parents[place]],
            .workers = s->workers[place],
            .below = s->below[place],
        };
    }
}

bool plan_deploy_init(struct plan_deploy *d, const struct trib_fabric *f, const uint32_t *hosts, uint32_t count,
                      uint32_t server)
{
    size_t places = f->places;
    uint32_t *at = calloc(5 * places, sizeof *at);

    *d = (struct plan_deploy){.switches = calloc(places, sizeof *d->switches), .workers = count};
    if (at == NULL || d->switches == NULL) {
        free(at);
        return false;
    }
    struct found s = {at, at + places, at + 2 * places, at + 3 * places, at + 4 * places, 0};
    for (uint32_t i = 0; i < count; i++) {
        s.workers[switch_of(f, hosts[i])]++;
    }
    search(&s, f, switch_of(f, server));
    keep(d, &s);
    free(at);
    return true;
}

void plan_deploy_free(struct plan_deploy *d)
{
    free(d->switches);
    *d = (struct plan_deploy){0};
}

/* ---- rates ---- */

/* sums: room for a number of each switch. */
static double rate_of(const struct plan_deploy *d, const bool *adds, uint32_t *sums)
{
    uint32_t most = 1;

    memset(sums, 0, d->count * sizeof *sums);
    for (uint32_t i = d->count; i-- > 0;) {
        const struct plan_deploy_switch *s = &d->switches[i];
        uint32_t streams = adds[i] ? 1 : sums[i] + s->workers;
        most = streams > most ? streams : most;
        if (s->parent != PLAN_DEPLOY_NONE) {
            sums[s->parent] += streams;
        }
    }
    return 1.0 / most;
}

double plan_deploy_rate(const struct plan_deploy *d, const bool *adds)
{
    uint32_t *sums = calloc(d->count + 1U, sizeof *sums);
    double rate = sums != NULL ? rate_of(d, adds, sums) : 0;

    free(sums);
    return rate;
}

uint32_t plan_deploy_links(const struct plan_deploy *d, const bool *adds, uint32_t at_least)
{
    uint32_t links = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t workers = d->switches[i].workers;
        links += adds[i] && workers >= at_least && workers != 0 ? 1 : workers;
    }
    return links;
}

/* ---- orders ---- */

/* Is a to be replaced before b? */
static bool is_before(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t a, uint32_t b)
{
    const struct plan_deploy_switch *s = &d->switches[a];
    const struct plan_deploy_switch *t = &d->switches[b];

    if (order == PLAN_DEPLOY_BY_WORKERS && (s->workers != t->workers)) {
        return s->workers > t->workers;
    }
    if (order == PLAN_DEPLOY_BY_WORKERS && s->workers != 0) {
        return s->place < t->place;
    }
    return s->below != t->below ? s->below > t->below : a < b;
}

static void sort(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t *list)
{
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t at = i;
        for (; at != 0 && is_before(d, order, i, list[at - 1]); at--) {
            list[at] = list[at - 1];
        }
        list[at] = i;
    }
}

/* The one with the highest rate next; of equal ones the one with the most workers below. */
static void list_best(const struct plan_deploy *d, uint32_t *list, bool *adds, uint32_t *sums)
{
    memset(adds, 0, d->count * sizeof *adds);
    for (uint32_t k = 0; k < d->count; k++) {
        double most = -1;
        uint32_t best = 0;
        for (uint32_t i = 0; i < d->count; i++) {
            if (adds[i]) {
                continue;
            }
            adds[i] = true;
            double rate = rate_of(d, adds, sums);
            adds[i] = false;
            if (rate > most || (rate == most && is_before(d, PLAN_DEPLOY_BY_BELOW, i, best))) {
                most = rate;
                best = i;
            }
        }
        adds[best] = true;
        list[k] = best;
    }
}

/* Room for a switch's number, its flag and its streams. */
struct room {
    uint32_t *list;
    uint32_t *sums;
    bool *adds;
};

static bool room_take(struct room *r, uint32_t count)
{
    r->list = calloc(3 * (size_t)count + 3, sizeof *r->list);
    r->sums = r->list != NULL ? r->list + count + 1 : NULL;
    r->adds = r->list != NULL ? (bool *)(r->sums + count + 1) : NULL;
    return r->list != NULL;
}

static void room_free(struct room *r)
{
    free(r->list);
}

void plan_deploy_list(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t *list)
{
    struct room r;

    TRIB_ASSERT(order != PLAN_DEPLOY_RANDOM);
    if (order != PLAN_DEPLOY_BEST) {
        sort(d, order, list);
    } else if (room_take(&r, d->count)) {
        list_best(d, list, r.adds, r.sums);
        room_free(&r);
    }
}

/* ---- curves ---- */

/* All subsets: of each number the best, or the mean. */
static void look_at_all(const struct plan_deploy *d, bool is_mean, double *rates, struct room *r)
{
    uint32_t subsets[PLAN_DEPLOY_EXACT + 1] = {0};

    memset(rates, 0, (d->count + 1) * sizeof *rates);
    for (uint32_t set = 0; set >> d->count == 0; set++) {
        uint32_t size = 0;
        for (uint32_t i = 0; i < d->count; i++) {
            r->adds[i] = (set >> i & 1) != 0;
            size += r->adds[i];
        }
        double rate = rate_of(d, r->adds, r->sums);
        subsets[size]++;
        rates[size] = is_mean ? rates[size] + rate : rate > rates[size] ? rate : rates[size];
    }
    for (uint32_t k = 0; is_mean && k <= d->count; k++) {
        rates[k] /= subsets[k];
    }
}

/* Adds the rates of a list, or sets them. */
static void follow(const struct plan_deploy *d, const uint32_t *list, double share, double *rates, struct room *r)
{
    memset(r->adds, 0, d->count * sizeof *r->adds);
    rates[0] += share * rate_of(d, r->adds, r->sums);
    for (uint32_t k = 0; k < d->count; k++) {
        r->adds[list[k]] = true;
        rates[k + 1] += share * rate_of(d, r->adds, r->sums);
    }
}

static void draw_some(const struct plan_deploy *d, double *rates, struct room *r)
{
    struct trib_prng prng = {.state = SEED};

    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        for (uint32_t i = 0; i < d->count; i++) {
            uint32_t at = (uint32_t)trib_prng_below(&prng, i + 1U);
            r->list[i] = r->list[at];
            r->list[at] = i;
        }
        follow(d, r->list, 1.0 / DRAWS, rates, r);
    }
}

bool plan_deploy_curve(const struct plan_deploy *d, enum plan_deploy_order order, double *rates)
{
    bool is_exact = d->count <= PLAN_DEPLOY_EXACT && (order == PLAN_DEPLOY_BEST || order == PLAN_DEPLOY_RANDOM);
    struct room r;

    memset(rates, 0, (d->count + 1) * sizeof *rates);
    if (!room_take(&r, d->count)) {
        return false;
    }
    if (is_exact) {
        look_at_all(d, order == PLAN_DEPLOY_RANDOM, rates, &r);
    } else if (order == PLAN_DEPLOY_RANDOM) {
        draw_some(d, rates, &r);
    } else {
        plan_deploy_list(d, order, r.list);
        follow(d, r.list, 1, rates, &r);
    }
    room_free(&r);
    return true;
}
