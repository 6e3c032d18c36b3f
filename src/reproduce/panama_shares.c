/* SPDX-License-Identifier: Apache-2.0 */
/* panama_shares.c: PANAMA's section 2: the share of communication in training, and the possible gain of adding in the
 * network. Read next: panama.h. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "reproduce/panama.h"
#include "sim/jobs/models.h"

#define GB 1e9
#define P100_LINK_BPS 10e9

double panama_traffic_bytes(double workers, double model_bytes, double iterations)
{
    return 2 * workers * model_bytes * iterations;
}

double panama_share(double model_bytes, double link_bps, double compute_s)
{
    double communication_s = 2 * model_bytes * 8 / link_bps;

    return communication_s / (communication_s + compute_s);
}

double panama_speedup(double share)
{
    return 1 / (1 - share / 2);
}

double panama_ring_ratio(double workers)
{
    return 2 * (workers - 1) / workers;
}

/* TensorFlow's benchmarks of May 2017 (docs_src/performance/benchmarks.md): DGX-1, one P100, synthetic images. Batches
 * are from the suite's table of options; the paper names this suite. models.c has the times with a batch of 32. */
static const struct {
    const char *model;
    double batch;
    double images_per_s;
} p100[] = {
    {"inception3", 64, 142}, {"resnet152", 64, 91.8}, {"resnet50", 64, 219}, {"vgg16", 64, 154}, {"alexnet", 512, 2987},
};

#define MODELS (sizeof p100 / sizeof p100[0])

static const char *const model_names[MODELS] = {"InceptionV3", "ResNet152", "ResNet50", "VGG16", "AlexNet"};

static const struct sim_model *find_model(const char *name)
{
    uint32_t i = 0;

    while (strcmp(sim_model_at(i)->name, name) != 0) {
        i++;
    }
    return sim_model_at(i);
}

static double bytes_of(uint32_t model)
{
    return (double)sim_model_bytes(find_model(p100[model].model));
}

static double compute_s(uint32_t model)
{
    return p100[model].batch / p100[model].images_per_s;
}

static void set_ticks(struct report_plot *panel)
{
    panel->ticks = model_names;
    panel->tick_count = MODELS;
}

bool panama_fig1(struct reproduce_run *run)
{
    static const double links_gbps[] = {1, 2.5, 5, 10, 25, 40, 100};
    double most_share = 0;
    double least_gain = HUGE_VAL;
    double most_gain = 0;

    set_ticks(reproduce_panel(run, "Share of communication, P100, 10 Gbps (Fig. 1a)", "", "share of an iteration"));
    for (uint32_t m = 0; m < MODELS; m++) {
        double share = panama_share(bytes_of(m), P100_LINK_BPS, compute_s(m));
        reproduce_point(run, "batch 64, AlexNet 512", m, share);
        reproduce_point(run, "batch 32, AlexNet 512", m,
                        panama_share(bytes_of(m), P100_LINK_BPS, find_model(p100[m].model)->compute_ms / 1e3));
        most_share = fmax(most_share, share);
    }
    set_ticks(reproduce_panel(run, "Speedup by adding in the network, P100, 10 Gbps (Fig. 1b)", "", "speedup"));
    for (uint32_t m = 0; m < MODELS; m++) {
        double gain = panama_speedup(panama_share(bytes_of(m), P100_LINK_BPS, compute_s(m)));
        reproduce_point(run, "batch 64, AlexNet 512", m, gain);
        reproduce_point(
            run, "batch 32, AlexNet 512", m,
            panama_speedup(panama_share(bytes_of(m), P100_LINK_BPS, find_model(p100[m].model)->compute_ms / 1e3)));
        least_gain = fmin(least_gain, gain);
        most_gain = fmax(most_gain, gain);
    }
    reproduce_panel(run, "The same GPU on other links", "Gbps", "speedup")->is_log = true;
    for (uint32_t m = 0; m < MODELS; m++) {
        for (uint32_t i = 0; i < sizeof links_gbps / sizeof links_gbps[0]; i++) {
            reproduce_point(run, model_names[m], links_gbps[i],
                            panama_speedup(panama_share(bytes_of(m), links_gbps[i] * 1e9, compute_s(m))));
        }
    }
    reproduce_got(run, "largest-share", most_share);
    reproduce_got(run, "p100-least", least_gain);
    reproduce_got(run, "p100-most", most_gain);
    reproduce_got(run, "least-of-share", panama_speedup(0.11));
    reproduce_got(run, "most-of-share", panama_speedup(0.70));
    reproduce_got(run, "bound", panama_ring_ratio(1000));
    return true;
}

bool panama_sum(struct reproduce_run *run)
{
    (void)reproduce_panel(run, "Sent and received by all workers, 1 GB, 1,000 iterations", "workers", "PB");
    for (double workers = 100; workers <= 1000; workers += 100) {
        double bytes = panama_traffic_bytes(workers, GB, 1000);
        reproduce_point(run, "gradients and their sum", workers, bytes / 1e15);
        reproduce_point(run, "on a ring", workers, bytes * panama_ring_ratio(workers) / 1e15);
    }
    reproduce_got(run, "total", panama_traffic_bytes(1000, GB, 1000) / 1e15);
    return true;
}
