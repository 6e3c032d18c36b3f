/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. Read next: io/memory.h. */
#include "sim/network/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "io/memory.h"

#define CHUNK ((size_t)4 << 20)
#define LINE ((size_t)64)

/* Beginning of a chunk. */
struct chunk {
    struct chunk *before;
    size_t size;
};

void *sim_memory_map(size_t size)
{
    void *memory = trib_memory_map(size);

    if (memory != NULL) {
        (void)madvise(memory, size, MADV_HUGEPAGE);
    }
    return memory;
}

void sim_memory_unmap(void *memory, size_t size)
{
    trib_memory_unmap(memory, size);
}

void *sim_arena_take(struct sim_arena *arena, size_t size)
{
    size = (size + LINE - 1) / LINE * LINE;
    if (arena->size - arena->used < size) {
        size_t room = size + LINE > CHUNK ? size + LINE : CHUNK;
        struct chunk *chunk = sim_memory_map(room);
        if (chunk == NULL) {
            return NULL;
        }
        *chunk = (struct chunk){.before = arena->chunks, .size = room};
        *arena = (struct sim_arena){.chunks = chunk, .used = LINE, .size = room};
    }
    char *piece = (char *)arena->chunks + arena->used;
    arena->used += size;
    return piece;
}

void sim_arena_free(struct sim_arena *arena)
{
    struct chunk *chunk = arena->chunks;

    while (chunk != NULL) {
        struct chunk *before = chunk->before;
        sim_memory_unmap(chunk, chunk->size);
        chunk = before;
    }
    *arena = (struct sim_arena){0};
}

/* ---- pieces ---- */

static struct sim_piece **list_of(struct sim_pieces *pieces, size_t size)
{
    return &pieces->free[size / LINE % SIM_PIECE_LISTS];
}

void *sim_pieces_take(struct sim_pieces *pieces, struct sim_piece **owner, size_t size)
{
    size = (size + LINE - 1) / LINE * LINE;
    struct sim_piece **at = list_of(pieces, size);
    while (*at != NULL && (*at)->size != size) {
        at = &(*at)->next;
    }
    struct sim_piece *piece = *at;
    if (piece != NULL) {
        *at = piece->next;
        memset((char *)piece + LINE, 0, size);
    } else {
        piece = sim_arena_take(&pieces->arena, LINE + size);
        if (piece == NULL) {
            return NULL;
        }
    }
    *piece = (struct sim_piece){.next = *owner, .size = size};
    *owner = piece;
    return (char *)piece + LINE;
}

void sim_pieces_give(struct sim_pieces *pieces, struct sim_piece **owner)
{
    while (*owner != NULL) {
        struct sim_piece *piece = *owner;
        struct sim_piece **list = list_of(pieces, piece->size);
        *owner = piece->next;
        piece->next = *list;
        *list = piece;
    }
}

void sim_pieces_free(struct sim_pieces *pieces)
{
    sim_arena_free(&pieces->arena);
    *pieces = (struct sim_pieces){.arena = pieces->arena};
}
