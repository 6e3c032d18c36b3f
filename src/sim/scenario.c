/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c: see scenario.h. One table says what may stand where; the rest follows from it. Read next: toml.c. */
#include "sim/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/nearest.h"
#include "io/units.h"
#include "sim/toml.h"
#include "sim/trace.h"

#define NS_PS UINT64_C(1000)
#define DURATION_MAX_NS (UINT64_C(100) * 3600 * 1000000000)
#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(3200000000000)
#define PACKETS (UINT64_C(1) << 62) /* an amount of packets, until their size is known */
#define PACKET_MAX 65535U
#define LINKS_MAX UINT64_C(4000000)

/* What is being read. */
struct draft {
    struct sim_scenario *scenario;
    const struct sim_toml *toml;
    const char *path;
    char *error;
    const char *files[SIM_SOURCES_MAX]; /* of traces, by source */
    struct sim_toml_place file_places[SIM_SOURCES_MAX];
    uint32_t tables[SIM_SOURCES_MAX];
};

struct key {
    const char *table;
    const char *name;
    const char *help;
    bool (*read)(struct draft *d, const struct sim_toml_value *value, void *field);
    size_t offset;    /* of the field in the scenario; of [[traffic]] in its struct sim_traffic */
    uint32_t allowed; /* kinds of the table, as bits */
    uint32_t needed;
};

__attribute__((format(printf, 3, 4))) static bool refuse(struct draft *d, struct sim_toml_place place,
                                                         const char *format, ...)
{
    char text[TRIB_ERROR_TEXT_MAX / 2];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    trib_explain(d->error, "%s:%" PRIu32 ":%" PRIu32 ": %s", d->path, place.line, place.column, text);
    return false;
}

/* ---- readers: one value into one field ---- */

static bool expect_text(struct draft *d, const struct sim_toml_value *value, const char *example)
{
    return value->kind == SIM_TOML_STRING ||
           refuse(d, value->place, "%s wants a text, such as \"%s\"", value->key, example);
}

