/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c: see scenario.h. One table defines all keys. Read next: io/toml.h. */
#include "sim/scenario/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/file.h"
#include "io/nearest.h"
#include "io/units.h"
#include "published/published.h"
#include "sim/scenario/draft.h"

struct key {
    const char *table;
    const char *name;
    const char *help;
    bool (*read)(struct draft *d, const struct trib_toml_value *value, void *field);
    size_t offset;    /* offset in the scenario or, for a list's table, in its item */
    uint32_t allowed; /* bitmap of table kinds */
    uint32_t needed;
};

/* ---- the keys ---- */

#define NS_PS UINT64_C(1000)
#define ANY UINT32_MAX
#define BIT(kind) (UINT32_C(1) << (kind))
#define AT(member) offsetof(struct sim_scenario, member)
#define OF(member) offsetof(struct sim_traffic, member)
#define JOB(member) offsetof(struct sim_job_config, member)
#define FAILURE(member) offsetof(struct sim_failure, member)
#define RESTART(member) offsetof(struct sim_restart, member)
#define ODD(member) offsetof(struct sim_odd_link, member)
#define SEVERAL (BIT(SIM_LEAF_SPINE) | BIT(SIM_FAT_TREE) | BIT(SIM_CLOS) | BIT(SIM_DRAGONFLY))
#define BUILT (SEVERAL | BIT(SIM_STAR) | BIT(SIM_TOPOLOGY_NONE))
#define WITH_HOSTS (BIT(SIM_STAR) | BIT(SIM_LEAF_SPINE) | BIT(SIM_CLOS) | BIT(SIM_DRAGONFLY))
#define TIMED (BIT(SIM_PERMUTATION) | BIT(SIM_INCAST) | BIT(SIM_POISSON))

