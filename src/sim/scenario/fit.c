/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c: checks that values of a scenario are consistent: see draft.h. Read next: fit_jobs.c, queues.c, run.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/units.h"
#include "published/published.h"
#include "sim/results/ideal.h"
#include "sim/scenario/draft.h"
#include "sim/traffic/trace.h"

#define LINKS_MAX UINT64_C(4000000)
#define NS_PS UINT64_C(1000)
#define TIMEOUT_MIN_PS (1000 * NS_PS)

/* Returns the path of a named file, relative to the scenario's folder. NULL: out of memory. */
static char *path_of(const struct draft *d, const char *name)
{
    const char *slash = strrchr(d->path, '/');
    size_t folder = slash != NULL && name[0] != '/' ? (size_t)(slash + 1 - d->path) : 0;
    size_t len = folder + strlen(name) + 1;
    char *path = malloc(len);

    if (path != NULL) {
        memcpy(path, d->path, folder);
        memcpy(path + folder, name, len - folder);
    }
    return path;
}

/* Reads the topology's file. The edge rate becomes the mean rate of hosts. */
static bool read_topology(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    char *path = path_of(d, d->topology_file.text);
    bool is_good = path != NULL ? sim_cables_read(&t->cables, path, d->error)
                                : sim__refuse(d, d->topology_file.place, "out of memory");
    double sum = 0;

    for (uint32_t host = 0; is_good && host < t->cables.hosts; host++) {
        sum += (double)t->cables.list[host].wire.rate_bps;
    }
    t->edge.rate_bps = is_good ? (uint64_t)(sum / t->cables.hosts) : 0;
    free(path);
    return is_good;
}

/* Checks a clos: whole numbers of switches, within limits. */
static bool fit_pods(struct draft *d, uint32_t table)
{
    const struct sim_topology *t = &d->scenario->topology;
    struct sim_pods pods;

    if (!sim__at_most(d, table, "pods", t->pods, 1024) || !sim__at_most(d, table, "edges", t->edges, 1024) ||
        !sim__at_most(d, table, "hosts", t->hosts, 1024)) {
        return false;
    }
    if (!sim_topology_pods(t, &pods)) {
        return sim__refuse(d, sim__place(d, table, sim__find(d, table, "ratio") != NULL ? "ratio" : "core_ratio"),
                           "%u hosts to an edge switch at %u:%u, and %u edge switches to a pod at %u:%u, do not give "
                           "whole numbers of uplinks",
                           t->hosts, t->ratio.down, t->ratio.up, t->edges, t->core_ratio.down, t->core_ratio.up);
    }
    return pods.aggregations <= 1024 ||
           sim__refuse(d, sim__place(d, table, "ratio"), "%u aggregation switches to a pod; 1024 at most",
                       pods.aggregations);
}

static bool fit_kind(struct draft *d, uint32_t table)
{
    const struct sim_topology *t = &d->scenario->topology;

    if (t->kind == SIM_FAT_TREE && (t->k % 2 != 0 || t->k > 80)) {
        return sim__refuse(d, sim__place(d, table, "k"), "k is %u; it must be even, and 80 at most", t->k);
    }
    if (t->kind == SIM_DRAGONFLY) {
        return sim__at_most(d, table, "routers", t->routers, 64) && sim__at_most(d, table, "globals", t->globals, 64) &&
               sim__at_most(d, table, "hosts", t->hosts, 64);
    }
    return t->kind == SIM_CLOS ? fit_pods(d, table) : t->kind != SIM_FROM_FILE || read_topology(d);
}

static bool finish_topology(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    uint32_t table = sim__table(d, "topology");
    struct trib_file_place place = sim__place(d, table, "hosts");

    if (t->kind == SIM_TOPOLOGY_NONE) {
        return sim__refuse(d, place, "there is no table [topology]");
    }
    t->fabric.rate_bps = t->fabric.rate_bps == 0 ? t->edge.rate_bps : t->fabric.rate_bps;
    t->fabric.delay_ps = t->fabric.delay_ps == SIM_NEVER ? t->edge.delay_ps : t->fabric.delay_ps;
    if (!fit_kind(d, table)) {
        return false;
    }
    uint64_t cables = t->kind == SIM_LEAF_SPINE ? (uint64_t)t->leaves * (t->hosts + (uint64_t)t->spines) : t->hosts;
    struct sim_topology_size size = cables <= LINKS_MAX ? sim_topology_size(t) : (struct sim_topology_size){0, 0, 0};
    if (cables > LINKS_MAX || size.hosts > SIM_HOSTS_MAX) {
        return sim__refuse(d, place, "more than %u hosts", SIM_HOSTS_MAX);
    }
    if (size.switches > SIM_NODES_MAX - size.hosts) {
        return sim__refuse(d, place, "%u hosts and %u switches: the limit of both together is %u", size.hosts,
                           size.switches, SIM_NODES_MAX);
    }
    uint32_t each = sim_topology_each(t);
    if (!sim_route_is_exact(size.hosts, each)) {
        return sim__refuse(d, place, "%u hosts, with %u below one link of a switch: take 16384 or fewer below a link",
                           size.hosts, each);
    }
    if (size.hosts < 2) {
        return sim__refuse(d, place, "fewer than 2 hosts");
    }
    return true;
}

