/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c: see topology.h. Ends of links are found by their texts and numbered at once, except boxes, which follow
 * all subnets. Read next: io/toml.h (which reads the file). */
#include "fabric/topology.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/nearest.h"
#include "io/toml.h"
#include "io/units.h"

#define BOX_NAME_MAX 63
#define BOX (UINT32_C(1) << 31) /* bit of a box's index; other numbers are places */

/* A [[link]] of the file. */
struct table {
    struct trib_file_place place; /* of the names */
    uint32_t ends[2];
    uint64_t rate_bps;
};

/* A file while it is read. */
struct draft {
    struct trib_topology *topology;
    const struct trib_switch_names *names;
    const char *path;
    char *error;
    struct trib_toml toml;
    struct table *links;
    char (*boxes)[BOX_NAME_MAX + 1];
    uint32_t link_count, box_count;
};

#define REFUSE(d, at, ...) ((void)trib_file_refuse((d)->error, (d)->path, at, __VA_ARGS__), false)

static const struct trib_file_place whole_file = {1, 1};

/* ---- ends ---- */

static uint32_t find_subnet(struct draft *d, const struct trib_subnet *subnet)
{
    struct trib_topology *t = d->topology;
    uint32_t i = 0;
    while (i < t->subnet_count && (t->subnets[i].bits != subnet->bits ||
                                   !trib_address_is_within(&t->subnets[i].at, &subnet->at, subnet->bits))) {
        i++;
    }
    if (i == t->subnet_count) {
        t->subnets[t->subnet_count++] = *subnet;
    }
    return t->switches + i;
}

static uint32_t find_box(struct draft *d, const char *name)
{
    uint32_t i = 0;
    while (i < d->box_count && strcmp(d->boxes[i], name) != 0) {
        i++;
    }
    if (i == d->box_count) {
        (void)snprintf(d->boxes[d->box_count++], sizeof d->boxes[0], "%s", name);
    }
    return BOX + i;
}

static bool read_end(struct draft *d, const struct trib_toml_value *value, const char *text, uint32_t *end)
{
    struct trib_address address;
    struct trib_subnet subnet;
    *end = d->names->find(d->names->user, text);
    if (*end != TRIB_NO_PLACE) {
        return true;
    }
    if (trib_address_read(text, &address)) {
        return REFUSE(d, value->place,
                      "%s is neither this switch nor one of --with: hosts are named by an address without a port, or a "
                      "subnet",
                      text);
    }
    if (trib_subnet_read(text, &subnet.at, &subnet.bits)) {
        *end = find_subnet(d, &subnet);
        return true;
    }
    if (strpbrk(text, "/:") != NULL || strspn(text, "0123456789.") == strlen(text)) {
        return REFUSE(d, value->place,
                      "\"%s\" is no subnet such as 10.0.1.0/24, no switch such as 10.0.9.1:7470, and no name of a box",
                      text);
    }
    *end = find_box(d, text);
    return true;
}

/* ---- links ---- */

static bool read_between(struct draft *d, const struct trib_toml_value *value)
{
    struct table *link = &d->links[d->link_count];
    const char *at = value->text;
    uint32_t count = 0;
    for (at += strspn(at, " "); *at != '\0'; at += strspn(at, " ")) {
        char text[BOX_NAME_MAX + 1];
        size_t len = strcspn(at, " ");
        if (len > BOX_NAME_MAX) {
            return REFUSE(d, value->place, "a name of more than %d characters", BOX_NAME_MAX);
        }
        memcpy(text, at, len);
        text[len] = '\0';
        if (count < 2 && !read_end(d, value, text, &link->ends[count])) {
            return false;
        }
        count++;
        at += len;
    }
    if (count != 2) {
        return REFUSE(d, value->place, "a link is between two: \"10.0.1.0/24 leaf1\"");
    }
    if (link->ends[0] == link->ends[1]) {
        return REFUSE(d, value->place, "a link from one place to itself");
    }
    for (const struct table *seen = d->links; seen < link; seen++) {
        if ((seen->ends[0] == link->ends[0] && seen->ends[1] == link->ends[1]) ||
            (seen->ends[0] == link->ends[1] && seen->ends[1] == link->ends[0])) {
            return REFUSE(d, value->place, "this link is there already, in line %" PRIu32 ": give it the rate of both",
                          seen->place.line);
        }
    }
    link->place = value->place;
    return true;
}

