/* SPDX-License-Identifier: Apache-2.0 */
/* files.c: writes the results of a run to files. Read next: tables.c, page.c. */
#include <errno.h>

#include "io/explain.h"
#include "sim/results/results.h"

#define PATH_LEN 4096

static bool close_written(FILE *file, const char *name, char *error)
{
    bool is_good = ferror(file) == 0;

    is_good = fclose(file) == 0 && is_good;
    if (!is_good) {
        trib_explain(error, "%s could not be written: %s", name, trib_explain_errno(errno));
    }
    return is_good;
}

/* Input of all files. */
struct source {
    const struct sim_run *run;
    const struct sim_results *results;
    const struct sim_story *story;
};

static void put_json(FILE *out, const struct source *s)
{
    sim_results_json(out, s->run, s->results, s->story);
}

static void put_flows(FILE *out, const struct source *s)
{
    sim_results_flows(out, s->run, s->story);
}

static void put_links(FILE *out, const struct source *s)
{
    sim_results_links(out, s->run, s->results, s->story);
}

static void put_figures(FILE *out, const struct source *s)
{
    sim_results_figures(out, s->run, s->results, s->story);
}

static void put_jobs(FILE *out, const struct source *s)
{
    sim_results_jobs(out, s->run, s->story);
}

static void put_iterations(FILE *out, const struct source *s)
{
    sim_results_iterations(out, s->run, s->story);
}

static const struct {
    const char *name;
    void (*put)(FILE *out, const struct source *s);
    bool is_of_jobs;
} files[] = {
    {"results.json", put_json, false},   {"flows.csv", put_flows, false}, {"links.csv", put_links, false},
    {"figures.csv", put_figures, false}, {"jobs.csv", put_jobs, true},    {"iterations.csv", put_iterations, true},
};

bool sim_results_write(const char *folder, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story, char *error)
{
    struct source source = {run, results, story};
    char path[PATH_LEN];

    for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].is_of_jobs && run->jobs.count == 0) {
            continue;
        }
        int len = snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "w") : NULL;
        if (file == NULL) {
            trib_explain(error, "%s/%s: %s", folder, files[i].name, trib_explain_errno(errno));
            return false;
        }
        files[i].put(file, &source);
        if (!close_written(file, path, error)) {
            return false;
        }
    }
    return true;
}

bool sim_results_write_page(const char *path, const struct sim_run *run, const struct sim_results *results,
                            const struct sim_story *story, char *error)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
        return false;
    }
    sim_results_html(file, run, results, story);
    return close_written(file, path, error);
}
