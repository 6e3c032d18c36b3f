/* SPDX-License-Identifier: Apache-2.0 */
/* input.c: see input.h. */
#include "plan/input.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "io/nearest.h"
#include "io/units.h"

#define COUNT_MAX 1000000U

bool plan_refuse(struct plan_input *in, struct trib_file_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)trib_file_refuse_list(in->error, in->path, place, format, arguments);
    va_end(arguments);
    return false;
}

bool plan_input_open(struct plan_input *in, const char *path, char *error)
{
    *in = (struct plan_input){.path = path, .error = error};
    error[0] = '\0';
    return trib_toml_open(&in->toml, path, error);
}

void plan_input_use(struct plan_input *in, const struct trib_toml *toml, char *error)
{
    *in = (struct plan_input){.path = toml->path, .error = error, .toml = *toml};
    error[0] = '\0';
}

void plan_input_close(struct plan_input *in)
{
    trib_toml_free(&in->toml);
}

bool plan_input_is(const struct plan_input *in, uint32_t table, const char *name)
{
    return strcmp(in->toml.tables[table].name, name) == 0;
}

uint32_t plan_input_count(const struct plan_input *in, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < in->toml.table_count; i++) {
        count += plan_input_is(in, i, name);
    }
    return count;
}

/* Values stand in the order of their tables: the first one of this table, or of a later one. */
static uint32_t first_of(const struct plan_input *in, uint32_t table)
{
    uint32_t low = 0, high = in->toml.value_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (in->toml.values[middle].table < table) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct trib_toml_value *plan_input_find(const struct plan_input *in, uint32_t table, const char *key)
{
    for (uint32_t i = first_of(in, table); i < in->toml.value_count && in->toml.values[i].table == table; i++) {
        if (strcmp(in->toml.values[i].key, key) == 0) {
            return &in->toml.values[i];
        }
    }
    return NULL;
}

static bool unknown_key(struct plan_input *in, const char *table, const struct trib_toml_value *value,
                        const struct plan_key *keys)
{
    struct trib_nearest nearest = {.word = value->key, .len = strlen(value->key)};
    for (const struct plan_key *key = keys; key->name != NULL; key++) {
        if (strcmp(key->table, table) == 0) {
            trib_nearest_offer(&nearest, key->name);
        }
    }
    return nearest.best != NULL
               ? plan_refuse(in, value->key_place, "unknown key %s; did you mean %s?", value->key, nearest.best)
               : plan_refuse(in, value->key_place, "unknown key %s; docs/PLAN.md lists all", value->key);
}

static bool unknown_table(struct plan_input *in, const struct trib_toml_table *table, const struct plan_key *keys)
{
    struct trib_nearest nearest = {.word = table->name, .len = strlen(table->name)};
    for (const struct plan_key *key = keys; key->name != NULL; key++) {
        trib_nearest_offer(&nearest, key->table);
    }
    return nearest.best != NULL
               ? plan_refuse(in, table->place, "unknown table [%s]; did you mean [%s]?", table->name, nearest.best)
               : plan_refuse(in, table->place, "unknown table [%s]; docs/PLAN.md lists all", table->name);
}

static const struct plan_key *find_key(const struct plan_key *keys, const char *table, const char *name)
{
    for (const struct plan_key *key = keys; key->name != NULL; key++) {
        if (strcmp(key->table, table) == 0 && (name == NULL || strcmp(key->name, name) == 0)) {
            return key;
        }
    }
    return NULL;
}

bool plan_input_table(struct plan_input *in, uint32_t table, const struct plan_key *keys, void *target)
{
    const struct trib_toml_table *head = &in->toml.tables[table];
    if (find_key(keys, head->name, NULL) == NULL && head->name[0] != '\0') {
        return unknown_table(in, head, keys);
    }
    for (uint32_t i = first_of(in, table); i < in->toml.value_count && in->toml.values[i].table == table; i++) {
        const struct trib_toml_value *value = &in->toml.values[i];
        const struct plan_key *key = find_key(keys, head->name, value->key);
        if (key == NULL) {
            return unknown_key(in, head->name, value, keys);
        }
        if (!key->read(in, value, (char *)target + key->offset)) {
            return in->error[0] == '\0' ? plan_refuse(in, value->place, "%s must be %s", key->name, key->help) : false;
        }
    }
    for (const struct plan_key *key = keys; key->name != NULL; key++) {
        if (key->is_needed && strcmp(key->table, head->name) == 0 && plan_input_find(in, table, key->name) == NULL) {
            return plan_refuse(in, head->place, "%s is missing: %s", key->name, key->help);
        }
    }
    return true;
}

/* ---- readers: false without an error text: plan_input_table then says what the key's help says ---- */

bool plan_read_text(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    (void)in;
    *(const char **)field = value->text;
    return value->kind == TRIB_TOML_STRING;
}

/* A string of a rate, a size or a time. */
static bool read_quantity(struct plan_input *in, const struct trib_toml_value *value, uint64_t *field,
                          enum trib_status (*parse)(const char *, uint64_t *, char *))
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (value->kind != TRIB_TOML_STRING) {
        return false;
    }
    return parse(value->text, field, cause) == TRIB_OK || plan_refuse(in, value->place, "%s: %s", value->key, cause);
}

bool plan_read_rate(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    uint64_t *rate = field;
    if (!read_quantity(in, value, rate, trib_parse_rate)) {
        return false;
    }
    if (*rate < TRIB_LINK_RATE_MIN || *rate > TRIB_LINK_RATE_MAX) {
        return plan_refuse(in, value->place,
                           "%s: %s is not from 1Mbps to 3200Gbps; a link that is down is left out, or named by "
                           "--what-if",
                           value->key, value->text);
    }
    return true;
}

bool plan_read_size(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    return read_quantity(in, value, field, trib_parse_size);
}

bool plan_read_duration(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    return read_quantity(in, value, field, trib_parse_duration);
}

bool plan_read_long(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (value->kind != TRIB_TOML_INTEGER) {
        return false;
    }
    return trib_parse_number(value->text, 0, INT64_MAX, field, cause) == TRIB_OK ||
           plan_refuse(in, value->place, "%s: %s", value->key, cause);
}

bool plan_read_count(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t number = 0;
    if (value->kind != TRIB_TOML_INTEGER) {
        return false;
    }
    if (trib_parse_number(value->text, 1, COUNT_MAX, &number, cause) != TRIB_OK) {
        return plan_refuse(in, value->place, "%s: %s", value->key, cause);
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

bool plan_read_percent(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    double share = 0;
    if (value->kind != TRIB_TOML_STRING) {
        return false;
    }
    if (trib_parse_percent(value->text, &share, cause) != TRIB_OK) {
        return plan_refuse(in, value->place, "%s: %s", value->key, cause);
    }
    *(uint32_t *)field = (uint32_t)(share * 100 + 0.5);
    return true;
}

bool plan_read_flag(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    (void)in;
    *(bool *)field = strcmp(value->text, "true") == 0;
    return value->kind == TRIB_TOML_BOOLEAN;
}

const char *plan_next_word(const char **at, size_t *len)
{
    const char *word = *at + strspn(*at, " ");
    *len = strcspn(word, " ");
    *at = word + *len;
    return *len > 0 ? word : NULL;
}
