/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster.c: PANAMA's Fig. 8: runs, curves and claims. Read next: panama_cluster.h. */
#include "reproduce/panama_cluster.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/file.h"
#include "reproduce/panama.h"
#include "reproduce/simulate.h"

#define WAYS_MAX 12U

static const struct cluster quick = {6, 4, 16, 9000, 4, 100, 300, 2, {0.5, 0.8}};
static const struct cluster eight = {8, 4, 24, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}};
static const struct cluster sixteen = {16, 16, 96, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}};

/* All results of the figure. */
struct figure {
    const struct cluster *cluster;
    struct cluster_jobs jobs;
    struct cluster_sight sights[WAYS_MAX][CLUSTER_LOADS_MAX];
};

/* Flows without jobs are equal at all loads. */
static uint32_t loads_of(const struct cluster *cluster, const struct cluster_way *way)
{
    return way->job != NULL ? cluster->load_count : 1;
}

uint32_t cluster_runs(const struct cluster *cluster)
{
    uint32_t runs = 0;

    for (uint32_t way = 0; cluster_way_at(way) != NULL; way++) {
        runs += loads_of(cluster, cluster_way_at(way));
    }
    return runs;
}

static void repeat(struct figure *f, uint32_t way)
{
    for (uint32_t load = loads_of(f->cluster, cluster_way_at(way)); load < f->cluster->load_count; load++) {
        f->sights[way][load] = f->sights[way][0];
    }
}

/* ---- curves ---- */

static uint32_t find(const char *folder)
{
    uint32_t way = 0;

    while (strcmp(cluster_way_at(way)->folder, folder) != 0) {
        way++;
    }
    return way;
}

/* Returns a curve's values at a load; load_count: without jobs. */
static struct cluster_sight at(const struct figure *f, uint32_t way, uint32_t load)
{
    return load == f->cluster->load_count ? f->sights[find("flows")][0] : f->sights[way][load];
}

static struct cluster_sight ideal_at(const struct figure *f, uint32_t load)
{
    uint32_t any = load < f->cluster->load_count ? load : 0;
    struct cluster_sight sight = f->sights[find("ideal-short")][0];

    sight.long_gbps = f->sights[find("ideal-long")][0].long_gbps;
    sight.iteration_ms = f->sights[find("ideal-jobs")][any].iteration_ms;
    return sight;
}

static double of(const struct cluster_sight *sight, uint32_t which)
{
    const double values[] = {sight->p99_ms, sight->mean_ms, sight->long_gbps, sight->iteration_ms};

    return values[which];
}

static void draw(struct reproduce_run *run, const struct figure *f)
{
    static const char *const titles[][2] = {
        {"Short flows (< 40 MB): 99th percentile of completion times (Fig. 8a)", "ms"},
        {"Short flows: mean completion time", "ms"},
        {"Long flows: mean throughput (Fig. 8b)", "Gbps"},
        {"Jobs: mean time of an iteration (Fig. 8c)", "ms"},
    };
    uint32_t loads = f->cluster->load_count;

    for (uint32_t which = 0; which < 4; which++) {
        (void)reproduce_panel(run, titles[which][0], "load of flows and jobs, %", titles[which][1]);
        for (uint32_t i = 0; i <= loads; i++) { /* first without jobs, so without times of jobs */
            uint32_t load = i == 0 ? loads : i - 1;
            double x = i == 0 ? CLUSTER_BASE * 100 : f->jobs.loads[load] * 100;
            if (i == 0 && which == 3) {
                continue;
            }
            struct cluster_sight ideal = ideal_at(f, load);
            reproduce_point(run, "ideal", x, of(&ideal, which));
            for (uint32_t way = 0; cluster_way_at(way) != NULL; way++) {
                struct cluster_sight sight = at(f, way, load);
                if (cluster_way_at(way)->role == CLUSTER_CURVE) {
                    reproduce_point(run, cluster_way_at(way)->name, x, of(&sight, which));
                }
            }
        }
    }
}

/* ---- claims ---- */

/* Returns the largest ratio of two ways at any load with jobs. */
static double most(const struct figure *f, uint32_t which, const char *over, const char *under)
{
    double ratio = 0;

    for (uint32_t load = 0; load < f->cluster->load_count; load++) {
        struct cluster_sight a = strcmp(over, "ideal") == 0 ? ideal_at(f, load) : at(f, find(over), load);
        struct cluster_sight b = at(f, find(under), load);
        ratio = fmax(ratio, of(&a, which) / of(&b, which));
    }
    return ratio;
}

