/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h: the probable meaning of a misspelt word: the known word with the fewest edits (Levenshtein).
 *
 * Use: struct trib_nearest nearest = {.word = word, .len = len}; trib_nearest_offer(&nearest, known) for each; then
 * nearest.best is the first of the nearest words. NULL: no word is near. Near is at most 3 edits, fewer than the word's
 * letters. Words have at most 31 bytes. */
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
