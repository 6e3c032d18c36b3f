/* SPDX-License-Identifier: Apache-2.0 */
/* network_read.c: the network of a plan from a file (docs/PLAN.md has its keys): cables by name, or a network of the
 * simulator's by [topology], of which single cables and switches may differ. See network.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "net/address.h"
#include "plan/input.h"
#include "plan/network.h"
#include "sim/network/topology.h"

/* A [[link]]: two names and a rate. */
struct link_table {
    const char *between;
    uint64_t rate_bps;
    uint32_t ends[2];
    struct trib_file_place place;
};

/* A [[switch]]: a name, or the begin of several names and a star. */
struct switch_table {
    const char *name;
    uint64_t rate_bps; /* of adding; 0: none was named */
    uint64_t memory;   /* bytes; PLAN_MEMORY_ALL: none was named */
    bool adds;         /* true: also if the table has no such key */
    bool has_adds;     /* the table has the key */
    struct trib_file_place place;
};

struct top_table {
    const char *paths;
    uint32_t headroom;
    uint64_t step_ns;
    bool has_multicast;
};

struct draft {
    struct plan_input in;
    struct plan_network *net;
    struct top_table top;
    struct sim_topology topology; /* kind SIM_TOPOLOGY_NONE: cables by name */
    const char *kind;
    struct link_table *links;
    struct switch_table *switches;
    uint32_t link_count, switch_count;
    struct plan_names names; /* of cables by name, in the order of the file */
};

#define TOPOLOGY(member) offsetof(struct draft, topology.member)
static const struct trib_file_place whole_file = {1, 1};

static const struct plan_key keys[] = {
    {"", "multicast", "true or false: whether switches copy a result where paths part", plan_read_flag,
     offsetof(struct draft, top.has_multicast), false},
    {"", "paths", "\"explicit\", \"ecmp\" or \"pinned\"", plan_read_text, offsetof(struct draft, top.paths), false},
    {"", "headroom", "a share in quotes, for uneven flows by ECMP: \"40%\"", plan_read_percent,
     offsetof(struct draft, top.headroom), false},
    {"", "step_overhead", "a time in quotes, that each step of a sum takes: \"20us\"", plan_read_duration,
     offsetof(struct draft, top.step_ns), false},
    {"topology", "kind", "\"star\", \"leaf-spine\", \"fat-tree\" or \"dragonfly\"", plan_read_text,
     offsetof(struct draft, kind), true},
    {"topology", "hosts", "the hosts of a star, or of each leaf or router", plan_read_count, TOPOLOGY(hosts), false},
    {"topology", "leaves", "a number of leaves", plan_read_count, TOPOLOGY(leaves), false},
    {"topology", "spines", "a number of spines", plan_read_count, TOPOLOGY(spines), false},
    {"topology", "k", "the ports of a switch of a fat-tree", plan_read_count, TOPOLOGY(k), false},
    {"topology", "routers", "the routers of a group", plan_read_count, TOPOLOGY(routers), false},
    {"topology", "globals", "the cables of a router to other groups", plan_read_count, TOPOLOGY(globals), false},
    {"topology", "rate", "the rate of hosts' cables in quotes: \"100Gbps\"", plan_read_rate, TOPOLOGY(edge.rate_bps),
     true},
    {"topology", "fabric_rate", "the rate of cables between switches in quotes: \"100Gbps\"", plan_read_rate,
     TOPOLOGY(fabric.rate_bps), false},
    {"link", "between", "two names in quotes: \"host0 leaf1\"", plan_read_text, offsetof(struct link_table, between),
     true},
    {"link", "rate", "a rate in quotes: \"100Gbps\"", plan_read_rate, offsetof(struct link_table, rate_bps), true},
    {"switch", "name", "a name in quotes, or the begin of several: \"leaf*\"", plan_read_text,
     offsetof(struct switch_table, name), true},
    {"switch", "adds", "true or false", plan_read_flag, offsetof(struct switch_table, adds), false},
    {"switch", "memory", "memory for the jobs that it adds for, in quotes: \"1GB\"", plan_read_size,
     offsetof(struct switch_table, memory), false},
    {"switch", "rate", "the rate of all inputs that it adds, in quotes: \"300Gbps\"", plan_read_rate,
     offsetof(struct switch_table, rate_bps), false},
    {.name = NULL},
};

/* ---- the tables ---- */

