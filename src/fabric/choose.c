/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: see choose.h. Paths are found once, from each switch over all places. A tree is then one pass over the
 * places, the farthest first. */
#include "fabric/choose.h"

#include <stdlib.h>
#include <string.h>

#define MBPS UINT64_C(1000000)

enum trib_status trib_choose_create(struct trib_choose *c, const struct trib_fabric *f, uint32_t roots)
{
    size_t ways = (size_t)roots * f->places;
    *c = (struct trib_choose){.fabric = f,
                              .roots = roots,
                              .load = calloc(f->link_count + 1U, sizeof *c->load),
                              .own = calloc(f->link_count + 1U, sizeof *c->own),
                              .comes = calloc(f->places, sizeof *c->comes),
                              .passes = calloc(f->places, sizeof *c->passes),
                              .used = calloc(f->link_count + 1U, sizeof *c->used),
                              .hops = calloc(ways, sizeof *c->hops),
                              .order = calloc(ways, sizeof *c->order),
                              .reach = calloc(roots, sizeof *c->reach)};
    if (!c->load || !c->own || !c->comes || !c->passes || !c->used || !c->hops || !c->order || !c->reach) {
        trib_choose_destroy(c);
        return TRIB_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < roots; i++) {
        c->reach[i] = trib_fabric_measure(f, i, c->hops + (size_t)i * f->places, c->order + (size_t)i * f->places);
    }
    return TRIB_OK;
}

void trib_choose_destroy(struct trib_choose *c)
{
    free(c->load);
    free(c->own);
    free(c->comes);
    free(c->passes);
    free(c->used);
    free(c->hops);
    free(c->order);
    free(c->reach);
    *c = (struct trib_choose){0};
}

static const uint32_t *hops_to(const struct trib_choose *c, uint32_t root)
{
    return c->hops + (size_t)root * c->fabric->places;
}

/* ---- the current tree ---- */

void trib_choose_begin(struct trib_choose *c)
{
    memset(c->comes, 0, c->fabric->places * sizeof *c->comes);
    c->known = 0;
    c->strays = 0;
}

void trib_choose_add(struct trib_choose *c, uint32_t place, uint64_t amount)
{
    if (place == TRIB_NO_PLACE) {
        c->strays += amount;
    } else {
        c->comes[place] += amount;
        c->known += amount;
    }
}

static void put_own(struct trib_choose *c, uint32_t link, uint64_t amount)
{
    if (amount > 0 && c->own[link] == 0) {
        c->used[c->used_count++] = link;
    }
    c->own[link] += amount;
}

/* Passes a place's amount on in equal parts; the first paths get the remainder. */
static void pass_on(struct trib_choose *c, uint32_t root, uint32_t place)
{
    const struct trib_fabric *f = c->fabric;
    const uint32_t *hops = hops_to(c, root);
    uint64_t amount = c->passes[place];
    uint64_t ways = 0;
    if (amount == 0) {
        return;
    }
    for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
        ways += trib_fabric_leads(f, hops, root, f->out[k]);
    }
    for (uint32_t k = f->first[place]; k < f->first[place + 1] && ways > 0; k++) {
        uint32_t link = f->out[k];
        if (trib_fabric_leads(f, hops, root, link)) {
            uint64_t part = (amount + ways - 1) / ways;
            put_own(c, link, place < f->ends ? 0 : part);
            c->passes[f->to[link]] += part;
            amount -= part;
            ways--;
        }
    }
}

/* Charges streams from unknown places to the links into the root. */
static void pass_strays(struct trib_choose *c, uint32_t root)
{
    const struct trib_fabric *f = c->fabric;
    uint64_t amount = c->strays;
    for (uint32_t k = f->first[root]; k < f->first[root + 1]; k++) {
        uint64_t part = amount / (f->first[root + 1] - k);
        put_own(c, f->opposite[f->out[k]], part);
        amount -= part;
    }
}

static bool is_reached(const struct trib_choose *c, uint32_t root)
{
    bool all = true;
    for (uint32_t place = 0; place < c->fabric->places && all; place++) {
        all = c->comes[place] == 0 || hops_to(c, root)[place] != TRIB_NO_WAY;
    }
    return all;
}

/* Puts every stream of the current tree to this root on links. False: a member cannot reach the root. */
static bool walk(struct trib_choose *c, uint32_t root)
{
    const struct trib_fabric *f = c->fabric;
    const uint32_t *order = c->order + (size_t)root * f->places;
    if (c->known > 0 && !is_reached(c, root)) {
        return false;
    }
    while (c->used_count > 0) {
        c->own[c->used[--c->used_count]] = 0;
    }
    if (c->known > 0) {
        memcpy(c->passes, c->comes, f->places * sizeof *c->passes);
        for (uint32_t i = c->reach[root]; i-- > 1;) { /* order[0] is the root */
            pass_on(c, root, order[i]);
        }
    }
    pass_strays(c, root);
    return true;
}

bool trib_choose_strain(struct trib_choose *c, uint32_t root, struct trib_strain *strain)
{
    const struct trib_fabric *f = c->fabric;
    if (!walk(c, root)) {
        return false;
    }
    *strain = (struct trib_strain){0};
    for (uint32_t i = 0; i < c->used_count; i++) {
        uint32_t link = c->used[i];
        trib_strain_add(strain, (c->load[link] + c->own[link]) * MBPS / (f->rate_bps[link] / MBPS));
    }
    return true;
}

uint32_t trib_choose_list(struct trib_choose *c, uint32_t root, struct trib_link_load *list)
{
    uint32_t count = walk(c, root) ? c->used_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (struct trib_link_load){.amount = c->own[c->used[i]], .link = c->used[i]};
    }
    return count;
}

/* Results return on the opposite link. */
static void put(struct trib_choose *c, uint32_t link, uint64_t amount)
{
    c->load[link] += amount;
    c->load[c->fabric->opposite[link]] += amount;
}

void trib_choose_put(struct trib_choose *c, const struct trib_link_load *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put(c, list[i].link, list[i].amount);
    }
}

void trib_choose_take(struct trib_choose *c, const struct trib_link_load *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t link = list[i].link;
        uint32_t back = c->fabric->opposite[link];
        TRIB_ASSERT(c->load[link] >= list[i].amount && c->load[back] >= list[i].amount);
        c->load[link] -= list[i].amount;
        c->load[back] -= list[i].amount;
    }
}

void trib_choose_load(struct trib_choose *c, uint32_t root)
{
    uint32_t count = walk(c, root) ? c->used_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        put(c, c->used[i], c->own[c->used[i]]);
    }
}

uint32_t trib_choose_root(struct trib_choose *c, const bool *among, uint32_t turn)
{
    uint32_t best = TRIB_NO_PLACE;
    struct trib_strain least = {0};
    for (uint32_t i = 0; i < c->roots; i++) {
        uint32_t root = (turn + i) % c->roots;
        struct trib_strain strain;
        if (among[root] && trib_choose_strain(c, root, &strain) &&
            (best == TRIB_NO_PLACE || trib_strain_is_less(&strain, &least))) {
            best = root;
            least = strain;
        }
    }
    return best;
}