static bool read_whole(struct draft *d, const struct sim_toml_value *value, uint64_t min, uint64_t max,
                       uint64_t *number)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (value->kind != SIM_TOML_INTEGER) {
        return refuse(d, value->place, "%s wants a whole number, without quotes", value->key);
    }
    if (trib_parse_number(value->text, min, max, number, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    return true;
}

static bool read_seed(struct draft *d, const struct sim_toml_value *value, void *field)
{
    return read_whole(d, value, 0, UINT64_MAX, field);
}

static bool read_from(struct draft *d, const struct sim_toml_value *value, uint64_t min, void *field)
{
    uint64_t number = 0;

    if (!read_whole(d, value, min, SIM_NODES_MAX, &number)) {
        return false;
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

static bool read_count(struct draft *d, const struct sim_toml_value *value, void *field)
{
    return read_from(d, value, 1, field);
}

static bool read_index(struct draft *d, const struct sim_toml_value *value, void *field)
{
    return read_from(d, value, 0, field);
}

static bool read_name(struct draft *d, const struct sim_toml_value *value, void *field)
{
    if (!expect_text(d, value, "my scenario")) {
        return false;
    }
    if (strlen(value->text) >= SIM_NAME_MAX) {
        return refuse(d, value->place, "%s is longer than %u bytes", value->key, SIM_NAME_MAX - 1);
    }
    memcpy(field, value->text, strlen(value->text) + 1);
    return true;
}

static bool read_duration(struct draft *d, const struct sim_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t ns = 0;

    if (!expect_text(d, value, "20ms")) {
        return false;
    }
    if (trib_parse_duration(value->text, &ns, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (ns > DURATION_MAX_NS) {
        return refuse(d, value->place, "%s: longer than 100h", value->key);
    }
    *(uint64_t *)field = ns * NS_PS;
    return true;
}

static bool read_rate(struct draft *d, const struct sim_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t rate = 0;

    if (!expect_text(d, value, "10Gbps")) {
        return false;
    }
    if (trib_parse_rate(value->text, &rate, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (rate < RATE_MIN || rate > RATE_MAX) {
        return refuse(d, value->place, "%s is %s; it can be from 1Mbps to 3200Gbps", value->key, value->text);
    }
    *(uint64_t *)field = rate;
    return true;
}

static bool read_bytes(struct draft *d, const struct sim_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (!expect_text(d, value, "1MB")) {
        return false;
    }
    if (trib_parse_size(value->text, field, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (*(uint64_t *)field == 0 || *(uint64_t *)field >= PACKETS / 1000) {
        return refuse(d, value->place, "%s can not be %s", value->key, value->text);
    }
    return true;
}

static bool read_packet(struct draft *d, const struct sim_toml_value *value, void *field)
{
    uint64_t bytes = 0;

    if (!read_bytes(d, value, &bytes)) {
        return false;
    }
    if (bytes > PACKET_MAX) {
        return refuse(d, value->place, "%s is more than %u bytes", value->key, PACKET_MAX);
    }
    *(uint32_t *)field = (uint32_t)bytes;
    return true;
}

/* Bytes, packets of the full size ("85pkt"), or none. */
static bool read_amount(struct draft *d, const struct sim_toml_value *value, void *field)
{
    const char *unit = strstr(value->text, "pkt");
    char digits[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t count = 0;

    if (!expect_text(d, value, "85pkt")) {
        return false;
    }
    if (strcmp(value->text, "none") == 0) {
        *(uint64_t *)field = SIM_NEVER;
        return true;
    }
    if (unit == NULL || unit[3] != '\0' || (size_t)(unit - value->text) >= sizeof digits) {
        return read_bytes(d, value, field);
    }
    memcpy(digits, value->text, (size_t)(unit - value->text));
    if (trib_parse_number(digits, 1, 1000000, &count, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    *(uint64_t *)field = count | PACKETS;
    return true;
}

static bool read_share(struct draft *d, const struct sim_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    double share = 0;

    if (!expect_text(d, value, "60%")) {
        return false;
    }
    if (trib_parse_percent(value->text, &share, cause) != TRIB_OK) {
        return refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (share <= 0) {
        return refuse(d, value->place, "%s can not be 0", value->key);
    }
    *(double *)field = share;
    return true;
}

/* The index of a word in a list that ends where name() gives NULL. */
static bool read_word(struct draft *d, const struct sim_toml_value *value, const char *(*name)(uint32_t),
                      uint32_t *index)
{
    struct trib_nearest nearest = {.word = value->text, .len = strlen(value->text)};
    char list[TRIB_ERROR_TEXT_MAX / 4] = "";
    size_t len = 0;

    for (uint32_t i = 0; name(i) != NULL; i++) {
        if (value->kind == SIM_TOML_STRING && strcmp(name(i), value->text) == 0) {
            *index = i;
            return true;
        }
        trib_nearest_offer(&nearest, name(i));
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : ", ", name(i));
    }
    if (nearest.best != NULL) {
        return refuse(d, value->place, "unknown %s \"%s\"; did you mean %s?", value->key, value->text, nearest.best);
    }
    return refuse(d, value->place, "unknown %s \"%s\"; there are %s", value->key, value->text, list);
}

static const char *topology_name(uint32_t index)
{
    return index + 1 < SIM_TOPOLOGY_COUNT ? sim_topology_name((enum sim_topology_kind)(index + 1)) : NULL;
}

static bool read_topology(struct draft *d, const struct sim_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, topology_name, &index);

    *(enum sim_topology_kind *)field = (enum sim_topology_kind)(index + 1);
    return is_good;
}

static const char *traffic_name(uint32_t index)
{
    return index + 1 < SIM_TRAFFIC_COUNT ? sim_traffic_name((enum sim_traffic_kind)(index + 1)) : NULL;
}

static bool read_traffic(struct draft *d, const struct sim_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, traffic_name, &index);

    *(enum sim_traffic_kind *)field = (enum sim_traffic_kind)(index + 1);
    return is_good;
}

static const char *policy_name(uint32_t index)
{
    static const char *const names[] = {"fixed", "aimd", "dctcp", NULL};

    return names[index];
}

static bool read_policy(struct draft *d, const struct sim_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, policy_name, &index);

    *(enum trib_congestion_policy *)field = (enum trib_congestion_policy)index;
    return is_good;
}

static const char *sizes_name(uint32_t index)
{
    const struct sim_sizes *sizes = sim_sizes_at(index);

    return sizes != NULL ? sim_sizes_name(sizes) : NULL;
}

/* One size, "endless", or the name of a distribution. */
static bool read_sizes(struct draft *d, const struct sim_toml_value *value, void *field)
{
    struct sim_traffic *t = field;
    uint32_t index = 0;

    if (value->kind == SIM_TOML_STRING && strcmp(value->text, "endless") == 0) {
        t->bytes = SIM_NEVER;
        return true;
    }
    if (value->kind != SIM_TOML_STRING || (value->text[0] >= '0' && value->text[0] <= '9')) {
        return read_bytes(d, value, &t->bytes);
    }
    if (!read_word(d, value, sizes_name, &index)) {
        return false;
    }
    t->sizes = sim_sizes_at(index);
    return true;
}

static bool read_file(struct draft *d, const struct sim_toml_value *value, void *field)
{
    uint32_t source = d->scenario->traffic_count - 1;

    (void)field;
    d->files[source] = value->text;
    d->file_places[source] = value->place;
    return expect_text(d, value, "flow.txt");
}

/* ---- the keys ---- */

#define ANY UINT32_MAX
#define BIT(kind) (UINT32_C(1) << (kind))
#define AT(member) offsetof(struct sim_scenario, member)
#define OF(member) offsetof(struct sim_traffic, member)
#define TREES (BIT(SIM_LEAF_SPINE) | BIT(SIM_FAT_TREE))
#define TIMED (BIT(SIM_PERMUTATION) | BIT(SIM_INCAST) | BIT(SIM_POISSON))

static const struct key keys[] = {
    {"", "name", "what the results call it [the file's name]", read_name, AT(name), ANY, 0},
    {"", "seed", "of all that is drawn [1]", read_seed, AT(seed), ANY, 0},
    {"", "duration", "simulated time at most", read_duration, AT(duration_ps), ANY, ANY},
    {"", "warmup", "flows that begin earlier are in no result [0]", read_duration, AT(warmup_ps), ANY, 0},
    {"topology", "kind", "star, leaf-spine or fat-tree", read_topology, AT(topology.kind), ANY, ANY},
    {"topology", "k", "fat-tree: ports of a switch, even", read_count, AT(topology.k), BIT(SIM_FAT_TREE),
     BIT(SIM_FAT_TREE)},
    {"topology", "hosts", "star: all of them; leaf-spine: of a leaf", read_count, AT(topology.hosts),
     BIT(SIM_STAR) | BIT(SIM_LEAF_SPINE), BIT(SIM_STAR) | BIT(SIM_LEAF_SPINE)},
    {"topology", "leaves", "leaf-spine", read_count, AT(topology.leaves), BIT(SIM_LEAF_SPINE), BIT(SIM_LEAF_SPINE)},
    {"topology", "spines", "leaf-spine", read_count, AT(topology.spines), BIT(SIM_LEAF_SPINE), BIT(SIM_LEAF_SPINE)},
    {"topology", "rate", "of the links of hosts", read_rate, AT(topology.edge.rate_bps), ANY, ANY},
    {"topology", "delay", "of the links of hosts", read_duration, AT(topology.edge.delay_ps), ANY, ANY},
    {"topology", "fabric_rate", "of links between switches [rate]", read_rate, AT(topology.fabric.rate_bps), TREES, 0},
    {"topology", "fabric_delay", "of links between switches [delay]", read_duration, AT(topology.fabric.delay_ps),
     TREES, 0},
    {"queues", "buffer", "of a switch's port: bytes, packets (200pkt) or none, which never drops [200pkt]", read_amount,
     AT(topology.buffer_bytes), ANY, 0},
    {"queues", "ecn", "mark packets that find more waiting than this, or none [65pkt]", read_amount,
     AT(topology.mark_bytes), ANY, 0},
    {"flows", "packet", "bytes of a full packet, with its header [1500B]", read_packet, AT(flows.packet), ANY, 0},
    {"flows", "header", "bytes of a packet that are no payload [40B]", read_packet, AT(flows.header), ANY, 0},
    {"flows", "ack", "bytes of an acknowledgement [64B]", read_packet, AT(flows.ack), ANY, 0},
    {"flows", "window", "packets of one flow under way at most [256]", read_count, AT(flows.window), ANY, 0},
    {"flows", "congestion", "dctcp, aimd or fixed [dctcp]", read_policy, AT(flows.policy), ANY, 0},
    {"traffic", "kind", "permutation, incast, poisson or trace", read_traffic, OF(kind), ANY, ANY},
    {"traffic", "size", "of a flow: bytes, endless, or the name of a distribution (poisson)", read_sizes, 0, TIMED,
     TIMED},
    {"traffic", "start", "of the first flow [0]", read_duration, OF(start_ps), TIMED, 0},
    {"traffic", "stop", "poisson: no flow begins later [duration]", read_duration, OF(stop_ps), BIT(SIM_POISSON), 0},
    {"traffic", "load", "poisson: payload, as a share of the rate of all hosts' links", read_share, OF(load),
     BIT(SIM_POISSON), BIT(SIM_POISSON)},
    {"traffic", "fan_in", "incast: hosts that send", read_count, OF(fan_in), BIT(SIM_INCAST), BIT(SIM_INCAST)},
    {"traffic", "to", "incast: the host that they send to [0]", read_index, OF(to), BIT(SIM_INCAST), 0},
    {"traffic", "repeat", "incast: how often [1]", read_count, OF(repeat), BIT(SIM_INCAST), 0},
    {"traffic", "period", "incast: from one to the next", read_duration, OF(period_ps), BIT(SIM_INCAST), 0},
    {"traffic", "file", "trace: flows as in HPCC's flow.txt; beside the scenario", read_file, 0, BIT(SIM_TRACE),
     BIT(SIM_TRACE)},
};

#define KEYS (sizeof keys / sizeof keys[0])

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

static bool unknown_key(struct draft *d, const char *table, const struct sim_toml_value *value)
{
    struct trib_nearest nearest = {.word = value->key, .len = strlen(value->key)};
    const char *elsewhere = NULL;
    char where[SIM_NAME_MAX] = "";

    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].table, table) == 0) {
            trib_nearest_offer(&nearest, keys[i].name);
        } else if (strcmp(keys[i].name, value->key) == 0) {
            elsewhere = keys[i].table;
        }
    }
    if (table[0] != '\0') {
        (void)snprintf(where, sizeof where, " in [%s]", table);
    }
    if (elsewhere != NULL) {
        return refuse(d, value->key_place, "%s does not stand%s, but %s%s%s", value->key,
                      table[0] != '\0' ? where : " here", elsewhere[0] != '\0' ? "in [" : "before the first table",
                      elsewhere, elsewhere[0] != '\0' ? "]" : "");
    }
    if (nearest.best != NULL) {
        return refuse(d, value->key_place, "unknown key %s%s; did you mean %s?", value->key, where, nearest.best);
    }
    return refuse(d, value->key_place, "unknown key %s%s; `tributary sim --keys` lists what there is", value->key,
                  where);
}

static bool check_table(struct draft *d, uint32_t index)
{
    const struct sim_toml_table *table = &d->toml->tables[index];
    struct trib_nearest nearest = {.word = table->name, .len = strlen(table->name)};

    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].table, table->name) == 0) {
            bool is_list = strcmp(table->name, "traffic") == 0;
            return is_list == table->is_array ||
                   refuse(d, table->place,
                          is_list ? "write [[traffic]]: there may be several" : "write [%s]: there is one",
                          table->name);
        }
        trib_nearest_offer(&nearest, keys[i].table);
    }
    if (nearest.best != NULL) {
        return refuse(d, table->place, "unknown table [%s]; did you mean [%s]?", table->name, nearest.best);
    }
    return refuse(d, table->place, "unknown table [%s]; there are [topology], [queues], [flows], [[traffic]]",
                  table->name);
}

/* The kind that a table says that it is; 0 where tables have none. */
static uint32_t kind_of(const struct draft *d, uint32_t table)
{
    if (strcmp(d->toml->tables[table].name, "topology") == 0) {
        return d->scenario->topology.kind;
    }
    return d->toml->tables[table].is_array ? d->scenario->traffic[d->scenario->traffic_count - 1].kind : 0;
}

static const char *kind_name(const struct draft *d, uint32_t table)
{
    return d->toml->tables[table].is_array ? traffic_name(kind_of(d, table) - 1) : topology_name(kind_of(d, table) - 1);
}

static bool has_key(const struct draft *d, uint32_t table, const char *name)
{
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        if (d->toml->values[i].table == table && strcmp(d->toml->values[i].key, name) == 0) {
            return true;
        }
    }
    return false;
}

