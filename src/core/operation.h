/* SPDX-License-Identifier: Apache-2.0 */
/* operation.h: how a collective becomes fragments, the contributors and receivers of each, and the digest of I10 that
 * keeps different collectives apart.
 *
 * An operation takes a run of sequences, at least one. Sequence i of it (i from 0) carries block i of the tensor. On
 * wire int32 a float32 tensor needs an exponent per block before the block can be quantised, so exponents travel
 * `lookahead` sequences ahead: sequence i carries the exponent of block i and the payload of block i - lookahead
 * (SwitchML, NSDI'21, section 3.7).
 *
 * Every block has an owner: the root of a reduce or broadcast; of an allgather or reduce-scatter the rank of the
 * share. Blocks of such shares are interleaved, a chunk of each owner in turn, so that every rank's link up and
 * link down is busy all the time; one share after another would take N / (N - 1) of the time. Where shares differ, the
 * owners stand in order of size, and those that have no more blocks drop out: a staircase with even steps.
 * Pure arithmetic: no state, no time. Read next: protocol/worker_send.c. */
#ifndef TRIB_CORE_OPERATION_H
#define TRIB_CORE_OPERATION_H

#include "core/node.h"

/* A step of the staircase: blocks of `owners` owners, `height` of each. */
struct trib_step {
    uint64_t first;  /* first block, counted in the operation */
    uint64_t block;  /* first block, counted in the share of each owner */
    uint64_t height; /* blocks of each owner */
    uint32_t owners; /* number of owners, the first ones of the order */
    uint32_t unused; /* no hole: it is part of nodes, whose states are compared as bytes */
};

/* Shares of different sizes, laid out once by trib_shares_init, then constant while the operation runs. */
struct trib_shares {
    uint32_t ranks, steps;
    uint32_t block_elements;
    uint64_t total;   /* elements of all shares */
    uint64_t *count;  /* elements of each rank's share */
    uint64_t *offset; /* elements of the shares before it */
    uint32_t *order;  /* ranks by the size of their shares, the largest first */
    struct trib_step *step;
};

struct trib_layout {
    uint64_t blocks;         /* pieces of the tensor; 0 for a barrier or count 0 */
    uint64_t sequences;      /* blocks + lookahead, at least 1 */
    struct trib_step even;   /* the one step of equal shares */
    uint32_t block_elements; /* elements of a block, the last of a tensor or share may have fewer */
    uint32_t lookahead;      /* 0 but on wire int32 of a float32 tensor */
    uint32_t chunk;          /* consecutive blocks of one owner; 0: no shares */
    uint32_t digest;
    uint16_t element_size; /* bytes of an element in the tensor */
    uint16_t wire_size;    /* bytes of an element on the wire */
    enum trib_type wire;   /* type of the payload; blocks with exponent RAW travel as TRIB_FLOAT32 instead */
};

/* The place of a block, and its owner. */
struct trib_piece {
    uint64_t elements; /* 0: behind the last block */
    uint64_t whole_at; /* its first element in the tensor of all shares */
    uint64_t share_at; /* and in its owner's share alone, the same where there are no shares */
    uint32_t owner;
};

/* From this size on a tensor counts as larger than caches. docs/PERF.md, 2026-11-26: alone on a cache of 32 MiB, a copy
 * past the cache costs more up to 16 MiB, and less from 32 MiB on. */
#define TRIB_LARGE_TENSOR (UINT64_C(24) << 20)

/* True if the tensor of the operation, all shares together, is larger than caches. */
static inline bool trib_layout_is_large(const struct trib_layout *layout)
{
    return layout->blocks * layout->block_elements * layout->element_size >= TRIB_LARGE_TENSOR;
}

/* True if the operation's tensor has a share per rank. */
static inline bool trib_operation_has_shares(const struct trib_operation *operation)
{
    return operation->collective == TRIB_ALLGATHER || operation->collective == TRIB_REDUCE_SCATTER;
}

/* True if the operation adds numbers. Otherwise its payload travels as the bytes of one rank. */
static inline bool trib_operation_reduces(const struct trib_operation *operation)
{
    return operation->collective == TRIB_ALLREDUCE || operation->collective == TRIB_REDUCE ||
           operation->collective == TRIB_REDUCE_SCATTER;
}

/* True if sums of the operation may lack ranks in this session. Counts, comparisons and copies need all ranks. */
bool trib_operation_may_lack(const struct trib_session_config *session, const struct trib_operation *operation);

/* Contributors and receivers of a block. */
bool trib_operation_contributes(const struct trib_operation *operation, uint32_t owner, uint32_t rank);
bool trib_operation_wants(const struct trib_operation *operation, uint32_t owner, uint32_t rank);
/* Number of ranks that contribute payload to a block. */
uint32_t trib_operation_parts(const struct trib_operation *operation, uint32_t ranks);

/* Bytes for the shares of `ranks` ranks, and the layout of the shares in that memory (any alignment that malloc gives).
 * count: elements of each rank's share. The session needs ranks, payload and wire. */
size_t trib_shares_size(uint32_t ranks);
struct trib_shares *trib_shares_init(void *memory, const struct trib_session_config *session,
                                     const struct trib_operation *operation, const uint64_t *count);

/* number: operations of the communicator before this one. */
void trib_layout_init(struct trib_layout *layout, const struct trib_session_config *session,
                      const struct trib_operation *operation, uint64_t number);

/* Place of a block in the tensor that is sent. In an allgather this tensor is the own share alone. */
static inline const void *trib_operation_send_at(const struct trib_operation *operation,
                                                 const struct trib_layout *layout, const struct trib_piece *piece)
{
    bool is_share = operation->collective == TRIB_ALLGATHER;
    uint64_t at = is_share ? piece->share_at : piece->whole_at;

    return (const uint8_t *)operation->send + at * layout->element_size;
}

/* Place of a block in the tensor that is received. In a reduce-scatter this tensor is the own share alone. */
static inline void *trib_operation_recv_at(const struct trib_operation *operation, const struct trib_layout *layout,
                                           const struct trib_piece *piece)
{
    bool is_share = operation->collective == TRIB_REDUCE_SCATTER;
    uint64_t at = is_share ? piece->share_at : piece->whole_at;

    return (uint8_t *)operation->recv + at * layout->element_size;
}

void trib_layout_piece(const struct trib_layout *layout, const struct trib_operation *operation, uint64_t block,
                       struct trib_piece *piece);

#endif
