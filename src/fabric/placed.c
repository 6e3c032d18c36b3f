/* SPDX-License-Identifier: Apache-2.0 */
/* placed.c: see placed.h. Read next: io/toml.h (which reads the file). */
#include "fabric/placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/toml.h"
#include "io/units.h"

#define NO_PLAN ": this is no plan of `tributary plan --objective ... --out`"

struct draft {
    struct trib_placed *placed;
    char *error;
    const struct trib_toml *toml;
};

#define REFUSE(d, at, ...) ((void)trib_file_refuse((d)->error, (d)->toml->path, at, __VA_ARGS__), false)

/* Value of this key; NULL: not in the table. */
static const struct trib_toml_value *find_value(const struct draft *d, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        const struct trib_toml_value *value = &d->toml->values[i];
        if (value->table == table && strcmp(value->key, key) == 0) {
            return value;
        }
    }
    return NULL;
}

/* Non-empty string of this key, of at most `most` bytes; NULL: none. */
static const char *find_name(const struct draft *d, uint32_t table, const char *key, size_t most)
{
    const struct trib_toml_value *value = find_value(d, table, key);
    bool is_name = value != NULL && value->kind == TRIB_TOML_STRING && value->text[0] != '\0';
    return is_name && strlen(value->text) <= most ? value->text : NULL;
}

/* Reads a number; 0: no such key. */
static bool read_bytes(struct draft *d, uint32_t table, const char *key, uint64_t *bytes)
{
    const struct trib_toml_value *value = find_value(d, table, key);
    *bytes = 0;
    return value == NULL || trib_parse_number(value->text, 1, UINT64_MAX / 2, bytes, NULL) == TRIB_OK ||
           REFUSE(d, value->place, "%s is a number of bytes" NO_PLAN, value->key);
}

/* Reads a hexadecimal number; 0: no such key. */
static bool read_digest(struct draft *d, uint32_t table, const char *key, uint64_t *digest)
{
    const struct trib_toml_value *value = find_value(d, table, key);
    char *end = NULL;
    *digest = 0;
    if (value == NULL) {
        return true;
    }
    *digest = strtoull(value->text, &end, 16);
    return (end != value->text && *end == '\0') ||
           REFUSE(d, value->place, "%s is a hexadecimal number" NO_PLAN, value->key);
}

/* Reads "0-2 5", of `count` pieces. False: not such a list. */
static bool read_pieces(const char *text, uint32_t count, uint64_t *pieces)
{
    *pieces = 0;
    while (*text != '\0') {
        char *end = NULL;
        unsigned long first = strtoul(text, &end, 10);
        unsigned long last = first;
        if (*text < '0' || *text > '9') {
            return false;
        }
        if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
            last = strtoul(end + 1, &end, 10);
        }
        if (last < first || last >= count || (*end != ' ' && *end != '\0')) {
            return false;
        }
        for (unsigned long piece = first; piece <= last; piece++) {
            *pieces |= UINT64_C(1) << piece;
        }
        text = end + (*end == ' ');
    }
    return *pieces != 0;
}

static bool read_model(struct draft *d, uint32_t table)
{
    const struct trib_file_place at = d->toml->tables[table].place;
    const char *job = find_name(d, table, "job", TRIB_NAME_MAX);
    const char *server = find_name(d, table, "server", TRIB_PLACED_NAME_MAX);
    const struct trib_toml_value *pieces = find_value(d, table, "pieces");
    struct trib_placed_model *model = &d->placed->models[d->placed->count];
    uint64_t count = 0;
    if (job == NULL || server == NULL || pieces == NULL ||
        trib_parse_number(pieces->text, 1, TRIB_PIECES_MAX, &count, NULL) != TRIB_OK) {
        return REFUSE(d, at, "a [[model]] has a job, a server, and a number of pieces from 1 to %u" NO_PLAN,
                      TRIB_PIECES_MAX);
    }
    if (trib_placed_find(d->placed, job) != NULL) {
        return REFUSE(d, at, "a second [[model]] of job %s", job);
    }
    model->place = at;
    model->pieces = (uint32_t)count;
    (void)snprintf(model->job, sizeof model->job, "%s", job);
    (void)snprintf(model->server, sizeof model->server, "%s", server);
    d->placed->count++;
    return read_digest(d, table, "hosts", &model->hosts) && read_bytes(d, table, "memory", &model->memory) &&
           read_bytes(d, table, "parts_bytes", &model->parts_bytes) &&
           read_bytes(d, table, "server_bytes", &model->server_bytes);
}