/* All that must stand there does, and nothing that means nothing. */
static bool check_keys(struct draft *d, uint32_t table)
{
    const char *name = d->toml->tables[table].name;
    uint32_t bit = BIT(kind_of(d, table));

    for (size_t i = 0; i < KEYS; i++) {
        const struct key *key = &keys[i];
        if (strcmp(key->table, name) == 0 && (key->needed & bit) != 0 && !has_key(d, table, key->name)) {
            return refuse(d, d->toml->tables[table].place, "%s is missing%s%s: %s", key->name,
                          name[0] != '\0' ? " in table " : "", name, key->help);
        }
    }
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        const struct sim_toml_value *value = &d->toml->values[i];
        const struct key *key = find_key(name, value->key);
        if (value->table == table && (key->allowed & bit) == 0) {
            return refuse(d, value->key_place, "%s means nothing to %s", value->key, kind_name(d, table));
        }
    }
    return true;
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
        if (s->traffic_count == SIM_SOURCES_MAX) {
            return refuse(d, d->toml->tables[table].place, "more than %u tables [[traffic]]", SIM_SOURCES_MAX);
        }
        d->tables[s->traffic_count] = table;
        base = (char *)&s->traffic[s->traffic_count++];
        *(struct sim_traffic *)(void *)base = (struct sim_traffic){.repeat = 1, .stop_ps = SIM_NEVER - 1};
    }
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        const struct sim_toml_value *value = &d->toml->values[i];
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