static bool read_rate(struct draft *d, const struct trib_toml_value *value)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t *rate = &d->links[d->link_count].rate_bps;
    if (value->kind != TRIB_TOML_STRING || trib_parse_rate(value->text, rate, cause) != TRIB_OK) {
        return REFUSE(d, value->place, "%s", cause[0] != '\0' ? cause : "a rate stands in quotes: \"100Gbps\"");
    }
    if (*rate < TRIB_LINK_RATE_MIN) {
        return REFUSE(d, value->place, "%s: want at least 1Mbps", value->text);
    }
    return true;
}

static bool read_value(struct draft *d, const struct trib_toml_value *value)
{
    struct trib_nearest nearest = {.word = value->key, .len = strlen(value->key)};
    if (strcmp(value->key, "between") == 0) {
        return value->kind == TRIB_TOML_STRING
                   ? read_between(d, value)
                   : REFUSE(d, value->place, "two names in quotes should stand here: \"10.0.1.0/24 leaf1\"");
    }
    if (strcmp(value->key, "rate") == 0) {
        return read_rate(d, value);
    }
    trib_nearest_offer(&nearest, "between");
    trib_nearest_offer(&nearest, "rate");
    return nearest.best != NULL
               ? REFUSE(d, value->key_place, "unknown key %s; did you mean %s?", value->key, nearest.best)
               : REFUSE(d, value->key_place, "unknown key %s; a [[link]] has between and rate", value->key);
}

/* ---- keys of the planner ---- */

static bool is_time(const struct trib_toml_value *value)
{
    uint64_t ns;
    return value->kind == TRIB_TOML_STRING && trib_parse_duration(value->text, &ns, NULL) == TRIB_OK;
}

static bool is_paths(const struct trib_toml_value *value)
{
    return value->kind == TRIB_TOML_STRING && (strcmp(value->text, "explicit") == 0 ||
                                               strcmp(value->text, "ecmp") == 0 || strcmp(value->text, "pinned") == 0);
}

static bool is_percent(const struct trib_toml_value *value)
{
    double share;
    return value->kind == TRIB_TOML_STRING && trib_parse_percent(value->text, &share, NULL) == TRIB_OK;
}

static bool is_flag(const struct trib_toml_value *value)
{
    return value->kind == TRIB_TOML_BOOLEAN;
}

static bool is_name(const struct trib_toml_value *value)
{
    return value->kind == TRIB_TOML_STRING && value->text[0] != '\0';
}

static bool is_rate(const struct trib_toml_value *value)
{
    uint64_t bps;
    return value->kind == TRIB_TOML_STRING && trib_parse_rate(value->text, &bps, NULL) == TRIB_OK;
}

static bool is_size(const struct trib_toml_value *value)
{
    uint64_t bytes;
    return value->kind == TRIB_TOML_STRING && trib_parse_size(value->text, &bytes, NULL) == TRIB_OK;
}

/* Keys of `tributary plan` (docs/PLAN.md), so that one file serves both programs. They have no effect here. */
static const struct {
    const char *table; /* "": before the first table */
    const char *key;
    bool (*is_right)(const struct trib_toml_value *value);
    const char *want;
} planner_keys[] = {
    {"", "step_overhead", is_time, "a time in quotes: \"20us\""},
    {"", "paths", is_paths, "\"explicit\", \"ecmp\" or \"pinned\""},
    {"", "headroom", is_percent, "a percentage in quotes: \"70%\""},
    {"", "multicast", is_flag, "true or false"},
    {"switch", "name", is_name, "a name in quotes: \"leaf*\""},
    {"switch", "adds", is_flag, "true or false"},
    {"switch", "memory", is_size, "a size in quotes: \"1GB\""},
    {"switch", "rate", is_rate, "a rate in quotes: \"300Gbps\""},
};