static const struct key keys[] = {
    {"", "name", "name of the scenario in the results [the file's name]", sim__read_name, AT(name), ANY, 0},
    {"", "seed", "seed of random draws [1]", sim__read_seed, AT(seed), ANY, 0},
    {"", "duration", "simulated time at most", sim__read_duration, AT(duration_ps), ANY, ANY},
    {"", "warmup", "leave flows and iterations that begin earlier out of the results [0]", sim__read_duration,
     AT(warmup_ps), ANY, 0},
    {"", "window",
     "leave out those that begin later than this after warmup; the run ends when the others have ended [duration]",
     sim__read_duration, AT(window_ps), ANY, 0},
    {"", "mtu", "packet size, where flows and jobs have none of their own [1500B]", sim__read_packet, AT(mtu), ANY, 0},
    {"", "jobs", "use only the first N tables [[job]] [all]", sim__read_count, AT(jobs_most), ANY, 0},
    {"", "scale", "1/20: divide job sizes, compute times and inter-arrival times by 20 [1/1]", sim__read_scale,
     AT(scale), ANY, 0},
    {"", "ideal", "true: simulate flows alone and jobs alone as well, for comparison [false]", sim__read_flag,
     AT(is_ideal), ANY, 0},
    {"topology", "kind", "star, leaf-spine, fat-tree, clos, dragonfly or file", sim__read_topology, AT(topology.kind),
     ANY, ANY},
    {"topology", "k", "fat-tree: ports of a switch, even", sim__read_count, AT(topology.k), BIT(SIM_FAT_TREE),
     BIT(SIM_FAT_TREE)},
    {"topology", "hosts",
     "number of hosts: star: in all; leaf-spine: per leaf; clos: per edge switch; dragonfly: per router",
     sim__read_count, AT(topology.hosts), WITH_HOSTS, WITH_HOSTS},
    {"topology", "pods", "clos", sim__read_count, AT(topology.pods), BIT(SIM_CLOS), BIT(SIM_CLOS)},
    {"topology", "edges", "clos: edge switches per pod", sim__read_count, AT(topology.edges), BIT(SIM_CLOS),
     BIT(SIM_CLOS)},
    {"topology", "ratio", "clos: rate of an edge switch's hosts to that of its links up, 3:1 [1:1]", sim__read_ratio,
     AT(topology.ratio), BIT(SIM_CLOS), 0},
    {"topology", "core_ratio", "clos: links down to links up of an aggregation switch [1:1]", sim__read_ratio,
     AT(topology.core_ratio), BIT(SIM_CLOS), 0},
    {"topology", "routers", "dragonfly: routers per group", sim__read_count, AT(topology.routers), BIT(SIM_DRAGONFLY),
     BIT(SIM_DRAGONFLY)},
    {"topology", "globals", "dragonfly: cables of a router to other groups; there are routers x globals + 1 groups",
     sim__read_count, AT(topology.globals), BIT(SIM_DRAGONFLY), BIT(SIM_DRAGONFLY)},
    {"topology", "leaves", "leaf-spine", sim__read_count, AT(topology.leaves), BIT(SIM_LEAF_SPINE),
     BIT(SIM_LEAF_SPINE)},
    {"topology", "spines", "leaf-spine", sim__read_count, AT(topology.spines), BIT(SIM_LEAF_SPINE),
     BIT(SIM_LEAF_SPINE)},
    {"topology", "file", "file: as HPCC's topology.txt; beside the scenario", sim__read_topology_file, 0,
     BIT(SIM_FROM_FILE), BIT(SIM_FROM_FILE)},
    {"topology", "rate", "of the links of hosts", sim__read_rate, AT(topology.edge.rate_bps), BUILT, BUILT},
    {"topology", "delay", "of the links of hosts", sim__read_duration, AT(topology.edge.delay_ps), BUILT, BUILT},
    {"topology", "fabric_rate", "of links between switches [rate]", sim__read_rate, AT(topology.fabric.rate_bps),
     SEVERAL, 0},
    {"topology", "fabric_delay", "of links between switches [delay]", sim__read_duration, AT(topology.fabric.delay_ps),
     SEVERAL, 0},
    {"topology", "paths", "explicit, ecmp or pinned: which paths a plan may name (docs/PLAN.md) [explicit]",
     sim__read_paths, AT(topology.paths), ANY, 0},
    {"link", "link", "a cable unlike the others, by both ends: leaf0-spine1", sim__read_odd_link, 0, ANY, ANY},
    {"link", "rate", "of both directions [as the others]", sim__read_rate, ODD(wire.rate_bps), ANY, 0},
    {"link", "delay", "of both directions [as the others]", sim__read_duration, ODD(wire.delay_ps), ANY, 0},
    {"queues", "buffer", "of a switch's port: bytes, packets (200pkt) or none, which never drops [200pkt]",
     sim__read_amount, AT(topology.buffer_bytes), ANY, 0},
    {"queues", "ecn", "mark packets that find more waiting than this, or none [65pkt]", sim__read_amount,
     AT(topology.mark_bytes), ANY, 0},
    {"queues", "host_ecn", "true: packets in hosts' own queues are marked likewise [false]", sim__read_flag,
     AT(topology.hosts_mark), ANY, 0},
    {"queues", "shared", "instead of buffer: bytes of a switch, which all its ports share", sim__read_bytes,
     AT(topology.buffers.shared_bytes), ANY, 0},
    {"queues", "alpha", "limit of a port, as a multiple of the free bytes of shared: \"1/8\", \"2\" [1; with pfc 1/8]",
     sim__read_alpha, AT(topology.buffers.alpha_of), ANY, 0},
    {"queues", "pfc", "true: a link at its threshold is stopped (PAUSE), so that no packet is dropped [false]",
     sim__read_flag, AT(topology.buffers.is_lossless), ANY, 0},
    {"queues", "xoff", "pfc: threshold of each link into a switch, instead of alpha's", sim__read_amount,
     AT(topology.buffers.xoff_bytes), ANY, 0},
    {"queues", "xon_below", "pfc: a stopped link goes on at this much less than its threshold [2pkt]", sim__read_amount,
     AT(topology.buffers.below_bytes), ANY, 0},
    {"queues", "headroom",
     "pfc: memory of each link for packets that arrive after it was stopped [2 x delay x rate + 3pkt + 64B]",
     sim__read_amount, AT(topology.buffers.headroom_bytes), ANY, 0},
    {"flows", "packet", "bytes of a full packet, with its header [mtu]", sim__read_packet, AT(flows.packet), ANY, 0},
    {"flows", "header", "bytes of a packet that are no payload [40B]", sim__read_packet, AT(flows.header), ANY, 0},
    {"flows", "ack", "bytes of an acknowledgement [64B]", sim__read_packet, AT(flows.ack), ANY, 0},
    {"flows", "window", "packets of one flow under way at most [256]", sim__read_count, AT(flows.window), ANY, 0},
    {"flows", "congestion", "dctcp, aimd or fixed [dctcp]", sim__read_policy, AT(flows.policy), ANY, 0},
    {"flows", "rto_first", "retransmission timeout before the first round trip is measured [20ms]", sim__read_duration,
     AT(flows.rto_first_ps), ANY, 0},
    {"flows", "rto_min", "the smallest retransmission timeout; the largest is 1s [2ms]", sim__read_duration,
     AT(flows.rto_min_ps), ANY, 0},
    {"traffic", "kind", "permutation, incast, poisson or trace", sim__read_traffic, OF(kind), ANY, ANY},
    {"traffic", "size", "of a flow: bytes, endless, or the name of a distribution (poisson)", sim__read_sizes, 0, TIMED,
     TIMED},
    {"traffic", "start", "of the first flow [0]", sim__read_duration, OF(start_ps), TIMED, 0},
    {"traffic", "stop", "poisson: no flow begins later [duration]", sim__read_duration, OF(stop_ps), BIT(SIM_POISSON),
     0},
    {"traffic", "load", "poisson: payload, as a share of the rate of all hosts' links", sim__read_share, OF(load),
     BIT(SIM_POISSON), BIT(SIM_POISSON)},
    {"traffic", "least", "poisson: omit flows of fewer bytes [0B]", sim__read_bytes, OF(least), BIT(SIM_POISSON), 0},
    {"traffic", "below", "poisson: omit flows of at least this size [none]", sim__read_bytes, OF(below),
     BIT(SIM_POISSON), 0},
    {"traffic", "fan_in", "incast: hosts that send", sim__read_count, OF(fan_in), BIT(SIM_INCAST), BIT(SIM_INCAST)},
    {"traffic", "to", "incast: the host that they send to [0]", sim__read_index, OF(to), BIT(SIM_INCAST), 0},
    {"traffic", "repeat", "incast: number of incasts [1]", sim__read_count, OF(repeat), BIT(SIM_INCAST), 0},
    {"traffic", "period", "incast: time from one incast to the next", sim__read_duration, OF(period_ps),
     BIT(SIM_INCAST), 0},
    {"traffic", "file", "trace: flows as in HPCC's flow.txt; beside the scenario", sim__read_file, 0, BIT(SIM_TRACE),
     BIT(SIM_TRACE)},
    {"job", "scheme",
     "switchml, panama, panama:7/8, rina, atp, atp-aimd, goat, ps, ring, hybrid:M, ring-steps, which sends messages in "
     "2 "
     "(N - 1) steps, or panama-literal or rina-literal, the published rules",
     sim__read_scheme, JOB(scheme), ANY, ANY},
    {"job", "name", "name of the job, as in the plan (--plan)", sim__read_name, JOB(name), ANY, 0},
    {"job", "workers", "each on a host of its own", sim__read_count, JOB(workers), ANY, ANY},
    {"job", "ranks", "ranks on each worker's host, which are summed in its memory first [1]", sim__read_count,
     JOB(ranks), ANY, 0},
    {"job", "model", "size and compute of a known one: `tributary sim --models` lists them", sim__read_model, 0, ANY,
     0},
    {"job", "size", "bytes of gradients that an iteration sums [the model's]", sim__read_bytes, JOB(bytes), ANY, 0},
    {"job", "iterations", "how many", sim__read_count, JOB(iterations), ANY, ANY},
    {"job", "compute", "time of an iteration before its gradients are summed [the model's, or 0]", sim__read_duration,
     JOB(compute_ps), ANY, 0},
    {"job", "buckets", "buckets of gradients; each is summed as soon as it is computed, while the rest is computed [1]",
     sim__read_count, JOB(buckets), ANY, 0},
    {"job", "backward", "share of the compute time, at its end, over which buckets come evenly [67%]", sim__read_part,
     JOB(backward), ANY, 0},
    {"job", "jitter", "each rank's time to compute is drawn within this share of it [0%]", sim__read_part, JOB(jitter),
     ANY, 0},
    {"job", "stragglers", "number of ranks that compute longer: the last ones [0]", sim__read_index, JOB(stragglers),
     ANY, 0},
    {"job", "slower", "share by which stragglers compute longer [100%]", sim__read_part, JOB(slower), ANY, 0},
    {"job", "start", "when it begins to compute [0]", sim__read_duration, JOB(start_ps), ANY, 0},
    {"job", "placement", "close: the lowest free hosts; random [close]", sim__read_placement, JOB(placement), ANY, 0},
    {"job", "hosts", "those of its workers, by rank, then those of its servers: \"0 4 8-11\"", sim__read_hosts, 0, ANY,
     0},
    {"job", "copies", "number of such jobs [1]", sim__read_count, JOB(copies), ANY, 0},
    {"job", "every", "mean time between the starts of copies, which are random [0]", sim__read_duration, JOB(every_ps),
     ANY, 0},
    {"job", "window", "fragments that a worker has under way in each tree [128]", sim__read_count, JOB(window), ANY, 0},
    {"job", "trees", "each under a switch of its own, as many as there are such; fragments take turns [1]",
     sim__read_trees, JOB(trees), ANY, 0},
    {"job", "at_least", "rina: so many workers below a switch that adds are a rack; others are links of the chain [2]",
     sim__read_count, JOB(at_least), ANY, 0},
    {"job", "servers", "atp, goat, ps: roots, each on a host; fragments take turns [1]", sim__read_trees, JOB(servers),
     ANY, 0},
    {"job", "servers_at_workers", "atp, ps: true: servers are on hosts of workers [false: on hosts of their own]",
     sim__read_flag, JOB(are_servers_at_workers), ANY, 0},
    {"job", "combines_everywhere",
     "atp: true: all switches that add on the way to a server are combiners [false: those of hosts]", sim__read_flag,
     JOB(combines_everywhere), ANY, 0},
    {"job", "priority", "atp: the job's highest priority; parts take rows of combiners from jobs of lower priority [0]",
     sim__read_index, JOB(priority), ANY, 0},
    {"job", "by_bucket", "atp: true: between jobs of one priority, parts of later buckets take rows [false]",
     sim__read_flag, JOB(by_bucket), ANY, 0},
    {"job", "marks_of_all",
     "panama: true: a mark on any worker's way is one for all, as the paper has it [false: each hears its own]",
     sim__read_flag, JOB(marks_of_all), ANY, 0},
    {"job", "threshold", "a job of fewer bytes of gradients is summed by ring-steps instead [0B]", sim__read_threshold,
     JOB(threshold), ANY, 0},
    {"job", "payload", "bytes of a fragment on the links [what fits mtu: 1408B of 1500B]", sim__read_packet,
     JOB(payload), ANY, 0},
    {"switches", "add",
     "switches that may be nodes of jobs' trees: tiers, nodes, or a share of a tier: \"spine 50% leaf\" [all]",
     sim__read_adders, 0, ANY, 0},
    {"switches", "multicast",
     "true: switches that do not add copy a result where paths part [false: each child is sent its own]",
     sim__read_flag, AT(is_multicast), ANY, 0},
    {"switches", "memory",
     "for sums, of each that adds: jobs share it, which bounds their windows, or is their pool (atp) [no bound]",
     sim__read_bytes, AT(accelerators.memory_bytes), ANY, 0},
    {"switches", "pool",
     "atp: rows for sums on the way to servers: dynamic: first come, first served; static: jobs have equal shares "
     "[dynamic]",
     sim__read_pool, AT(accelerators.is_pool_static), ANY, 0},
    {"switches", "latency", "time to add: from a packet's arrival to the packet sent because of it [0]",
     sim__read_duration, AT(topology.add_ps), ANY, 0},
    {"switches", "bypass", "extra time of a switch that adds, for every packet, also of other traffic [0]",
     sim__read_duration, AT(accelerators.bypass_ps), ANY, 0},
    {"failure", "link", "the failing cable, by both ends: leaf0-spine1", sim__read_link, 0, ANY, ANY},
    {"failure", "at", "time of the cut", sim__read_duration, FAILURE(at_ps), ANY, ANY},
    {"failure", "until", "time of the repair [never]", sim__read_duration, FAILURE(until_ps), ANY, 0},
    {"failure", "react", "time from a cut or a repair until the switches know of it [0]", sim__read_duration,
     FAILURE(react_ps), ANY, 0},
    {"restart", "switch", "switch that loses all sums it holds: spine0", sim__read_restart, 0, ANY, ANY},
    {"restart", "at", "when", sim__read_duration, RESTART(at_ps), ANY, ANY},
    {"restart", "away", "time until the ranks of its jobs are back [0]", sim__read_duration, RESTART(away_ps), ANY, 0},
    {"faults", "loss", "share of packets lost on arrival at their destination [0]", sim__read_part, AT(faults.loss),
     ANY, 0},
    {"faults", "duplicate", "share of packets that come twice [0]", sim__read_part, AT(faults.duplicate), ANY, 0},
    {"faults", "reorder", "share of packets that come late, behind others [0]", sim__read_part, AT(faults.reorder), ANY,
     0},
    {"faults", "late", "largest delay of a late packet, and of the second of two [100us]", sim__read_duration,
     AT(faults.late_ps), ANY, 0},
};

