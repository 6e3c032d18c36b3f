/* SPDX-License-Identifier: Apache-2.0 */
/* net.c: forward, backward and step of the network of net.h. All sums have a fixed order. */
#include "net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

static const size_t widths[NET_LAYERS + 1] = {DIGITS_PIXELS, NET_HIDDEN_1, NET_HIDDEN_2, DIGITS_CLASSES};

/* Where the layer's weights (out x in) begin in the array of all; its biases (out) follow them. */
static size_t layer_offset(size_t layer)
{
    size_t offset = 0;
    for (size_t i = 0; i < layer; i++) {
        offset += (widths[i] + 1) * widths[i + 1];
    }
    return offset;
}

static size_t layer_bias_offset(size_t layer)
{
    return layer_offset(layer) + widths[layer] * widths[layer + 1];
}

static float *floats(size_t count)
{
    size_t size = (count * sizeof(float) + 63) / 64 * 64;
    float *memory = aligned_alloc(64, size);
    if (memory != NULL) {
        memset(memory, 0, size);
    }
    return memory;
}

bool net_create(struct net *net, size_t images_max)
{
    size_t columns = matrix_padded(images_max);
    memset(net, 0, sizeof(*net));
    net->images_max = images_max;
    net->weights = floats(NET_PARAMETERS);
    net->gradient = floats(NET_PARAMETERS + 1);
    net->velocity = floats(NET_PARAMETERS);
    bool whole = net->weights != NULL && net->gradient != NULL && net->velocity != NULL;
    for (size_t i = 0; i <= NET_LAYERS; i++) {
        net->by_feature[i] = floats(widths[i] * columns);
        net->delta[i] = floats(widths[i] * columns);
        whole = whole && net->by_feature[i] != NULL && net->delta[i] != NULL;
    }
    for (size_t i = 0; i < NET_LAYERS; i++) {
        net->by_image[i] = floats(widths[i] * columns);
        whole = whole && net->by_image[i] != NULL;
    }
    if (!whole) {
        net_destroy(net);
    }
    return whole;
}

void net_destroy(struct net *net)
{
    free(net->weights);
    free(net->gradient);
    free(net->velocity);
    for (size_t i = 0; i <= NET_LAYERS; i++) {
        free(net->by_feature[i]);
        free(net->delta[i]);
    }
    for (size_t i = 0; i < NET_LAYERS; i++) {
        free(net->by_image[i]);
    }
    memset(net, 0, sizeof(*net));
}

void net_randomise(struct net *net, uint64_t seed)
{
    memset(net->weights, 0, NET_PARAMETERS * sizeof(float));
    for (size_t layer = 0; layer < NET_LAYERS; layer++) {
        float *w = net->weights + layer_offset(layer);
        float limit = sqrtf(6.0F / (float)widths[layer]);
        for (size_t i = 0; i < widths[layer] * widths[layer + 1]; i++) {
            float unit = (float)(digits_random(&seed) >> 40) * 0x1p-24F;
            w[i] = limit * (2.0F * unit - 1.0F);
        }
    }
}

/* to = the transposed of from; columns of to behind from's rows become 0. */
static void transpose(float *to, size_t to_columns, const float *from, size_t from_rows, size_t from_columns)
{
    for (size_t i = 0; i < from_columns; i++) {
        for (size_t j = 0; j < to_columns; j++) {
            to[i * to_columns + j] = j < from_rows ? from[j * from_columns + i] : 0.0F;
        }
    }
}

/* The outputs of all layers for the count images in by_image[0]; the last layer's are scores before softmax. */
static void forward(struct net *net, size_t count)
{
    size_t columns = matrix_padded(count);
    transpose(net->by_feature[0], columns, net->by_image[0], count, DIGITS_PIXELS);
    for (size_t layer = 0; layer < NET_LAYERS; layer++) {
        size_t in = widths[layer];
        size_t out = widths[layer + 1];
        float *y = net->by_feature[layer + 1];
        const float *bias = net->weights + layer_bias_offset(layer);
        matrix_multiply(matrix_of(y, out, columns), matrix_of(net->weights + layer_offset(layer), out, in),
                        matrix_of(net->by_feature[layer], in, columns));
        float floor = layer + 1 < NET_LAYERS ? 0.0F : -INFINITY;
        for (size_t i = 0; i < out; i++) {
            for (size_t j = 0; j < columns; j++) {
                float sum = y[i * columns + j] + bias[i];
                y[i * columns + j] = sum > floor ? sum : floor;
            }
        }
    }
}

