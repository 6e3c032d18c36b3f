/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c: does a scenario fit together? What single values cannot say: see draft.h. Read next: run.c (who relies on it). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/units.h"
#include "sim/results/ideal.h"
#include "sim/scenario/draft.h"
#include "sim/traffic/trace.h"

#define JOB_WINDOW_MAX 2000U
#define LINKS_MAX UINT64_C(4000000)

/* Of a table, by its number; NULL: the key does not stand there. */
static const struct sim_toml_value *find_value(const struct draft *d, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        if (d->toml->values[i].table == table && strcmp(d->toml->values[i].key, key) == 0) {
            return &d->toml->values[i];
        }
    }
    return NULL;
}

static struct sim_toml_place place_of_table(const struct draft *d, const char *name)
{
    for (uint32_t i = 0; i < d->toml->table_count; i++) {
        if (strcmp(d->toml->tables[i].name, name) == 0) {
            return d->toml->tables[i].place;
        }
    }
    return (struct sim_toml_place){1, 1};
}

/* A file that the scenario names lies beside it. NULL: out of memory. */
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

/* A host's rate is the mean of all. */
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

/* A clos of whole switches, and not too many. */
static bool fit_pods(struct draft *d, struct sim_toml_place place)
{
    const struct sim_topology *t = &d->scenario->topology;
    struct sim_pods pods;

    if (t->pods > 1024 || t->edges > 1024 || t->hosts > 1024) {
        return sim__refuse(d, place, "a clos's pods, edges and hosts are 1024 at most each");
    }
    if (!sim_topology_pods(t, &pods)) {
        return sim__refuse(
            d, place,
            "%u hosts to an edge switch at %u:%u, and %u edge switches to a pod at %u:%u, do not come out "
            "as whole numbers of links up",
            t->hosts, t->ratio.down, t->ratio.up, t->edges, t->core_ratio.down, t->core_ratio.up);
    }
    if (pods.aggregations > 1024) {
        return sim__refuse(d, place, "%u aggregation switches to a pod; 1024 at most", pods.aggregations);
    }
    return true;
}

static bool finish_topology(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    struct sim_toml_place place = place_of_table(d, "topology");

    if (t->kind == SIM_TOPOLOGY_NONE) {
        return sim__refuse(d, place, "there is no table [topology]");
    }
    if (t->kind == SIM_FAT_TREE && (t->k % 2 != 0 || t->k > 64)) {
        return sim__refuse(d, place, "k is %u; it must be even, and 64 at most", t->k);
    }
    if (t->kind == SIM_DRAGONFLY && (t->routers > 64 || t->globals > 64 || t->hosts > 64)) {
        return sim__refuse(d, place, "a dragonfly's routers, globals and hosts are 64 at most each");
    }
    t->fabric.rate_bps = t->fabric.rate_bps == 0 ? t->edge.rate_bps : t->fabric.rate_bps;
    t->fabric.delay_ps = t->fabric.delay_ps == SIM_NEVER ? t->edge.delay_ps : t->fabric.delay_ps;
    if ((t->kind == SIM_CLOS && !fit_pods(d, place)) || (t->kind == SIM_FROM_FILE && !read_topology(d))) {
        return false;
    }
    uint64_t cables = t->kind == SIM_LEAF_SPINE ? (uint64_t)t->leaves * (t->hosts + (uint64_t)t->spines) : t->hosts;
    struct sim_topology_size size = cables <= LINKS_MAX ? sim_topology_size(t) : (struct sim_topology_size){0, 0, 0};
    if (cables > LINKS_MAX || size.hosts + size.switches > SIM_NODES_MAX || size.hosts > 32768) {
        return sim__refuse(d, place, "more than 32,768 hosts, or than %u hosts and switches", SIM_NODES_MAX);
    }
    if (size.hosts < 2) {
        return sim__refuse(d, place, "fewer than 2 hosts");
    }
    return true;
}