static bool read_planner_key(struct draft *d, const char *table, const struct trib_toml_value *value)
{
    struct trib_nearest nearest = {.word = value->key, .len = strlen(value->key)};
    for (size_t i = 0; i < sizeof planner_keys / sizeof planner_keys[0]; i++) {
        if (strcmp(planner_keys[i].table, table) != 0) {
            continue;
        }
        if (strcmp(planner_keys[i].key, value->key) == 0) {
            return planner_keys[i].is_right(value) ||
                   REFUSE(d, value->place, "%s must be %s", value->key, planner_keys[i].want);
        }
        trib_nearest_offer(&nearest, planner_keys[i].key);
    }
    if (table[0] == '\0' && (strcmp(value->key, "rate") == 0 || strcmp(value->key, "between") == 0)) {
        return REFUSE(d, value->key_place, "%s does not stand here, but in a table [[link]]", value->key);
    }
    if (nearest.best != NULL) {
        return REFUSE(d, value->key_place, "unknown key %s; did you mean %s?", value->key, nearest.best);
    }
    return REFUSE(d, value->key_place, "unknown key %s; %s", value->key,
                  table[0] != '\0' ? "a [[switch]] has name, adds, rate and memory" : "links are tables [[link]]");
}

static bool read_table(struct draft *d, uint32_t index)
{
    const struct trib_toml_table *table = &d->toml.tables[index];
    uint32_t values = 0;
    bool is_link = table->is_array && strcmp(table->name, "link") == 0;
    if (strcmp(table->name, "topology") == 0) {
        return REFUSE(d, table->place,
                      "a [topology] is for `tributary plan`, as its hosts have no addresses: here each "
                      "cable is a [[link]]");
    }
    if (index > 0 && !is_link && (strcmp(table->name, "switch") != 0 || !table->is_array)) {
        return REFUSE(d, table->place, "unknown table [%s]; there are tables [[link]], and [[switch]] of the planner's",
                      table->name);
    }
    for (uint32_t i = 0; i < d->toml.value_count; i++) {
        const struct trib_toml_value *value = &d->toml.values[i];
        if (value->table != index) {
            continue;
        }
        if (is_link ? !read_value(d, value) : !read_planner_key(d, table->name, value)) {
            return false;
        }
        values++;
    }
    if (is_link && values < 2) {
        return REFUSE(d, table->place, "a [[link]] has between and rate");
    }
    d->link_count += is_link;
    return true;
}

/* ---- the whole file ---- */

static bool make_fabric(struct draft *d)
{
    struct trib_topology *t = d->topology;
    struct trib_fabric *f = &t->fabric;
    uint32_t ends = t->switches + t->subnet_count;
    if (!trib_fabric_init(f, ends + d->box_count, ends, 2 * d->link_count)) {
        return false;
    }
    for (struct table *link = d->links; link < d->links + d->link_count; link++) {
        for (uint32_t k = 0; k < 2; k++) {
            link->ends[k] = link->ends[k] >= BOX ? link->ends[k] - BOX + ends : link->ends[k];
        }
        (void)trib_fabric_add(f, link->ends[0], link->ends[1], link->rate_bps);
        (void)trib_fabric_add(f, link->ends[1], link->ends[0], link->rate_bps);
    }
    return trib_fabric_ready(f);
}

/* First mention of the place in the file. */
static struct trib_file_place find_mention(const struct draft *d, uint32_t place)
{
    const struct trib_fabric *f = &d->topology->fabric;
    return d->links[f->out[f->first[place]] / 2].place;
}

/* hops: to the switch. Adds one to `reached` of each place with hosts that reach the switch. */
static bool check_switch(struct draft *d, uint32_t which, const uint32_t *hops, uint32_t *reached)
{
    const struct trib_topology *t = d->topology;
    bool is_reached = false;
    char name[64];
    d->names->format(d->names->user, which, name);
    for (uint32_t i = t->switches; i < t->fabric.ends; i++) {
        reached[i] += hops[i] != TRIB_NO_WAY;
        is_reached = is_reached || hops[i] != TRIB_NO_WAY;
    }
    if (t->fabric.first[which] == t->fabric.first[which + 1]) {
        return REFUSE(d, whole_file, "the switch %s, %s, has no link here", name,
                      which == 0 ? "which is this one (--listen)" : "one of --with");
    }
    return is_reached ||
           REFUSE(d, find_mention(d, which), "no hosts here can reach the switch %s: links are missing", name);
}

