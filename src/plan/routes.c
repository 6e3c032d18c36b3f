/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: see routes.h. */
#include "plan/routes.h"

#include <stdlib.h>
#include <string.h>

bool plan_routes_init(struct plan_routes *routes, const struct plan_network *net)
{
    const struct trib_fabric *f = &net->fabric;
    size_t pairs = (size_t)net->switches * net->switches;
    *routes = (struct plan_routes){.net = net,
                                   .count = net->switches,
                                   .next = calloc(pairs + 1, sizeof *routes->next),
                                   .hops = calloc(pairs + 1, sizeof *routes->hops),
                                   .is_only = calloc(pairs + 1, sizeof *routes->is_only),
                                   .price = calloc(pairs + 1, sizeof *routes->price),
                                   .step = calloc(pairs + 1, sizeof *routes->step)};
    routes->split = net->paths == PLAN_ECMP ? calloc(pairs + 1, sizeof *routes->split) : NULL;
    uint32_t *hops = calloc(2 * (size_t)f->places + 1, sizeof *hops); /* and an order */
    bool is_good = hops && routes->next && routes->hops && routes->is_only && routes->price && routes->step &&
                   (routes->split != NULL || net->paths != PLAN_ECMP);
    for (uint32_t target = 0; is_good && target < routes->count; target++) {
        uint32_t *order = hops + f->places;
        uint32_t reach = trib_fabric_measure(f, net->hosts + target, hops, order);
        memset(&routes->hops[plan_pair(routes, target, 0)], 0xff, routes->count * sizeof *routes->hops);
        memset(&routes->next[plan_pair(routes, target, 0)], 0xff, routes->count * sizeof *routes->next);
        for (uint32_t i = 0; i < reach; i++) {
            uint32_t place = order[i], leads = 0;
            if (place < net->hosts || hops[place] > PLAN_HOPS_MAX) {
                continue;
            }
            size_t pair = plan_pair(routes, target, place - net->hosts);
            for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
                leads += trib_fabric_leads(f, hops, net->hosts + target, f->out[k]);
            }
            /* Of several that lead there, targets take turns, and all switches of a tier take the same. */
            uint32_t chosen = leads > 0 ? target % leads : 0;
            for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
                if (trib_fabric_leads(f, hops, net->hosts + target, f->out[k]) && chosen-- == 0) {
                    routes->next[pair] = f->out[k];
                }
            }
            uint32_t next = routes->next[pair];
            routes->hops[pair] = (uint16_t)hops[place];
            routes->is_only[pair] =
                leads == 0 || (leads == 1 && routes->is_only[plan_pair(routes, target, f->to[next] - net->hosts)]);
        }
    }
    free(hops);
    return is_good;
}

void plan_routes_free(struct plan_routes *routes)
{
    free(routes->next);
    free(routes->hops);
    free(routes->is_only);
    free(routes->price);
    free(routes->step);
    free(routes->split);
    *routes = (struct plan_routes){.net = NULL};
}

/* Price of a stream on a link, and of its result on the opposite one. */
static int64_t both(const struct trib_fabric *f, const int64_t *prices, uint32_t link)
{
    return prices[link] + prices[f->opposite[link]];
}

/* Does this link lead from one switch to another, and begin a shortest path to the target? */
static bool leads(const struct plan_routes *routes, uint32_t target, uint32_t link)
{
    const struct trib_fabric *f = &routes->net->fabric;
    uint32_t hosts = routes->net->hosts;
    return f->to[link] >= hosts && f->rate_bps[link] != 0 &&
           routes->hops[plan_pair(routes, target, f->to[link] - hosts)] + 1 ==
               routes->hops[plan_pair(routes, target, f->from[link] - hosts)];
}

/* The mean over all that lead there, rounded down: no tree is cheaper than its price says. */
static void price_mean(struct plan_routes *routes, const int64_t *prices, uint32_t target, uint32_t from)
{
    const struct trib_fabric *f = &routes->net->fabric;
    uint32_t place = routes->net->hosts + from;
    size_t pair = plan_pair(routes, target, from);
    int64_t sum = 0, count = 0, split = 0;
    for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
        uint32_t link = f->out[k];
        if (leads(routes, target, link)) {
            size_t next = plan_pair(routes, target, f->to[link] - routes->net->hosts);
            sum += both(f, prices, link) + routes->price[next];
            split = routes->split[next];
            count++;
        }
    }
    TRIB_ASSERT(count > 0);
    routes->price[pair] = sum / count;
    routes->split[pair] = count > 1 ? routes->price[pair] : split;
}