static bool finish_flows(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    struct sim_toml_place place = place_of_table(d, "flows");

    s->flows.packet = s->flows.packet != 0 ? s->flows.packet : s->mtu;
    if (s->flows.header >= s->flows.packet) {
        return sim__refuse(d, place, "a packet of %u bytes has no room behind a header of %u", s->flows.packet,
                           s->flows.header);
    }
    if (s->flows.window > TRIB_FLOW_WINDOW_MAX) {
        return sim__refuse(d, place, "window is %u; it can be %u at most", s->flows.window, TRIB_FLOW_WINDOW_MAX);
    }
    if (!sim__settle_queues(d)) {
        return false;
    }
    if (s->topology.buffer_bytes < s->flows.packet) {
        return sim__refuse(d, place_of_table(d, "queues"), "a buffer of %" PRIu64 " bytes never takes a packet of %u",
                           s->topology.buffer_bytes, s->flows.packet);
    }
    s->topology.largest = s->flows.packet > s->flows.ack ? s->flows.packet : s->flows.ack;
    s->topology.smallest = s->flows.header + 1 < s->flows.ack ? s->flows.header + 1 : s->flows.ack;
    return true;
}

static bool finish_trace(struct draft *d, uint32_t source, uint32_t hosts)
{
    char *path = path_of(d, d->files[source]);
    bool is_good = path != NULL ? sim_trace_read(path, hosts, &d->scenario->traffic[source], d->error)
                                : sim__refuse(d, d->file_places[source], "out of memory");

    free(path);
    return is_good;
}

static bool finish_traffic(struct draft *d, uint32_t source)
{
    struct sim_traffic *t = &d->scenario->traffic[source];
    struct sim_toml_place place = sim__place_of_item(d, SIM_LIST_TRAFFIC, source);
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;

    t->rate_bps = sim_topology_host_rate(&d->scenario->topology);
    if (t->kind == SIM_TRACE) {
        return finish_trace(d, source, hosts);
    }
    if (t->sizes != NULL && t->kind != SIM_POISSON) {
        return sim__refuse(d, place, "flows of drawn sizes are poisson traffic's; %s has one size",
                           sim_traffic_name(t->kind));
    }
    if (t->kind == SIM_POISSON && t->sizes == NULL && t->bytes == SIM_NEVER) {
        return sim__refuse(d, place, "poisson traffic without end has no load");
    }
    if (t->kind == SIM_INCAST && (t->fan_in >= hosts || t->to >= hosts)) {
        return sim__refuse(d, place, "%u hosts send to host %u, but there are %u hosts (the first is 0)", t->fan_in,
                           t->to, hosts);
    }
    if (t->kind == SIM_INCAST && t->repeat > 1 && t->period_ps == 0) {
        return sim__refuse(d, place, "period is missing: how long from one incast to the next");
    }
    return true;
}

static size_t next_word(const char **text)
{
    *text += strspn(*text, " ,\t");
    return strcspn(*text, " ,\t");
}

