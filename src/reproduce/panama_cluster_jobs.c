/* SPDX-License-Identifier: Apache-2.0 */
/* panama_cluster_jobs.c: jobs and scenarios of Fig. 8. Read next: panama_cluster.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "core/prng.h"
#include "reproduce/panama_cluster.h"
#include "reproduce/simulate.h"

#define RATE_BPS 10e9
#define TREES 4U
#define SWITCHML_POOL 128U
#define SEED 1U

/* The paper's six models. */
static const char *const models[] = {"alexnet", "googlenet", "inception3", "resnet50", "resnet152", "vgg16"};
#define MODELS (sizeof models / sizeof models[0])

#define OWN_MARKS "scheme = \"panama\"\nwindow = 512\n"
#define PANAMA_WITH(quorum) "scheme = \"panama" quorum "\"\nwindow = 512\n" REPRODUCE_MARKS_OF_ALL
#define PANAMA PANAMA_WITH("")

/* Ways that are compared. SwitchML's window: as many slots as it has at 10 Gbit/s (NSDI'21, of 128 bytes each), of
 * 1,408 bytes, or whole packets of 8,192 for these bytes, divided among the trees like its fragments. */
static const struct cluster_way ways[] = {
    {"short flows alone", "ideal-short", CLUSTER_IDEAL, NULL, "below = \"40MB\"\n"},
    {"long flows alone", "ideal-long", CLUSTER_IDEAL, NULL, "least = \"40MB\"\n"},
    {"jobs alone", "ideal-jobs", CLUSTER_IDEAL, PANAMA, NULL},
    {"no jobs", "flows", CLUSTER_BASIS, NULL, ""},
    {"ring", "ring", CLUSTER_CURVE, "scheme = \"ring-steps\"\n", ""},
    {"SwitchML*", "switchml", CLUSTER_CURVE, "scheme = \"switchml\"\nwindow = %u\n", ""},
    {"PANAMA", "panama", CLUSTER_CURVE, PANAMA, ""},
    {"PANAMA, own marks", "panama-own", CLUSTER_CURVE, OWN_MARKS, ""},
    {"PANAMA-0.88", "panama-7-8", CLUSTER_CURVE, PANAMA_WITH(":7/8"), ""},
    {"PANAMA-0.94", "panama-15-16", CLUSTER_CURVE, PANAMA_WITH(":15/16"), ""},
};

const struct cluster_way *cluster_way_at(uint32_t index)
{
    return index < sizeof ways / sizeof ways[0] ? &ways[index] : NULL;
}

/* ---- jobs ---- */

static double ring_ms(const struct cluster_job *job)
{
    return 2.0 * (job->workers - 1) / job->workers * (double)sim_model_bytes(job->model) * 8e3 / RATE_BPS;
}

double cluster_job_load(const struct cluster_job *job)
{
    return ring_ms(job) / (ring_ms(job) + job->model->compute_ms);
}

static const struct sim_model *find_model(const char *name)
{
    uint32_t i = 0;

    while (sim_model_at(i) != NULL && strcmp(sim_model_at(i)->name, name) != 0) {
        i++;
    }
    return sim_model_at(i);
}

/* Draws a model with a probability in proportion to its bytes. */
static const struct sim_model *draw_model(struct trib_prng *prng)
{
    uint64_t all = 0;

    for (size_t i = 0; i < MODELS; i++) {
        all += find_model(models[i])->parameters;
    }
    uint64_t draw = trib_prng_below(prng, all);
    size_t i = 0;
    while (draw >= find_model(models[i])->parameters) {
        draw -= find_model(models[i++])->parameters;
    }
    return find_model(models[i]);
}

/* Draws a number of workers, at most the servers left; 0: too few are left. */
static uint32_t draw_workers(const struct cluster *c, struct trib_prng *prng, uint32_t left)
{
    uint32_t drawn = c->least_workers + (uint32_t)trib_prng_below(prng, c->most_workers - c->least_workers + 1);

    drawn = drawn < left ? drawn : left;
    return drawn < c->least_workers ? 0 : drawn;
}

