/* SPDX-License-Identifier: Apache-2.0 */
/* net.h: a 64-1024-512-10 network with ReLU and softmax cross-entropy, trained by SGD with momentum. It knows nothing
 * of other processes: ranks that train together sum `gradient` before net_step.
 *
 * Use: net_create; net_randomise; then for each step net_gradient, net_step; net_destroy. All weights lie in one array,
 * and all gradients in another of the same layout, so that one allreduce carries them all.
 * Read next: digits.c. */
#ifndef DIGITS_NET_H
#define DIGITS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"

#define NET_LAYERS 3
#define NET_HIDDEN_1 1024
#define NET_HIDDEN_2 512
#define NET_PARAMETERS \
    ((DIGITS_PIXELS + 1) * NET_HIDDEN_1 + (NET_HIDDEN_1 + 1) * NET_HIDDEN_2 + (NET_HIDDEN_2 + 1) * DIGITS_CLASSES)

struct net {
    float *weights;  /* NET_PARAMETERS */
    float *gradient; /* NET_PARAMETERS, and one behind: the loss of the images that it was computed from */
    float *velocity; /* NET_PARAMETERS */
    size_t images_max;
    /* Of the images at hand, per layer boundary (0: the input). By feature: row = neuron; by image: row = image. */
    float *by_feature[NET_LAYERS + 1];
    float *by_image[NET_LAYERS];
    float *delta[NET_LAYERS + 1]; /* derivative of the loss, by feature */
};

/* False when there is no memory. */
bool net_create(struct net *net, size_t images_max);
void net_destroy(struct net *net);

/* Uniform initial weights (He), biases 0. */
void net_randomise(struct net *net, uint64_t seed);

/* Runs the images which[0..count), count <= images_max, forward and backward. gradient = scale * the sum over these
 * images. */
void net_gradient(struct net *net, const struct digits *digits, const uint32_t *which, size_t count, float scale);

/* How many of the images first..first+count-1 are recognised. */
uint32_t net_count_right(struct net *net, const struct digits *digits, uint32_t first, uint32_t count);

/* velocity = momentum * velocity + gradient; weights -= rate * velocity. */
void net_step(struct net *net, float rate, float momentum);

/* FNV-1a over the bytes of all weights. */
uint64_t net_hash(const struct net *net);

#endif
