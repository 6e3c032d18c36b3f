/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h: which piece of a model a fragment belongs to, and where a combiner keeps it (GOAT: Fang et al., IWQoS'23).
 * A model is cut into as many pieces as a plan says. The sequence says the piece: runs of sequences are dealt to pieces
 * in turn, so a packet has no field for it, and pieces are equally large for tensors of any size. A combiner adds the
 * fragments of its own pieces, and passes on all others.
 *
 * Rows of a communicator with pieces are its own, as many as own fragments can be under way. The fragment names its row
 * without a hash, so no two fragments under way meet in a row.
 * Read next: combiner.h. */
#ifndef TRIB_PROTOCOL_PIECES_H
#define TRIB_PROTOCOL_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/node.h"

#define TRIB_PIECES_MAX 64U

/* No field stands before a gap. */
struct trib_pieces {
    uint64_t own;   /* bit p: piece p is added here */
    uint32_t count; /* of the model; 0: it is not cut, and each fragment may be added */
    uint32_t run;   /* sequences of one piece before the next piece's; at least 1 if there are pieces */
};

/* Bits of all pieces. */
static inline uint64_t trib_pieces_all(uint32_t count)
{
    return count >= TRIB_PIECES_MAX ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* The piece of a sequence, if there are pieces. */
static inline uint32_t trib_pieces_of(const struct trib_pieces *pieces, uint64_t sequence)
{
    return (uint32_t)(sequence / pieces->run % pieces->count);
}

/* True if fragments of this sequence are added here. */
static inline bool trib_pieces_has(const struct trib_pieces *pieces, uint64_t sequence)
{
    return pieces->count == 0 || (pieces->own >> trib_pieces_of(pieces, sequence) & 1) != 0;
}

/* Rows in which own sequences of a window of `span` never meet: those of whole rounds over all pieces, and a round
 * more for where the window begins. */
static inline uint64_t trib_pieces_rows(const struct trib_pieces *pieces, uint64_t span)
{
    uint64_t each = (uint64_t)trib_count_bits(pieces->own) * pieces->run; /* of a round */

    return pieces->count == 0 ? 0 : (span / ((uint64_t)pieces->count * pieces->run) + 1) * each;
}

/* The row of an own sequence among so many: its number among own sequences, modulo rows. Of another sequence some row,
 * which is not the sequence's. */
static inline uint32_t trib_pieces_row(const struct trib_pieces *pieces, uint64_t sequence, uint32_t rows)
{
    uint64_t turn = sequence / pieces->run;
    uint64_t before = pieces->own & ((UINT64_C(1) << turn % pieces->count) - 1);
    uint64_t index = turn / pieces->count * trib_count_bits(pieces->own) + trib_count_bits(before);

    return (uint32_t)((index * pieces->run + sequence % pieces->run) % rows);
}

#endif