/* Separate networks are allowed, as several NICs have them. Hosts or switches that cannot be used are an error. */
static bool check_ways(struct draft *d)
{
    const struct trib_topology *t = d->topology;
    uint32_t places = t->fabric.places;
    if (t->subnet_count == 0) {
        return REFUSE(d, whole_file, "no hosts are named: a link of theirs is between their subnet and a box");
    }
    uint32_t *hops = calloc(3 * (size_t)places, sizeof *hops); /* hops, order, counts */
    bool is_good = hops || REFUSE(d, whole_file, "out of memory");
    for (uint32_t i = 0; i < t->switches && is_good; i++) {
        (void)trib_fabric_measure(&t->fabric, i, hops, hops + places);
        is_good = check_switch(d, i, hops, hops + 2 * (size_t)places);
    }
    for (uint32_t i = t->switches; i < t->fabric.ends && is_good; i++) {
        is_good = hops[2 * (size_t)places + i] > 0 ||
                  REFUSE(d, find_mention(d, i), "no switch can be reached from these hosts");
    }
    free(hops);
    return is_good;
}

static bool read_links(struct draft *d)
{
    for (uint32_t i = 0; i < d->toml.table_count; i++) {
        if (!read_table(d, i)) {
            return false;
        }
    }
    if (d->link_count == 0) {
        return REFUSE(d, whole_file, "there is no [[link]]");
    }
    if (!make_fabric(d)) {
        return REFUSE(d, whole_file, "out of memory");
    }
    if (d->topology->fabric.places > TRIB_PLACES_MAX) {
        return REFUSE(d, whole_file, "more than %d places", TRIB_PLACES_MAX);
    }
    return check_ways(d);
}

static bool read_draft(struct draft *d)
{
    size_t most = d->toml.table_count; /* including the table of the whole file, which is no link */
    if (most - 1 > TRIB_TOPOLOGY_LINKS_MAX) {
        return REFUSE(d, whole_file, "more than %d links", TRIB_TOPOLOGY_LINKS_MAX);
    }
    d->topology->subnets = calloc(2 * most, sizeof *d->topology->subnets);
    d->links = calloc(most, sizeof *d->links);
    d->boxes = calloc(2 * most, sizeof *d->boxes);
    bool is_good = d->topology->subnets != NULL && d->links != NULL && d->boxes != NULL;
    if (!is_good) {
        trib_explain(d->error, "%s: out of memory", d->path);
    }
    is_good = is_good && read_links(d);
    free(d->links);
    free(d->boxes);
    return is_good;
}

bool trib_topology_read(struct trib_topology *topology, const char *path, const struct trib_switch_names *names,
                        char *error)
{
    struct draft draft = {.topology = topology, .names = names, .path = path, .error = error};
    *topology = (struct trib_topology){.switches = names->count};
    bool is_good = trib_toml_open(&draft.toml, path, error) && read_draft(&draft);
    trib_toml_free(&draft.toml);
    if (!is_good) {
        trib_topology_free(topology);
    }
    return is_good;
}

void trib_topology_free(struct trib_topology *t)
{
    trib_fabric_deinit(&t->fabric);
    free(t->subnets);
    *t = (struct trib_topology){.switches = 0};
}

uint32_t trib_topology_find(const struct trib_topology *t, const struct trib_address *host)
{
    uint32_t best = TRIB_NO_PLACE;
    for (uint32_t i = 0; i < t->subnet_count; i++) {
        const struct trib_subnet *subnet = &t->subnets[i];
        if (trib_address_is_within(host, &subnet->at, subnet->bits) &&
            (best == TRIB_NO_PLACE || subnet->bits > t->subnets[best].bits)) {
            best = i;
        }
    }
    return best == TRIB_NO_PLACE ? best : t->switches + best;
}
