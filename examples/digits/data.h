/* SPDX-License-Identifier: Apache-2.0 */
/* data.h: the handwritten digits of examples/data, read into memory, and the order in which training visits them.
 * Read next: net.h. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGITS_PIXELS 64
#define DIGITS_CLASSES 10
#define DIGITS_IMAGES 1797
/* The first 297 of every sixth image are only ever tested on. The rest, 1,500, is for training. */
#define DIGITS_TEST 297
#define DIGITS_TRAIN (DIGITS_IMAGES - DIGITS_TEST)

/* The training images first, then the test images, each in the order of the file. */
struct digits {
    float pixels[DIGITS_IMAGES][DIGITS_PIXELS]; /* 0 to 1 */
    uint8_t labels[DIGITS_IMAGES];
};

/* Reads the CSV file. On failure prints the cause to stderr and returns false. */
bool digits_load(struct digits *digits, const char *path);

/* order = a permutation of 0..count-1, the same for the same seed everywhere. */
void digits_shuffle(uint32_t *order, uint32_t count, uint64_t seed);

/* A random number, the same for the same state everywhere (SplitMix64). */
uint64_t digits_random(uint64_t *state);

#endif