void cluster_draw(const struct cluster *c, struct cluster_jobs *jobs)
{
    struct trib_prng prng = {.state = trib_mix64(SEED)};
    uint32_t hosts = c->k * c->k * c->k / 4;
    uint32_t left = hosts;
    double load = CLUSTER_BASE;

    *jobs = (struct cluster_jobs){.count = 0};
    while (jobs->count < CLUSTER_JOBS_MAX && load < c->aims[c->load_count - 1]) {
        struct cluster_job job = {.workers = draw_workers(c, &prng, left), .model = draw_model(&prng)};
        uint64_t iteration_us = job.workers != 0 ? (uint64_t)((ring_ms(&job) + job.model->compute_ms) * 1e3) : 1;
        job.start_us = 1 + (uint32_t)trib_prng_below(&prng, iteration_us);
        if (job.workers == 0) {
            break;
        }
        double more = load + cluster_job_load(&job) * job.workers / hosts;
        for (uint32_t i = 0; i < c->load_count; i++) { /* load closest to the aim, with whole jobs */
            if (fabs(more - c->aims[i]) < fabs(jobs->loads[i] - c->aims[i])) {
                jobs->loads[i] = more;
                jobs->first[i] = jobs->count + 1;
            }
        }
        jobs->list[jobs->count++] = job;
        left -= job.workers;
        load = more;
    }
    jobs->count = jobs->first[c->load_count - 1];
}

/* ---- scenarios ---- */

static void add(char *text, uint32_t *len, const char *more)
{
    size_t size = strlen(more);

    TRIB_ASSERT(*len + size < CLUSTER_TEXT_MAX);
    memcpy(text + *len, more, size + 1);
    *len += (uint32_t)size;
}

static void add_job(const struct cluster *c, const struct cluster_job *job, const struct cluster_way *way, char *text,
                    uint32_t *len)
{
    char line[512];
    uint32_t window = SWITCHML_POOL / TREES * 1408U / (c->mtu > 8284U ? 8192U : c->mtu - 92U);

    (void)snprintf(line, sizeof line,
                   "[[job]]\nworkers = %u\nmodel = \"%s\"\niterations = 1000\nstart = \"%uus\"\ntrees = %u\n"
                   "threshold = \"40MB\"\n",
                   job->workers, job->model->name, job->start_us / c->scale, TREES);
    add(text, len, line);
    const char *at = strstr(way->job, "%u");
    (void)snprintf(line, sizeof line, "%.*s", at != NULL ? (int)(at - way->job) : (int)strlen(way->job), way->job);
    add(text, len, line);
    if (at != NULL) {
        (void)snprintf(line, sizeof line, "%u%s", window, at + 2);
        add(text, len, line);
    }
}

uint32_t cluster_scenario(const struct cluster *c, const struct cluster_jobs *jobs, const struct cluster_way *way,
                          char text[CLUSTER_TEXT_MAX])
{
    static const char *const sizes[] = {"websearch-packets", "datamining-packets"};
    char line[1024];
    uint32_t len = 0;

    (void)snprintf(line, sizeof line,
                   "seed = %u\nduration = \"1000s\"\nwarmup = \"%ums\"\nwindow = \"%ums\"\nmtu = \"%uB\"\n"
                   "scale = \"1/%u\"\n[topology]\nkind = \"fat-tree\"\nk = %u\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
                   "[queues]\nbuffer = \"none\"\necn = \"127500B\"\nhost_ecn = true\n%s",
                   SEED, c->warmup_ms, c->window_ms, c->mtu, c->scale, c->k,
                   way->job != NULL ? "[switches]\nmemory = \"64MB\"\n" : "");
    add(text, &len, line);
    for (uint32_t i = 0; way->flows != NULL && i < 2; i++) {
        (void)snprintf(line, sizeof line, "[[traffic]]\nkind = \"poisson\"\nsize = \"%s\"\nload = \"%.0f%%\"\n%s",
                       sizes[i], CLUSTER_BASE / 2 * 100, way->flows);
        add(text, &len, line);
    }
    for (uint32_t i = 0; way->job != NULL && i < jobs->count; i++) {
        add_job(c, &jobs->list[i], way, text, &len);
    }
    return len;
}
