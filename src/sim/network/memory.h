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

#endif