/* Checks a retransmission timeout: 1 us to TRIB_RTO_MAX_NS. */
static bool fit_timeout(struct draft *d, const char *key, uint64_t timeout_ps)
{
    return (timeout_ps >= TIMEOUT_MIN_PS && timeout_ps <= TRIB_RTO_MAX_NS * NS_PS) ||
           sim__refuse(d, sim__place(d, sim__table(d, "flows"), key), "%s can be from 1us to 1s", key);
}

static bool finish_flows(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    uint32_t table = sim__table(d, "flows");

    s->flows.packet = s->flows.packet != 0 ? s->flows.packet : s->mtu;
    if (s->flows.header >= s->flows.packet) {
        const struct trib_toml_value *packet = sim__find(d, table, "packet");
        const struct trib_toml_value *header = sim__find(d, table, "header");
        return sim__refuse(d,
                           packet != NULL   ? packet->place
                           : header != NULL ? header->place
                                            : sim__place(d, 0, "mtu"),
                           "a packet of %u bytes has no room behind a header of %u", s->flows.packet, s->flows.header);
    }
    if (!fit_timeout(d, "rto_first", s->flows.rto_first_ps) || !fit_timeout(d, "rto_min", s->flows.rto_min_ps) ||
        !sim__at_most(d, table, "window", s->flows.window, TRIB_FLOW_WINDOW_MAX) || !sim__settle_queues(d)) {
        return false;
    }
    if (s->topology.buffer_bytes < s->flows.packet) {
        return sim__refuse(d, sim__place(d, sim__table(d, "queues"), "buffer"),
                           "a buffer of %" PRIu64 " bytes is too small for a packet of %u", s->topology.buffer_bytes,
                           s->flows.packet);
    }
    s->topology.largest = s->flows.packet > s->flows.ack ? s->flows.packet : s->flows.ack;
    s->topology.smallest = s->flows.header + 1 < s->flows.ack ? s->flows.header + 1 : s->flows.ack;
    return true;
}

static bool finish_trace(struct draft *d, uint32_t source, uint32_t hosts)
{
    char *path = path_of(d, d->files[source].text);
    bool is_good = path != NULL ? sim_trace_read(path, hosts, &d->scenario->traffic[source], d->error)
                                : sim__refuse(d, d->files[source].place, "out of memory");

    free(path);
    return is_good;
}

static bool fit_incast(struct draft *d, const struct sim_traffic *t, uint32_t table)
{
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;

    if (t->to >= hosts) {
        return sim__refuse(d, sim__place(d, table, "to"), "there is no host %u; there are hosts 0 to %u", t->to,
                           hosts - 1);
    }
    if (t->fan_in >= hosts) {
        return sim__refuse(d, sim__place(d, table, "fan_in"), "%u hosts send to host %u, but there are %u hosts",
                           t->fan_in, t->to, hosts);
    }
    return t->repeat <= 1 || t->period_ps != 0 ||
           sim__refuse(d, sim__place(d, table, "repeat"), "period is missing: the time from one incast to the next");
}

static bool finish_traffic(struct draft *d, uint32_t source)
{
    struct sim_traffic *t = &d->scenario->traffic[source];
    uint32_t table = sim__item_table(d, SIM_LIST_TRAFFIC, source);
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;

    t->rate_bps = sim_topology_host_rate(&d->scenario->topology);
    if (t->kind == SIM_TRACE) {
        return finish_trace(d, source, hosts);
    }
    if (t->sizes != NULL && t->kind != SIM_POISSON) {
        return sim__refuse(d, sim__place(d, table, "size"), "only poisson traffic has drawn sizes; %s has one size",
                           sim_traffic_name(t->kind));
    }
    if (t->kind == SIM_POISSON && t->sizes == NULL && t->bytes == SIM_NEVER) {
        return sim__refuse(d, sim__place(d, table, "size"), "poisson traffic needs flows that end");
    }
    return t->kind != SIM_INCAST || fit_incast(d, t, table);
}