#define KEYS (sizeof keys / sizeof keys[0])

/* A table that can occur several times. */
struct list {
    const char *name;
    size_t count_at; /* offset of the count in the scenario */
    size_t at;
    size_t size;
    const void *blank;
};

static const struct sim_traffic blank_traffic = {.repeat = 1, .stop_ps = SIM_NEVER - 1};
static const struct sim_job_config blank_job = {.window = 128,
                                                .trees = 1,
                                                .ranks = 1,
                                                .buckets = 1,
                                                .backward = 0.67,
                                                .placement = SIM_CLOSE,
                                                .copies = 1,
                                                .slower = 1,
                                                .compute_ps = SIM_NEVER};
static const struct sim_failure blank_failure = {.until_ps = SIM_NEVER};
static const struct sim_restart blank_restart = {0};
static const struct sim_odd_link blank_link = {.wire = {.delay_ps = SIM_NEVER}};

static const struct list lists[SIM_LISTS] = {
    [SIM_LIST_TRAFFIC] = {"traffic", AT(traffic_count), AT(traffic), sizeof blank_traffic, &blank_traffic},
    [SIM_LIST_JOBS] = {"job", AT(job_count), AT(jobs), sizeof blank_job, &blank_job},
    [SIM_LIST_FAILURES] = {"failure", AT(failure_count), AT(failures), sizeof blank_failure, &blank_failure},
    [SIM_LIST_RESTARTS] = {"restart", AT(restart_count), AT(restarts), sizeof blank_restart, &blank_restart},
    [SIM_LIST_LINKS] = {"link", AT(topology.odd_count), AT(topology.odd), sizeof blank_link, &blank_link},
};

