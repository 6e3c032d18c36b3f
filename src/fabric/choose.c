/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: see choose.h. Ways are found once, from each switch over all places; a tree is then one pass over the
 * places, the farthest first. Read next: trees.c (who asks). */
#include "fabric/choose.h"

#include <stdlib.h>
#include <string.h>

#define MBPS UINT64_C(1000000)

/* ---- ways ---- */

static bool is_subnet(const struct trib_topology *t, uint32_t place)
{
    return place >= t->switches && place < t->switches + t->subnet_count;
}

static bool forwards(const struct trib_topology *t, uint32_t place)
{
    return place >= t->switches + t->subnet_count;
}

static uint32_t other_end(const struct trib_topology_link *link, uint32_t place)
{
    return link->end[0] == place ? link->end[1] : link->end[0];
}

static void list_links(struct trib_choose *c)
{
    const struct trib_topology *t = c->topology;
    for (uint32_t i = 0; i < t->link_count; i++) {
        c->first[t->links[i].end[0] + 1]++;
        c->first[t->links[i].end[1] + 1]++;
    }
    for (uint32_t place = 0; place < t->places; place++) {
        c->first[place + 1] += c->first[place];
    }
    for (uint32_t i = t->link_count; i-- > 0;) { /* each row is filled from its end, which is then its begin */
        for (uint32_t k = 0; k < 2; k++) {
            c->links[--c->first[t->links[i].end[k] + 1]] = i;
        }
    }
    memmove(c->first, c->first + 1, t->places * sizeof c->first[0]);
    c->first[t->places] = 2 * t->link_count;
}

/* Breadth first: who does not forward is reached, and nobody over it. */
static void find_ways(struct trib_choose *c, uint32_t root)
{
    const struct trib_topology *t = c->topology;
    uint32_t *hops = c->hops + (size_t)root * t->places;
    uint32_t *order = c->order + (size_t)root * t->places;
    uint32_t count = 1;
    memset(hops, 0xff, t->places * sizeof *hops);
    hops[root] = 0;
    order[0] = root;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = order[i];
        for (uint32_t k = c->first[place]; k < c->first[place + 1] && (place == root || forwards(t, place)); k++) {
            uint32_t next = other_end(&t->links[c->links[k]], place);
            if (hops[next] == UINT32_MAX) {
                hops[next] = hops[place] + 1;
                order[count++] = next;
            }
        }
    }
    c->reach[root] = count;
}

enum trib_status trib_choose_create(struct trib_choose *c, const struct trib_topology *t)
{
    size_t ways = (size_t)t->switches * t->places;
    *c = (struct trib_choose){.topology = t,
                              .load = calloc(t->link_count + 1, sizeof *c->load),
                              .own = calloc(t->link_count + 1, sizeof *c->own),
                              .comes = calloc(t->places, sizeof *c->comes),
                              .passes = calloc(t->places, sizeof *c->passes),
                              .first = calloc(t->places + 1, sizeof *c->first),
                              .links = calloc(2 * t->link_count + 1, sizeof *c->links),
                              .hops = calloc(ways, sizeof *c->hops),
                              .order = calloc(ways, sizeof *c->order),
                              .reach = calloc(t->switches, sizeof *c->reach)};
    if (!c->load || !c->own || !c->comes || !c->passes || !c->first || !c->links || !c->hops || !c->order ||
        !c->reach) {
        trib_choose_destroy(c);
        return TRIB_ERR_MEMORY;
    }
    list_links(c);
    for (uint32_t i = 0; i < t->switches; i++) {
        find_ways(c, i);
    }
    return TRIB_OK;
}

void trib_choose_destroy(struct trib_choose *c)
{
    free(c->load);
    free(c->own);
    free(c->comes);
    free(c->passes);
    free(c->first);
    free(c->links);
    free(c->hops);
    free(c->order);
    free(c->reach);
    *c = (struct trib_choose){0};
}

bool trib_choose_reaches(const struct trib_choose *c, uint32_t from, uint32_t root)
{
    return c->hops[(size_t)root * c->topology->places + from] != UINT32_MAX;
}

/* ---- members ---- */

uint32_t trib_topology_find(const struct trib_topology *t, const struct trib_address *host)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < t->subnet_count; i++) {
        const struct trib_subnet *subnet = &t->subnets[i];
        if (trib_address_is_within(host, &subnet->at, subnet->bits) &&
            (best == UINT32_MAX || subnet->bits > t->subnets[best].bits)) {
            best = i;
        }
    }
    return best == UINT32_MAX ? TRIB_NO_PLACE : t->switches + best;
}

