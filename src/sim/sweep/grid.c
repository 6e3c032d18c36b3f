/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c: see grid.h. A grid is a TOML file: `scenario` names a file in the same folder; each [[vary]] has a `key`,
 * such as "traffic.load", and comma-separated `values`. The first key varies slowest. Read next: page.c. */
#include "sim/sweep/grid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/file.h"

static const struct trib_toml_value *find(const struct sim_grid *g, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < g->toml.value_count; i++) {
        const struct trib_toml_value *value = &g->toml.values[i];
        if (value->table == table && strcmp(value->key, key) == 0 && value->kind == TRIB_TOML_STRING) {
            return value;
        }
    }
    return NULL;
}

/* Splits a text such as "20%, 40%". False: no values, or too many. */
static bool split(struct sim_vary *v, const char *text)
{
    v->texts = strdup(text);
    v->count = 0;
    if (v->texts == NULL) {
        return false;
    }
    char *rest = NULL;
    for (char *word = strtok_r(v->texts, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        word += strspn(word, " ");
        size_t len = strlen(word);
        while (len > 0 && word[len - 1] == ' ') {
            word[--len] = '\0';
        }
        if (len == 0 || v->count == SIM_VALUES_MAX) {
            return false;
        }
        v->values[v->count++] = word;
    }
    return v->count != 0;
}

static bool take_vary(struct sim_grid *g, const char *path, uint32_t table, char *error)
{
    const struct trib_toml_value *key = find(g, table, "key");
    const struct trib_toml_value *values = find(g, table, "values");
    struct trib_file_place place = g->toml.tables[table].place;
    struct sim_vary *v = &g->vary[g->vary_count];

    if (strcmp(g->toml.tables[table].name, "vary") != 0 || key == NULL || values == NULL ||
        g->vary_count == SIM_VARY_MAX) {
        return trib_file_refuse(error, path, place,
                                "expected [[vary]] with key = \"traffic.load\" and values = \"20%%, 40%%\"");
    }
    for (uint32_t i = 0; i < g->vary_count; i++) {
        if (strcmp(g->vary[i].key, key->text) == 0) {
            return trib_file_refuse(error, path, key->place, "%s varies already", key->text);
        }
    }
    g->vary_count++;
    v->key = key->text;
    if (!split(v, values->text)) {
        return trib_file_refuse(error, path, values->place, "no value, an empty one, or more than %u", SIM_VALUES_MAX);
    }
    g->cells *= v->count;
    if (g->cells > SIM_CELLS_MAX) {
        return trib_file_refuse(error, path, values->place, "more than %" PRIu64 " runs", SIM_CELLS_MAX);
    }
    return true;
}

static bool take_grid(struct sim_grid *g, const char *path, char *error)
{
    const struct trib_toml_value *scenario = find(g, 0, "scenario");
    const char *slash = strrchr(path, '/');

    if (scenario == NULL) {
        return trib_file_refuse(error, path, (struct trib_file_place){1, 1}, "scenario = \"FILE\" is missing");
    }
    int folder = slash != NULL && scenario->text[0] != '/' ? (int)(slash + 1 - path) : 0;
    if (snprintf(g->scenario, sizeof g->scenario, "%.*s%s", folder, path, scenario->text) >= (int)sizeof g->scenario) {
        trib_explain(error, "%s: too long a path", path);
        return false;
    }
    g->cells = 1;
    for (uint32_t table = 1; table < g->toml.table_count; table++) {
        if (!take_vary(g, path, table, error)) {
            return false;
        }
    }
    return true;
}

static bool read_grid(struct sim_grid *g, const char *path, char *error)
{
    return trib_toml_open(&g->toml, path, error) && take_grid(g, path, error);
}

void sim_grid_free(struct sim_grid *g)
{
    for (uint32_t i = 0; i < g->vary_count; i++) {
        free(g->vary[i].texts);
    }
    trib_toml_free(&g->toml);
}

void sim_grid_choose(const struct sim_grid *g, uint64_t cell, struct sim_override list[SIM_VARY_MAX])
{
    for (uint32_t i = g->vary_count; i-- > 0;) {
        list[i] = (struct sim_override){.key = g->vary[i].key, .text = g->vary[i].values[cell % g->vary[i].count]};
        cell /= g->vary[i].count;
    }
}

/* Checks every combination before the first one runs. */
static bool check_cells(const struct sim_grid *g, char *error)
{
    static struct sim_scenario scenario;
    struct sim_override list[SIM_VARY_MAX];
    bool is_good = true;

    for (uint64_t cell = 0; is_good && cell < g->cells; cell++) {
        sim_grid_choose(g, cell, list);
        is_good = sim_scenario_read(&scenario, g->scenario, &(struct sim_overrides){list, g->vary_count}, error);
        sim_scenario_free(&scenario);
    }
    return is_good;
}

bool sim_grid_read(struct sim_grid *g, const char *path, char *error)
{
    memset(g, 0, sizeof *g);
    return read_grid(g, path, error) && check_cells(g, error);
}

/* The values of each cell, as text; NULL: out of memory. */
static char *list_cells(const struct sim_grid *g, size_t *len)
{
    char *made = NULL;
    FILE *text = open_memstream(&made, len);
    struct sim_override list[SIM_VARY_MAX];

    if (text == NULL) {
        return NULL;
    }
    (void)fprintf(text, "cell");
    for (uint32_t i = 0; i < g->vary_count; i++) {
        (void)fprintf(text, ",%s", g->vary[i].key);
    }
    for (uint64_t cell = 0; cell < g->cells; cell++) {
        sim_grid_choose(g, cell, list);
        (void)fprintf(text, "\n%04" PRIu64, cell);
        for (uint32_t i = 0; i < g->vary_count; i++) {
            (void)fprintf(text, ",%s", list[i].text);
        }
    }
    (void)fprintf(text, "\n");
    (void)fclose(text);
    return made;
}

/* Writes the text to a file of the folder, which an earlier sweep may have written. False: the file has another text;
 * or it cannot be written, and error has the cause. */
static bool keep(const char *folder, const char *name, const char *text, size_t len, char *error)
{
    char path[SIM_PATH_LEN];
    char fault[TRIB_ERROR_TEXT_MAX] = "";
    size_t old_len = 0;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    char *old = trib_file_read(path, &old_len, fault);
    bool is_good = old != NULL && old_len == len && memcmp(old, text, len) == 0;
    if (old == NULL) {
        FILE *file = fopen(path, "w");
        is_good = file != NULL && fwrite(text, 1, len, file) == len;
        is_good = file != NULL && fclose(file) == 0 && is_good;
        if (!is_good) {
            trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
        }
    }
    free(old);
    return is_good;
}

bool sim_grid_index(const struct sim_grid *g, const char *folder, char *error)
{
    size_t len = 0;
    size_t scenario_len = 0;
    char *cells = list_cells(g, &len);
    char *scenario = trib_file_read(g->scenario, &scenario_len, error);
    bool is_good = cells != NULL && scenario != NULL;

    if (cells == NULL) {
        trib_explain(error, "out of memory");
    } else if (is_good) {
        error[0] = '\0';
        is_good = keep(folder, "cells.csv", cells, len, error) &&
                  keep(folder, "scenario.toml", scenario, scenario_len, error);
        if (!is_good && error[0] == '\0') {
            trib_explain(error, "%s holds the results of another grid or scenario: name another folder, or remove it",
                         folder);
        }
    }
    free(scenario);
    free(cells);
    return is_good;
}
