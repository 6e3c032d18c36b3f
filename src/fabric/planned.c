/* SPDX-License-Identifier: Apache-2.0 */
/* planned.c: see planned.h. A plan may have several trees of a job at one switch, with different paths: their weights
 * are added up here. Read next: io/toml.h (which reads the file). */
#include "fabric/planned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/node.h"
#include "io/explain.h"
#include "io/toml.h"
#include "io/units.h"

#define SUM_MAX ((uint32_t)TRIB_ROOTS_MAX * UINT8_MAX) /* largest sum of the weights of a job */

/* A job while the file is read. */
struct sums {
    uint32_t weight[TRIB_PLANNED_SWITCHES_MAX];
};

struct draft {
    struct trib_planned *planned;
    const struct trib_switch_names *names;
    char *error;
    const struct trib_toml *toml;
    struct sums *sums; /* by job */
};

#define REFUSE(d, at, ...) ((void)trib_file_refuse((d)->error, (d)->toml->path, at, __VA_ARGS__), false)

static const struct trib_file_place whole_file = {1, 1};

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

static uint32_t find_job(const struct trib_planned *planned, const char *name)
{
    uint32_t i = 0;
    while (i < planned->count && strcmp(planned->jobs[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Finds the switch's index in the job's list, adding the switch if absent. False: no room. */
static bool place_switch(struct trib_planned_job *job, struct sums *sums, uint32_t which, uint32_t *place)
{
    uint32_t at = 0;
    while (at < job->count && job->switches[at] < which) {
        at++;
    }
    *place = at;
    if (at < job->count && job->switches[at] == which) {
        return true;
    }
    if (job->count == TRIB_PLANNED_SWITCHES_MAX) {
        return false;
    }
    for (uint32_t i = job->count++; i > at; i--) {
        job->switches[i] = job->switches[i - 1];
        sums->weight[i] = sums->weight[i - 1];
    }
    job->switches[at] = (uint8_t)which;
    sums->weight[at] = 0;
    return true;
}

/* Finds the job of this name, adding the job if absent. NULL: refused. */
static struct trib_planned_job *name_job(struct draft *d, const struct trib_toml_value *name)
{
    struct trib_planned *planned = d->planned;
    uint32_t index = find_job(planned, name->text);
    if (strlen(name->text) > TRIB_NAME_MAX || index == TRIB_PLANNED_JOBS_MAX) {
        (void)REFUSE(d, name->place, "a plan has at most %d jobs, with names of at most %d characters",
                     TRIB_PLANNED_JOBS_MAX, TRIB_NAME_MAX);
        return NULL;
    }
    if (index == planned->count) {
        (void)snprintf(planned->jobs[planned->count++].name, TRIB_NAME_MAX + 1, "%s", name->text);
    }
    return &planned->jobs[index];
}

static bool read_job(struct draft *d, uint32_t table)
{
    const struct trib_toml_value *name = find_value(d, table, "name"), *rate = find_value(d, table, "rate_bps");
    uint64_t bps = 0;
    if (!name || !rate ||
        trib_parse_number(rate->text, TRIB_LINK_RATE_MIN, TRIB_LINK_RATE_MAX, &bps, NULL) != TRIB_OK) {
        return REFUSE(d, d->toml->tables[table].place,
                      "a [[job]] has a name, and a rate_bps of 1000000 or more: this is no "
                      "plan of `tributary plan --out`");
    }
    struct trib_planned_job *job = name_job(d, name);
    if (job) {
        job->rate_bps = bps;
    }
    return job != NULL;
}

static bool read_tree(struct draft *d, uint32_t table)
{
    const struct trib_file_place at = d->toml->tables[table].place;
    const struct trib_toml_value *job = find_value(d, table, "job"), *root = find_value(d, table, "root");
    const struct trib_toml_value *weight = find_value(d, table, "weight");
    uint64_t number = 0;
    uint32_t place = 0;
    if (!job || !root || !weight || trib_parse_number(weight->text, 1, UINT8_MAX, &number, NULL) != TRIB_OK) {
        return REFUSE(d, at,
                      "a [[tree]] has a job, a root, and a weight from 1 to 255: this is no plan of `tributary "
                      "plan --out`");
    }
    uint32_t which = d->names->find(d->names->user, root->text);
    if (which == TRIB_NO_PLACE) {
        return REFUSE(d, root->place,
                      "%s is neither this switch nor one of --with: name switches in the network of the plan as "
                      "--listen and --with do, or by their addresses",
                      root->text);
    }
    struct trib_planned_job *planned = name_job(d, job);
    if (!planned) {
        return false;
    }
    struct sums *sums = &d->sums[planned - d->planned->jobs];
    if (!place_switch(planned, sums, which, &place)) {
        return REFUSE(d, at, "job %s has trees under more than %d switches, which is the most that a job can have",
                      job->text, TRIB_PLANNED_SWITCHES_MAX);
    }
    sums->weight[place] += (uint32_t)number;
    return sums->weight[place] <= SUM_MAX ||
           REFUSE(d, at, "job %s has more than %d trees under one switch", job->text, TRIB_ROOTS_MAX);
}

/* Scales the weights to one byte each, in the same proportions as nearly as possible. */
static void weigh(struct trib_planned_job *job, const struct sums *sums)
{
    uint32_t most = UINT8_MAX;
    TRIB_ASSERT(job->count <= TRIB_PLANNED_SWITCHES_MAX);
    for (uint32_t i = 0; i < job->count; i++) {
        most = sums->weight[i] > most ? sums->weight[i] : most;
    }
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t weight = (sums->weight[i] * UINT8_MAX + most / 2) / most;
        job->weight[i] = (uint8_t)(weight > 0 ? weight : 1);
    }
}

static bool read_draft(struct draft *d)
{
    size_t room = d->toml->table_count < TRIB_PLANNED_JOBS_MAX ? d->toml->table_count : TRIB_PLANNED_JOBS_MAX;
    d->planned->jobs = calloc(room, sizeof *d->planned->jobs);
    d->sums = calloc(room, sizeof *d->sums);
    bool is_good = d->planned->jobs != NULL && d->sums != NULL;
    if (!is_good) {
        trib_explain(d->error, "%s: out of memory", d->toml->path);
    }
    for (uint32_t i = 1; is_good && i < d->toml->table_count; i++) {
        is_good = strcmp(d->toml->tables[i].name, "tree") == 0  ? read_tree(d, i)
                  : strcmp(d->toml->tables[i].name, "job") == 0 ? read_job(d, i)
                                                                : true;
    }
    for (uint32_t i = 0; is_good && i < d->planned->count; i++) {
        is_good =
            d->planned->jobs[i].count > 0 || REFUSE(d, whole_file, "job %s has no [[tree]]", d->planned->jobs[i].name);
        weigh(&d->planned->jobs[i], &d->sums[i]);
    }
    free(d->sums);
    return is_good && (d->planned->count > 0 || REFUSE(d, whole_file, "there is no [[tree]]: this is no plan"));
}

bool trib_planned_read(struct trib_planned *planned, const struct trib_toml *toml,
                       const struct trib_switch_names *names, char *error)
{
    struct draft draft = {.planned = planned, .names = names, .toml = toml, .error = error};
    *planned = (struct trib_planned){.count = 0};
    bool is_good = read_draft(&draft);
    if (!is_good) {
        trib_planned_free(planned);
    }
    return is_good;
}

void trib_planned_free(struct trib_planned *planned)
{
    free(planned->jobs);
    *planned = (struct trib_planned){.count = 0};
}

const struct trib_planned_job *trib_planned_find(const struct trib_planned *planned, const char *name)
{
    uint32_t i = planned ? find_job(planned, name) : 0;
    return planned && i < planned->count ? &planned->jobs[i] : NULL;
}
