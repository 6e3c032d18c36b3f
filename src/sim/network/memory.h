/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: memory of a simulation: zeros that cost nothing before they are written to, on large pages where the kernel
 * has them, since what a packet needs next may lie anywhere. Read next: network.c, flows.c. */
#ifndef TRIB_SIM_MEMORY_H
#define TRIB_SIM_MEMORY_H

#include <stddef.h>

/* Zeroed; NULL: out of memory. */
void *sim_memory_map(size_t size);
void sim_memory_unmap(void *memory, size_t size); /* NULL is allowed */

/* Pieces that are given back all at once. The struct begins with zeros. */
struct sim_arena {
    void *chunks; /* the newest; each begins with a pointer to the one before, and its size */
    size_t used;
    size_t size;
};

/* 64-byte aligned, zeros; NULL: out of memory. */
void *sim_arena_take(struct sim_arena *arena, size_t size);
void sim_arena_free(struct sim_arena *arena);

#define SIM_PIECE_LISTS 64U

/* Pieces of an arena that owners give back all at once, for others that want the same sizes. */
struct sim_piece {
    struct sim_piece *next; /* of its owner, or of those that are free */
    size_t size;
};

struct sim_pieces {
    struct sim_arena arena;
    struct sim_piece *free[SIM_PIECE_LISTS]; /* by size */
};

/* Zeroed, the owner's until it gives all of them back; NULL: out of memory. */
void *sim_pieces_take(struct sim_pieces *pieces, struct sim_piece **owner, size_t size);
void sim_pieces_give(struct sim_pieces *pieces, struct sim_piece **owner);
void sim_pieces_free(struct sim_pieces *pieces);

#endif
