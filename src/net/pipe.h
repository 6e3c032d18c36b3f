/* SPDX-License-Identifier: Apache-2.0 */
/* pipe.h: the way from one socket of a process to another one of it that spares the kernel: a queue of whole trains,
 * copied once. For src/net only. It knows no sockets; it is full at times, and then its user has the kernel still. Not
 * for two threads at a time. Read next: port.c. */
#ifndef TRIB_NET_PIPE_H
#define TRIB_NET_PIPE_H

#include "net/train.h"

#define TRIB_PIPE_TRAINS 8

struct trib_pipe {
    struct trib_address from; /* what who takes a train sees as its sender */
    struct trib_address to;   /* the address that means this pipe */
    uint32_t first, count;    /* of the trains that wait */
    struct {
        uint32_t bytes;
        uint32_t segment; /* bytes of its packets but the last */
    } train[TRIB_PIPE_TRAINS];
    uint8_t bytes[TRIB_PIPE_TRAINS][TRIB_TRAIN_BYTES_MAX + 29]; /* 64 KiB apart */
};

struct trib_pipe *trib_pipe_create(const struct trib_address *from,
                                   const struct trib_address *to); /* NULL: out of memory */
void trib_pipe_destroy(struct trib_pipe *pipe);                    /* NULL is allowed */
/* False: full. */
bool trib_pipe_put(struct trib_pipe *pipe, const struct trib_train *train);
static inline bool trib_pipe_is_empty(const struct trib_pipe *pipe)
{
    return pipe->count == 0;
}
/* The oldest train, which there must be: its bytes stand until trib_pipe_drop. */
static inline const uint8_t *trib_pipe_read(const struct trib_pipe *pipe, size_t *bytes, size_t *segment)
{
    *bytes = pipe->train[pipe->first].bytes;
    *segment = pipe->train[pipe->first].segment;
    return pipe->bytes[pipe->first];
}
void trib_pipe_drop(struct trib_pipe *pipe);

#endif
