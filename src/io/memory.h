/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: memory of nodes: zeros that cost nothing until written, and that can be given back in parts. Read next:
 * core/node.h (which parts). */
#ifndef TRIB_IO_MEMORY_H
#define TRIB_IO_MEMORY_H

#include "core/node.h"

/* Returns zeroed memory aligned to a page, owned by the caller until trib_memory_unmap with the same size. NULL: out of
 * memory. */
void *trib_memory_map(size_t size);
void trib_memory_unmap(void *memory, size_t size); /* NULL is allowed */
/* Gives whole pages of the ranges, counted from `node`, back to the kernel: they are zeros from now on. Partial pages
 * at the ends of the ranges are zeroed too. */
void trib_memory_give_back(void *node, const struct trib_range *ranges, uint32_t count);
/* Bytes of the memory that are resident. */
size_t trib_memory_held(const void *memory, size_t size);

#endif
