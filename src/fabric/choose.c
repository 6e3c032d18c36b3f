/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: see choose.h. Ways are found once, from each switch over all places; a tree is then one pass over the
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
                              .hops = calloc(ways, sizeof *c->hops),
                              .order = calloc(ways, sizeof *c->order),
                              .reach = calloc(roots, sizeof *c->reach)};
    if (!c->load || !c->own || !c->comes || !c->passes || !c->hops || !c->order || !c->reach) {
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
    free(c->hops);
    free(c->order);
    free(c->reach);
    *c = (struct trib_choose){0};
}

static const uint32_t *hops_to(const struct trib_choose *c, uint32_t root)
{
    return c->hops + (size_t)root * c->fabric->places;
}

/* ---- the tree at hand ---- */

void trib_choose_begin(struct trib_choose *c)
{
    memset(c->comes, 0, c->fabric->places * sizeof *c->comes);
    c->strays = 0;
}

void trib_choose_add(struct trib_choose *c, uint32_t place, uint64_t amount)
{
    *(place == TRIB_NO_PLACE ? &c->strays : &c->comes[place]) += amount;
}

/* In equal parts: what does not divide goes with the first. */
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
            c->own[link] += place < f->ends ? 0 : part;
            c->passes[f->to[link]] += part;
            amount -= part;
            ways--;
        }
    }
}

/* Of those whose place nobody knows the last link is known. */
static void pass_strays(struct trib_choose *c, uint32_t root)
{
    const struct trib_fabric *f = c->fabric;
    uint64_t amount = c->strays;
    for (uint32_t k = f->first[root]; k < f->first[root + 1]; k++) {
        uint64_t part = amount / (f->first[root + 1] - k);
        c->own[f->opposite[f->out[k]]] += part;
        amount -= part;
    }
}

/* Every stream of the tree at hand to this root. */
static bool walk(struct trib_choose *c, uint32_t root)
{
    const struct trib_fabric *f = c->fabric;
    const uint32_t *order = c->order + (size_t)root * f->places;
    for (uint32_t place = 0; place < f->places; place++) {
        if (c->comes[place] > 0 && hops_to(c, root)[place] == TRIB_NO_WAY) {
            return false;
        }
    }
    memset(c->own, 0, f->link_count * sizeof *c->own);
    memcpy(c->passes, c->comes, f->places * sizeof *c->passes);
    for (uint32_t i = c->reach[root]; i-- > 1;) { /* order[0] is the root */
        pass_on(c, root, order[i]);
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
    for (uint32_t i = 0; i < f->link_count; i++) {
        if (c->own[i] > 0) {
            trib_strain_add(strain, (c->load[i] + c->own[i]) * MBPS / (f->rate_bps[i] / MBPS));
        }
    }
    return true;
}

void trib_choose_load(struct trib_choose *c, uint32_t root)
{
    if (walk(c, root)) {
        for (uint32_t i = 0; i < c->fabric->link_count; i++) {
            c->load[i] += c->own[i];
            c->load[c->fabric->opposite[i]] += c->own[i]; /* results come back as contributions went */
        }
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