/* ---- does it fit together? ---- */

static struct sim_toml_place place_of_table(const struct draft *d, const char *name)
{
    for (uint32_t i = 0; i < d->toml->table_count; i++) {
        if (strcmp(d->toml->tables[i].name, name) == 0) {
            return d->toml->tables[i].place;
        }
    }
    return (struct sim_toml_place){1, 1};
}

static void settle_amount(uint64_t *amount, uint32_t packet)
{
    if (*amount != SIM_NEVER && (*amount & PACKETS) != 0) {
        *amount = (*amount & ~PACKETS) * packet;
    }
}

static bool finish_topology(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    struct sim_toml_place place = place_of_table(d, "topology");

    if (t->kind == SIM_TOPOLOGY_NONE) {
        return refuse(d, place, "there is no table [topology]");
    }
    if (t->kind == SIM_FAT_TREE && (t->k % 2 != 0 || t->k > 64)) {
        return refuse(d, place, "k is %u; it must be even, and 64 at most", t->k);
    }
    uint64_t cables = t->kind == SIM_LEAF_SPINE ? (uint64_t)t->leaves * (t->hosts + (uint64_t)t->spines) : t->hosts;
    struct sim_topology_size size = cables <= LINKS_MAX ? sim_topology_size(t) : (struct sim_topology_size){0, 0, 0};
    if (cables > LINKS_MAX || size.hosts + size.switches > SIM_NODES_MAX || size.hosts > 32768) {
        return refuse(d, place, "more than 32,768 hosts, or than %u hosts and switches", SIM_NODES_MAX);
    }
    if (size.hosts < 2) {
        return refuse(d, place, "fewer than 2 hosts");
    }
    t->fabric.rate_bps = t->fabric.rate_bps == 0 ? t->edge.rate_bps : t->fabric.rate_bps;
    t->fabric.delay_ps = t->fabric.delay_ps == SIM_NEVER ? t->edge.delay_ps : t->fabric.delay_ps;
    return true;
}