static bool read_tables(struct draft *d)
{
    struct plan_input *in = &d->in;
    d->links = calloc(plan_input_count(in, "link") + 1U, sizeof *d->links);
    d->switches = calloc(plan_input_count(in, "switch") + 1U, sizeof *d->switches);
    if (d->links == NULL || d->switches == NULL) {
        return plan_refuse(in, whole_file, "out of memory");
    }
    for (uint32_t i = 0; i < in->toml.table_count; i++) {
        void *target = d;
        if (plan_input_is(in, i, "link")) {
            struct link_table *link = &d->links[d->link_count++];
            *link = (struct link_table){.place = in->toml.tables[i].place};
            target = link;
        } else if (plan_input_is(in, i, "switch")) {
            struct switch_table *s = &d->switches[d->switch_count++];
            *s = (struct switch_table){.adds = true, .memory = PLAN_MEMORY_ALL, .place = in->toml.tables[i].place};
            s->has_adds = plan_input_find(in, i, "adds") != NULL;
            target = s;
        }
        if (!plan_input_table(in, i, keys, target)) {
            return false;
        }
    }
    return true;
}

static bool read_top(struct draft *d)
{
    struct plan_network *net = d->net;
    const char *paths = d->top.paths != NULL ? d->top.paths : plan_paths_name(PLAN_EXPLICIT);
    struct trib_file_place place = d->top.paths != NULL ? plan_input_find(&d->in, 0, "paths")->place : whole_file;
    net->has_multicast = d->top.has_multicast;
    net->step_ns = d->top.step_ns;
    net->paths = PLAN_PATHS_COUNT;
    for (unsigned i = 0; i < PLAN_PATHS_COUNT; i++) {
        net->paths = strcmp(paths, plan_paths_name((enum plan_paths)i)) == 0 ? (enum plan_paths)i : net->paths;
    }
    if (net->paths == PLAN_PATHS_COUNT) {
        return plan_refuse(&d->in, place, "paths is \"explicit\", \"ecmp\" or \"pinned\", not \"%s\"", paths);
    }
    net->headroom = plan_headroom_of(net->paths);
    if (plan_input_find(&d->in, 0, "headroom") != NULL) {
        net->headroom = d->top.headroom;
        if (net->paths != PLAN_ECMP) {
            return plan_refuse(&d->in, plan_input_find(&d->in, 0, "headroom")->place,
                               "headroom wants paths = \"ecmp\": others are even");
        }
    }
    return net->paths == PLAN_EXPLICIT || !net->has_multicast ||
           plan_refuse(&d->in, place, "multicast wants paths = \"explicit\": others send each child its own result");
}

/* ---- a network of the simulator's ---- */

struct kind {
    enum sim_topology_kind kind;
    const char *wants;
    const char *foreign[6]; /* keys of other kinds */
};

static bool has_all(const struct sim_topology *t)
{
    switch (t->kind) {
    case SIM_STAR:
        return t->hosts != 0;
    case SIM_LEAF_SPINE:
        return t->hosts != 0 && t->leaves != 0 && t->spines != 0;
    case SIM_FAT_TREE:
        return t->k != 0 && t->k % 2 == 0;
    case SIM_DRAGONFLY:
        return t->hosts != 0 && t->routers != 0 && t->globals != 0;
    case SIM_TOPOLOGY_NONE:
    case SIM_CLOS:
    case SIM_FROM_FILE:
    case SIM_TOPOLOGY_COUNT:
        break;
    }
    return false;
}

/* False: the table has a key that the kind does not use. */
static bool fits_kind(struct draft *d, const struct kind *kind)
{
    for (uint32_t table = 0; table < d->in.toml.table_count; table++) {
        for (size_t i = 0; plan_input_is(&d->in, table, "topology") && kind->foreign[i] != NULL; i++) {
            const struct trib_toml_value *value = plan_input_find(&d->in, table, kind->foreign[i]);
            if (value != NULL) {
                return plan_refuse(&d->in, value->place, "a %s has no %s", d->kind, kind->foreign[i]);
            }
        }
    }
    return true;
}

static bool find_kind(struct draft *d, struct trib_file_place place)
{
    static const struct kind kinds[] = {
        {SIM_STAR, "hosts", {"leaves", "spines", "k", "routers", "globals"}},
        {SIM_LEAF_SPINE, "leaves, spines and hosts", {"k", "routers", "globals"}},
        {SIM_FAT_TREE, "k, which is even", {"hosts", "leaves", "spines", "routers", "globals"}},
        {SIM_DRAGONFLY, "routers, globals and hosts", {"leaves", "spines", "k"}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(d->kind, sim_topology_name(kinds[i].kind)) == 0) {
            d->topology.kind = kinds[i].kind;
            return (has_all(&d->topology) || plan_refuse(&d->in, place, "a %s has %s", d->kind, kinds[i].wants)) &&
                   fits_kind(d, &kinds[i]);
        }
    }
    return plan_refuse(&d->in, place, "kind is star, leaf-spine, fat-tree or dragonfly, not %s", d->kind);
}

