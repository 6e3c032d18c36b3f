/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster_read.c: what Fig. 8 shows of one run, from its memory or from its files. Read next:
 * panama_cluster.h, sim/results/tables.c (the files). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "reproduce/panama_cluster.h"
#include "sim/results/results.h"

#define PATH_LEN 4096
#define LINE_LEN 4096

/* Times of short flows, and the rates of long ones. */
struct flow_list {
    double *ms;
    uint64_t count;
    uint64_t room;
    double gbps;
    uint64_t long_count;
};

static bool take_flow(struct flow_list *f, uint64_t bytes, double ns)
{
    if (bytes >= CLUSTER_SHORT_BYTES) {
        f->gbps += (double)bytes * 8 / ns;
        f->long_count++;
        return true;
    }
    if (f->count == f->room) {
        uint64_t room = f->room == 0 ? 4096 : 2 * f->room;
        double *ms = realloc(f->ms, room * sizeof *ms);
        if (ms == NULL) {
            return false;
        }
        f->ms = ms;
        f->room = room;
    }
    f->ms[f->count++] = ns / 1e6;
    return true;
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

static void sum_up(struct flow_list *f, struct cluster_sight *sight)
{
    double sum = 0;

    if (f->count != 0) {
        qsort(f->ms, f->count, sizeof *f->ms, compare);
        for (uint64_t i = 0; i < f->count; i++) {
            sum += f->ms[i];
        }
        sight->p99_ms = f->ms[(f->count * 99 + 99) / 100 - 1];
        sight->mean_ms = sum / (double)f->count;
        sight->flows = f->count;
    }
    if (f->long_count != 0) {
        sight->long_gbps = f->gbps / (double)f->long_count;
        sight->long_flows = f->long_count;
    }
}

static void take_job(struct cluster_sight *sight, double iteration_ns, uint32_t scale)
{
    sight->iteration_ms = (sight->iteration_ms * sight->jobs + iteration_ns / 1e6 * scale) / (sight->jobs + 1);
    sight->jobs++;
}

bool cluster_look(const struct sim_run *run, uint32_t scale, struct cluster_sight *sight)
{
    struct flow_list flows = {0};
    bool is_good = true;

    for (uint64_t i = 0; is_good && i < run->end_count; i++) {
        const struct sim_flow_end *end = &run->ends[i];
        is_good = take_flow(&flows, end->plan.bytes, (double)(end->end_ps - end->start_ps) / 1e3);
    }
    sum_up(&flows, sight);
    free(flows.ms);
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        struct sim_job_times t = sim_results_job(run, i);
        if (t.count != 0) {
            take_job(sight, t.iteration_ps / 1e3, scale);
        }
    }
    return is_good;
}

/* ---- from files ---- */

/* The index-th field of a line; 0 where there is none. */
static double field(const char *line, uint32_t index)
{
    while (index > 0 && line != NULL) {
        line = strchr(line, ',');
        line = line != NULL ? line + 1 : NULL;
        index--;
    }
    return line != NULL ? strtod(line, NULL) : 0;
}

/* Which field has this name; UINT32_MAX: none. */
static uint32_t find_field(const char *head, const char *name)
{
    size_t len = strlen(name);

    for (uint32_t i = 0; head != NULL; i++) {
        if (strncmp(head, name, len) == 0 && (head[len] == ',' || head[len] == '\n')) {
            return i;
        }
        head = strchr(head, ',');
        head = head != NULL ? head + 1 : NULL;
    }
    return UINT32_MAX;
}

struct table {
    FILE *file;
    char line[LINE_LEN];
};

static bool next_line(struct table *t)
{
    while (fgets(t->line, sizeof t->line, t->file) != NULL) {
        if (t->line[0] != '#') {
            return true;
        }
    }
    return false;
}

/* At the names of its columns. False: there is no such file. */
static bool open_table(struct table *t, const char *folder, const char *name)
{
    char path[PATH_LEN];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    t->file = fopen(path, "r");
    if (t->file != NULL && !next_line(t)) {
        t->line[0] = '\0';
    }
    return t->file != NULL;
}

static bool look_at_flows(const char *folder, struct cluster_sight *sight)
{
    struct flow_list flows = {0};
    struct table t;
    bool is_good = true;

    if (!open_table(&t, folder, "flows.csv")) {
        return true; /* there are none */
    }
    uint32_t bytes = find_field(t.line, "size");
    uint32_t time = find_field(t.line, "fct_ns");
    while (is_good && next_line(&t)) {
        is_good = take_flow(&flows, (uint64_t)field(t.line, bytes), field(t.line, time));
    }
    sum_up(&flows, sight);
    free(flows.ms);
    (void)fclose(t.file);
    return is_good;
}

static void look_at_jobs(const char *folder, uint32_t scale, struct cluster_sight *sight)
{
    struct table t;

    if (!open_table(&t, folder, "jobs.csv")) {
        return;
    }
    uint32_t measured = find_field(t.line, "measured");
    uint32_t iteration = find_field(t.line, "iteration_ns");
    while (next_line(&t)) {
        if (field(t.line, measured) > 0) {
            take_job(sight, field(t.line, iteration), scale);
        }
    }
    (void)fclose(t.file);
}

bool cluster_look_at(const char *folder, uint32_t scale, struct cluster_sight *sight, char *error)
{
    if (!look_at_flows(folder, sight)) {
        trib_explain(error, "out of memory");
        return false;
    }
    look_at_jobs(folder, scale, sight);
    if (sight->flows == 0 && sight->long_flows == 0 && sight->jobs == 0) {
        trib_explain(error, "%s has no results", folder);
        return false;
    }
    return true;
}
