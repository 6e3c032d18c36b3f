/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: zeroed memory that costs nothing until it is written, on large pages if the kernel has them, because
 * packets access it at random. Read next: network.c, flows.c. */
#ifndef TRIB_SIM_MEMORY_H
#define TRIB_SIM_MEMORY_H

#include <stddef.h>

/* Zeroed; NULL: out of memory. */
void *sim_memory_map(size_t size);
void sim_memory_unmap(void *memory, size_t size); /* NULL is allowed */

/* Pieces that are freed together. Initialize with zeros. */
struct sim_arena {
    /* Newest chunk. Each chunk begins with a pointer to the previous one, and its size. */
    void *chunks;
    size_t used;
    size_t size;
};

/* Returns zeroed memory, 64-byte aligned; NULL: out of memory. */
void *sim_arena_take(struct sim_arena *arena, size_t size);
void sim_arena_free(struct sim_arena *arena);

#define SIM_PIECE_LISTS 64U

/* Pieces of an arena. An owner returns all its pieces together, for other owners with the same sizes. */
struct sim_piece {
    struct sim_piece *next; /* in the owner's list, or in a free list */
    size_t size;
};

struct sim_pieces {
    struct sim_arena arena;
    struct sim_piece *free[SIM_PIECE_LISTS]; /* by size */
};

/* Returns a zeroed piece, owned until sim_pieces_give returns all pieces of the owner. NULL: out of memory. */
void *sim_pieces_take(struct sim_pieces *pieces, struct sim_piece **owner, size_t size);
void sim_pieces_give(struct sim_pieces *pieces, struct sim_piece **owner);
void sim_pieces_free(struct sim_pieces *pieces);

#endif
