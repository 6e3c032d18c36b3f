/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h: the probable meaning of a misspelt word: the known word with the fewest edits (Levenshtein).
 *
 * Use: struct trib_nearest nearest = {.word = word, .len = len}; trib_nearest_offer(&nearest, known) for each; then
 * nearest.best is the first of the nearest, NULL when none is near: 3 edits at most, fewer than it has letters, and
 * words of 31 bytes at most. */
#ifndef TRIB_IO_NEAREST_H
#define TRIB_IO_NEAREST_H

#include <stddef.h>

struct trib_nearest {
    const char *word;
    size_t len;
    const char *best;
    size_t distance; /* of best */
};

void trib_nearest_offer(struct trib_nearest *nearest, const char *known);

#endif