/* All lists except jobs have one limit. */
_Static_assert(SIM_SOURCES_MAX == SIM_LIST_MAX, "traffic");
_Static_assert(SIM_LIST_MAX <= SIM_JOB_TABLES_MAX, "jobs");
_Static_assert(SIM_FAILURES_MAX == SIM_LIST_MAX, "failures");
_Static_assert(SIM_RESTARTS_MAX == SIM_LIST_MAX, "restarts");
_Static_assert(SIM_ODD_LINKS_MAX == SIM_LIST_MAX, "links");

static const struct list *find_list(const char *name)
{
    for (size_t i = 0; i < SIM_LISTS; i++) {
        if (strcmp(lists[i].name, name) == 0) {
            return &lists[i];
        }
    }
    return NULL;
}

bool sim_scenario_is_list(const char *table)
{
    return find_list(table) != NULL;
}

void sim_scenario_keys(void (*print)(const char *table, const char *key, const char *help))
{
    for (size_t i = 0; i < KEYS; i++) {
        print(keys[i].table, keys[i].name, keys[i].help);
    }
}

/* ---- reading tables ---- */

static const struct key *find_key(const char *table, const char *name)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].table, table) == 0 && strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

static bool unknown_key(struct draft *d, const char *table, const struct trib_toml_value *value)
{
    struct trib_nearest nearest = {.word = value->key, .len = strlen(value->key)};
    const char *elsewhere = NULL;
    char where[SIM_NAME_MAX] = "";

    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].table, table) == 0) {
            trib_nearest_offer(&nearest, keys[i].name);
        } else if (elsewhere == NULL && strcmp(keys[i].name, value->key) == 0) {
            elsewhere = keys[i].table;
        }
    }
    if (table[0] != '\0') {
        (void)snprintf(where, sizeof where, " in [%s]", table);
    }
    if (elsewhere != NULL) {
        return sim__refuse(d, value->key_place, "%s does not belong%s, but %s%s%s", value->key,
                           table[0] != '\0' ? where : " here", elsewhere[0] != '\0' ? "in [" : "before the first table",
                           elsewhere, elsewhere[0] != '\0' ? "]" : "");
    }
    if (nearest.best != NULL) {
        return sim__refuse(d, value->key_place, "unknown key %s%s; did you mean %s?", value->key, where, nearest.best);
    }
    return sim__refuse(d, value->key_place, "unknown key %s%s; `tributary sim --keys` lists all", value->key, where);
}

