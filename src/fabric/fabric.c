/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.c: see fabric.h. */
#include "fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

bool trib_fabric_init(struct trib_fabric *f, uint32_t places, uint32_t ends, uint32_t links)
{
    *f = (struct trib_fabric){.places = places,
                              .ends = ends,
                              .link_room = links,
                              .from = calloc(links + 1U, sizeof *f->from),
                              .to = calloc(links + 1U, sizeof *f->to),
                              .opposite = calloc(links + 1U, sizeof *f->opposite),
                              .rate_bps = calloc(links + 1U, sizeof *f->rate_bps),
                              .first = calloc(places + 1U, sizeof *f->first),
                              .out = calloc(links + 1U, sizeof *f->out)};
    if (!f->from || !f->to || !f->opposite || !f->rate_bps || !f->first || !f->out) {
        trib_fabric_deinit(f);
        return false;
    }
    return true;
}

void trib_fabric_deinit(struct trib_fabric *f)
{
    free(f->from);
    free(f->to);
    free(f->opposite);
    free(f->rate_bps);
    free(f->first);
    free(f->out);
    *f = (struct trib_fabric){0};
}

/* Sorts links by one of their places. Equal links keep their order. */
static void sort(struct trib_fabric *f, const uint32_t *by, const uint32_t *links, uint32_t *sorted)
{
    memset(f->first, 0, (f->places + 1U) * sizeof *f->first);
    for (uint32_t i = 0; i < f->link_count; i++) {
        f->first[by[i] + 1]++;
    }
    for (uint32_t place = 0; place < f->places; place++) {
        f->first[place + 1] += f->first[place];
    }
    for (uint32_t i = f->link_count; i-- > 0;) { /* each row is filled backwards, until `first` is its start */
        sorted[--f->first[by[links[i]] + 1]] = links[i];
    }
    memmove(f->first, f->first + 1, f->places * sizeof *f->first);
    f->first[f->places] = f->link_count;
}

/* Links from a to b, sorted by a then b, are paired with links from b to a. */
bool trib_fabric_ready(struct trib_fabric *f)
{
    uint32_t *links = calloc(f->link_count + 1U, sizeof *links);
    uint32_t *back = calloc(f->link_count + 1U, sizeof *back);
    bool is_good = links && back;
    for (uint32_t i = 0; is_good && i < f->link_count; i++) {
        links[i] = i;
    }
    if (is_good) {
        sort(f, f->to, links, f->opposite);
        sort(f, f->from, links, f->out);
        sort(f, f->to, f->out, back);
        sort(f, f->from, f->opposite, links);
    }
    for (uint32_t i = 0; is_good && i < f->link_count; i++) {
        TRIB_ASSERT(f->from[links[i]] == f->to[back[i]] && f->to[links[i]] == f->from[back[i]]);
        f->opposite[links[i]] = back[i];
    }
    free(links);
    free(back);
    return is_good;
}

uint32_t trib_fabric_find(const struct trib_fabric *f, uint32_t from, uint32_t to)
{
    for (uint32_t k = f->first[from]; k < f->first[from + 1]; k++) {
        if (f->to[f->out[k]] == to) {
            return f->out[k];
        }
    }
    return TRIB_NO_LINK;
}

/* Breadth first, against the direction of the paths. */
uint32_t trib_fabric_measure(const struct trib_fabric *f, uint32_t target, uint32_t *hops, uint32_t *order)
{
    uint32_t count = 1;
    memset(hops, 0xff, f->places * sizeof *hops);
    hops[target] = 0;
    order[0] = target;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = order[i];
        for (uint32_t k = f->first[place]; k < f->first[place + 1] && (place == target || place >= f->ends); k++) {
            uint32_t next = f->to[f->out[k]];
            if (hops[next] == TRIB_NO_WAY && f->rate_bps[f->out[k]] != 0) {
                hops[next] = hops[place] + 1;
                order[count++] = next;
            }
        }
    }
    return count;
}