/* Returns the ratio at the highest load. */
static double last(const struct figure *f, uint32_t which, const char *over, const char *under)
{
    struct cluster_sight a = at(f, find(over), f->cluster->load_count - 1);
    struct cluster_sight b = at(f, find(under), f->cluster->load_count - 1);

    return of(&a, which) / of(&b, which);
}

static void claim(struct reproduce_run *run, const struct figure *f)
{
    enum { P99 = 0, MEAN, LONG, TRAINING };

    reproduce_got(run, "p99-to-ring", last(f, P99, "ring", "panama"));
    reproduce_got(run, "mean-to-ring", last(f, MEAN, "ring", "panama"));
    reproduce_got(run, "p99-to-no-control", last(f, P99, "switchml", "panama"));
    reproduce_got(run, "p99-ideal", most(f, P99, "ideal", "panama"));
    reproduce_got(run, "p99-panama-switchml", most(f, P99, "panama", "switchml"));
    reproduce_got(run, "p99-switchml-ring", most(f, P99, "switchml", "ring"));
    reproduce_got(run, "long-to-ring", last(f, LONG, "panama", "ring"));
    reproduce_got(run, "training-to-ring", last(f, TRAINING, "ring", "panama"));
    reproduce_got(run, "training-to-no-control", last(f, TRAINING, "panama", "switchml"));
    reproduce_got(run, "training-switchml-panama", most(f, TRAINING, "switchml", "panama"));
    reproduce_got(run, "training-panama-ring", most(f, TRAINING, "panama", "ring"));
    reproduce_got(run, "training-0.88-panama", most(f, TRAINING, "panama-7-8", "panama"));
    reproduce_got(run, "training-0.94-panama", most(f, TRAINING, "panama-15-16", "panama"));
    reproduce_got(run, "p99-panama-0.88", most(f, P99, "panama", "panama-7-8"));
    reproduce_got(run, "p99-panama-0.94", most(f, P99, "panama", "panama-15-16"));
    reproduce_got(run, "own-training-to-ring", most(f, TRAINING, "panama-own", "ring"));
    reproduce_got(run, "own-p99-to-ring", most(f, P99, "panama-own", "ring"));
    reproduce_got(run, "own-mean-to-ring", most(f, MEAN, "panama-own", "ring"));
}

/* ---- in this process ---- */

/* One run. False: interrupted, or run->error. */
static bool simulate(struct reproduce_run *run, struct figure *f, uint32_t way, uint32_t load, uint32_t done)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char *text = malloc(CLUSTER_TEXT_MAX);
    struct cluster_jobs *jobs = malloc(sizeof *jobs);
    bool is_good = true;

    run->is_out_of_memory |= cell == NULL || text == NULL || jobs == NULL;
    if (cell != NULL && text != NULL && jobs != NULL) {
        *jobs = f->jobs;
        jobs->count = f->jobs.first[load];
        (void)cluster_scenario(f->cluster, jobs, cluster_way_at(way), text);
        cell->what = cluster_way_at(way)->name;
        cell->number = done;
        cell->count = cluster_runs(f->cluster);
        is_good = reproduce_open(run, cell, "%s", text) && reproduce_advance(run, cell, SIM_NEVER);
        if (is_good) {
            run->is_out_of_memory |= !cluster_look(&cell->sim, f->cluster->scale, &f->sights[way][load]);
        }
        reproduce_close(cell);
    }
    free(cell);
    free(text);
    free(jobs);
    return is_good;
}

bool panama_fig8(struct reproduce_run *run)
{
    static struct figure f;
    uint32_t done = 0;

    f = (struct figure){.cluster = run->is_quick ? &quick : &eight};
    cluster_draw(f.cluster, &f.jobs);
    for (uint32_t way = 0; cluster_way_at(way) != NULL; way++) {
        for (uint32_t load = 0; load < loads_of(f.cluster, cluster_way_at(way)); load++) {
            if (!simulate(run, &f, way, load, done++)) {
                return false;
            }
        }
        repeat(&f, way);
    }
    draw(run, &f);
    claim(run, &f);
    return true;
}

/* ---- as sweeps ---- */

