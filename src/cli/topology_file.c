/* SPDX-License-Identifier: Apache-2.0 */
/* topology_file.c: see topology_file.h. Ends of links are found by their texts in the order in which they come, and
 * numbered when all are known. Read next: io/toml.h (which reads the file). */
#include "cli/topology_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/choose.h"
#include "io/explain.h"
#include "io/nearest.h"
#include "io/toml.h"
#include "io/units.h"

#define BOX_NAME_MAX 63

enum end_kind { END_SWITCH, END_SUBNET, END_BOX };

struct end {
    enum end_kind kind;
    uint32_t index; /* among those of its kind */
};

/* A file while it is read. */
struct draft {
    struct topology_file *file;
    const struct topology_names *names;
    const char *path;
    char *error;
    struct trib_toml toml;
    struct end (*ends)[2];         /* of each link */
    struct trib_file_place *place; /* where it is named */
    char (*boxes)[BOX_NAME_MAX + 1];
    uint32_t links, subnets, box_count;
};

#define REFUSE(d, at, ...) trib_file_refuse((d)->error, (d)->path, at, __VA_ARGS__)

static const struct trib_file_place whole_file = {1, 1};

/* ---- ends ---- */

/* The number of `text` in the list "a,b,c"; UINT32_MAX: it is none of them. */
static uint32_t find_in_list(const char *list, const char *text)
{
    size_t len = strlen(text);
    for (uint32_t i = 0; list != NULL && len > 0; i++) {
        const char *comma = strchr(list, ',');
        size_t item = comma != NULL ? (size_t)(comma - list) : strlen(list);
        if (item == len && memcmp(list, text, len) == 0) {
            return i;
        }
        list = comma != NULL ? comma + 1 : NULL;
    }
    return UINT32_MAX;
}

/* As it was named on the command line, or by its address. */
static uint32_t find_switch(const struct draft *d, const char *text)
{
    struct trib_address address;
    const struct trib_switchd_config *config = d->names->config;
    uint32_t lender = find_in_list(d->names->with, text);
    if (lender != UINT32_MAX || find_in_list(d->names->listen, text) != UINT32_MAX) {
        return lender != UINT32_MAX ? lender + 1 : 0;
    }
    if (!trib_address_read(text, &address)) {
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < config->lenders.count; i++) {
        if (trib_address_equal(&config->lenders.at[i], &address)) {
            return i + 1;
        }
    }
    return trib_switchd_is_at(config, &address) ? 0 : UINT32_MAX;
}

static uint32_t find_subnet(struct draft *d, const struct trib_subnet *subnet)
{
    uint32_t i = 0;
    while (i < d->subnets && (d->file->subnets[i].bits != subnet->bits ||
                              !trib_address_is_within(&d->file->subnets[i].at, &subnet->at, subnet->bits))) {
        i++;
    }
    if (i == d->subnets) {
        d->file->subnets[d->subnets++] = *subnet;
    }
    return i;
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
    return i;
}

static bool read_end(struct draft *d, const struct trib_toml_value *value, const char *text, struct end *end)
{
    struct trib_address address;
    struct trib_subnet subnet;
    uint32_t found = find_switch(d, text);
    if (found != UINT32_MAX) {
        *end = (struct end){END_SWITCH, found};
    } else if (trib_address_read(text, &address)) {
        return REFUSE(d, value->place,
                      "%s is neither this switch nor one of --with: hosts are named by an address without a port, or a "
                      "subnet",
                      text);
    } else if (trib_subnet_read(text, &subnet.at, &subnet.bits)) {
        *end = (struct end){END_SUBNET, find_subnet(d, &subnet)};
    } else if (strpbrk(text, "/:") != NULL || strspn(text, "0123456789.") == strlen(text)) {
        return REFUSE(d, value->place,
                      "\"%s\" is no subnet such as 10.0.1.0/24, no switch such as 10.0.9.1:7470, and no name of a box",
                      text);
    } else {
        *end = (struct end){END_BOX, find_box(d, text)};
    }
    return true;
}