static bool check_size(struct draft *d, uint64_t hosts, uint64_t switches, uint64_t links, struct trib_file_place at)
{
    return (hosts <= PLAN_HOSTS_MAX && switches <= PLAN_SWITCHES_MAX && links <= PLAN_LINKS_MAX) ||
           plan_refuse(&d->in, at, "more than %u hosts, %u switches or %u cables", PLAN_HOSTS_MAX, PLAN_SWITCHES_MAX,
                       PLAN_LINKS_MAX / 2);
}

/* A bound of its size, before anything of that size is made. */
static bool is_small(const struct sim_topology *t)
{
    const uint32_t most = PLAN_SWITCHES_MAX;
    uint64_t groups = (uint64_t)t->routers * t->globals + 1;
    return t->k <= 40 && t->leaves <= most && t->spines <= most && t->hosts <= PLAN_HOSTS_MAX &&
           (t->routers == 0 || (t->routers <= most && t->globals <= most && groups * t->routers <= most));
}

static bool generate(struct draft *d, struct trib_file_place place)
{
    struct sim_topology *t = &d->topology;
    if (!find_kind(d, place)) {
        return false;
    }
    if (t->fabric.rate_bps == 0) {
        t->fabric.rate_bps = t->edge.rate_bps;
    }
    t->edge.delay_ps = t->fabric.delay_ps = 1000000;
    t->buffer_bytes = t->mark_bytes = SIM_NEVER;
    t->smallest = 64;
    t->largest = 1500;
    struct sim_topology_size size = is_small(t) ? sim_topology_size(t) : (struct sim_topology_size){UINT32_MAX, 0, 0};
    if (!check_size(d, size.hosts, size.switches, size.links, place)) {
        return false;
    }
    return plan_network_build(d->net, t) || plan_refuse(&d->in, place, "out of memory");
}

/* ---- cables by name ---- */

/* The two names of a [[link]]. */
static bool read_between(struct draft *d, const struct link_table *link, const char *ends[2], size_t lens[2])
{
    const char *at = link->between;
    size_t len = 0;
    uint32_t count = 0;
    if (strpbrk(link->between, ";+*|~\"\\") != NULL || !trib_is_printable(link->between)) {
        return plan_refuse(&d->in, link->place, "names have none of ; + * | ~ \" \\ in them");
    }
    for (const char *word; (word = plan_next_word(&at, &len)) != NULL; count++) {
        if (len > PLAN_NAME_MAX) {
            return plan_refuse(&d->in, link->place, "a name of more than %d characters", PLAN_NAME_MAX);
        }
        if (count < 2) {
            ends[count] = word;
            lens[count] = len;
        }
    }
    if (count != 2) {
        return plan_refuse(&d->in, link->place, "between is two names: \"host0 leaf1\"");
    }
    return lens[0] != lens[1] || memcmp(ends[0], ends[1], lens[0]) != 0 ||
           plan_refuse(&d->in, link->place, "a link from one place to itself");
}

static bool read_links(struct draft *d)
{
    if (!plan_names_init(&d->names, 2 * d->link_count)) {
        return plan_refuse(&d->in, whole_file, "out of memory");
    }
    for (struct link_table *link = d->links; link < d->links + d->link_count; link++) {
        const char *ends[2] = {NULL, NULL};
        size_t lens[2] = {0, 0};
        if (!read_between(d, link, ends, lens)) {
            return false;
        }
        for (uint32_t k = 0; k < 2; k++) {
            link->ends[k] = plan_names_find(&d->names, ends[k], lens[k]);
            if (link->ends[k] == PLAN_NO_NAME) {
                link->ends[k] = plan_names_add(&d->names, ends[k], lens[k]);
            }
        }
    }
    return true;
}

static bool matches(const struct switch_table *s, const char *name)
{
    size_t len = strlen(s->name);
    return len > 0 && s->name[len - 1] == '*' ? strncmp(s->name, name, len - 1) == 0 : strcmp(s->name, name) == 0;
}

