/* SPDX-License-Identifier: Apache-2.0 */
/* 04_sharded_step.c: training steps whose optimiser is sharded: each rank keeps and updates its share of the
 * parameters. The gradients are reduce-scattered, so that each rank has the mean of its share, and the new parameters
 * are allgathered. Two layers go as one group.
 *
 *   tributary run -n 4 -- 04_sharded_step
 *
 * Shares need not be equal: here the ranks have 1, 2, 3 ... parts of a layer. Read next: include/tributary/comm.h. */
#include <stdio.h>
#include <stdlib.h>

#include <tributary/tributary.h>

#define LAYERS 2
#define STEPS 3
#define PART 10007 /* elements of one part */

struct layer {
    float *parameters, *gradient; /* whole, on every rank */
    float *mean;                  /* of this rank's share of the gradient */
    uint64_t counts[TRIB_RANKS_MAX], total, before, mine;
};

static bool make_layer(struct layer *layer, uint32_t rank, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        layer->counts[r] = (uint64_t)PART * (r + 1);
        layer->before += r < rank ? layer->counts[r] : 0;
        layer->total += layer->counts[r];
    }
    layer->mine = layer->counts[rank];
    layer->parameters = calloc(layer->total, sizeof(float));
    layer->gradient = calloc(layer->total, sizeof(float));
    layer->mean = calloc(layer->mine, sizeof(float));
    return layer->parameters != NULL && layer->gradient != NULL && layer->mean != NULL;
}

/* Small whole numbers, so that the mean of the ranks is exact. */
static void backward(struct layer *layer, uint32_t rank, int step)
{
    for (uint64_t i = 0; i < layer->total; i++) {
        layer->gradient[i] = (float)(i % 100 + (uint64_t)step) + 2 * (float)rank;
    }
}

static enum trib_status train_step(struct trib_comm *comm, struct layer *layers)
{
    struct trib_call scatter[LAYERS], gather[LAYERS];
    for (int l = 0; l < LAYERS; l++) {
        struct layer *layer = &layers[l];
        scatter[l] = (struct trib_call){.collective = TRIB_REDUCE_SCATTER,
                                        .type = TRIB_FLOAT32,
                                        .reduction = TRIB_AVERAGE,
                                        .send = layer->gradient,
                                        .recv = layer->mean,
                                        .counts = layer->counts};
        gather[l] = (struct trib_call){.collective = TRIB_ALLGATHER,
                                       .type = TRIB_FLOAT32,
                                       .send = layer->parameters + layer->before, /* in place */
                                       .recv = layer->parameters,
                                       .counts = layer->counts};
    }
    enum trib_status status = trib_group(comm, scatter, LAYERS);
    for (int l = 0; l < LAYERS && status == TRIB_OK; l++) {
        for (uint64_t i = 0; i < layers[l].mine; i++) {
            layers[l].parameters[layers[l].before + i] -= layers[l].mean[i];
        }
    }
    return status == TRIB_OK ? trib_group(comm, gather, LAYERS) : status;
}

/* Every rank has all parameters, of which it has updated its share alone. */
static uint64_t count_wrong(const struct layer *layer, uint32_t ranks)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < layer->total; i++) {
        float expected = 0;
        for (int step = 0; step < STEPS; step++) {
            expected -= (float)(i % 100 + (uint64_t)step) + (float)(ranks - 1);
        }
        wrong += layer->parameters[i] < expected || layer->parameters[i] > expected;
    }
    return wrong;
}

static int run(struct trib_comm *comm)
{
    static struct layer layers[LAYERS];
    uint32_t rank = trib_comm_rank(comm), ranks = trib_comm_ranks(comm);
    uint64_t wrong = 0;
    for (int l = 0; l < LAYERS; l++) {
        if (!make_layer(&layers[l], rank, ranks)) {
            fprintf(stderr, "rank %u: out of memory\n", rank);
            return 1;
        }
    }
    for (int step = 0; step < STEPS; step++) {
        for (int l = 0; l < LAYERS; l++) {
            backward(&layers[l], rank, step);
        }
        if (train_step(comm, layers) != TRIB_OK) {
            fprintf(stderr, "rank %u: %s\n", rank, trib_comm_error(comm));
            return 1;
        }
    }
    for (int l = 0; l < LAYERS; l++) {
        wrong += count_wrong(&layers[l], ranks);
        free(layers[l].parameters);
        free(layers[l].gradient);
        free(layers[l].mean);
    }
    printf("rank %u of %u: %d steps, %llu of %llu parameters of each layer updated here, %llu wrong\n", rank, ranks,
           STEPS, (unsigned long long)layers[0].mine, (unsigned long long)layers[0].total, (unsigned long long)wrong);
    return wrong != 0;
}

int main(void)
{
    struct trib_config config;
    struct trib_comm *comm;
    char error[TRIB_ERROR_TEXT_MAX];
    enum trib_status status = trib_config_from_environment(&config, error);
    if (status == TRIB_OK) {
        status = trib_comm_create(&config, &comm, error);
    }
    if (status != TRIB_OK) {
        fprintf(stderr, "cannot join: %s\n", error);
        return 1;
    }
    int result = run(comm);
    return trib_comm_close(comm) == TRIB_OK ? result : 1;
}