/* ---- switches that add ---- */

/* Keys of [switches] that only some schemes use. */
static const struct {
    const char *key;
    bool (*means)(const struct trib_scheme *scheme);
    const char *needs;
} switch_keys[] = {
    {"multicast", sim__has_roots, "switches that add, or servers"},
    {"memory", sim__has_adders, "switches that add"},
    {"latency", sim__has_adders, "switches that add"},
    {"pool", sim__has_combiners, "combiners (scheme atp or goat)"},
};

static bool fit_switches(struct draft *d)
{
    const struct sim_scenario *s = d->scenario;

    for (size_t key = 0; key < sizeof switch_keys / sizeof switch_keys[0]; key++) {
        const struct trib_toml_value *value = sim__find(d, sim__table(d, "switches"), switch_keys[key].key);
        bool is_of_any = value == NULL;
        for (uint32_t i = 0; i < s->job_count && !is_of_any; i++) {
            uint32_t table = sim__item_table(d, SIM_LIST_JOBS, i);
            const struct trib_scheme *scheme = trib_published_find(s->jobs[i].scheme); /* NULL: ring in steps */
            is_of_any = sim__find(d, table, "trees") != NULL || sim__find(d, table, "threshold") != NULL ||
                        (scheme != NULL && switch_keys[key].means(scheme));
        }
        if (!is_of_any) {
            return sim__refuse(d, value->key_place, "%s needs a job with %s", value->key, switch_keys[key].needs);
        }
    }
    return true;
}

/* Finds the tier or node of this name. */
static bool find_adders(struct draft *d, const char *word, size_t len, struct sim_adders *adders)
{
    struct sim_tier tiers[SIM_TIERS_MAX];
    const struct sim_topology *t = &d->scenario->topology;
    uint32_t count = sim_topology_tiers(t, tiers);
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    adders->count = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (strlen(tiers[i].name) == len && memcmp(word, tiers[i].name, len) == 0) {
            adders->first = tiers[i].first;
            adders->count = tiers[i].count;
            return true;
        }
    }
    if (!sim_topology_find(t, word, len, &adders->first, cause)) {
        return sim__refuse(d, d->adders.place, "add: %s", cause);
    }
    return adders->first >= tiers[1].first || sim__refuse(d, d->adders.place, "add: %.*s is no switch", (int)len, word);
}

static bool finish_adders(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    const char *at = d->adders.text;
    struct sim_adders adders = {.share = 1};

    for (size_t len; at != NULL && (len = sim__next_word(&at)) != 0; at += len) {
        char number[TRIB_UNITS_TEXT_MAX] = "";
        char cause[TRIB_ERROR_TEXT_MAX] = "";
        if (s->adder_count == SIM_ADDERS_MAX) {
            return sim__refuse(d, d->adders.place, "add: more than %u names", SIM_ADDERS_MAX);
        }
        if (at[len - 1] == '%' && len < sizeof number) {
            memcpy(number, at, len);
            if (trib_parse_percent(number, &adders.share, cause) != TRIB_OK) {
                return sim__refuse(d, d->adders.place, "add: %s", cause);
            }
            at += len;
            len = sim__next_word(&at);
        }
        if (len == 0) {
            return sim__refuse(d, d->adders.place, "add: the tier of %s is missing", number);
        }
        if (!find_adders(d, at, len, &adders)) {
            return false;
        }
        s->adders[s->adder_count++] = adders;
        adders.share = 1;
    }
    return d->adders.text == NULL || s->adder_count != 0 || sim__refuse(d, d->adders.place, "add names no switch");
}

/* ---- cables that are named ---- */

/* Parses "leaf0-spine1" into two nodes and the link from the first to the second. */
static bool find_cable(struct draft *d, const struct sim_network *n, const struct draft_text *text, uint32_t ends[2],
                       uint32_t *link)
{
    const struct sim_topology *t = &d->scenario->topology;
    const char *dash = strchr(text->text, '-');
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (dash == NULL) {
        return sim__refuse(d, text->place, "link needs two nodes, such as \"leaf0-spine1\"");
    }
    if (!sim_topology_find(t, text->text, (size_t)(dash - text->text), &ends[0], cause) ||
        !sim_topology_find(t, dash + 1, strlen(dash + 1), &ends[1], cause)) {
        return sim__refuse(d, text->place, "link: %s", cause);
    }
    *link = trib_fabric_find(&n->fabric, ends[0], ends[1]);
    return *link != TRIB_NO_LINK || sim__refuse(d, text->place, "link: no cable joins %.*s and %s",
                                                (int)(dash - text->text), text->text, dash + 1);
}

