/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: reads examples/data/digits.csv (65 integers a line) and shuffles indexes with a seed. */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one integer from 0 to max and the character behind it. */
static bool number_read(const char **at, long max, char behind, long *value)
{
    char *end;
    *value = strtol(*at, &end, 10);
    if (end == *at || *value < 0 || *value > max || *end != behind) {
        return false;
    }
    *at = end + 1;
    return true;
}

static bool line_parse(const char *line, float *pixels, uint8_t *label)
{
    long value;
    for (size_t i = 0; i < DIGITS_PIXELS; i++) {
        if (!number_read(&line, 16, ',', &value)) {
            return false;
        }
        pixels[i] = (float)value / 16.0F;
    }
    if (!number_read(&line, DIGITS_CLASSES - 1, '\n', &value)) {
        return false;
    }
    *label = (uint8_t)value;
    return true;
}

bool digits_load(struct digits *digits, const char *path)
{
    char line[512];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "digits: cannot open %s: %s (name the file with --data)\n", path, strerror(errno));
        return false;
    }
    size_t count = 0;
    size_t tests = 0;
    while (count < DIGITS_IMAGES && fgets(line, sizeof(line), file) != NULL) {
        bool is_test = count % 6 == 5 && tests < DIGITS_TEST;
        size_t at = is_test ? DIGITS_TRAIN + tests : count - tests;
        if (!line_parse(line, digits->pixels[at], &digits->labels[at])) {
            break;
        }
        tests += is_test;
        count++;
    }
    fclose(file);
    if (count != DIGITS_IMAGES) {
        fprintf(stderr, "digits: %s line %zu is not 64 pixels (0-16) and a digit (0-9)\n", path, count + 1);
        return false;
    }
    return true;
}

uint64_t digits_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void digits_shuffle(uint32_t *order, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)(digits_random(&seed) % i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}