static bool finish_flows(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    struct sim_toml_place place = place_of_table(d, "flows");

    if (s->flows.header >= s->flows.packet) {
        return refuse(d, place, "a packet of %u bytes has no room behind a header of %u", s->flows.packet,
                      s->flows.header);
    }
    if (s->flows.window > TRIB_FLOW_WINDOW_MAX) {
        return refuse(d, place, "window is %u; it can be %u at most", s->flows.window, TRIB_FLOW_WINDOW_MAX);
    }
    settle_amount(&s->topology.buffer_bytes, s->flows.packet);
    settle_amount(&s->topology.mark_bytes, s->flows.packet);
    if (s->topology.buffer_bytes < s->flows.packet) {
        return refuse(d, place_of_table(d, "queues"), "a buffer of %" PRIu64 " bytes never takes a packet of %u",
                      s->topology.buffer_bytes, s->flows.packet);
    }
    s->topology.largest = s->flows.packet > s->flows.ack ? s->flows.packet : s->flows.ack;
    s->topology.smallest = s->flows.header + 1 < s->flows.ack ? s->flows.header + 1 : s->flows.ack;
    return true;
}

static bool finish_trace(struct draft *d, uint32_t source, uint32_t hosts)
{
    const char *slash = strrchr(d->path, '/');
    size_t folder = slash != NULL && d->files[source][0] != '/' ? (size_t)(slash + 1 - d->path) : 0;
    size_t len = folder + strlen(d->files[source]) + 1;
    char *path = malloc(len);

    if (path == NULL) {
        return refuse(d, d->file_places[source], "out of memory");
    }
    memcpy(path, d->path, folder);
    memcpy(path + folder, d->files[source], len - folder);
    bool is_good = sim_trace_read(path, hosts, &d->scenario->traffic[source], d->error);
    free(path);
    return is_good;
}