static bool check_table(struct draft *d, uint32_t index)
{
    const struct trib_toml_table *table = &d->toml->tables[index];
    struct trib_nearest nearest = {.word = table->name, .len = strlen(table->name)};

    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].table, table->name) == 0) {
            bool is_list = find_list(table->name) != NULL;
            return is_list == table->is_array ||
                   sim__refuse(d, table->place,
                               is_list ? "write [[%s]]: there may be several" : "write [%s]: there is one",
                               table->name);
        }
        trib_nearest_offer(&nearest, keys[i].table);
    }
    if (nearest.best != NULL) {
        return sim__refuse(d, table->place, "unknown table [%s]; did you mean [%s]?", table->name, nearest.best);
    }
    return sim__refuse(
        d, table->place,
        "unknown table [%s]; there are [topology], [[link]], [queues], [flows], [[traffic]], [[job]], [switches], "
        "[[failure]], [[restart]], [faults]",
        table->name);
}

static bool is_traffic(const struct draft *d, uint32_t table)
{
    return strcmp(d->toml->tables[table].name, "traffic") == 0;
}

/* Returns the kind of a table; 0: such tables have no kind. */
static uint32_t kind_of(const struct draft *d, uint32_t table)
{
    if (strcmp(d->toml->tables[table].name, "topology") == 0) {
        return d->scenario->topology.kind;
    }
    return is_traffic(d, table) ? d->scenario->traffic[d->scenario->traffic_count - 1].kind : 0;
}