/* Shortest paths, from near to far. */
static void price_shortest(struct plan_routes *routes, const int64_t *prices, uint32_t target)
{
    const struct trib_fabric *f = &routes->net->fabric;
    uint32_t far = 0;
    for (uint32_t i = 0; i < routes->count; i++) {
        uint16_t hops = routes->hops[plan_pair(routes, target, i)];
        far = hops != UINT16_MAX && hops > far ? hops : far;
    }
    for (uint32_t hops = 0; hops <= far; hops++) {
        for (uint32_t i = 0; i < routes->count; i++) {
            size_t pair = plan_pair(routes, target, i);
            if (routes->hops[pair] != hops || !plan_reaches(routes, target, i)) {
                continue;
            }
            uint32_t next = routes->next[pair];
            if (hops == 0) {
                routes->price[pair] = 0;
            } else if (routes->net->paths == PLAN_ECMP) {
                price_mean(routes, prices, target, i);
            } else {
                routes->price[pair] =
                    both(f, prices, next) + routes->price[plan_pair(routes, target, f->to[next] - routes->net->hosts)];
            }
            routes->step[pair] = next;
        }
    }
}

/* Dijkstra's, from the target on; of equal prices the switch with the lower number. Switches that are more than
 * PLAN_HOPS_MAX links away have no path. */
static void price_cheapest(struct plan_routes *routes, const int64_t *prices, uint32_t target, bool *is_done)
{
    const struct trib_fabric *f = &routes->net->fabric;
    int64_t *price = &routes->price[plan_pair(routes, target, 0)];
    uint32_t *step = &routes->step[plan_pair(routes, target, 0)];
    memset(is_done, 0, routes->count * sizeof *is_done);
    price[target] = 0;
    for (;;) {
        uint32_t best = TRIB_NO_PLACE;
        for (uint32_t i = 0; i < routes->count; i++) {
            if (!is_done[i] && price[i] < PLAN_FAR && (best == TRIB_NO_PLACE || price[i] < price[best])) {
                best = i;
            }
        }
        if (best == TRIB_NO_PLACE) {
            break;
        }
        is_done[best] = true;
        uint32_t place = routes->net->hosts + best;
        for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
            uint32_t link = f->opposite[f->out[k]]; /* towards the target */
            if (f->from[link] < routes->net->hosts || f->rate_bps[link] == 0) {
                continue;
            }
            uint32_t other = f->from[link] - routes->net->hosts;
            if (price[best] + both(f, prices, link) < price[other]) {
                price[other] = price[best] + both(f, prices, link);
                step[other] = link;
            }
        }
    }
    for (uint32_t i = 0; i < routes->count; i++) {
        price[i] = routes->hops[plan_pair(routes, target, i)] != UINT16_MAX ? price[i] : PLAN_FAR;
    }
}

void plan_routes_price(struct plan_routes *routes, const int64_t *prices)
{
    bool is_done[PLAN_SWITCHES_MAX];
    for (uint32_t target = 0; target < routes->count; target++) {
        if (!plan_adds(routes->net, routes->net->hosts + target)) {
            continue;
        }
        for (uint32_t i = 0; i < routes->count; i++) {
            routes->price[plan_pair(routes, target, i)] = PLAN_FAR;
            routes->step[plan_pair(routes, target, i)] = TRIB_NO_LINK;
        }
        if (routes->net->paths == PLAN_EXPLICIT) {
            price_cheapest(routes, prices, target, is_done);
        } else {
            price_shortest(routes, prices, target);
        }
    }
}

int64_t plan_routes_cost(const struct plan_routes *routes, uint32_t target, uint32_t from, uint32_t streams)
{
    size_t pair = plan_pair(routes, target, from);
    int64_t price = routes->price[pair];
    int64_t split = routes->split != NULL ? routes->split[pair] : 0;
    if (price >= PLAN_FAR) {
        return PLAN_FAR;
    }
    return price * streams + (split > 0 ? split * streams / 100 * plan_headroom(routes->net, streams) : 0);
}

/* By levels, from the source on; parts are rounded up, so that no link carries more than its amount says. Up to the
 * first switch with several links that lead there all packets take one path, which needs no headroom. */
void plan_routes_spread(const struct plan_routes *routes, uint32_t from, uint32_t target, uint64_t streams,
                        uint64_t *amount)
{
    const struct trib_fabric *f = &routes->net->fabric;
    uint64_t parts[PLAN_SWITCHES_MAX] = {0};
    uint64_t percent = 100;
    parts[from] = streams * PLAN_SHARE;
    for (uint32_t hops = routes->hops[plan_pair(routes, target, from)]; hops > 0; hops--) {
        for (uint32_t i = 0; i < routes->count; i++) {
            uint32_t place = routes->net->hosts + i, count = 0;
            if (parts[i] == 0 || routes->hops[plan_pair(routes, target, i)] != hops) {
                continue;
            }
            for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
                count += leads(routes, target, f->out[k]);
            }
            TRIB_ASSERT(count > 0);
            uint64_t part = (parts[i] + count - 1) / count;
            percent = count > 1 ? 100 + plan_headroom(routes->net, streams) : percent;
            uint64_t load = (part * percent + 99) / 100;
            for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
                uint32_t link = f->out[k];
                if (leads(routes, target, link)) {
                    amount[link] += load;
                    amount[f->opposite[link]] += load;
                    parts[f->to[link] - routes->net->hosts] += part;
                }
            }
        }
    }
}
