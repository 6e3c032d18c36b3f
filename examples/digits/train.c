/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: the training loop. The lines that matter for users of the library are in exchange(). */
#include "train.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

static bool comm_worked(const struct train *train, enum trib_status status, const char *what)
{
    if (status != TRIB_OK) {
        fprintf(stderr, "digits: rank %u: %s: %s (%s)\n", train->rank, what, trib_comm_error(train->comm),
                trib_status_text(status));
    }
    return status == TRIB_OK;
}

/* Adds up the gradients of all ranks, and with them, in the last element, their losses. */
static bool exchange(struct train *train)
{
    if (train->comm == NULL) {
        return true;
    }
    float *gradient = train->net.gradient;
    if (train->rank + 1 == train->ranks) {
        clock_wait(train->options.late_ms);
    }
    return comm_worked(train,
                       trib_allreduce(train->comm, gradient, gradient, NET_PARAMETERS + 1, TRIB_FLOAT32, TRIB_SUM),
                       "allreduce of the gradients");
}

bool train_begin(struct train *train)
{
    if (train->rank == 0) {
        net_randomise(&train->net, train->options.seed);
    }
    if (train->comm == NULL) {
        return true;
    }
    return comm_worked(train, trib_broadcast(train->comm, train->net.weights, NET_PARAMETERS, TRIB_FLOAT32, 0),
                       "broadcast of the first weights");
}

/* The part of `count` things that this rank takes: *first and the number. Parts differ by one at most. */
static uint32_t share(const struct train *train, uint32_t count, uint32_t *first)
{
    *first = count * train->rank / train->ranks;
    return count * (train->rank + 1) / train->ranks - *first;
}

/* Recognised test images, of all ranks' parts. */
static bool test(struct train *train, double *accuracy)
{
    uint32_t first;
    uint32_t count = share(train, DIGITS_TEST, &first);
    int64_t right = net_count_right(&train->net, &train->digits, DIGITS_TRAIN + first, count);
    if (train->comm != NULL && !comm_worked(train, trib_allreduce(train->comm, &right, &right, 1, TRIB_INT64, TRIB_SUM),
                                            "allreduce of the test result")) {
        return false;
    }
    *accuracy = (double)right / DIGITS_TEST;
    return true;
}

uint32_t train_steps(const struct train_options *options)
{
    return DIGITS_TRAIN / options->batch;
}

/* The learning rate falls linearly, step by step, to a tenth of what it began with. */
static float rate_at(const struct train_options *options, uint32_t step)
{
    uint32_t steps = options->epochs * train_steps(options);
    return options->rate * (1.0F - 0.9F * (float)step / (float)steps);
}

bool train_epoch_run(struct train *train, struct train_epoch *epoch)
{
    uint32_t order[DIGITS_TRAIN];
    uint32_t first;
    const struct train_options *options = &train->options;
    uint32_t count = share(train, options->batch, &first);
    double begin = clock_seconds();
    epoch->steps = train_steps(options);
    epoch->loss = 0.0;
    epoch->exchange_seconds = 0.0;
    digits_shuffle(order, DIGITS_TRAIN, options->seed + epoch->number);
    for (uint32_t step = 0; step < epoch->steps; step++) {
        net_gradient(&train->net, &train->digits, order + step * options->batch + first, count,
                     1.0F / (float)options->batch);
        double exchange_begin = clock_seconds();
        if (!exchange(train)) {
            return false;
        }
        epoch->exchange_seconds += clock_seconds() - exchange_begin;
        epoch->loss += (double)train->net.gradient[NET_PARAMETERS] / epoch->steps;
        net_step(&train->net, rate_at(options, (epoch->number - 1) * epoch->steps + step), options->momentum);
    }
    bool tested = test(train, &epoch->accuracy);
    epoch->seconds = clock_seconds() - begin;
    return tested;
}

bool train_hashes(struct train *train, uint64_t hashes[TRIB_RANKS_MAX])
{
    memset(hashes, 0, TRIB_RANKS_MAX * sizeof(*hashes));
    hashes[train->rank] = net_hash(&train->net);
    if (train->comm == NULL) {
        return true;
    }
    /* Everyone else's place is 0: the sum is all hashes side by side. */
    return comm_worked(train, trib_allreduce(train->comm, hashes, hashes, train->ranks, TRIB_INT64, TRIB_SUM),
                       "allreduce of the hashes");
}
