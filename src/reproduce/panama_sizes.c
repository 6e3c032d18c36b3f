/* SPDX-License-Identifier: Apache-2.0 */
/* panama_sizes.c: PANAMA's Fig. 2: transfer sizes in a shared cluster. The figure is lost. For each kind of transfer in
 * the text there is at least one published example here, computed from shapes if it has any. Read next: panama.h. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "reproduce/panama.h"
#include "sim/jobs/models.h"

#define KB 1e3
#define MB 1e6
#define GB 1e9
#define FLOAT32 4.0
#define FLOAT16 2.0
#define FLOAT64 8.0
#define BATCH 64.0

double panama_dense_parameters(double inputs, double outputs)
{
    return (inputs + 1) * outputs;
}

double panama_convolution_parameters(double inputs, double outputs, double side)
{
    return (inputs * side * side + 1) * outputs;
}

/* Mnih et al., Nature 2015: 84 x 84 x 4, three convolutions, 512 units, 18 actions. */
static double dqn_bytes(void)
{
    return FLOAT32 * (panama_convolution_parameters(4, 32, 8) + panama_convolution_parameters(32, 64, 4) +
                      panama_convolution_parameters(64, 64, 3) + panama_dense_parameters(7 * 7 * 64, 512) +
                      panama_dense_parameters(512, 18));
}

/* Schulman et al., PPO, 2017: a policy and a value network, each with two layers of 64 units. HalfCheetah has 17
 * observations and 6 actions; the actions' deviations are learned as well. */
static double ppo_bytes(void)
{
    double hidden = panama_dense_parameters(17, 64) + panama_dense_parameters(64, 64);

    return FLOAT32 * (2 * hidden + panama_dense_parameters(64, 6) + panama_dense_parameters(64, 1) + 6);
}

static double gradient_bytes(const char *model)
{
    uint32_t i = 0;

    while (strcmp(sim_model_at(i)->name, model) != 0) {
        i++;
    }
    return (double)sim_model_bytes(sim_model_at(i));
}

enum kind { IMAGES = 0, LANGUAGE, DATA_SETS, STAGES, LAYERS, REINFORCEMENT, CLUSTERS, KINDS };

static const char *const kind_names[KINDS] = {
    "gradients, images",  "gradients, language",    "data sets", "stages of a pipeline",
    "parts of one layer", "reinforcement learning", "k-means",
};

static const char *const section7[] = {"googlenet", "inception3", "resnet50", "resnet152", "alexnet", "vgg16"};

struct range {
    double least;
    double most;
};

static void take(struct reproduce_run *run, struct range ranges[KINDS], enum kind kind, double bytes)
{
    struct range *range = &ranges[kind];

    range->least = range->most == 0 ? bytes : fmin(range->least, bytes);
    range->most = fmax(range->most, bytes);
    reproduce_point(run, kind_names[kind], bytes, (double)kind + 1);
}

bool panama_fig2(struct reproduce_run *run)
{
    struct range ranges[KINDS] = {{0, 0}};
    struct range all = {HUGE_VAL, 0};

    reproduce_panel(run, "What is sent at a time", "bytes", "kind of transfer")->is_log = true;
    for (uint32_t i = 0; i < sizeof section7 / sizeof section7[0]; i++) {
        take(run, ranges, IMAGES, gradient_bytes(section7[i]));
    }
    take(run, ranges, LANGUAGE, gradient_bytes("bert-base"));
    take(run, ranges, LANGUAGE, 8.3e9 * FLOAT32);                /* Megatron-LM's largest */
    take(run, ranges, DATA_SETS, 170498071);                     /* CIFAR-10 */
    take(run, ranges, DATA_SETS, 147897477120.0 + 6744924160.0); /* ImageNet of 2012, training and validation */
    take(run, ranges, STAGES, BATCH * 7 * 7 * 512 * FLOAT32);    /* VGG16, after its convolutions */
    take(run, ranges, STAGES, BATCH * 56 * 56 * 256 * FLOAT32);  /* ResNet50, after its first stage */
    take(run, ranges, LAYERS, 8.0 * 1024 * 3072 * FLOAT16);      /* Megatron-LM: batch, length, width */
    take(run, ranges, REINFORCEMENT, ppo_bytes());
    take(run, ranges, REINFORCEMENT, dqn_bytes());
    take(run, ranges, CLUSTERS, 10.0 * 20 * FLOAT64); /* HiBench: 10 centres of 20 dimensions */
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        all.least = fmin(all.least, ranges[kind].least);
        all.most = fmax(all.most, ranges[kind].most);
    }
    reproduce_got(run, "least", all.least / KB);
    reproduce_got(run, "most", all.most / GB);
    reproduce_got(run, "most-of-introduction", all.most / GB);
    reproduce_got(run, "aggregation", ranges[IMAGES].least / MB);
    reproduce_got(run, "small-sums", fmax(ranges[REINFORCEMENT].most, ranges[CLUSTERS].most) / MB);
    return true;
}