/* ---- links ---- */

static bool is_same_end(const struct end *a, const struct end *b)
{
    return a->kind == b->kind && a->index == b->index;
}

static bool is_same_link(const struct end *a, const struct end *b)
{
    return (is_same_end(&a[0], &b[0]) && is_same_end(&a[1], &b[1])) ||
           (is_same_end(&a[0], &b[1]) && is_same_end(&a[1], &b[0]));
}

static bool read_between(struct draft *d, const struct trib_toml_value *value)
{
    struct end *ends = d->ends[d->links];
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
        if (count < 2 && !read_end(d, value, text, &ends[count])) {
            return false;
        }
        count++;
        at += len;
    }
    if (count != 2) {
        return REFUSE(d, value->place, "a link is between two: \"10.0.1.0/24 leaf1\"");
    }
    if (is_same_end(&ends[0], &ends[1])) {
        return REFUSE(d, value->place, "a link from one place to itself");
    }
    for (uint32_t i = 0; i < d->links; i++) {
        if (is_same_link(d->ends[i], ends)) {
            return REFUSE(d, value->place, "this link is there already, in line %" PRIu32 ": give it the rate of both",
                          d->place[i].line);
        }
    }
    d->place[d->links] = value->place;
    return true;
}

static bool read_rate(struct draft *d, const struct trib_toml_value *value)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t *rate = &d->file->links[d->links].rate_bps;
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

static bool read_table(struct draft *d, uint32_t index)
{
    const struct trib_toml_table *table = &d->toml.tables[index];
    uint32_t values = 0;
    if (index > 0 && (strcmp(table->name, "link") != 0 || !table->is_array)) {
        return REFUSE(d, table->place, "unknown table [%s]; there are tables [[link]]", table->name);
    }
    for (uint32_t i = 0; i < d->toml.value_count; i++) {
        const struct trib_toml_value *value = &d->toml.values[i];
        if (value->table != index) {
            continue;
        }
        if (index == 0) {
            return REFUSE(d, value->key_place, "%s does not stand here, but in a table [[link]]", value->key);
        }
        if (!read_value(d, value)) {
            return false;
        }
        values++;
    }
    if (index > 0 && values < 2) {
        return REFUSE(d, table->place, "a [[link]] has between and rate");
    }
    d->links += index > 0;
    return true;
}

/* ---- all of it ---- */

static uint32_t place_of(const struct draft *d, const struct end *end)
{
    uint32_t switches = d->names->config->lenders.count + 1;
    return end->index + (end->kind == END_SWITCH ? 0 : end->kind == END_SUBNET ? switches : switches + d->subnets);
}

static void number_places(struct draft *d)
{
    uint32_t switches = d->names->config->lenders.count + 1;
    for (uint32_t i = 0; i < d->links; i++) {
        d->file->links[i].end[0] = place_of(d, &d->ends[i][0]);
        d->file->links[i].end[1] = place_of(d, &d->ends[i][1]);
    }
    d->file->topology = (struct trib_topology){.switches = switches,
                                               .subnet_count = d->subnets,
                                               .places = switches + d->subnets + d->box_count,
                                               .link_count = d->links,
                                               .subnets = d->file->subnets,
                                               .links = d->file->links};
}

static const struct trib_file_place *find_mention(const struct draft *d, uint32_t place)
{
    for (uint32_t i = 0; i < d->links; i++) {
        if (d->file->links[i].end[0] == place || d->file->links[i].end[1] == place) {
            return &d->place[i];
        }
    }
    return NULL;
}

