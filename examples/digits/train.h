/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: synchronous SGD over the ranks of a communicator, or in one process without any.
 * Every rank runs its share of each global batch forward and backward; the gradients are added up over all ranks by one
 * trib_allreduce; every rank takes the same step. So all ranks hold the same weights, bit by bit, at all times.
 * Read next: train.c; report.h (the report). */
#ifndef DIGITS_TRAIN_H
#define DIGITS_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "data.h"
#include "net.h"

struct train_options {
    uint32_t epochs;
    uint32_t batch; /* images of one step, over all ranks */
    float rate;     /* at the start; it falls linearly to a tenth */
    float momentum;
    uint64_t seed;
    uint32_t late_ms; /* the last rank waits so long before each exchange: what a slow one costs, with a quorum */
};

struct train {
    struct train_options options;
    struct trib_comm *comm; /* NULL: one process alone */
    uint32_t rank;
    uint32_t ranks;
    struct net net;
    struct digits digits;
};

/* Result of one epoch over all ranks. */
struct train_epoch {
    uint32_t number; /* from 1 */
    uint32_t steps;
    double loss;             /* mean over the training images, as met */
    double accuracy;         /* of the test images, 0 to 1 */
    double seconds;          /* of this rank, in all */
    double exchange_seconds; /* of those, inside trib_allreduce of the gradients */
};

/* Steps of one training epoch. Images that do not fill a batch wait for the next epoch's order. */
uint32_t train_steps(const struct train_options *options);

/* Rank 0 draws the first weights, the others receive them. False: the cause was printed. */
bool train_begin(struct train *train);
/* False: the cause was printed. */
bool train_epoch_run(struct train *train, struct train_epoch *epoch);
/* hashes[rank] = hash of the weights that rank holds, for all ranks. False: the cause was printed. */
bool train_hashes(struct train *train, uint64_t hashes[TRIB_RANKS_MAX]);

#endif
