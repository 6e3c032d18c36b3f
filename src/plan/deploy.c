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
        uint32_t streams = adds[i] || s->adds ? 1 : sums[i] + s->workers;
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
        const struct plan_deploy_switch *s = &d->switches[i];
        links += (adds[i] || s->adds) && s->workers >= at_least && s->workers != 0 ? 1 : s->workers;
    }
    return links;
}

uint32_t plan_deploy_left(const struct plan_deploy *d)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        left += !d->switches[i].adds;
    }
    return left;
}

/* ---- orders ---- */

/* Of switches: numbers of those that are left, flags, and sums of streams. */
struct room {
    uint32_t *list;
    uint32_t *sums;
    bool *adds;
    uint32_t left;
};

static bool room_take(struct room *r, const struct plan_deploy *d)
{
    size_t count = d->count + 1U;

    *r = (struct room){.list = calloc(3 * count, sizeof *r->list)};
    if (r->list == NULL) {
        return false;
    }
    r->sums = r->list + count;
    r->adds = (bool *)(r->sums + count);
    for (uint32_t i = 0; i < d->count; i++) {
        r->list[r->left] = i;
        r->left += !d->switches[i].adds;
    }
    return true;
}

static void room_free(struct room *r)
{
    free(r->list);
}

/* Is a to be replaced before b? */
static bool is_before(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t a, uint32_t b)
{
    const struct plan_deploy_switch *s = &d->switches[a];
    const struct plan_deploy_switch *t = &d->switches[b];

    if (order == PLAN_DEPLOY_BY_WORKERS && s->workers != t->workers) {
        return s->workers > t->workers;
    }
    if (order == PLAN_DEPLOY_BY_WORKERS && s->workers != 0) {
        return s->place < t->place;
    }
    return s->below != t->below ? s->below > t->below : a < b;
}

/* The list of those that are left. */
static void sort(const struct plan_deploy *d, enum plan_deploy_order order, struct room *r)
{
    for (uint32_t i = 1; i < r->left; i++) {
        uint32_t moved = r->list[i];
        uint32_t at = i;
        for (; at != 0 && is_before(d, order, moved, r->list[at - 1]); at--) {
            r->list[at] = r->list[at - 1];
        }
        r->list[at] = moved;
    }
}

/* The one with the highest rate next; of equal ones the one with the most workers below: the first `most` of the list,
 * which is sorted by workers below. */
static void sort_next(const struct plan_deploy *d, uint32_t most, struct room *r)
{
    sort(d, PLAN_DEPLOY_BY_BELOW, r);
    for (uint32_t k = 0; k < most; k++) {
        double highest = -1;
        uint32_t best = k;
        for (uint32_t i = k; i < r->left; i++) {
            r->adds[r->list[i]] = true;
            double rate = rate_of(d, r->adds, r->sums);
            r->adds[r->list[i]] = false;
            best = rate > highest ? i : best;
            highest = rate > highest ? rate : highest;
        }
        uint32_t chosen = r->list[best];
        memmove(&r->list[k + 1], &r->list[k], (best - k) * sizeof *r->list);
        r->list[k] = chosen;
        r->adds[chosen] = true;
    }
}

static void arrange(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t most, struct room *r)
{
    if (order == PLAN_DEPLOY_BEST || order == PLAN_DEPLOY_NEXT) {
        sort_next(d, most, r);
    } else {
        sort(d, order, r);
    }
}

uint32_t plan_deploy_list(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t most, uint32_t *list)
{
    struct room r;

    TRIB_ASSERT(order != PLAN_DEPLOY_RANDOM && order != PLAN_DEPLOY_BEST);
    if (!room_take(&r, d)) {
        return 0;
    }
    uint32_t count = r.left < most ? r.left : most;
    arrange(d, order, count, &r);
    memcpy(list, r.list, count * sizeof *list);
    room_free(&r);
    return count;
}

/* ---- curves ---- */

/* All subsets of those that are left: of each number the best, or the mean. */
static void look_at_all(const struct plan_deploy *d, bool is_mean, uint32_t most, double *rates, struct room *r)
{
    uint32_t subsets[PLAN_DEPLOY_EXACT + 1] = {0};

    for (uint32_t set = 0; set >> r->left == 0; set++) {
        uint32_t size = 0;
        for (uint32_t i = 0; i < r->left; i++) {
            r->adds[r->list[i]] = (set >> i & 1) != 0;
            size += set >> i & 1;
        }
        if (size <= most) {
            double rate = rate_of(d, r->adds, r->sums);
            subsets[size]++;
            rates[size] = is_mean ? rates[size] + rate : rate > rates[size] ? rate : rates[size];
        }
    }
    for (uint32_t k = 0; is_mean && k <= most; k++) {
        rates[k] /= subsets[k];
    }
}

/* Adds to the rates those of the list. */
static void follow(const struct plan_deploy *d, uint32_t most, double share, double *rates, struct room *r)
{
    memset(r->adds, 0, d->count * sizeof *r->adds);
    rates[0] += share * rate_of(d, r->adds, r->sums);
    for (uint32_t k = 0; k < most; k++) {
        r->adds[r->list[k]] = true;
        rates[k + 1] += share * rate_of(d, r->adds, r->sums);
    }
}

static void draw_some(const struct plan_deploy *d, uint32_t most, double *rates, struct room *r)
{
    struct trib_prng prng = {.state = SEED};

    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        for (uint32_t i = 0; i + 1 < r->left; i++) {
            uint32_t at = i + (uint32_t)trib_prng_below(&prng, r->left - i);
            uint32_t moved = r->list[i];
            r->list[i] = r->list[at];
            r->list[at] = moved;
        }
        follow(d, most, 1.0 / DRAWS, rates, r);
    }
}

bool plan_deploy_curve(const struct plan_deploy *d, enum plan_deploy_order order, uint32_t most, double *rates)
{
    struct room r;

    if (!room_take(&r, d)) {
        return false;
    }
    most = r.left < most ? r.left : most;
    memset(rates, 0, (most + 1) * sizeof *rates);
    if (r.left <= PLAN_DEPLOY_EXACT && (order == PLAN_DEPLOY_BEST || order == PLAN_DEPLOY_RANDOM)) {
        look_at_all(d, order == PLAN_DEPLOY_RANDOM, most, rates, &r);
    } else if (order == PLAN_DEPLOY_RANDOM) {
        draw_some(d, most, rates, &r);
    } else {
        arrange(d, order, most, &r);
        follow(d, most, 1, rates, &r);
    }
    room_free(&r);
    return true;
}