static const char *kind_name(const struct draft *d, uint32_t table)
{
    uint32_t kind = kind_of(d, table);

    return is_traffic(d, table) ? sim_traffic_name((enum sim_traffic_kind)kind)
                                : sim_topology_name((enum sim_topology_kind)kind);
}

/* Refuses missing keys, and keys that the table's kind does not have. */
static bool check_keys(struct draft *d, uint32_t table)
{
    const char *name = d->toml->tables[table].name;
    uint32_t bit = BIT(kind_of(d, table));

    for (size_t i = 0; i < KEYS; i++) {
        const struct key *key = &keys[i];
        if (strcmp(key->table, name) == 0 && (key->needed & bit) != 0 && sim__find(d, table, key->name) == NULL) {
            return sim__refuse(d, d->toml->tables[table].place, "%s is missing%s%s: %s", key->name,
                               name[0] != '\0' ? " in table " : "", name, key->help);
        }
    }
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        const struct trib_toml_value *value = &d->toml->values[i];
        const struct key *key = find_key(name, value->key);
        if (value->table == table && (key->allowed & bit) == 0) {
            return sim__refuse(d, value->key_place, "%s does not apply to %s", value->key, kind_name(d, table));
        }
    }
    return true;
}

/* Appends a list item with default values. NULL: too many. */
static char *begin_list(struct draft *d, uint32_t table)
{
    struct sim_scenario *s = d->scenario;
    const struct list *list = find_list(d->toml->tables[table].name);
    uint32_t *count = (uint32_t *)(void *)((char *)s + list->count_at);

    uint32_t most = list == &lists[SIM_LIST_JOBS] ? SIM_JOB_TABLES_MAX : SIM_LIST_MAX;
    if (*count == most) {
        (void)sim__refuse(d, d->toml->tables[table].place, "more than %u tables [[%s]]", most, list->name);
        return NULL;
    }
    char *item = (char *)s + list->at + *count * list->size;
    d->tables[list - lists][*count] = table;
    ++*count;
    memcpy(item, list->blank, list->size);
    return item;
}