/* A name with several cables, in a [[switch]], or with an address and a port is a switch; the others are hosts. */
static bool find_switches(const struct draft *d, bool *is_switch)
{
    uint32_t *cables = calloc(d->names.count + 1U, sizeof *cables);
    for (uint32_t i = 0; cables != NULL && i < 2 * d->link_count; i++) {
        cables[d->links[i / 2].ends[i % 2]]++;
    }
    for (uint32_t i = 0; cables != NULL && i < d->names.count; i++) {
        struct trib_address address;
        is_switch[i] = cables[i] > 1 || trib_address_read(d->names.list[i], &address);
        for (uint32_t k = 0; k < d->switch_count; k++) {
            is_switch[i] = is_switch[i] || matches(&d->switches[k], d->names.list[i]);
        }
    }
    free(cables);
    return cables != NULL;
}

/* Numbers hosts, then switches, each in the order of the file. place: by name. */
static bool add_places(struct draft *d, const bool *is_switch, uint32_t *place)
{
    struct plan_network *net = d->net;
    uint32_t switches = 0;
    for (uint32_t i = 0; i < d->names.count; i++) {
        switches += is_switch[i];
    }
    if (!check_size(d, d->names.count - switches, switches, 2 * (uint64_t)d->link_count, whole_file)) {
        return false;
    }
    if (!plan_network_init(net, d->names.count - switches, switches, 2 * d->link_count)) {
        return plan_refuse(&d->in, whole_file, "out of memory");
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < d->names.count; i++) {
            if (is_switch[i] == (pass == 1)) {
                place[i] = plan_names_add(&net->names, d->names.list[i], strlen(d->names.list[i]));
            }
        }
    }
    return true;
}

static bool add_links(struct draft *d, const uint32_t *place)
{
    struct trib_fabric *f = &d->net->fabric;
    for (const struct link_table *link = d->links; link < d->links + d->link_count; link++) {
        uint32_t a = place[link->ends[0]], b = place[link->ends[1]];
        if (a < d->net->hosts && b < d->net->hosts) {
            return plan_refuse(&d->in, link->place, "a cable between two hosts: one of the ends must be a switch");
        }
        (void)trib_fabric_add(f, a, b, link->rate_bps);
        (void)trib_fabric_add(f, b, a, link->rate_bps);
    }
    return true;
}

static bool make_from_links(struct draft *d)
{
    if (d->link_count == 0) {
        return plan_refuse(&d->in, whole_file, "there is neither a [topology] nor a [[link]]");
    }
    if (!read_links(d)) {
        return false;
    }
    bool *is_switch = calloc(d->names.count, sizeof *is_switch);
    uint32_t *place = calloc(d->names.count, sizeof *place);
    bool is_good = is_switch != NULL && place != NULL && find_switches(d, is_switch) &&
                   add_places(d, is_switch, place) && add_links(d, place);
    free(is_switch);
    free(place);
    return is_good || d->in.error[0] != '\0' ? is_good : plan_refuse(&d->in, whole_file, "out of memory");
}

/* ---- single links and switches ---- */

/* A [[link]] beside [topology]. */
static bool change_link(struct draft *d, const struct link_table *link)
{
    struct trib_fabric *f = &d->net->fabric;
    const char *ends[2] = {NULL, NULL};
    size_t lens[2] = {0, 0};
    uint32_t places[2];
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!read_between(d, link, ends, lens)) {
        return false;
    }
    for (uint32_t k = 0; k < 2; k++) {
        places[k] = plan_names_find(&d->net->names, ends[k], lens[k]);
        if (places[k] == PLAN_NO_NAME) {
            plan_names_explain(&d->net->names, ends[k], lens[k], cause);
            return plan_refuse(&d->in, link->place, "%s", cause);
        }
    }
    uint32_t found = trib_fabric_find(f, places[0], places[1]);
    if (found == TRIB_NO_LINK) {
        return plan_refuse(&d->in, link->place, "no cable between %s in this kind of topology", link->between);
    }
    f->rate_bps[found] = f->rate_bps[f->opposite[found]] = link->rate_bps;
    return true;
}

/* Tables of one switch apply in the order of the file: a key that a later table does not have stays. A switch with an
 * address and a port is one of Tributary's: it adds. */
static void read_switch(struct draft *d, uint32_t i)
{
    struct plan_network *net = d->net;
    const char *name = net->names.list[net->hosts + i];
    struct trib_address address;
    bool adds = trib_address_read(name, &address);
    bool is_told = false; /* by the key `adds` */
    uint64_t rate_bps = PLAN_ADDS_ALL;
    for (const struct switch_table *s = d->switches; s < d->switches + d->switch_count; s++) {
        if (!matches(s, name)) {
            continue;
        }
        adds = s->has_adds || !is_told ? s->adds : adds;
        is_told = is_told || s->has_adds;
        rate_bps = s->rate_bps != 0 ? s->rate_bps : rate_bps;
        net->memory[i] = s->memory != PLAN_MEMORY_ALL ? s->memory : net->memory[i];
    }
    net->adds_bps[i] = adds ? rate_bps : PLAN_ADDS_NOT;
}

