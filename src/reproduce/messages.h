/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h: a ring as libraries for training have it (Horovod's): 2 (N - 1) steps, in each of which every worker
 * sends an N-th of the gradients to the next one, as one flow with the transport that all flows have. A worker's
 * next step begins when what it sent and what it got in the step before are both there. All flows between two
 * workers take one way.
 *
 * Our own scheme `ring` is another thing: fragments go round one by one, each as soon as it can. Use:
 * ring_messages_init on a cell that is open; it takes the cell's reports of flows that have ended, and passes on
 * those of others. ring_messages_sum, whenever there is something to sum; or, where there are several rings,
 * ring_messages_begin, and whenever the network has stopped ring_messages_step of each.
 * Read next: simulate.h. */
#ifndef TRIB_REPRODUCE_MESSAGES_H
#define TRIB_REPRODUCE_MESSAGES_H

#include "reproduce/simulate.h"

#define RING_WORKERS_MAX 128U

struct ring_messages {
    struct reproduce_cell *cell;
    void (*ended)(void *user, const struct sim_flow_end *end); /* who had the reports before */
    void *user;
    uint64_t bytes; /* of a message */
    uint64_t end_ps;
    uint32_t workers;
    uint32_t done; /* of them, that have sent all */
    uint32_t host[RING_WORKERS_MAX];
    uint32_t hash[RING_WORKERS_MAX];  /* of the way to the next one */
    uint32_t begun[RING_WORKERS_MAX]; /* steps, of this sum */
    uint32_t sent[RING_WORKERS_MAX];
    uint32_t got[RING_WORKERS_MAX];
};

/* Workers are on these hosts, in the order of the ring; no two rings have one host. */
void ring_messages_init(struct ring_messages *ring, struct reproduce_cell *cell, const uint32_t *hosts,
                        uint32_t workers, uint64_t seed);
/* Begins to sum so many bytes. */
void ring_messages_begin(struct ring_messages *ring, uint64_t bytes);
/* Sends what can be sent; true: all are done, since end_ps. */
bool ring_messages_step(struct ring_messages *ring);
/* Sums so many bytes, from now on, and gives the time that it took. False: interrupted, or run->error. */
bool ring_messages_sum(struct reproduce_run *run, struct ring_messages *ring, uint64_t bytes, uint64_t *took_ps);

#endif