static bool read_placement(struct draft *d, uint32_t table)
{
    const struct trib_file_place at = d->toml->tables[table].place;
    struct trib_placed *placed = d->placed;
    struct trib_placed_switch *it = &placed->switches[placed->switch_count];
    const char *job = find_name(d, table, "job", TRIB_NAME_MAX);
    const char *name = find_name(d, table, "switch", TRIB_PLACED_NAME_MAX);
    const struct trib_toml_value *pieces = find_value(d, table, "pieces");
    const struct trib_placed_model *model = job != NULL ? trib_placed_find(placed, job) : NULL;
    if (name == NULL || pieces == NULL || model == NULL) {
        return REFUSE(d, at, "a [[placement]] has the job of a [[model]] before it, a switch, and pieces" NO_PLAN);
    }
    for (uint32_t i = 0; i < placed->switch_count; i++) {
        if (&placed->models[placed->switches[i].model] == model && strcmp(placed->switches[i].name, name) == 0) {
            return REFUSE(d, at, "a second [[placement]] of job %s at switch %s", job, name);
        }
    }
    if (!read_pieces(pieces->text, model->pieces, &it->pieces)) {
        return REFUSE(d, pieces->place, "pieces is a list such as \"0-2 5\", of numbers below the job's %u",
                      model->pieces);
    }
    it->place = at;
    it->model = (uint32_t)(model - placed->models);
    (void)snprintf(it->name, sizeof it->name, "%s", name);
    (void)trib_address_read(name, &it->at);
    placed->switch_count++;
    return true;
}

static bool read_draft(struct draft *d)
{
    struct trib_placed *placed = d->placed;
    placed->models = calloc(d->toml->table_count, sizeof *placed->models);
    placed->switches = calloc(d->toml->table_count, sizeof *placed->switches);
    if (placed->models == NULL || placed->switches == NULL) {
        trib_explain(d->error, "%s: out of memory", d->toml->path);
        return false;
    }
    bool is_good = true;
    for (uint32_t i = 1; is_good && i < d->toml->table_count; i++) {
        is_good = strcmp(d->toml->tables[i].name, "model") == 0       ? read_model(d, i)
                  : strcmp(d->toml->tables[i].name, "placement") == 0 ? read_placement(d, i)
                                                                      : true;
    }
    return is_good && (placed->count == 0 || read_digest(d, 0, "network", &placed->network));
}

bool trib_placed_read(struct trib_placed *placed, const struct trib_toml *toml, char *error)
{
    struct draft draft = {.placed = placed, .toml = toml, .error = error};
    *placed = (struct trib_placed){.count = 0};
    bool is_good = read_draft(&draft);
    if (!is_good) {
        trib_placed_free(placed);
    }
    return is_good;
}

void trib_placed_free(struct trib_placed *placed)
{
    free(placed->models);
    free(placed->switches);
    *placed = (struct trib_placed){.count = 0};
}

const struct trib_placed_model *trib_placed_find(const struct trib_placed *placed, const char *job)
{
    for (uint32_t i = 0; placed != NULL && i < placed->count; i++) {
        if (strcmp(placed->models[i].job, job) == 0) {
            return &placed->models[i];
        }
    }
    return NULL;
}

uint64_t trib_placed_at(const struct trib_placed *placed, const struct trib_placed_model *model,
                        const struct trib_address *at)
{
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < placed->switch_count; i++) {
        const struct trib_placed_switch *it = &placed->switches[i];
        bool is_it = &placed->models[it->model] == model && it->at.len != 0 && trib_address_equal(&it->at, at);
        pieces |= is_it ? it->pieces : 0;
    }
    return pieces;
}
