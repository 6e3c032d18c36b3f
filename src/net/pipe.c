/* SPDX-License-Identifier: Apache-2.0 */
/* pipe.c: see pipe.h. */
#include "net/pipe.h"

#include <stdlib.h>
#include <string.h>

struct trib_pipe *trib_pipe_create(const struct trib_address *from, const struct trib_address *to)
{
    struct trib_pipe *pipe = malloc(sizeof *pipe); /* bytes that no train has used cost nothing */
    if (pipe != NULL) {
        pipe->from = *from;
        pipe->to = *to;
        pipe->first = 0;
        pipe->count = 0;
    }
    return pipe;
}

void trib_pipe_destroy(struct trib_pipe *pipe)
{
    free(pipe);
}

bool trib_pipe_put(struct trib_pipe *pipe, const struct trib_train *train)
{
    if (pipe->count == TRIB_PIPE_TRAINS) {
        return false;
    }
    uint32_t index = (pipe->first + pipe->count) % TRIB_PIPE_TRAINS;
    uint8_t *at = pipe->bytes[index];
    for (uint32_t i = 0; i < train->pieces; i++) {
        memcpy(at, train->piece[i].iov_base, train->piece[i].iov_len);
        at += train->piece[i].iov_len;
    }
    pipe->train[index].bytes = (uint32_t)train->bytes;
    pipe->train[index].segment = (uint32_t)train->segment;
    pipe->count++;
    return true;
}

void trib_pipe_drop(struct trib_pipe *pipe)
{
    pipe->count--;
    /* An empty pipe begins at its front again: memory that the cache has. */
    pipe->first = pipe->count == 0 ? 0 : (pipe->first + 1) % TRIB_PIPE_TRAINS;
}