/* Softmax of one image's scores: probability[] from the column of the last layer. */
static void softmax(const float *scores, size_t columns, float *probability)
{
    float highest = scores[0];
    for (size_t i = 1; i < DIGITS_CLASSES; i++) {
        highest = scores[i * columns] > highest ? scores[i * columns] : highest;
    }
    float sum = 0.0F;
    for (size_t i = 0; i < DIGITS_CLASSES; i++) {
        probability[i] = expf(scores[i * columns] - highest);
        sum += probability[i];
    }
    for (size_t i = 0; i < DIGITS_CLASSES; i++) {
        probability[i] /= sum;
    }
}

/* delta of the last layer = scale * (softmax - one for the label). Returns scale * the loss. */
static float loss_and_delta(struct net *net, const uint8_t *labels, size_t count, float scale)
{
    size_t columns = matrix_padded(count);
    float *delta = net->delta[NET_LAYERS];
    float loss = 0.0F;
    memset(delta, 0, DIGITS_CLASSES * columns * sizeof(*delta));
    for (size_t j = 0; j < count; j++) {
        float probability[DIGITS_CLASSES];
        softmax(net->by_feature[NET_LAYERS] + j, columns, probability);
        loss -= scale * logf(fmaxf(probability[labels[j]], 1e-30F));
        probability[labels[j]] -= 1.0F;
        for (size_t i = 0; i < DIGITS_CLASSES; i++) {
            delta[i * columns + j] = scale * probability[i];
        }
    }
    return loss;
}

/* The layer's gradient, from its delta and its input. */
static void layer_gradient(struct net *net, size_t layer, size_t count)
{
    size_t columns = matrix_padded(count);
    size_t in = widths[layer];
    size_t out = widths[layer + 1];
    struct matrix delta = {net->delta[layer + 1], out, count, columns, 1};
    float *bias = net->gradient + layer_bias_offset(layer);
    matrix_multiply(matrix_of(net->gradient + layer_offset(layer), out, in), delta,
                    matrix_of(net->by_image[layer], count, in));
    for (size_t i = 0; i < out; i++) {
        float sum = 0.0F;
        for (size_t j = 0; j < count; j++) {
            sum += delta.at[i * columns + j];
        }
        bias[i] = sum;
    }
}

/* delta of the layer's input: through its weights, and through the ReLU below. */
static void layer_delta(struct net *net, size_t layer, size_t count)
{
    size_t columns = matrix_padded(count);
    size_t in = widths[layer];
    size_t out = widths[layer + 1];
    float *delta = net->delta[layer];
    matrix_multiply(matrix_of(delta, in, columns),
                    matrix_transposed(matrix_of(net->weights + layer_offset(layer), out, in)),
                    matrix_of(net->delta[layer + 1], out, columns));
    for (size_t i = 0; i < in * columns; i++) {
        delta[i] = net->by_feature[layer][i] > 0.0F ? delta[i] : 0.0F;
    }
}

void net_gradient(struct net *net, const struct digits *digits, const uint32_t *which, size_t count, float scale)
{
    uint8_t labels[DIGITS_IMAGES];
    size_t columns = matrix_padded(count);
    for (size_t j = 0; j < count; j++) {
        memcpy(net->by_image[0] + j * DIGITS_PIXELS, digits->pixels[which[j]], sizeof(digits->pixels[0]));
        labels[j] = digits->labels[which[j]];
    }
    forward(net, count);
    net->gradient[NET_PARAMETERS] = loss_and_delta(net, labels, count, scale);
    for (size_t layer = NET_LAYERS; layer-- > 0;) {
        if (layer > 0) {
            transpose(net->by_image[layer], widths[layer], net->by_feature[layer], widths[layer], columns);
            layer_delta(net, layer, count);
        }
        layer_gradient(net, layer, count);
    }
}

static bool is_right(const float *scores, size_t columns, uint8_t label)
{
    size_t best = 0;
    for (size_t i = 1; i < DIGITS_CLASSES; i++) {
        best = scores[i * columns] > scores[best * columns] ? i : best;
    }
    return best == label;
}

uint32_t net_count_right(struct net *net, const struct digits *digits, uint32_t first, uint32_t count)
{
    uint32_t right = 0;
    while (count > 0) {
        uint32_t now = count < net->images_max ? count : (uint32_t)net->images_max;
        memcpy(net->by_image[0], digits->pixels[first], now * sizeof(digits->pixels[0]));
        forward(net, now);
        for (uint32_t j = 0; j < now; j++) {
            right += is_right(net->by_feature[NET_LAYERS] + j, matrix_padded(now), digits->labels[first + j]);
        }
        first += now;
        count -= now;
    }
    return right;
}

void net_step(struct net *net, float rate, float momentum)
{
    for (size_t i = 0; i < NET_PARAMETERS; i++) {
        net->velocity[i] = momentum * net->velocity[i] + net->gradient[i];
        net->weights[i] -= rate * net->velocity[i];
    }
}

uint64_t net_hash(const struct net *net)
{
    const unsigned char *bytes = (const unsigned char *)net->weights;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < NET_PARAMETERS * sizeof(float); i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
