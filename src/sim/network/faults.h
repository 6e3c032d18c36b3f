/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h: random loss, duplication and reordering of packets, with the same words as the test worlds.
 *
 * Each packet that reaches its destination (a host, or a switch that is a node of a job) can be lost, delayed, or
 * duplicated at random. This module holds delayed packets, and the second copies of duplicates.
 *
 * Read next: run.c. */
#ifndef TRIB_SIM_FAULTS_H
#define TRIB_SIM_FAULTS_H

#include "core/prng.h"
#include "sim/network/state.h"

struct sim_faults_config {
    double loss;
    double duplicate;
    double reorder;
    uint64_t late_ps; /* maximum extra delay */
};

/* A packet that is held. */
struct sim_held {
    uint64_t due_ps;
    uint64_t order; /* tie-break at equal due times: the packet held first */
    uint32_t packet;
    uint32_t unused;
};

struct sim_faults {
    struct sim_network *network;
    struct sim_faults_config config;
    struct trib_prng prng;
    struct sim_held *held; /* a heap */
    uint32_t count;
    uint32_t room;
    uint32_t timer;
    uint32_t unused;
    uint64_t lost;
    uint64_t duplicated;
    uint64_t reordered;
};

/* Fate of a packet. */
enum sim_fate { SIM_FATE_COMES, SIM_FATE_LOST, SIM_FATE_HELD };

static inline bool sim_faults_are_any(const struct sim_faults_config *c)
{
    return c->loss > 0 || c->duplicate > 0 || c->reorder > 0;
}

void sim_faults_init(struct sim_faults *f, struct sim_network *network, const struct sim_faults_config *config,
                     uint64_t seed, uint32_t timer);
void sim_faults_deinit(struct sim_faults *f);
/* Draws the fate of a packet at its destination. SIM_FATE_LOST: the caller must inform the packet's owner and free the
 * packet. */
enum sim_fate sim_faults_draw(struct sim_faults *f, uint32_t packet);
/* Draws duplication. Returns the copy, which is held; the caller must inform the packet's owner. SIM_NONE: no copy. */
uint32_t sim_faults_copy(struct sim_faults *f, uint32_t packet);
/* Returns a held packet that arrives now. SIM_NONE: no further packet is due, and the timer is set for the next. */
uint32_t sim_faults_due(struct sim_faults *f);

#endif