static bool check_switch(struct draft *d, const struct trib_choose *ways, uint32_t which)
{
    const struct trib_topology *t = &d->file->topology;
    const struct trib_switchd_config *config = d->names->config;
    const struct trib_file_place *place = find_mention(d, which);
    bool reached = false;
    char name[64];
    trib_address_format(which == 0 ? &config->listen : &config->lenders.at[which - 1], name);
    for (uint32_t i = 0; i < t->subnet_count; i++) {
        reached = reached || trib_choose_reaches(ways, t->switches + i, which);
    }
    if (place == NULL) {
        return REFUSE(d, whole_file, "the switch %s, %s, has no link here", name,
                      which == 0 ? "which is this one (--listen)" : "one of --with");
    }
    return reached || REFUSE(d, *place, "no hosts here can reach the switch %s: links are missing", name);
}

/* Networks may lie side by side, as those of several cards do; but what nobody can use was not meant. */
static bool check_ways(struct draft *d)
{
    struct trib_choose ways;
    const struct trib_topology *t = &d->file->topology;
    if (t->subnet_count == 0) {
        return REFUSE(d, whole_file, "no hosts are named: a link of theirs is between their subnet and a box");
    }
    if (trib_choose_create(&ways, t) != TRIB_OK) {
        return REFUSE(d, whole_file, "out of memory");
    }
    bool is_good = true;
    for (uint32_t i = 0; i < t->switches && is_good; i++) {
        is_good = check_switch(d, &ways, i);
    }
    for (uint32_t i = 0; i < t->subnet_count && is_good; i++) {
        uint32_t which = 0;
        while (which < t->switches && !trib_choose_reaches(&ways, t->switches + i, which)) {
            which++;
        }
        if (which == t->switches) {
            is_good = REFUSE(d, *find_mention(d, t->switches + i), "no switch can be reached from these hosts");
        }
    }
    trib_choose_destroy(&ways);
    return is_good;
}

static bool read_links(struct draft *d)
{
    for (uint32_t i = 0; i < d->toml.table_count; i++) {
        if (!read_table(d, i)) {
            return false;
        }
    }
    if (d->links == 0) {
        return REFUSE(d, whole_file, "there is no [[link]]");
    }
    number_places(d);
    if (d->file->topology.places > TRIB_PLACES_MAX) {
        return REFUSE(d, whole_file, "more than %d places", TRIB_PLACES_MAX);
    }
    return check_ways(d);
}

static bool read_draft(struct draft *d)
{
    size_t most = d->toml.table_count; /* with that of the whole file, which is no link */
    if (most - 1 > TRIB_TOPOLOGY_LINKS_MAX) {
        return REFUSE(d, whole_file, "more than %d links", TRIB_TOPOLOGY_LINKS_MAX);
    }
    d->file->links = calloc(most, sizeof *d->file->links);
    d->file->subnets = calloc(2 * most, sizeof *d->file->subnets);
    d->ends = calloc(most, sizeof *d->ends);
    d->place = calloc(most, sizeof *d->place);
    d->boxes = calloc(2 * most, sizeof *d->boxes);
    bool is_good =
        d->file->links != NULL && d->file->subnets != NULL && d->ends != NULL && d->place != NULL && d->boxes != NULL;
    if (!is_good) {
        trib_explain(d->error, "%s: out of memory", d->path);
    }
    is_good = is_good && read_links(d);
    free(d->ends);
    free(d->place);
    free(d->boxes);
    return is_good;
}

bool topology_file_read(struct topology_file *file, const char *path, const struct topology_names *names, char *error)
{
    struct draft draft = {.file = file, .names = names, .path = path, .error = error};
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    *file = (struct topology_file){.subnets = NULL};
    char *text = trib_file_read(path, &len, error);
    if (text == NULL) {
        return false;
    }
    bool is_good = trib_toml_read(&draft.toml, text, len, cause);
    is_good = is_good ? read_draft(&draft) : REFUSE(&draft, draft.toml.place, "%s", cause);
    trib_toml_free(&draft.toml);
    free(text);
    if (!is_good) {
        topology_file_free(file);
    }
    return is_good;
}

void topology_file_free(struct topology_file *file)
{
    free(file->subnets);
    free(file->links);
    *file = (struct topology_file){.subnets = NULL};
}
