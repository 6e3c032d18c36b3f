/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.h: PANAMA's aggregation accelerator (MLSys'21, section 5): ports with FIFOs, and the control logic over
 * them. One device serves any number of jobs; a switch node (panama_literal_switch.c) is a device with one job. Plain
 * data in the caller's memory, with no pointers except to the kernels: a copy of the bytes is a snapshot.
 * Read next: accelerator.c, step(). */
#ifndef TRIB_PANAMA_ACCELERATOR_H
#define TRIB_PANAMA_ACCELERATOR_H

#include <string.h>

#include "core/node.h"

enum trib_panama_reading {
    /* "dedicated aggregation buffers": a FIFO for each (port, job, tree), all in the port's memory. Without: one FIFO
     * for each port. */
    TRIB_PANAMA_QUEUES = 1 << 0,
    /* A packet behind the Expected VID is dropped alone. Without: the packet stays, as the paper has no rule for it. */
    TRIB_PANAMA_DISCARD = 1 << 1,
    /* When packets are dropped, a MISS is sent in the sum's place. */
    TRIB_PANAMA_MISS = 1 << 2,
    /* wnd_cap is the memory divided by the trees of all jobs. Without: by jobs, as printed. */
    TRIB_PANAMA_CAP_BY_TREE = 1 << 3,
};

struct trib_accelerator_config {
    const struct trib_value_kernels *kernels;
    uint32_t ports; /* 1 to TRIB_CHILDREN_MAX */
    uint32_t jobs;
    uint32_t trees;    /* of each job */
    uint32_t room;     /* packets in the memory of each port */
    uint32_t payload;  /* bytes */
    uint32_t readings; /* enum trib_panama_reading, or-ed */
    /* Ports of a job that a sum may lack: "proceeding with the aggregation as soon as 88% of the packets have been
     * received" (section 7). Later packets are dropped. 0: none. */
    uint32_t spare;
    uint32_t may_lack; /* 1: packets list the ranks in them (trib_panama_ranks) */
};

struct trib_accelerator_counters {
    uint64_t sums;
    uint64_t dropped; /* packets dropped because a port's packet of the VID was missing */
    uint64_t stale;   /* packets behind the Expected VID that were dropped (TRIB_PANAMA_DISCARD) */
    uint64_t misses;
    uint64_t full; /* packets dropped for lack of memory, which PAUSE must prevent */
    /* Where sums may lack ports: */
    uint64_t lacking;                   /* sums that lacked a port */
    uint64_t late;                      /* packets received after the sum of their VID */
    uint64_t lead;                      /* most VIDs by which sums were ahead of such a packet */
    uint64_t absent[TRIB_CHILDREN_MAX]; /* sums that lacked the port */
};

/* Copies a packet into a node, without its payload. Padding is 0, since states are compared as bytes. */
static inline void trib_panama_keep(struct trib_packet *to, const struct trib_packet *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, offsetof(struct trib_packet, reduction) + sizeof from->reduction);
    to->communicator = from->communicator;
}

size_t trib_accelerator_size(const struct trib_accelerator_config *config);
/* Bytes of the state. Counters and rows for sums follow the state. */
size_t trib_accelerator_state_size(const void *memory);
/* Initialises zeroed, 64-byte aligned memory. No job has ports yet. */
void trib_accelerator_init(void *memory, const struct trib_accelerator_config *config);

/* Sets up a job again: its communicator on the wire and its Ports_bitmap. Expected VIDs become 0. FIFOs stay
 * unchanged. */
void trib_accelerator_set_job(void *memory, uint32_t job, uint32_t communicator, uint64_t ports);

/* Receives a packet of a job that was set up, with tree and VID (`tree`, `bitmap`), at a port. */
enum trib_drop trib_accelerator_receive(void *memory, uint32_t port, const struct trib_packet *packet);
/* Writes the next sum, or MISS. The payload is valid until the next packet is received. False: none. */
bool trib_accelerator_next(void *memory, struct trib_packet *packet);

uint64_t trib_accelerator_expected(const void *memory, uint32_t job, uint32_t tree);
/* Number of packets waiting at a port. */
uint32_t trib_accelerator_waiting(const void *memory, uint32_t port);
/* Waiting packet of a port at this place, oldest first, without its payload. */
const struct trib_packet *trib_accelerator_at(const void *memory, uint32_t port, uint32_t place);
const struct trib_accelerator_counters *trib_accelerator_counters(const void *memory);

#endif
