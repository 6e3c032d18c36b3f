/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.h: memory for a node, as its size() asks for it, full of what no node may take for a zero. The caller
 * frees it. */
#ifndef TRIB_TESTS_NODE_MEMORY_H
#define TRIB_TESTS_NODE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void *node_memory(size_t size)
{
    size_t rounded = (size + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, rounded);

    assert_non_null(memory);
    memset(memory, 0xa5, rounded);
    return memory;
}

#endif