static bool finish_failure(struct draft *d, const struct sim_network *n, uint32_t number)
{
    struct sim_failure *failure = &d->scenario->failures[number];
    uint32_t ends[2];

    if (!find_cable(d, n, &d->links[number], ends, &failure->link)) {
        return false;
    }
    if (failure->until_ps <= failure->at_ps) {
        return sim__refuse(d, sim__place(d, sim__item_table(d, SIM_LIST_FAILURES, number), "until"),
                           "until is not later than at");
    }
    return true;
}

static bool finish_odd(struct draft *d, const struct sim_network *n, uint32_t number)
{
    struct sim_odd_link *odd = &d->scenario->topology.odd[number];
    struct trib_file_place place = d->odd_links[number].place;
    uint32_t link = SIM_NONE;

    if (odd->wire.rate_bps == 0 && odd->wire.delay_ps == SIM_NEVER) {
        return sim__refuse(d, place, "this link has neither rate nor delay");
    }
    if (!find_cable(d, n, &d->odd_links[number], odd->ends, &link)) {
        return false;
    }
    for (uint32_t i = 0; i < number; i++) {
        const uint32_t *ends = d->scenario->topology.odd[i].ends;
        if ((ends[0] == odd->ends[0] && ends[1] == odd->ends[1]) ||
            (ends[0] == odd->ends[1] && ends[1] == odd->ends[0])) {
            return sim__refuse(d, place, "duplicate link");
        }
    }
    return true;
}

/* Resolves named cables on the topology's network. */
static bool finish_cables(struct draft *d, uint32_t count, enum sim_list list,
                          bool (*finish)(struct draft *, const struct sim_network *, uint32_t))
{
    struct sim_network network;
    bool is_good = true;

    if (count == 0) {
        return true;
    }
    if (!sim_topology_build(&d->scenario->topology, &network)) {
        return sim__refuse(d, sim__place(d, sim__item_table(d, list, 0), "link"), "%s", sim_network_lack(&network));
    }
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = finish(d, &network, i);
    }
    sim_network_deinit(&network);
    return is_good;
}

static bool finish_odd_links(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    uint32_t count = t->odd_count;

    t->odd_count = 0; /* names refer to the network without odd links */
    bool is_good = finish_cables(d, count, SIM_LIST_LINKS, finish_odd);
    t->odd_count = count;
    return is_good;
}

static bool finish_restarts(struct draft *d)
{
    for (uint32_t i = 0; i < d->scenario->restart_count; i++) {
        const struct draft_text *name = &d->restarts[i];
        const struct sim_topology *t = &d->scenario->topology;
        uint32_t *node = &d->scenario->restarts[i].node;
        char cause[TRIB_ERROR_TEXT_MAX] = "";
        if (!sim_topology_find(t, name->text, strlen(name->text), node, cause)) {
            return sim__refuse(d, name->place, "switch: %s", cause);
        }
        if (*node < sim_topology_size(t).hosts) {
            return sim__refuse(d, name->place, "switch: %s is no switch", name->text);
        }
    }
    return true;
}

static bool fit_times(struct draft *d)
{
    const struct sim_scenario *s = d->scenario;

    if (s->duration_ps == 0) {
        return sim__refuse(d, sim__place(d, 0, "duration"), "no duration is left");
    }
    if (s->warmup_ps >= s->duration_ps) {
        return sim__refuse(d, sim__place(d, 0, "warmup"), "no duration is left after the warmup");
    }
    return s->window_ps <= s->duration_ps - s->warmup_ps ||
           sim__refuse(d, sim__place(d, 0, "window"), "the window ends later than the duration");
}

bool sim__fit(struct draft *d)
{
    struct sim_scenario *s = d->scenario;

    if (!finish_topology(d) || !finish_flows(d) || !finish_odd_links(d) || !fit_times(d)) {
        return false;
    }
    if (s->traffic_count == 0 && s->job_count == 0) {
        return sim__refuse(d, (struct trib_file_place){1, 1},
                           "there is neither [[traffic]] nor [[job]]: nothing would happen");
    }
    if (s->is_ideal && sim_ideal_unfit(s) != NULL) {
        return sim__refuse(d, sim__place(d, 0, "ideal"), "%s", sim_ideal_unfit(s));
    }
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        if (!finish_traffic(d, i)) {
            return false;
        }
    }
    return sim__fit_jobs(d) && fit_switches(d) && finish_adders(d) && sim__fit_queues(d) && finish_restarts(d) &&
           finish_cables(d, s->failure_count, SIM_LIST_FAILURES, finish_failure);
}
