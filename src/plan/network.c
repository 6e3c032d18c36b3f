/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: see network.h. Read next: network_read.c. */
#include "plan/network.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/units.h"
#include "plan/input.h"
#include "sim/network/topology.h"

const char *plan_paths_name(enum plan_paths paths)
{
    static const char *const names[PLAN_PATHS_COUNT] = {"pinned", "ecmp", "explicit"};
    return names[paths];
}

uint32_t plan_headroom(const struct plan_network *net, uint64_t streams)
{
    uint64_t one = (uint64_t)net->headroom * net->headroom;
    uint32_t percent = 0;
    while ((uint64_t)percent * percent * streams < one) {
        percent++;
    }
    return percent;
}

bool plan_network_init(struct plan_network *net, uint32_t hosts, uint32_t switches, uint32_t links)
{
    *net = (struct plan_network){.hosts = hosts,
                                 .switches = switches,
                                 .adds_bps = calloc(switches + 1U, sizeof *net->adds_bps),
                                 .memory = calloc(switches + 1U, sizeof *net->memory)};
    for (uint32_t i = 0; net->memory != NULL && i < switches; i++) {
        net->memory[i] = PLAN_MEMORY_ALL;
    }
    return net->adds_bps != NULL && net->memory != NULL && plan_names_init(&net->names, hosts + switches) &&
           trib_fabric_init(&net->fabric, hosts + switches, hosts, links);
}

bool plan_network_build(struct plan_network *net, const struct sim_topology *t)
{
    struct sim_network n;
    const struct trib_fabric *f = &n.fabric;
    char name[SIM_NODE_NAME_MAX];
    uint32_t links = sim_topology_size(t).links; /* behind them a switch may have a link to itself */
    bool is_good = sim_topology_build(t, &n) && plan_network_init(net, n.hosts, n.nodes - n.hosts, links);
    for (uint32_t i = 0; is_good && i < n.nodes; i++) {
        sim_topology_node_name(t, i, name);
        (void)plan_names_add(&net->names, name, strlen(name));
    }
    for (uint32_t i = 0; is_good && i < links; i++) {
        (void)trib_fabric_add(&net->fabric, f->from[i], f->to[i], f->rate_bps[i]);
    }
    sim_network_deinit(&n);
    return is_good;
}

void plan_network_free(struct plan_network *net)
{
    trib_fabric_deinit(&net->fabric);
    plan_names_free(&net->names);
    free(net->adds_bps);
    free(net->memory);
    *net = (struct plan_network){.hosts = 0};
}

uint64_t plan_network_digest(const struct plan_network *net)
{
    const struct trib_fabric *f = &net->fabric;
    uint64_t digest = PLAN_DIGEST_BEGIN;
    digest = plan_digest_number(digest, net->hosts);
    digest = plan_digest_number(digest, net->switches);
    digest = plan_digest_number(digest, net->has_multicast);
    digest = plan_digest_number(digest, (uint64_t)net->paths);
    digest = net->headroom > 0 ? plan_digest_number(digest, net->headroom) : digest;
    for (uint32_t i = 0; i < f->places; i++) {
        digest = plan_digest(digest, net->names.list[i], strlen(net->names.list[i]) + 1);
    }
    for (uint32_t i = 0; i < net->switches; i++) {
        digest = plan_digest_number(digest, net->adds_bps[i]);
    }
    for (uint32_t i = 0; i < f->link_count; i++) {
        digest = plan_digest_number(digest, f->from[i]);
        digest = plan_digest_number(digest, f->to[i]);
        digest = plan_digest_number(digest, f->rate_bps[i]);
    }
    return digest;
}

uint64_t plan_capacity(const struct plan_network *net, uint32_t row)
{
    const struct trib_fabric *f = &net->fabric;
    if (row < f->link_count) {
        return f->rate_bps[row];
    }
    if (row < f->link_count + net->switches) {
        return net->adds_bps[row - f->link_count];
    }
    uint32_t out = f->out[f->first[row - f->link_count - net->switches]];
    uint64_t up = f->rate_bps[out], down = f->rate_bps[f->opposite[out]];
    return up < down ? up : down;
}

/* The link of a text "A-B", of len bytes, from A to B; TRIB_NO_LINK: there is none. Names may have dashes, so each of
 * them may be the one between. */