static bool read_table(struct draft *d, uint32_t table)
{
    const char *name = d->toml->tables[table].name;
    struct sim_scenario *s = d->scenario;
    char *base = (char *)s;

    if (!check_table(d, table)) {
        return false;
    }
    if (d->toml->tables[table].is_array) {
        base = begin_list(d, table);
        if (base == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        const struct trib_toml_value *value = &d->toml->values[i];
        if (value->table != table) {
            continue;
        }
        const struct key *key = find_key(name, value->key);
        if (key == NULL ? !unknown_key(d, name, value) : !key->read(d, value, base + key->offset)) {
            return false;
        }
    }
    return check_keys(d, table);
}

/* ---- the whole ---- */

void sim_scenario_init(struct sim_scenario *scenario)
{
    *scenario = (struct sim_scenario){
        .seed = 1,
        .topology = {.fabric = {.delay_ps = SIM_NEVER},
                     .ratio = {1, 1},
                     .core_ratio = {1, 1},
                     .buffer_bytes = 200 | SIM_AMOUNT_PACKETS,
                     .mark_bytes = 65 | SIM_AMOUNT_PACKETS,
                     .buffers = {.below_bytes = 2 | SIM_AMOUNT_PACKETS}},
        .flows = {.packet = 1500,
                  .header = 40,
                  .ack = 64,
                  .window = 256,
                  .policy = TRIB_CONGESTION_DCTCP,
                  .rto_first_ps = TRIB_RTO_FIRST_NS * NS_PS,
                  .rto_min_ps = TRIB_RTO_MIN_NS * NS_PS},
        .accelerators = {.memory_bytes = SIM_NEVER},
        .mtu = 1500,
        .scale = 1,
        .faults = {.late_ps = UINT64_C(100000000)},
    };
}

/* True if this is the value of `key`: "seed" at the top, or "traffic.load". */
static bool is_of_key(const struct trib_toml *toml, const struct trib_toml_value *value, const char *key)
{
    const char *table = toml->tables[value->table].name;
    size_t len = strlen(table);

    if (len == 0) {
        return strcmp(key, value->key) == 0;
    }
    return strncmp(key, table, len) == 0 && key[len] == '.' && strcmp(key + len + 1, value->key) == 0;
}

/* True if `name`, such as "traffic.load", is a known key of a table. */
static bool is_key_of_table(const char *name)
{
    const char *dot = strchr(name, '.');

    for (size_t i = 0; dot != NULL && i < KEYS; i++) {
        if (strncmp(keys[i].table, name, (size_t)(dot - name)) == 0 && keys[i].table[dot - name] == '\0' &&
            strcmp(keys[i].name, dot + 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a value before the first table. Such keys have defaults, so they may be absent in the file. */
static bool add_value(struct draft *d, struct trib_toml *toml, const struct sim_override *override)
{
    const struct key *key = find_key("", override->key);
    struct trib_toml_value *values = NULL;

    if (key == NULL) {
        return sim__refuse(
            d, (struct trib_file_place){1, 1}, "%s is not in the scenario and cannot be varied; %s", override->key,
            is_key_of_table(override->key) ? "write it there, with any value" : "`tributary sim --keys` lists all");
    }
    values = realloc(toml->values, (toml->value_count + 1) * sizeof *values);
    if (values == NULL) {
        return sim__refuse(d, (struct trib_file_place){1, 1}, "out of memory");
    }
    toml->values = values;
    toml->values[toml->value_count++] = (struct trib_toml_value){
        .key = key->name,
        .text = override->text,
        .kind = key->read == sim__read_seed || key->read == sim__read_count ? TRIB_TOML_INTEGER
                : key->read == sim__read_flag                               ? TRIB_TOML_BOOLEAN
                                                                            : TRIB_TOML_STRING,
        .key_place = {1, 1},
        .place = {1, 1},
    };
    return true;
}

static bool override(struct draft *d, struct trib_toml *toml, const struct sim_overrides *overrides)
{
    for (uint32_t i = 0; overrides != NULL && i < overrides->count; i++) {
        bool is_there = false;
        for (uint32_t j = 0; j < toml->value_count; j++) {
            if (is_of_key(toml, &toml->values[j], overrides->list[i].key)) {
                toml->values[j].text = overrides->list[i].text;
                is_there = true;
                d->varies_scheme |= strcmp(overrides->list[i].key, "job.scheme") == 0;
            }
        }
        if (!is_there && !add_value(d, toml, &overrides->list[i])) {
            return false;
        }
    }
    return true;
}

/* Places in the file of values that sim_run_init can refuse. */
struct sim_places {
    struct trib_file_place jobs[SIM_JOB_TABLES_MAX];
    struct trib_file_place restarts[SIM_RESTARTS_MAX];
    struct trib_file_place memory;
    struct trib_file_place bypass;
    char path[]; /* of the file */
};

static bool keep_places(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    uint32_t switches = sim__table(d, "switches");
    size_t len = strlen(d->path) + 1;
    struct sim_places *p = malloc(sizeof *p + len);

    if (p == NULL) {
        return sim__refuse(d, (struct trib_file_place){1, 1}, "out of memory");
    }
    for (uint32_t i = 0; i < s->job_count; i++) {
        p->jobs[i] = sim__place(d, sim__item_table(d, SIM_LIST_JOBS, i), "scheme");
    }
    for (uint32_t i = 0; i < s->restart_count; i++) {
        p->restarts[i] = d->restarts[i].place;
    }
    p->memory = sim__place(d, switches, "memory");
    p->bypass = sim__place(d, switches, "bypass");
    memcpy(p->path, d->path, len);
    s->places = p;
    return true;
}

bool sim_scenario_refuse(const struct sim_scenario *scenario, uint32_t job, char *error, const char *format, ...)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    struct trib_file_place place = job != SIM_NONE ? scenario->places->jobs[job] : (struct trib_file_place){1, 1};
    return trib_file_refuse(error, scenario->places->path, place, "%s", cause);
}

bool sim_scenario_run(struct sim_run *run, const struct sim_scenario *scenario, char *error)
{
    const struct sim_places *p = scenario->places;
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (sim_run_init(run, scenario, cause)) {
        return true;
    }
    struct trib_file_place place = run->unfit == SIM_UNFIT_JOB       ? p->jobs[run->unfit_number]
                                   : run->unfit == SIM_UNFIT_RESTART ? p->restarts[run->unfit_number]
                                   : run->unfit == SIM_UNFIT_MEMORY  ? p->memory
                                   : run->unfit == SIM_UNFIT_BYPASS  ? p->bypass
                                                                     : (struct trib_file_place){1, 1};
    return trib_file_refuse(error, p->path, place, "%s", cause);
}

/* True if a key of the job has no effect with its scheme. Such keys exist only when a sweep sets the scheme. */
static bool is_idle(const struct sim_job_config *job, const char *key)
{
    const struct trib_scheme *scheme = trib_published_find(job->scheme); /* NULL: ring in steps */
    bool is_of_servers = strcmp(key, "servers") == 0 || strcmp(key, "servers_at_workers") == 0;
    bool is_of_combiners =
        strcmp(key, "priority") == 0 || strcmp(key, "by_bucket") == 0 || strcmp(key, "combines_everywhere") == 0;
    bool has_combiners = scheme != NULL && sim__has_combiners(scheme);

    return (is_of_servers && !sim__has_servers(job)) || (is_of_combiners && !has_combiners) ||
           (strcmp(key, "trees") == 0 && sim__has_servers(job)) ||
           (strcmp(key, "marks_of_all") == 0 && !sim__names_marks(job)) ||
           (strcmp(key, "at_least") == 0 && !sim__has_chain(job));
}

/* Removes such keys, because a file with this scheme alone must not have them. */
static void leave_out_idle(const struct draft *d, struct trib_toml *toml)
{
    for (uint32_t job = 0; job < d->scenario->job_count; job++) {
        uint32_t table = sim__item_table(d, SIM_LIST_JOBS, job);
        for (uint32_t at = toml->value_count; at-- > 0;) {
            if (toml->values[at].table == table && is_idle(&d->scenario->jobs[job], toml->values[at].key)) {
                toml->value_count--;
                memmove(&toml->values[at], &toml->values[at + 1], (toml->value_count - at) * sizeof *toml->values);
            }
        }
    }
}

/* Keeps the scenario, with overrides, as the text of a file that gives the same scenario under any file name. */
static bool keep_text(struct draft *d, struct trib_toml *toml)
{
    struct sim_scenario *s = d->scenario;
    char seed[TRIB_UNITS_TEXT_MAX];
    const struct sim_override said[2] = {{"name", s->name}, {"seed", seed}};
    size_t len = 0;
    bool is_good = true;

    (void)snprintf(seed, sizeof seed, "%" PRIu64, s->seed);
    leave_out_idle(d, toml);
    for (uint32_t i = 0; is_good && i < 2; i++) {
        is_good = sim__find(d, 0, said[i].key) != NULL || add_value(d, toml, &said[i]);
    }
    FILE *out = is_good ? open_memstream(&s->text, &len) : NULL;
    if (out == NULL) {
        return is_good && sim__refuse(d, (struct trib_file_place){1, 1}, "out of memory");
    }
    trib_toml_write(out, toml);
    return fclose(out) == 0 || sim__refuse(d, (struct trib_file_place){1, 1}, "out of memory");
}

bool sim_scenario_parse(struct sim_scenario *scenario, const char *text, const char *path,
                        const struct sim_overrides *overrides, char *error)
{
    struct trib_toml toml;
    struct draft d = {.scenario = scenario, .toml = &toml, .path = path, .error = error};
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    const char *slash = strrchr(path, '/');

    sim_scenario_init(scenario);
    scenario->flows.packet = 0; /* default: mtu */
    (void)snprintf(scenario->name, sizeof scenario->name, "%s", slash != NULL ? slash + 1 : path);
    bool is_good = trib_toml_read(&toml, text, strlen(text), cause) || sim__refuse(&d, toml.place, "%s", cause);
    is_good = is_good && override(&d, &toml, overrides);
    for (uint32_t i = 0; is_good && i < toml.table_count; i++) {
        is_good = read_table(&d, i);
    }
    is_good = is_good && sim__fit(&d) && keep_places(&d) && keep_text(&d, &toml);
    trib_toml_free(&toml);
    return is_good;
}

bool sim_scenario_read(struct sim_scenario *scenario, const char *path, const struct sim_overrides *overrides,
                       char *error)
{
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);

    sim_scenario_init(scenario);
    if (text == NULL) {
        return false;
    }
    if (strlen(text) != len) {
        trib_explain(error, "%s: a zero byte: not a text file", path);
        free(text);
        return false;
    }
    bool is_good = sim_scenario_parse(scenario, text, path, overrides, error);
    free(text);
    return is_good;
}

void sim_scenario_free(struct sim_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->traffic_count; i++) {
        free(scenario->traffic[i].trace);
        scenario->traffic[i].trace = NULL;
    }
    free(scenario->places);
    scenario->places = NULL;
    free(scenario->text);
    scenario->text = NULL;
    sim_cables_free(&scenario->topology.cables);
    for (uint32_t i = 0; i < scenario->job_count; i++) {
        free(scenario->jobs[i].hosts);
        scenario->jobs[i].hosts = NULL;
    }
}
