/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: shared by machine.c and combine.c: what lies in the memory of a node with its driver, and what a step did.
 */
#ifndef TRIB_TESTS_MODEL_MACHINE_H
#define TRIB_TESTS_MODEL_MACHINE_H

#include "model.h"

#define BLOCK 64

/* The first block is not part of the state: time. The second is. */
struct head {
    uint64_t now_ns;
    uint8_t unhashed[BLOCK - 8];
    uint32_t submitted, done;   /* done: bitmap */
    uint32_t owner;             /* of a switch node: the job that has it now */
    uint16_t is_begun;          /* init was called */
    uint16_t is_undrained;      /* within a batch */
    uint32_t is_disputed;       /* a switch node has told that operations differ */
    uint32_t pair[MODEL_PAIRS]; /* the operation that has these buffers, + 1; 0: none */
    struct marks marks;
    uint8_t unused[BLOCK - 20 - 4 * MODEL_PAIRS - sizeof(struct marks)];
};

_Static_assert(sizeof(struct head) == 2 * BLOCK, "two blocks");

/* What a step did, before anything of it is remembered. */
struct run {
    struct stimulus out[MODEL_OUT];
    uint32_t outs;
    enum trib_drop drop;
    uint8_t violation;
};

static inline struct head *head_of(const struct machine *m)
{
    return (struct head *)(void *)m->memory;
}

static inline void *node_of(const struct machine *m)
{
    return m->memory + m->node_at;
}

static inline uint32_t socket_of(const struct model *model, const struct machine *m)
{
    return ((uint32_t)(m - model->machine) - model->ranks) % model->sockets;
}

/* A packet that the node hands out, to that place. */
void machine_send(struct run *run, struct model *model, const struct trib_packet *packet, const struct stimulus *place);

#endif