/* Writes a file; an existing file must be equal. */
static bool write_same(struct reproduce_run *run, const char *folder, const char *name, const char *text)
{
    char path[REPRODUCE_PATH_MAX];
    size_t len = 0;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    char *old = trib_file_read(path, &len, run->error);
    bool is_same = old != NULL && strcmp(old, text) == 0;
    free(old);
    if (is_same) {
        return true;
    }
    if (old != NULL) {
        trib_explain(run->error, "%s is of another version or experiment; name another folder", path);
        return false;
    }
    FILE *file = fopen(path, "w");
    bool is_good = file != NULL && fputs(text, file) >= 0;
    is_good = file != NULL && fclose(file) == 0 && is_good;
    if (!is_good) {
        trib_explain(run->error, "%s: %s", path, trib_explain_errno(errno));
    } else {
        run->error[0] = '\0';
    }
    return is_good;
}

static bool write_way(struct reproduce_run *run, const struct figure *f, const struct cluster_way *way,
                      const char *folder)
{
    static char text[CLUSTER_TEXT_MAX];
    char grid[512];
    char path[REPRODUCE_PATH_MAX];
    int len = snprintf(grid, sizeof grid, "scenario = \"scenario.toml\"\n[[vary]]\n");

    if (way->job == NULL) {
        len += snprintf(grid + len, sizeof grid - (size_t)len, "key = \"seed\"\nvalues = \"1");
    } else {
        len += snprintf(grid + len, sizeof grid - (size_t)len, "key = \"jobs\"\nvalues = \"");
    }
    for (uint32_t load = 0; way->job != NULL && load < f->cluster->load_count; load++) {
        len += snprintf(grid + len, sizeof grid - (size_t)len, "%s%u", load != 0 ? ", " : "", f->jobs.first[load]);
    }
    (void)snprintf(grid + len, sizeof grid - (size_t)len, "\"\n");
    if (snprintf(path, sizeof path, "%s/%s", folder, way->folder) >= (int)sizeof path) {
        trib_explain(run->error, "%s: too long a path", folder);
        return false;
    }
    (void)cluster_scenario(f->cluster, &f->jobs, way, text);
    return trib_file_make_folder(path, run->error) && write_same(run, path, "scenario.toml", text) &&
           write_same(run, path, "grid.toml", grid);
}

static struct figure at_full_size(void)
{
    struct figure f = {.cluster = &sixteen};

    cluster_draw(f.cluster, &f.jobs);
    return f;
}

static bool write_sweep(struct reproduce_run *run, const char *folder)
{
    static struct figure f;

    f = at_full_size();
    bool is_good = trib_file_make_folder(folder, run->error);
    for (uint32_t way = 0; is_good && cluster_way_at(way) != NULL; way++) {
        is_good = write_way(run, &f, cluster_way_at(way), folder);
    }
    return is_good;
}

static bool sweep_part(uint32_t index, const char *folder, char grid[REPRODUCE_PATH_MAX], char out[REPRODUCE_PATH_MAX])
{
    const struct cluster_way *way = cluster_way_at(index);

    if (way != NULL) {
        (void)snprintf(grid, REPRODUCE_PATH_MAX, "%s/%s/grid.toml", folder, way->folder);
        (void)snprintf(out, REPRODUCE_PATH_MAX, "%s/%s/cells", folder, way->folder);
    }
    return way != NULL;
}

static bool read_sweep(struct reproduce_run *run, const char *folder)
{
    static struct figure f;
    char path[REPRODUCE_PATH_MAX];

    f = at_full_size();
    for (uint32_t way = 0; cluster_way_at(way) != NULL; way++) {
        for (uint32_t load = 0; load < loads_of(f.cluster, cluster_way_at(way)); load++) {
            struct cluster_files files = {.scale = f.cluster->scale,
                                          .jobs = cluster_way_at(way)->job != NULL ? f.jobs.first[load] : 0};
            (void)snprintf(path, sizeof path, "%s/%s/cells/%04u", folder, cluster_way_at(way)->folder, load);
            if (!cluster_look_at(path, &files, &f.sights[way][load], run->error)) {
                return false;
            }
        }
        repeat(&f, way);
    }
    draw(run, &f);
    claim(run, &f);
    return true;
}

const struct reproduce_sweep panama_fig8_sweep = {
    .size = "a fat tree of k = 16, 1,024 servers",
    .write = write_sweep,
    .part = sweep_part,
    .read = read_sweep,
};