/* "8-11", or one host; adds it to the list of what stands before it. */
static bool add_hosts(struct draft *d, uint32_t number, const char *word, size_t len, uint32_t *count)
{
    struct sim_job_config *job = &d->scenario->jobs[number];
    struct sim_toml_place place = d->hosts[number].place;
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;
    char text[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t ends[2] = {0, 0};

    if (len < sizeof text) {
        memcpy(text, word, len);
    }
    char *dash = strchr(text, '-');
    if (dash != NULL) {
        *dash = '\0';
    }
    if (trib_parse_number(text, 0, hosts - 1, &ends[0], cause) != TRIB_OK ||
        trib_parse_number(dash != NULL ? dash + 1 : text, ends[0], hosts - 1, &ends[1], cause) != TRIB_OK) {
        return sim__refuse(d, place, "hosts: %s", cause);
    }
    for (uint64_t host = ends[0]; host <= ends[1]; host++) {
        if (*count == job->workers) {
            return sim__refuse(d, place, "hosts names more than the job's %u workers", job->workers);
        }
        job->hosts[(*count)++] = (uint32_t)host;
    }
    return true;
}

/* Is a host named twice, in this job or by one before it? */
static bool are_distinct(struct draft *d, uint32_t number)
{
    const struct sim_scenario *s = d->scenario;

    for (uint32_t rank = 0; rank < s->jobs[number].workers; rank++) {
        for (uint32_t i = 0; i <= number; i++) {
            uint32_t end = i == number ? rank : s->jobs[i].workers;
            for (uint32_t other = 0; s->jobs[i].hosts != NULL && other < end; other++) {
                if (s->jobs[i].hosts[other] == s->jobs[number].hosts[rank]) {
                    return sim__refuse(d, d->hosts[number].place, "hosts: host %u is another worker's",
                                       s->jobs[number].hosts[rank]);
                }
            }
        }
    }
    return true;
}

static bool finish_hosts(struct draft *d, uint32_t number)
{
    struct sim_job_config *job = &d->scenario->jobs[number];
    const char *at = d->hosts[number].text;
    uint32_t count = 0;

    if (at == NULL) {
        return true;
    }
    job->hosts = calloc(job->workers, sizeof *job->hosts);
    if (job->hosts == NULL) {
        return sim__refuse(d, d->hosts[number].place, "out of memory");
    }
    for (size_t len; (len = next_word(&at)) != 0; at += len) {
        if (!add_hosts(d, number, at, len, &count)) {
            return false;
        }
    }
    if (count != job->workers) {
        return sim__refuse(d, d->hosts[number].place, "hosts names %u, but the job has %u workers", count,
                           job->workers);
    }
    return are_distinct(d, number);
}

/* What a job sums and computes, where a model says it. */
static bool finish_model(struct draft *d, struct sim_job_config *job, struct sim_toml_place place)
{
    const struct sim_model *model = job->model;

    if (model == NULL && job->bytes == 0) {
        return sim__refuse(d, place, "size is missing in table job: bytes of gradients, or the name of a model");
    }
    if (model != NULL && model->compute_ms == 0 && job->compute_ps == SIM_NEVER) {
        return sim__refuse(d, place, "compute is missing: for %s no time is published that is known here", model->name);
    }
    if (job->compute_ps == SIM_NEVER) {
        job->compute_ps = model != NULL ? (uint64_t)(model->compute_ms * 1e9) : 0;
    }
    job->bytes = job->bytes != 0 ? job->bytes : sim_model_bytes(model);
    return true;
}

/* Keys that mean nothing beside others, or without them. */
static bool fit_job_keys(struct draft *d, uint32_t number)
{
    uint32_t table = d->tables[SIM_LIST_JOBS][number];
    const struct sim_toml_value *placement = find_value(d, table, "placement");
    const struct sim_toml_value *backward = find_value(d, table, "backward");

    if (placement != NULL && d->hosts[number].text != NULL) {
        return sim__refuse(d, placement->key_place, "placement means nothing with hosts, which names them all");
    }
    return backward == NULL || find_value(d, table, "buckets") != NULL ||
           sim__refuse(d, backward->key_place, "backward means nothing without buckets: gradients come at the end");
}

/* What is about switches that add, where no job has any. */
static bool fit_switches(struct draft *d)
{
    static const char *const keys[] = {"multicast", "memory", "latency"};
    const struct sim_scenario *s = d->scenario;

    for (uint32_t i = 0; i < s->job_count; i++) {
        if (strcmp(s->jobs[i].scheme, "ring") != 0 && strncmp(s->jobs[i].scheme, "hybrid", 6) != 0) {
            return true;
        }
    }
    for (uint32_t table = 0; table < d->toml->table_count; table++) {
        for (size_t i = 0; strcmp(d->toml->tables[table].name, "switches") == 0 && i < 3; i++) {
            const struct sim_toml_value *value = find_value(d, table, keys[i]);
            if (value != NULL) {
                return sim__refuse(d, value->key_place, "%s means nothing without a job whose switches add", keys[i]);
            }
        }
    }
    return true;
}

static bool finish_copies(struct draft *d, const struct sim_job_config *job, struct sim_toml_place place)
{
    if (job->copies > 1 && job->hosts != NULL) {
        return sim__refuse(d, place, "copies can not all be on the hosts that hosts names");
    }
    if (job->stragglers > job->workers * job->ranks) {
        return sim__refuse(d, place, "%u stragglers of %u %s", job->stragglers, job->workers * job->ranks,
                           job->ranks == 1 ? "workers" : "ranks");
    }
    if (job->ranks > SIM_HOST_RANKS_MAX) {
        return sim__refuse(d, place, "%u ranks of a host; %u at most", job->ranks, SIM_HOST_RANKS_MAX);
    }
    uint64_t bytes = sim_job_scaled(job->bytes, d->scenario->scale);
    uint64_t fragments = (bytes + job->payload - 1) / job->payload;
    if (job->buckets > SIM_BUCKETS_MAX || job->buckets > fragments) {
        return sim__refuse(d, place, "%u buckets of %" PRIu64 " fragments; there can be as many, and %u at most",
                           job->buckets, fragments, SIM_BUCKETS_MAX);
    }
    return true;
}

/* The most that fits into a packet of so many bytes. */
static uint32_t payload_of(uint32_t mtu)
{
    uint32_t room = mtu > SIM_JOB_HEADERS ? (mtu - SIM_JOB_HEADERS) / TRIB_PAYLOAD_ALIGN * TRIB_PAYLOAD_ALIGN : 0;

    return room < TRIB_PAYLOAD_MAX ? room : TRIB_PAYLOAD_MAX;
}

static bool finish_jobs(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    uint32_t hosts = sim_topology_size(&s->topology).hosts;
    uint64_t workers = 0;
    uint32_t jobs = 0;

    for (uint32_t i = 0; i < s->job_count; i++) {
        struct sim_job_config *job = &s->jobs[i];
        struct sim_toml_place place = sim__place_of_item(d, SIM_LIST_JOBS, i);
        workers += (uint64_t)job->workers * job->copies;
        jobs += job->copies;
        if (workers > hosts) {
            return sim__refuse(d, place, "%" PRIu64 " workers, with those of the jobs before, but there are %u hosts",
                               workers, hosts);
        }
        if (job->workers < 2 || job->workers > TRIB_SESSION_RANKS_MAX) {
            return sim__refuse(d, place, "a job has from 2 to %d workers", TRIB_SESSION_RANKS_MAX);
        }
        job->payload = job->payload != 0 ? job->payload : payload_of(s->mtu);
        if (job->payload == 0 || job->payload % TRIB_PAYLOAD_ALIGN != 0 || job->payload > TRIB_PAYLOAD_MAX) {
            return sim__refuse(d, place, "payload is %u; it is a multiple of %d, and %d at most", job->payload,
                               TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX);
        }
        if (job->window > JOB_WINDOW_MAX) {
            return sim__refuse(d, place, "window is %u; it can be %u at most", job->window, JOB_WINDOW_MAX);
        }
        if (jobs > SIM_JOBS_MAX) {
            return sim__refuse(d, place, "more than %u jobs, with their copies", SIM_JOBS_MAX);
        }
        if (!fit_job_keys(d, i) || !finish_model(d, job, place) || !finish_hosts(d, i) ||
            !finish_copies(d, job, place)) {
            return false;
        }
        uint32_t largest = job->payload + SIM_JOB_HEADERS;
        s->topology.largest = largest > s->topology.largest ? largest : s->topology.largest;
        if (s->topology.buffer_bytes < largest) {
            return sim__refuse(d, place, "a buffer of %" PRIu64 " bytes never takes a packet of %u",
                               s->topology.buffer_bytes, largest);
        }
    }
    return true;
}

/* ---- switches that add ---- */

/* The tier or node of this name. */
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

    for (size_t len; at != NULL && (len = next_word(&at)) != 0; at += len) {
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
            len = next_word(&at);
        }
        if (len == 0) {
            return sim__refuse(d, d->adders.place, "add: %s of which tier?", number);
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

static uint32_t find_link(const struct sim_network *n, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < n->link_count; i++) {
        if (n->from[i] == from && n->links[i].to == to) {
            return i;
        }
    }
    return SIM_NONE;
}

/* "leaf0-spine1": the nodes, and the link from the first to the second. */
static bool find_cable(struct draft *d, const struct sim_network *n, const struct draft_text *text, uint32_t ends[2],
                       uint32_t *link)
{
    const struct sim_topology *t = &d->scenario->topology;
    const char *dash = strchr(text->text, '-');
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (dash == NULL) {
        return sim__refuse(d, text->place, "link wants two nodes, such as \"leaf0-spine1\"");
    }
    if (!sim_topology_find(t, text->text, (size_t)(dash - text->text), &ends[0], cause) ||
        !sim_topology_find(t, dash + 1, strlen(dash + 1), &ends[1], cause)) {
        return sim__refuse(d, text->place, "link: %s", cause);
    }
    *link = find_link(n, ends[0], ends[1]);
    return *link != SIM_NONE || sim__refuse(d, text->place, "link: no cable joins %.*s and %s",
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
        return sim__refuse(d, sim__place_of_item(d, SIM_LIST_FAILURES, number), "until is not later than at");
    }
    return true;
}

static bool finish_odd(struct draft *d, const struct sim_network *n, uint32_t number)
{
    struct sim_odd_link *odd = &d->scenario->topology.odd[number];
    struct sim_toml_place place = sim__place_of_item(d, SIM_LIST_LINKS, number);
    uint32_t link = SIM_NONE;

    if (odd->wire.rate_bps == 0 && odd->wire.delay_ps == SIM_NEVER) {
        return sim__refuse(d, place, "a link with neither rate nor delay is as the others");
    }
    if (!find_cable(d, n, &d->odd_links[number], odd->ends, &link)) {
        return false;
    }
    for (uint32_t i = 0; i < number; i++) {
        const uint32_t *ends = d->scenario->topology.odd[i].ends;
        if ((ends[0] == odd->ends[0] && ends[1] == odd->ends[1]) ||
            (ends[0] == odd->ends[1] && ends[1] == odd->ends[0])) {
            return sim__refuse(d, place, "this link is there already");
        }
    }
    return true;
}

/* Looks at what names cables, on the network that is meant. */
static bool finish_cables(struct draft *d, uint32_t count, enum sim_list list,
                          bool (*finish)(struct draft *, const struct sim_network *, uint32_t))
{
    struct sim_network network;
    bool is_good = true;

    if (count == 0) {
        return true;
    }
    if (!sim_topology_build(&d->scenario->topology, &network)) {
        return sim__refuse(d, sim__place_of_item(d, list, 0), "out of memory");
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

    t->odd_count = 0; /* names are looked up in the network without them */
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

bool sim__fit(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    struct sim_toml_place top = {1, 1};

    if (!finish_topology(d) || !finish_flows(d) || !finish_odd_links(d)) {
        return false;
    }
    if (s->duration_ps == 0 || s->warmup_ps >= s->duration_ps || s->window_ps > s->duration_ps - s->warmup_ps) {
        return sim__refuse(d, top,
                           s->duration_ps == 0              ? "nothing is left of the duration"
                           : s->warmup_ps >= s->duration_ps ? "nothing is left of the duration behind the warmup"
                                                            : "the window ends later than the duration");
    }
    if (s->traffic_count == 0 && s->job_count == 0) {
        return sim__refuse(d, top, "there is neither [[traffic]] nor [[job]]: nothing would happen");
    }
    if (s->is_ideal && sim_ideal_unfit(s) != NULL) {
        return sim__refuse(d, top, "%s", sim_ideal_unfit(s));
    }
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        if (!finish_traffic(d, i)) {
            return false;
        }
    }
    return finish_jobs(d) && fit_switches(d) && finish_adders(d) && sim__fit_queues(d) && finish_restarts(d) &&
           finish_cables(d, s->failure_count, SIM_LIST_FAILURES, finish_failure);
}
