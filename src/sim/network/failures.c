/* SPDX-License-Identifier: Apache-2.0 */
/* failures.c: see failures.h. At each change, sets every cable's port to its state at that time, so cuts of one cable
 * may overlap. Then searches the routes again. Read next: routes.c. */
#include "sim/network/failures.h"

#include <stdlib.h>
#include <string.h>

#include "sim/network/drop.h"
#include "sim/network/gates.h"
#include "sim/network/network.h"

static uint64_t later(uint64_t time_ps, uint64_t by_ps)
{
    return time_ps == SIM_NEVER ? SIM_NEVER : time_ps + by_ps;
}

/* Returns the time of the next change, not before from_ps; SIM_NEVER: none. */
static uint64_t next_change(const struct sim_failures *f, uint64_t from_ps)
{
    uint64_t next_ps = SIM_NEVER;

    for (uint32_t i = 0; i < f->count; i++) {
        const struct sim_failure *failure = &f->list[i];
        uint64_t times[3] = {failure->at_ps, later(failure->at_ps, failure->react_ps),
                             later(failure->until_ps, failure->react_ps)};
        for (uint32_t t = 0; t < 3; t++) {
            next_ps = times[t] >= from_ps && times[t] < next_ps ? times[t] : next_ps;
        }
    }
    return next_ps;
}

void sim_failures_init(struct sim_failures *f, struct sim_network *network, const struct sim_failure *list,
                       uint32_t count, uint32_t timer)
{
    TRIB_ASSERT(count <= SIM_FAILURES_MAX);
    *f = (struct sim_failures){.network = network, .list = list, .count = count, .timer = timer};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t links[2] = {list[i].link, network->fabric.opposite[list[i].link]};
        for (uint32_t way = 0; way < 2; way++) {
            uint16_t port = network->links[links[way]].port;
            f->failing[i][way] = (struct sim_failing){links[way], port, sim_network_cut_port(network, port)};
        }
    }
    sim_timer_set(&network->events, timer, next_change(f, 0));
}

/* ---- cables ---- */

/* The arrival of the link's first packet cannot be cancelled, so that packet is lost when its arrival is due. */
static void lose_packets(struct sim_network *n, uint32_t number)
{
    struct sim_link *link = &n->links[number];
    uint32_t head = link->head;

    if (n->gates != NULL) {
        sim_gates_cut(n, number);
        return;
    }
    if (head == SIM_NONE) {
        return;
    }
    uint32_t packet = n->packets[head].next;
    n->packets[head].next = SIM_NONE;
    link->tail = head;
    link->busy_ps = sim_network_now(n) + sim_port_time(&n->ports[link->port], n->packets[head].size);
    link->lost = 1;
    while (packet != SIM_NONE) {
        uint32_t next = n->packets[packet].next;
        sim_network_drop(n, number, packet);
        packet = next;
    }
}

/* True if the cable is cut now or, with `known`, the switches believe so. Switches that do not know of the repair do
 * not use the cable. */
static bool is_cut(const struct sim_failures *f, uint32_t link, bool known)
{
    uint64_t now_ps = sim_network_now(f->network);

    for (uint32_t i = 0; i < f->count; i++) {
        const struct sim_failure *failure = &f->list[i];
        bool is_its = f->failing[i][0].link == link || f->failing[i][1].link == link;
        uint64_t begin_ps = later(failure->at_ps, known ? failure->react_ps : 0);
        if (is_its && begin_ps <= now_ps && now_ps < later(failure->until_ps, failure->react_ps)) {
            return true;
        }
    }
    return false;
}

/* Gives each cable its current port or, with `known`, the port that the switches believe in. */
static void set_ports(struct sim_failures *f, bool known)
{
    struct sim_network *n = f->network;

    for (uint32_t i = 0; i < 2 * f->count; i++) {
        const struct sim_failing *failing = &f->failing[i / 2][i % 2];
        uint16_t before = n->links[failing->link].port;
        bool is = is_cut(f, failing->link, known);
        sim_network_set_port(n, failing->link, is ? failing->cut : failing->whole);
        if (is && !known && before != failing->cut) {
            lose_packets(n, failing->link);
        }
    }
}

/* ---- routes ---- */

static void keep_whole(struct sim_network *n)
{
    n->whole_routes = malloc(n->nodes * sizeof *n->whole_routes);
    if (n->whole_routes != NULL) {
        memcpy(n->whole_routes, n->routes, n->nodes * sizeof *n->routes);
        n->whole_table = n->table;
        n->whole_choices = n->choices;
        n->table = n->choices = NULL;
    }
}

static void restore_whole(struct sim_network *n)
{
    free(n->routes);
    free(n->table);
    free(n->choices);
    n->routes = n->whole_routes;
    n->table = n->whole_table;
    n->choices = n->whole_choices;
    n->whole_routes = NULL;
    n->whole_table = n->whole_choices = NULL;
}

/* Computes routes for the network as the switches believe it to be. */
static bool set_routes(struct sim_failures *f)
{
    struct sim_network *n = f->network;
    bool is_any = false;

    for (uint32_t i = 0; i < f->count; i++) {
        is_any = is_any || is_cut(f, f->failing[i][0].link, true);
    }
    if (is_any && n->whole_routes == NULL) {
        keep_whole(n);
        if (n->whole_routes == NULL) {
            return false;
        }
    }
    if (!is_any) {
        if (n->whole_routes != NULL) {
            restore_whole(n);
        }
        return true;
    }
    set_ports(f, true);
    bool is_good = sim_network_search_routes(n);
    set_ports(f, false);
    return is_good;
}

bool sim_failures_timer(struct sim_failures *f)
{
    uint64_t now_ps = sim_network_now(f->network);

    set_ports(f, false);
    bool is_good = set_routes(f);
    for (uint32_t i = 0; f->network->gates != NULL && i < 2 * f->count; i++) {
        sim_gates_mended(f->network, f->failing[i / 2][i % 2].link);
    }
    sim_timer_set(&f->network->events, f->timer, next_change(f, now_ps + 1));
    return is_good;
}