void trib_choose_begin(struct trib_choose *c)
{
    memset(c->comes, 0, c->topology->places * sizeof *c->comes);
    c->strays = 0;
}

void trib_choose_add(struct trib_choose *c, uint32_t place, uint64_t amount)
{
    *(place == TRIB_NO_PLACE ? &c->strays : &c->comes[place]) += amount;
}

/* ---- trees ---- */

/* Does a way from `place` go on over link k of its row? */
static bool is_way(const struct trib_choose *c, uint32_t root, uint32_t place, uint32_t k)
{
    const struct trib_topology *t = c->topology;
    const uint32_t *hops = c->hops + (size_t)root * t->places;
    uint32_t next = other_end(&t->links[c->links[k]], place);
    return (next == root || forwards(t, next)) && hops[next] + 1 == hops[place];
}

/* In equal parts: what does not divide goes with the first. */
static void pass_on(struct trib_choose *c, uint32_t root, uint32_t place)
{
    const struct trib_topology *t = c->topology;
    uint64_t amount = c->passes[place];
    uint64_t ways = 0;
    for (uint32_t k = c->first[place]; k < c->first[place + 1]; k++) {
        ways += is_way(c, root, place, k);
    }
    for (uint32_t k = c->first[place]; k < c->first[place + 1] && ways > 0; k++) {
        if (is_way(c, root, place, k)) {
            uint64_t part = (amount + ways - 1) / ways;
            c->own[c->links[k]] += is_subnet(t, place) ? 0 : part;
            c->passes[other_end(&t->links[c->links[k]], place)] += part;
            amount -= part;
            ways--;
        }
    }
}

/* Of those whose place nobody knows the last link is known. */
static void pass_strays(struct trib_choose *c, uint32_t root)
{
    uint64_t amount = c->strays;
    for (uint32_t k = c->first[root]; k < c->first[root + 1]; k++) {
        uint64_t part = amount / (c->first[root + 1] - k);
        c->own[c->links[k]] += part;
        amount -= part;
    }
}

/* Every stream of the tree at hand to this root. */
static bool walk(struct trib_choose *c, uint32_t root)
{
    const struct trib_topology *t = c->topology;
    const uint32_t *order = c->order + (size_t)root * t->places;
    for (uint32_t place = 0; place < t->places; place++) {
        if (c->comes[place] > 0 && !trib_choose_reaches(c, place, root)) {
            return false;
        }
    }
    memset(c->own, 0, t->link_count * sizeof *c->own);
    memcpy(c->passes, c->comes, t->places * sizeof *c->passes);
    for (uint32_t i = c->reach[root]; i-- > 1;) { /* order[0] is the root */
        pass_on(c, root, order[i]);
    }
    pass_strays(c, root);
    return true;
}

bool trib_choose_strain(struct trib_choose *c, uint32_t root, struct trib_strain *strain)
{
    const struct trib_topology *t = c->topology;
    if (!walk(c, root)) {
        return false;
    }
    *strain = (struct trib_strain){0};
    for (uint32_t i = 0; i < t->link_count; i++) {
        if (c->own[i] > 0) {
            uint64_t time = (c->load[i] + c->own[i]) * MBPS / (t->links[i].rate_bps / MBPS);
            strain->most = time > strain->most ? time : strain->most;
            strain->sum = time < UINT64_MAX - strain->sum ? strain->sum + time : UINT64_MAX;
        }
    }
    return true;
}

void trib_choose_load(struct trib_choose *c, uint32_t root)
{
    if (walk(c, root)) {
        for (uint32_t i = 0; i < c->topology->link_count; i++) {
            c->load[i] += c->own[i];
        }
    }
}

static bool is_better(const struct trib_strain *it, const struct trib_strain *than)
{
    return it->most != than->most ? it->most < than->most : it->sum < than->sum;
}

uint32_t trib_choose_root(struct trib_choose *c, uint32_t among, uint32_t turn)
{
    uint32_t best = TRIB_NO_SWITCH;
    struct trib_strain least = {0};
    for (uint32_t i = 0; i < c->topology->switches; i++) {
        uint32_t root = (turn + i) % c->topology->switches;
        struct trib_strain strain;
        if ((among >> root & 1) != 0 && trib_choose_strain(c, root, &strain) &&
            (best == TRIB_NO_SWITCH || is_better(&strain, &least))) {
            best = root;
            least = strain;
        }
    }
    return best;
}