static uint32_t find_link(const struct plan_network *net, const char *text, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++) {
        uint32_t a = text[i] == '-' ? plan_names_find(&net->names, text, i) : PLAN_NO_NAME;
        uint32_t b = a != PLAN_NO_NAME ? plan_names_find(&net->names, text + i + 1, len - i - 1) : PLAN_NO_NAME;
        uint32_t link = b != PLAN_NO_NAME ? trib_fabric_find(&net->fabric, a, b) : TRIB_NO_LINK;
        if (link != TRIB_NO_LINK) {
            return link;
        }
    }
    return TRIB_NO_LINK;
}

uint32_t plan_row_find(const struct plan_network *net, const char *text, size_t len)
{
    uint32_t place = plan_names_find(&net->names, text, len);
    if (place == PLAN_NO_NAME) {
        return find_link(net, text, len);
    }
    return place < net->hosts ? plan_row_of_host(net, place) : plan_row_of_adder(net, place);
}

void plan_row_name(const struct plan_network *net, uint32_t row, char text[PLAN_ROW_NAME_MAX])
{
    const struct trib_fabric *f = &net->fabric;
    if (row < f->link_count) {
        (void)snprintf(text, PLAN_ROW_NAME_MAX, "%s-%s", net->names.list[f->from[row]], net->names.list[f->to[row]]);
        return;
    }
    uint32_t place = row - f->link_count; /* of switches first, then of hosts */
    place = place < net->switches ? net->hosts + place : place - net->switches;
    (void)snprintf(text, PLAN_ROW_NAME_MAX, "%s", net->names.list[place]);
}

/* ---- changes ---- */

static bool change_link(struct plan_network *net, const char *ends, size_t len, const char *rest, char *error)
{
    struct trib_fabric *f = &net->fabric;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t rate = 0;
    uint32_t link = find_link(net, ends, len);
    if (link == TRIB_NO_LINK) {
        trib_explain(error, "no link %.*s in the network: name both ends, as in leaf0-spine1", (int)len, ends);
        return false;
    }
    if (strcmp(rest, "down") != 0 &&
        (trib_parse_rate(rest, &rate, cause) != TRIB_OK || rate < TRIB_LINK_RATE_MIN || rate > TRIB_LINK_RATE_MAX)) {
        trib_explain(error, "link %.*s can be down, or get a rate from 1Mbps to 3200Gbps: %s", (int)len, ends,
                     cause[0] != '\0' ? cause : rest);
        return false;
    }
    f->rate_bps[link] = rate;
    f->rate_bps[f->opposite[link]] = rate;
    return true;
}

static bool change_switch(struct plan_network *net, const char *name, size_t len, const char *rest, char *error)
{
    struct trib_fabric *f = &net->fabric;
    uint32_t place = plan_names_find(&net->names, name, len);
    if (place == PLAN_NO_NAME) {
        plan_names_explain(&net->names, name, len, error);
        return false;
    }
    if (place < net->hosts) {
        trib_explain(error, "%.*s is a host, not a switch", (int)len, name);
        return false;
    }
    uint64_t *adds = &net->adds_bps[place - net->hosts];
    if (strcmp(rest, "down") == 0) {
        for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
            f->rate_bps[f->out[k]] = 0;
            f->rate_bps[f->opposite[f->out[k]]] = 0;
        }
        *adds = PLAN_ADDS_NOT;
    } else if (strcmp(rest, "adds") == 0) {
        *adds = PLAN_ADDS_ALL;
    } else if (strcmp(rest, "adds not") == 0) {
        *adds = PLAN_ADDS_NOT;
    } else if (strncmp(rest, "adds ", 5) != 0 || trib_parse_rate(rest + 5, adds, NULL) != TRIB_OK ||
               *adds < TRIB_LINK_RATE_MIN || *adds > TRIB_LINK_RATE_MAX) {
        trib_explain(error, "switch %.*s can be down, adds, adds not, or adds with a rate, as in adds 100Gbps",
                     (int)len, name);
        return false;
    }
    return true;
}

bool plan_network_change(struct plan_network *net, const char *change, char *error)
{
    const char *at = change;
    size_t kind_len = 0, len = 0;
    const char *kind = plan_next_word(&at, &kind_len);
    const char *name = plan_next_word(&at, &len);
    const char *rest = at + strspn(at, " ");
    if (kind != NULL && name != NULL && kind_len == 4 && memcmp(kind, "link", 4) == 0) {
        return change_link(net, name, len, rest, error);
    }
    if (kind != NULL && name != NULL && kind_len == 6 && memcmp(kind, "switch", 6) == 0) {
        return change_switch(net, name, len, rest, error);
    }
    trib_explain(error, "a change is \"link A-B down\", \"link A-B 10Gbps\", \"switch A down\" or \"switch A adds\"");
    return false;
}