static bool finish_traffic(struct draft *d, uint32_t source)
{
    struct sim_traffic *t = &d->scenario->traffic[source];
    struct sim_toml_place place = d->toml->tables[d->tables[source]].place;
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;

    t->rate_bps = d->scenario->topology.edge.rate_bps;
    if (t->kind == SIM_TRACE) {
        return finish_trace(d, source, hosts);
    }
    if (t->sizes != NULL && t->kind != SIM_POISSON) {
        return refuse(d, place, "flows of drawn sizes are poisson traffic's; %s has one size",
                      sim_traffic_name(t->kind));
    }
    if (t->kind == SIM_POISSON && t->sizes == NULL && t->bytes == SIM_NEVER) {
        return refuse(d, place, "poisson traffic without end has no load");
    }
    if (t->kind == SIM_INCAST && (t->fan_in >= hosts || t->to >= hosts)) {
        return refuse(d, place, "%u hosts send to host %u, but there are %u hosts (the first is 0)", t->fan_in, t->to,
                      hosts);
    }
    if (t->kind == SIM_INCAST && t->repeat > 1 && t->period_ps == 0) {
        return refuse(d, place, "period is missing: how long from one incast to the next");
    }
    return true;
}

static bool finish(struct draft *d)
{
    struct sim_scenario *s = d->scenario;
    struct sim_toml_place top = {1, 1};

    if (!finish_topology(d) || !finish_flows(d)) {
        return false;
    }
    if (s->duration_ps == 0 || s->warmup_ps >= s->duration_ps) {
        return refuse(d, top, "nothing is left of the duration%s", s->duration_ps == 0 ? "" : " behind the warmup");
    }
    if (s->traffic_count == 0) {
        return refuse(d, top, "there is no table [[traffic]]: nothing would happen");
    }
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        if (!finish_traffic(d, i)) {
            return false;
        }
    }
    return true;
}

void sim_scenario_init(struct sim_scenario *scenario)
{
    *scenario = (struct sim_scenario){
        .seed = 1,
        .topology = {.fabric = {.delay_ps = SIM_NEVER}, .buffer_bytes = 200 | PACKETS, .mark_bytes = 65 | PACKETS},
        .flows = {.packet = 1500, .header = 40, .ack = 64, .window = 256, .policy = TRIB_CONGESTION_DCTCP},
    };
}

bool sim_scenario_parse(struct sim_scenario *scenario, const char *text, const char *path, char *error)
{
    struct sim_toml toml;
    struct draft d = {.scenario = scenario, .toml = &toml, .path = path, .error = error};
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    const char *slash = strrchr(path, '/');

    sim_scenario_init(scenario);
    (void)snprintf(scenario->name, sizeof scenario->name, "%s", slash != NULL ? slash + 1 : path);
    bool is_good = sim_toml_read(&toml, text, strlen(text), cause) || refuse(&d, toml.place, "%s", cause);
    for (uint32_t i = 0; is_good && i < toml.table_count; i++) {
        is_good = read_table(&d, i);
    }
    is_good = is_good && finish(&d);
    sim_toml_free(&toml);
    return is_good;
}

bool sim_scenario_read(struct sim_scenario *scenario, const char *path, char *error)
{
    size_t len = 0;
    char *text = sim_file_read(path, &len, error);

    sim_scenario_init(scenario);
    if (text == NULL) {
        return false;
    }
    if (strlen(text) != len) {
        trib_explain(error, "%s: a byte that is zero: this is no text", path);
        free(text);
        return false;
    }
    bool is_good = sim_scenario_parse(scenario, text, path, error);
    free(text);
    return is_good;
}

void sim_scenario_free(struct sim_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->traffic_count; i++) {
        free(scenario->traffic[i].trace);
        scenario->traffic[i].trace = NULL;
    }
}
