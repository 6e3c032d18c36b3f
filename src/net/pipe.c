/* SPDX-License-Identifier: Apache-2.0 */
/* pipe.c: a carrier between two ports of one process (trib_port_join). Trains for the neighbour's address are copied
 * once into a queue that the neighbour reads. Other trains, and trains that find the queue full, go to the carrier
 * below. Read next: carrier.h. */
#include <stdlib.h>
#include <string.h>

#include "net/carrier.h"
#include "net/port.h"

#define TRAINS 8

/* Trains on their way to one port. */
struct queue {
    uint32_t first, count; /* waiting trains */
    struct {
        uint32_t bytes;
        uint32_t segment; /* bytes of each packet but the last */
    } train[TRAINS];
    uint8_t bytes[TRAINS][TRIB_TRAIN_BYTES_MAX + 29]; /* 64 KiB apart */
};

struct pipe {
    struct trib_carrier carrier;
    struct trib_port *port;
    struct pipe *other; /* the neighbour's pipe; NULL: closed */
    /* the neighbour's address: destination of trains handed over, sender of trains received */
    struct trib_address peer;
    bool is_reading; /* the front of `in` is being read */
    struct queue in; /* last field: unused bytes of zeroed memory cost nothing */
};

static struct pipe *pipe_of(struct trib_carrier *carrier)
{
    return (struct pipe *)(void *)carrier;
}

static const struct pipe *const_pipe_of(const struct trib_carrier *carrier)
{
    return (const struct pipe *)(const void *)carrier;
}

/* Copies a train into the queue. False: the queue is full. */
static bool put(struct queue *queue, const struct trib_train *train)
{
    if (queue->count == TRAINS) {
        return false;
    }
    uint32_t index = (queue->first + queue->count) % TRAINS;
    uint8_t *at = queue->bytes[index];
    for (uint32_t i = 0; i < train->pieces; i++) {
        memcpy(at, train->piece[i].iov_base, train->piece[i].iov_len);
        at += train->piece[i].iov_len;
    }
    queue->train[index].bytes = (uint32_t)train->bytes;
    queue->train[index].segment = (uint32_t)train->segment;
    queue->count++;
    return true;
}

static void drop(struct queue *queue)
{
    queue->count--;
    /* An empty queue restarts at its front, in memory that is cached. */
    queue->first = queue->count == 0 ? 0 : (queue->first + 1) % TRAINS;
}

static void send_train(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to)
{
    struct pipe *pipe = pipe_of(carrier);
    if (to != NULL && trib_address_equal(to, &pipe->peer) && put(&pipe->other->in, train)) {
        carrier->stats->packets_handed += train->packets;
        carrier->stats->bytes_handed += train->bytes;
    } else {
        carrier->below->operations->send(carrier->below, train, to);
    }
}

static bool receive_train(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery)
{
    struct pipe *pipe = pipe_of(carrier);
    struct queue *in = &pipe->in;
    if (pipe->is_reading) {
        drop(in);
    }
    pipe->is_reading = in->count > 0;
    if (!pipe->is_reading) {
        return carrier->below->operations->receive(carrier->below, now_ns, delivery);
    }
    *delivery = (struct trib_delivery){.bytes = in->bytes[in->first],
                                       .len = in->train[in->first].bytes,
                                       .segment = in->train[in->first].segment,
                                       .from = &pipe->peer,
                                       .owner = carrier};
    return true;
}

static uint64_t find_deadline(const struct trib_carrier *carrier)
{
    const struct pipe *pipe = const_pipe_of(carrier);
    const struct trib_carrier *below = carrier->below;
    if (pipe->in.count > pipe->is_reading) {
        return 0;
    }
    return below->operations->deadline != NULL ? below->operations->deadline(below) : UINT64_MAX;
}

/* A train for the neighbour waits in no device queue. */
static uint32_t find_backlog(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits)
{
    bool is_one = (bits & (bits - 1)) == 0;
    if (to != NULL && is_one && trib_address_equal(&to[__builtin_ctzll(bits)], &const_pipe_of(carrier)->peer)) {
        return 0;
    }
    return carrier->below->operations->backlog(carrier->below, to, bits);
}

/* Both ends close: trains that an end has not read are lost. */
static void close_pipe(struct trib_carrier *carrier)
{
    struct pipe *pipe = pipe_of(carrier);
    if (pipe->other != NULL) {
        pipe->other->other = NULL;
        trib_port_remove(pipe->other->port, &pipe->other->carrier);
    }
    free(pipe);
}

static const struct trib_carrier_operations pipe_operations = {
    .name = "pipe",
    .close = close_pipe,
    .send = send_train,
    .receive = receive_train,
    .deadline = find_deadline,
    .backlog = find_backlog,
};

static struct pipe *make_pipe(struct trib_port *port, const struct trib_address *peer)
{
    struct pipe *pipe = malloc(sizeof *pipe);
    if (pipe != NULL) {
        memset(pipe, 0, offsetof(struct pipe, in));
        pipe->in.first = pipe->in.count = 0;
        pipe->carrier.operations = &pipe_operations;
        pipe->port = port;
        pipe->peer = *peer;
    }
    return pipe;
}

bool trib_port_join(struct trib_port *a, const struct trib_address *a_known_as, struct trib_port *b,
                    const struct trib_address *b_known_as)
{
    struct pipe *of_a = make_pipe(a, b_known_as);
    struct pipe *of_b = make_pipe(b, a_known_as);
    if (of_a == NULL || of_b == NULL) {
        free(of_a);
        free(of_b);
        return false;
    }
    of_a->other = of_b;
    of_b->other = of_a;
    trib_port_insert(a, &of_a->carrier);
    trib_port_insert(b, &of_b->carrier);
    return true;
}

void trib_port_part(struct trib_port *port)
{
    struct trib_carrier *carrier = trib_port_find(port, &pipe_operations);
    if (carrier != NULL) {
        trib_port_remove(port, carrier);
    }
}
