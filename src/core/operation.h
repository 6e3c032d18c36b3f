/* SPDX-License-Identifier: Apache-2.0 */
/* operation.h: how a collective becomes fragments, and the digest of I10 that keeps different collectives apart.
 *
 * An operation takes a run of sequences, at least one. Sequence i of it (i from 0) carries block i of the tensor. On wire int32
 * a float32 tensor needs an exponent per block before the block can be quantised, so exponents travel `lookahead` sequences
 * ahead: sequence i carries the exponent of block i and the payload of block i - lookahead (SwitchML, NSDI'21, section 3.7).
 * Pure arithmetic: no state, no time. Read next: schemes/switchml/switchml_worker_send.c. */
#ifndef TRIB_CORE_OPERATION_H
#define TRIB_CORE_OPERATION_H

#include "core/node.h"

struct trib_layout {
    uint64_t blocks;         /* pieces of the tensor; 0 for a barrier or count 0 */
    uint64_t sequences;      /* blocks + lookahead, at least 1 */
    uint32_t block_elements; /* elements of a block, the last may have fewer */
    uint32_t lookahead;      /* 0 but on wire int32 of a float32 tensor */
    uint32_t digest;
    uint16_t element_size; /* bytes of an element in the tensor */
    uint16_t wire_size;    /* bytes of an element on the wire */
    enum trib_type wire;   /* type of the payload; blocks with exponent RAW travel as TRIB_FLOAT32 instead */
};

/* number: how many operations the communicator had before this one. */
void trib_layout_init(struct trib_layout *layout, const struct trib_session_config *session,
                      const struct trib_operation *operation, uint64_t number);

/* Elements of a block (0 behind the last). */
static inline uint64_t trib_layout_elements(const struct trib_layout *layout, uint64_t count, uint64_t block)
{
    if (block >= layout->blocks) {
        return 0;
    }
    uint64_t left = count - block * layout->block_elements;
    return left < layout->block_elements ? left : layout->block_elements;
}

#endif
