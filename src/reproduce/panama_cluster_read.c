/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster_read.c: a run's values in Fig. 8, from memory or from files. Read next: panama_cluster.h,
 * sim/results/tables.c (the files). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/file.h"
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

/* A CSV table with named columns. */
struct table {
    FILE *file;
    char path[PATH_LEN];
    uint32_t number; /* of the line, from 1 */
    uint32_t fields; /* in every line */
    char line[LINE_LEN];
};

/* Returns the next field; NULL: none. */
static const char *next_field(const char *at)
{
    at = strchr(at, ',');
    return at != NULL ? at + 1 : NULL;
}

/* Returns the index-th field of a line as a number; 0: none. */
static double field(const char *line, uint32_t index)
{
    for (; index > 0 && line != NULL; index--) {
        line = next_field(line);
    }
    return line != NULL ? strtod(line, NULL) : 0;
}

static uint32_t count_fields(const char *line)
{
    uint32_t count = 1;

    for (; *line != '\0'; line++) {
        count += *line == ',';
    }
    return count;
}

/* Finds the field of this name. False: none. */
static bool find_field(const struct table *t, const char *name, uint32_t *index, char *error)
{
    size_t len = strlen(name);

    *index = 0;
    for (const char *at = t->line; at != NULL; at = next_field(at)) {
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\n')) {
            return true;
        }
        ++*index;
    }
    trib_explain(error, "%s has no column %s; is it of another version?", t->path, name);
    return false;
}

/* Reads the next line that is no comment. An incomplete line is kept, for is_whole to find. */
static bool next_line(struct table *t)
{
    while (fgets(t->line, sizeof t->line, t->file) != NULL) {
        t->number++;
        if (t->line[0] != '#') {
            return true;
        }
    }
    return false;
}

static bool is_whole(const struct table *t, char *error)
{
    size_t len = strlen(t->line);

    if (len == 0 || t->line[len - 1] != '\n' || count_fields(t->line) != t->fields) {
        trib_explain(error, "%s, line %u is cut off; remove its folder, and the same command runs it again", t->path,
                     t->number);
        return false;
    }
    return true;
}

/* Opens a table at its column names. False: error has the cause. */
static bool open_table(struct table *t, const char *folder, const char *name, char *error)
{
    t->number = 0;
    (void)snprintf(t->path, sizeof t->path, "%s/%s", folder, name);
    t->file = fopen(t->path, "r");
    if (t->file == NULL) {
        trib_explain(error, "%s: %s", t->path, trib_explain_errno(errno));
        return false;
    }
    if (!next_line(t)) {
        t->line[0] = '\0';
    }
    t->fields = count_fields(t->line);
    if (!is_whole(t, error)) {
        (void)fclose(t->file);
        return false;
    }
    return true;
}

/* Compares the number of lines. A truncated file may end anywhere, even after a line. */
static bool close_table(struct table *t, uint64_t lines, uint64_t expected, char *error)
{
    bool is_read = ferror(t->file) == 0;

    if (!is_read) {
        trib_explain(error, "%s: %s", t->path, trib_explain_errno(errno));
    } else if (lines != expected) {
        trib_explain(error,
                     "%s has %" PRIu64 " lines of %" PRIu64 "; remove its folder, and the same command runs it "
                     "again",
                     t->path, lines, expected);
    }
    (void)fclose(t->file);
    return is_read && lines == expected;
}

/* Reads the expected number of flows. */
static bool count_flows(const char *folder, uint64_t *count, char *error)
{
    static const char begun[] = "\"flows_begun\":";
    static const char ended[] = ",\"flows_ended\":";
    char path[PATH_LEN];
    size_t len = 0;

    (void)snprintf(path, sizeof path, "%s/results.json", folder);
    char *text = trib_file_read(path, &len, error);
    if (text == NULL) {
        return false;
    }
    const char *at = strstr(text, begun); /* values of the ideal part have no such key */
    at = at != NULL ? strchr(at, ',') : NULL;
    bool is_there = at != NULL && strncmp(at, ended, sizeof ended - 1) == 0;
    *count = is_there ? strtoull(at + sizeof ended - 1, NULL, 10) : 0;
    if (!is_there) {
        trib_explain(error, "%s does not say how many flows ended; is it cut off, or of another version?", path);
    }
    free(text);
    return is_there;
}

static bool look_at_flows(const char *folder, struct cluster_sight *sight, char *error)
{
    struct flow_list flows = {0};
    struct table t;
    uint32_t bytes = 0;
    uint32_t time = 0;
    uint64_t lines = 0;
    uint64_t expected = 0;

    if (!count_flows(folder, &expected, error) || !open_table(&t, folder, "flows.csv", error)) {
        return false;
    }
    bool is_good = find_field(&t, "size", &bytes, error) && find_field(&t, "fct_ns", &time, error);
    while (is_good && next_line(&t)) {
        is_good = is_whole(&t, error);
        if (is_good && !take_flow(&flows, (uint64_t)field(t.line, bytes), field(t.line, time))) {
            trib_explain(error, "out of memory");
            is_good = false;
        }
        lines++;
    }
    is_good = close_table(&t, lines, is_good ? expected : lines, error) && is_good;
    if (is_good) {
        sum_up(&flows, sight);
    }
    free(flows.ms);
    return is_good;
}

static bool look_at_jobs(const char *folder, const struct cluster_files *files, struct cluster_sight *sight,
                         char *error)
{
    struct table t;
    uint32_t measured = 0;
    uint32_t iteration = 0;
    uint64_t lines = 0;

    if (files->jobs == 0) {
        return true; /* a run without jobs writes none */
    }
    if (!open_table(&t, folder, "jobs.csv", error)) {
        return false;
    }
    bool is_good = find_field(&t, "measured", &measured, error) && find_field(&t, "iteration_ns", &iteration, error);
    while (is_good && next_line(&t)) {
        is_good = is_whole(&t, error);
        if (is_good && field(t.line, measured) > 0) {
            take_job(sight, field(t.line, iteration), files->scale);
        }
        lines++;
    }
    return close_table(&t, lines, is_good ? files->jobs : lines, error) && is_good;
}

bool cluster_look_at(const char *folder, const struct cluster_files *files, struct cluster_sight *sight, char *error)
{
    struct cluster_sight seen = *sight;

    if (!look_at_flows(folder, &seen, error) || !look_at_jobs(folder, files, &seen, error)) {
        return false;
    }
    if (seen.flows == 0 && seen.long_flows == 0 && seen.jobs == 0) {
        trib_explain(error, "%s has no results", folder);
        return false;
    }
    *sight = seen;
    return true;
}
