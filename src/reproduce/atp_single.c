/* SPDX-License-Identifier: Apache-2.0 */
/* atp_single.c: one job of eight workers and a server in the simulator, against the baselines. Read next: atp.h,
 * simulate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define WORKERS 8U

struct model {
    const char *name;
    double compute_ms; /* 0: from the simulator's table */
    bool is_vgg;
    bool is_resnet;
};

/* VGG11 and VGG19: VGG16's time in proportion to multiplications, 7.6 and 19.6 to 15.5 billion. */
static const struct model models[] = {
    {"alexnet", 0, false, false},  {"vgg11", 222 * 7.6 / 15.5, true, false},
    {"vgg16", 0, true, false},     {"vgg19", 222 * 19.6 / 15.5, true, false},
    {"resnet50", 0, false, true},  {"resnet101", 0, false, true},
    {"resnet152", 0, false, true},
};

static const struct {
    const char *name;
    const char *scheme;
    const char *more;
} ways[] = {
    {"ATP", "atp", ""},
    {"SwitchML", "switchml", ""},
    {"N servers", "ps", "servers = 8\nservers_at_workers = true\n"},
    {"one server", "ps", ""},
    {"ring", "ring-steps", ""},
};

#define MODELS (sizeof models / sizeof models[0])
#define WAYS (sizeof ways / sizeof ways[0])
enum { ATP = 0, SWITCHML, SERVERS, SERVER, RING }; /* from SERVERS on hosts add, and no switch */

/* Results of a run. */
struct outcome {
    double iteration_ms;
    double gbps;    /* of a worker's link while the worker sums, headers included */
    uint32_t hosts; /* with sent packets */
};

static uint32_t count_hosts(const struct sim_network *n)
{
    uint32_t hosts = 0;

    for (uint32_t host = 0; host < n->hosts; host++) {
        hosts += n->links[sim_network_host_link(host)].bytes != 0;
    }
    return hosts;
}

/* One run. False: interrupted, or run->error. */
static bool time_model(struct reproduce_run *run, uint32_t number, const struct model *model, uint32_t way,
                       struct outcome *outcome)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t scale = run->is_quick ? 32 : 4;
    char compute[64] = "";

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = ways[way].name;
    cell->number = number;
    cell->count = MODELS * WAYS;
    if (model->compute_ms != 0) {
        (void)snprintf(compute, sizeof compute, "compute = \"%.0fus\"\n", model->compute_ms * 1e3);
    }
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                                  "[topology]\nkind = \"star\"\nhosts = %u\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                                  "[[job]]\nscheme = \"%s\"\nworkers = %u\nmodel = \"%s\"\n%siterations = 2\n%s",
                                  scale, WORKERS + 1, ways[way].scheme, WORKERS, model->name, compute, ways[way].more);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        *outcome = (struct outcome){.iteration_ms = sim_results_job(&cell->sim, 0).iteration_ps / 1e9 * scale,
                                    .gbps = sim_results_rate(&cell->sim, 0) / 1e9,
                                    .hosts = count_hosts(&cell->sim.network)};
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

static double megabytes(const char *name)
{
    for (uint32_t i = 0; sim_model_at(i) != NULL; i++) {
        if (strcmp(sim_model_at(i)->name, name) == 0) {
            return (double)sim_model_bytes(sim_model_at(i)) / 1e6;
        }
    }
    return 0;
}

/* Number of ways with the scheme. */
static uint32_t count_ways(const char *scheme)
{
    uint32_t count = 0;

    for (uint32_t way = 0; way < WAYS; way++) {
        count += strcmp(ways[way].scheme, scheme) == 0;
    }
    return count;
}

/* Gains over a baseline. */
struct gains {
    double of_vgg;    /* the least */
    double of_resnet; /* the most */
};

static void look(struct gains *g, const struct model *model, double gain)
{
    g->of_vgg = model->is_vgg ? fmin(g->of_vgg, gain) : g->of_vgg;
    g->of_resnet = model->is_resnet ? fmax(g->of_resnet, gain) : g->of_resnet;
}

bool atp_single(struct reproduce_run *run)
{
    struct outcome all[MODELS][WAYS] = {{{0}}};
    struct gains gains[WAYS];
    double to_others[WAYS];
    double gbps = 0;
    double ratio = HUGE_VAL;
    uint32_t trained = 0; /* models */

    for (uint32_t way = 0; way < WAYS; way++) {
        to_others[way] = HUGE_VAL;
        gains[way] = (struct gains){HUGE_VAL, 0};
    }
    (void)reproduce_panel(run, "Iterations a second, by the model's size", "MB", "1/s");
    for (uint32_t m = 0; m < MODELS; m++) {
        for (uint32_t way = 0; way < WAYS; way++) {
            if (!time_model(run, (uint32_t)(m * WAYS) + way, &models[m], way, &all[m][way])) {
                return false;
            }
            double gain = all[m][way].iteration_ms / all[m][ATP].iteration_ms;
            reproduce_point(run, ways[way].name, megabytes(models[m].name), 1e3 / all[m][way].iteration_ms);
            to_others[way] = fmin(to_others[way], gain);
            look(&gains[way], &models[m], gain - 1);
        }
        gbps = fmax(gbps, all[m][ATP].gbps);
        trained++;
    }
    reproduce_got(run, "hosts", all[0][ATP].hosts);
    reproduce_got(run, "gpus", WORKERS / (all[0][ATP].hosts - 1.0));
    reproduce_got(run, "rate", gbps);
    reproduce_got(run, "byteps", count_ways("ps"));
    reproduce_got(run, "horovod", count_ways("ring-steps"));
    reproduce_got(run, "models", trained);
    reproduce_got(run, "to-switchml", to_others[SWITCHML]);
    reproduce_got(run, "to-servers", to_others[SERVERS]);
    reproduce_got(run, "to-server", to_others[SERVER]);
    reproduce_got(run, "to-ring", to_others[RING]);
    for (uint32_t way = SERVERS; way < WAYS; way++) {
        ratio = fmin(ratio, gains[way].of_vgg / gains[way].of_resnet);
    }
    reproduce_got(run, "vgg-to-resnet", ratio);
    return true;
}
