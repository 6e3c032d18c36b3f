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

/* Numbers of streams at a switch, for sums that go to a root somewhere. */
struct flow {
    uint32_t in;            /* from below, with those of its own workers */
    uint32_t up;            /* to its parent */
    uint32_t down;          /* from its parent, if the root is here or below */
    uint32_t below;         /* on the fullest link below or to its parent, if the root is above */
    uint32_t first, second; /* the two largest `below` of its children */
    uint32_t above;         /* on the fullest link elsewhere, if the root is here or below */
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool does_add(const struct plan_deploy *d, const bool *adds, uint32_t i)
{
    return adds[i] || d->switches[i].adds;
}

/* Streams of the fullest link on the way to the server. */
static uint32_t to_server(const struct plan_deploy *d, const bool *adds, struct flow *flows)
{
    uint32_t most = 1;

    for (uint32_t i = d->count; i-- > 0;) {
        const struct plan_deploy_switch *s = &d->switches[i];
        bool is_local = d->scheme == PLAN_DEPLOY_ATP && i != 0; /* streams of others pass */
        bool adds_own = does_add(d, adds, i) && s->workers != 0;
        uint32_t own = is_local && adds_own ? 1 : s->workers;
        flows[i].up = does_add(d, adds, i) && !is_local ? 1 : flows[i].in + own;
        most = larger(most, flows[i].up);
        if (s->parent != PLAN_DEPLOY_NONE) {
            flows[s->parent].in += flows[i].up;
        }
    }
    return most;
}

static void flow_up(const struct plan_deploy *d, const bool *adds, struct flow *flows)
{
    for (uint32_t i = d->count; i-- > 0;) {
        struct flow *f = &flows[i];
        uint32_t parent = d->switches[i].parent;
        f->in += d->switches[i].workers;
        f->up = does_add(d, adds, i) ? 1 : f->in;
        f->below = larger(f->up, f->first);
        if (parent != PLAN_DEPLOY_NONE) {
            struct flow *to = &flows[parent];
            to->in += f->up;
            to->second = larger(to->second, f->below < to->first ? f->below : to->first);
            to->first = larger(to->first, f->below);
        }
    }
}

/* Streams on the fullest link if the sum ends at the best switch that adds; 0: none adds. */
static uint32_t to_best_root(const struct plan_deploy *d, const bool *adds, struct flow *flows)
{
    uint32_t best = 0;

    flow_up(d, adds, flows);
    for (uint32_t i = 0; i < d->count; i++) {
        struct flow *f = &flows[i];
        uint32_t parent = d->switches[i].parent;
        if (parent != PLAN_DEPLOY_NONE) {
            const struct flow *from = &flows[parent];
            uint32_t rest = from->in - f->up + from->down;
            f->down = rest > 1 && does_add(d, adds, parent) ? 1 : rest;
            f->above = larger(from->above, f->below == from->first ? from->second : from->first);
            f->above = larger(f->above, f->down);
        }
        if (does_add(d, adds, i)) {
            uint32_t most = larger(1, larger(f->first, f->above));
            best = best == 0 || most < best ? most : best;
        }
    }
    return best;
}

/* flows: room for one entry of each switch. */
static double rate_of(const struct plan_deploy *d, const bool *adds, struct flow *flows)
{
    if (d->scheme == PLAN_DEPLOY_RINA) {
        return plan_deploy_chain(plan_deploy_links(d, adds, PLAN_DEPLOY_RACK), d->workers);
    }
    memset(flows, 0, d->count * sizeof *flows);
    uint32_t most = d->scheme == PLAN_DEPLOY_TREES ? to_best_root(d, adds, flows) : to_server(d, adds, flows);
    return most != 0 ? 1.0 / most : 0;
}

double plan_deploy_rate(const struct plan_deploy *d, const bool *adds)
{
    struct flow *flows = calloc(d->count + 1U, sizeof *flows);
    double rate = flows != NULL ? rate_of(d, adds, flows) : 0;

    free(flows);
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

/* True if the switch does not add, and could add in this scheme. */
static bool is_left(const struct plan_deploy *d, uint32_t i)
{
    const struct plan_deploy_switch *s = &d->switches[i];

    if (s->adds) {
        return false;
    }
    return d->scheme == PLAN_DEPLOY_ATP    ? s->workers != 0 || i == 0
           : d->scheme == PLAN_DEPLOY_RINA ? s->workers >= PLAN_DEPLOY_RACK
                                           : true;
}

uint32_t plan_deploy_left(const struct plan_deploy *d)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        left += is_left(d, i);
    }
    return left;
}

/* ---- orders ---- */

/* Of switches: numbers of those that are left, flags, and streams. */
struct room {
    uint32_t *list;
    struct flow *flows;
    bool *adds;
    uint32_t left;
};

static void room_free(struct room *r)
{
    free(r->list);
    free(r->flows);
    free(r->adds);
}

static bool room_take(struct room *r, const struct plan_deploy *d)
{
    size_t count = d->count + 1U;

    *r = (struct room){.list = calloc(count, sizeof *r->list),
                       .flows = calloc(count, sizeof *r->flows),
                       .adds = calloc(count, sizeof *r->adds)};
    if (r->list == NULL || r->flows == NULL || r->adds == NULL) {
        room_free(r);
        return false;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        r->list[r->left] = i;
        r->left += is_left(d, i);
    }
    return true;
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
            double rate = rate_of(d, r->adds, r->flows);
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
            double rate = rate_of(d, r->adds, r->flows);
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
    rates[0] += share * rate_of(d, r->adds, r->flows);
    for (uint32_t k = 0; k < most; k++) {
        r->adds[r->list[k]] = true;
        rates[k + 1] += share * rate_of(d, r->adds, r->flows);
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
