/* SPDX-License-Identifier: Apache-2.0 */
/* tag_vectors.h: numbers of tests/vectors/tag.txt, which tests/vectors/tag.py has written. */
#ifndef TRIB_TEST_TAG_VECTORS_H
#define TRIB_TEST_TAG_VECTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of this name; of a key its first 8 bytes. */
static inline uint64_t vector(const char *wanted)
{
    char name[64];
    char digits[80];
    uint64_t value = 0;
    bool found = false;
    FILE *file = fopen(TRIB_TEST_DIR "/vectors/tag.txt", "r");

    assert_non_null(file);
    while (fscanf(file, "%63s", name) == 1) {
        if (name[0] == '#') {
            (void)fscanf(file, "%*[^\n]");
        } else if (fscanf(file, "%79s", digits) == 1 && strcmp(name, wanted) == 0) {
            found = true;
            digits[16] = '\0';
            value = strtoull(digits, NULL, 16);
        }
    }
    (void)fclose(file);
    assert_true(found);
    return value;
}

static inline uint64_t first_bytes(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

#endif
