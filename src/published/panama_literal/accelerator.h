/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.h: PANAMA's aggregation accelerator (MLSys'21, section 5): ports with FIFOs, and the control logic
 * over them. It serves any number of jobs, as one device; a switch node (panama_literal_switch.c) is one with one
 * job. Plain data in the caller's memory, no pointers but that to the kernels: a copy of its bytes is a snapshot.
 * Read next: accelerator.c, step(). */
#ifndef TRIB_PANAMA_ACCELERATOR_H
#define TRIB_PANAMA_ACCELERATOR_H

#include <string.h>

#include "core/node.h"

enum trib_panama_reading {
    /* "dedicated aggregation buffers": a FIFO for each (port, job, tree), which share the port's memory. Without:
     * one FIFO for each port. */
    TRIB_PANAMA_QUEUES = 1 << 0,
    /* A packet that is behind the Expected VID is dropped alone. Without: it stays where it is, as the paper has no
     * rule for it. */
    TRIB_PANAMA_DISCARD = 1 << 1,
    /* When packets are dropped a MISS leaves in the sum's place. */
    TRIB_PANAMA_MISS = 1 << 2,
    /* wnd_cap is the memory divided by trees of jobs. Without: by jobs, as it is printed. */
    TRIB_PANAMA_CAP_BY_TREE = 1 << 3,
};

struct trib_accelerator_config {
    const struct trib_value_kernels *kernels;
    uint32_t ports; /* 1 to TRIB_CHILDREN_MAX */
    uint32_t jobs;
    uint32_t trees;    /* of each job */
    uint32_t room;     /* packets that each port has memory for */
    uint32_t payload;  /* bytes */
    uint32_t readings; /* enum trib_panama_reading, or-ed */
    /* Ports of a job that a sum may lack: "proceeding with the aggregation as soon as 88% of the packets have been
     * received" (section 7). What comes later is dropped. 0: none. */
    uint32_t spare;
    uint32_t may_lack; /* 1: packets say which ranks are in them (trib_panama_ranks) */
};

struct trib_accelerator_counters {
    uint64_t sums;
    uint64_t dropped; /* packets whose siblings were missing */
    uint64_t stale;   /* packets behind the Expected VID that were dropped (TRIB_PANAMA_DISCARD) */
    uint64_t misses;
    uint64_t full; /* packets that found no memory: what PAUSE must keep from happening */
    /* Where sums may lack ports: */
    uint64_t lacking;                   /* sums that did */
    uint64_t late;                      /* packets that came after the sum of their VID */
    uint64_t lead;                      /* the most VIDs that sums were ahead of such a packet */
    uint64_t absent[TRIB_CHILDREN_MAX]; /* sums that lacked the port */
};

/* A packet's copy in a node, without its payload: holes are 0, since states are compared as bytes. */
static inline void trib_panama_keep(struct trib_packet *to, const struct trib_packet *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, offsetof(struct trib_packet, reduction) + sizeof from->reduction);
    to->communicator = from->communicator;
}

size_t trib_accelerator_size(const struct trib_accelerator_config *config);
/* So many bytes are its state; counters and what is added up lie behind. */
size_t trib_accelerator_state_size(const void *memory);
/* Memory: zeros, 64-byte aligned. No job has ports. */
void trib_accelerator_init(void *memory, const struct trib_accelerator_config *config);

/* The controller sets a job up anew: its name on the wire and its Ports_bitmap. Expected VIDs are 0. FIFOs stay as
 * they are. */
void trib_accelerator_set_job(void *memory, uint32_t job, uint32_t communicator, uint64_t ports);

/* A packet of a job that was set up, with tree and VID (`tree`, `bitmap`), comes in at a port. */
enum trib_drop trib_accelerator_receive(void *memory, uint32_t port, const struct trib_packet *packet);
/* The next sum, or MISS, if the rules give one. Its payload stays until the next packet is received. */
bool trib_accelerator_next(void *memory, struct trib_packet *packet);

uint64_t trib_accelerator_expected(const void *memory, uint32_t job, uint32_t tree);
/* Packets that wait at a port. */
uint32_t trib_accelerator_waiting(const void *memory, uint32_t port);
/* The packet at this place of those that wait at the port, oldest first; its payload is not named. */
const struct trib_packet *trib_accelerator_at(const void *memory, uint32_t port, uint32_t place);
const struct trib_accelerator_counters *trib_accelerator_counters(const void *memory);

#endif