static bool check_switch(struct draft *d, const struct switch_table *s)
{
    struct plan_network *net = d->net;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    for (uint32_t i = 0; i < net->switches; i++) {
        if (matches(s, net->names.list[net->hosts + i])) {
            return true;
        }
    }
    if (plan_names_find(&net->names, s->name, strlen(s->name)) != PLAN_NO_NAME) {
        return plan_refuse(&d->in, s->place, "%s is a host, not a switch", s->name);
    }
    plan_names_explain(&net->names, s->name, strlen(s->name), cause);
    return strchr(s->name, '*') != NULL
               ? plan_refuse(&d->in, s->place, "no switch has a name that %s stands for", s->name)
               : plan_refuse(&d->in, s->place, "%s", cause);
}

static bool read_switches(struct draft *d)
{
    for (uint32_t i = 0; i < d->net->switches; i++) {
        read_switch(d, i);
    }
    for (uint32_t i = 0; i < d->switch_count; i++) {
        if (!check_switch(d, &d->switches[i])) {
            return false;
        }
    }
    return true;
}

static bool check_adders(struct draft *d)
{
    for (uint32_t i = 0; i < d->net->switches; i++) {
        if (d->net->adds_bps[i] != PLAN_ADDS_NOT) {
            return true;
        }
    }
    return plan_refuse(&d->in, whole_file, "no switch adds: name those that do, as in [[switch]] name = \"leaf*\"");
}

/* A cable that is in the file twice would be one of two to fabric.h, and the planner's rows have no names for that. */
static bool check_links(struct draft *d)
{
    const struct trib_fabric *f = &d->net->fabric;
    uint32_t *seen = calloc(f->places + 1U, sizeof *seen); /* by place: 1 + the one that has a link to it */
    bool is_good = seen != NULL || plan_refuse(&d->in, whole_file, "out of memory");
    for (uint32_t i = 0; i < f->places && is_good; i++) {
        for (uint32_t k = f->first[i]; seen != NULL && k < f->first[i + 1] && is_good; k++) {
            uint32_t to = f->to[f->out[k]];
            is_good = seen[to] != i + 1 ||
                      plan_refuse(&d->in, whole_file, "two cables between %s and %s: give one the rate of both",
                                  d->net->names.list[i], d->net->names.list[to]);
            seen[to] = i + 1;
        }
    }
    free(seen);
    return is_good;
}

/* Plans and changes name a link "A-B". With dashes in names, two links, or a link and a switch, could have one name. */
static bool check_names(struct draft *d)
{
    char text[PLAN_ROW_NAME_MAX];
    for (uint32_t row = 0; row < plan_rows(d->net); row++) {
        plan_row_name(d->net, row, text);
        if (plan_row_find(d->net, text, strlen(text)) != row) {
            return plan_refuse(&d->in, whole_file,
                               "%s is the name of two links, or of a link and a switch: rename one end", text);
        }
    }
    return true;
}

static bool make_network(struct draft *d)
{
    uint32_t topology = 0;
    for (uint32_t i = 1; i < d->in.toml.table_count; i++) {
        topology = plan_input_is(&d->in, i, "topology") ? i : topology;
    }
    bool is_good = topology != 0 ? generate(d, d->in.toml.tables[topology].place) : make_from_links(d);
    if (is_good && !trib_fabric_ready(&d->net->fabric)) {
        return plan_refuse(&d->in, whole_file, "out of memory");
    }
    for (uint32_t i = 0; is_good && topology != 0 && i < d->link_count; i++) {
        is_good = change_link(d, &d->links[i]);
    }
    return is_good && check_links(d) && check_names(d) && read_switches(d);
}

static bool read_network(struct plan_network *net, const char *path, bool is_bare, char *error)
{
    struct draft d = {.net = net};
    *net = (struct plan_network){.hosts = 0};
    bool is_good = plan_input_open(&d.in, path, error) && read_tables(&d) && make_network(&d) &&
                   (is_bare || check_adders(&d)) && read_top(&d);
    plan_input_close(&d.in);
    plan_names_free(&d.names);
    free(d.links);
    free(d.switches);
    return is_good;
}

bool plan_network_read(struct plan_network *net, const char *path, char *error)
{
    return read_network(net, path, false, error);
}

bool plan_network_read_bare(struct plan_network *net, const char *path, char *error)
{
    return read_network(net, path, true, error);
}
