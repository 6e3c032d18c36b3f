/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c: see nearest.h. Users: comm/launcher.c, cli/options.c, cli/main.c. */
#include "io/nearest.h"

#include <string.h>

#define LENGTH_MAX 31
#define DISTANCE_MAX 3

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Keeps one row of the table of prefixes at a time. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[LENGTH_MAX + 1];
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = lesser(change, 1 + lesser(row[j], row[j - 1]));
        }
    }
    return row[b_len];
}

void trib_nearest_offer(struct trib_nearest *nearest, const char *known)
{
    size_t len = strlen(known);
    if (nearest->len > LENGTH_MAX || len > LENGTH_MAX) {
        return;
    }
    size_t edits = distance(nearest->word, nearest->len, known, len);
    if (edits <= DISTANCE_MAX && edits < len && (nearest->best == NULL || edits < nearest->distance)) {
        nearest->best = known;
        nearest->distance = edits;
    }
}
