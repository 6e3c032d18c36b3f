/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h: what goes wrong with packets besides full queues: loss, duplication, reorder, with the words of the test
 * worlds. Each packet that has come to where it is for (a host, or a switch that is a node of a job) is lost, comes
 * late, or comes twice, each at random; late ones are held here, and so are the second of two.
 * Read next: run.c (who asks). */
#ifndef TRIB_SIM_FAULTS_H
#define TRIB_SIM_FAULTS_H

#include "core/prng.h"
#include "sim/network/network.h"

struct sim_faults_config {
    double loss;
    double duplicate;
    double reorder;
    uint64_t late_ps; /* what is late is so by this at most */
};

/* One that is held. */
struct sim_held {
    uint64_t due_ps;
    uint64_t order; /* of two that are due at once the one that was held first */
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

/* What becomes of a packet. */
enum sim_fate { SIM_FATE_COMES, SIM_FATE_LOST, SIM_FATE_HELD };

static inline bool sim_faults_are_any(const struct sim_faults_config *c)
{
    return c->loss > 0 || c->duplicate > 0 || c->reorder > 0;
}

void sim_faults_init(struct sim_faults *f, struct sim_network *network, const struct sim_faults_config *config,
                     uint64_t seed, uint32_t timer);
void sim_faults_deinit(struct sim_faults *f);
/* The network has given this packet to its receiver. LOST: the caller tells its owner, and frees it. */
enum sim_fate sim_faults_draw(struct sim_faults *f, uint32_t packet);
/* Does it come twice? The second one: the caller tells its owner. SIM_NONE: no. */
uint32_t sim_faults_copy(struct sim_faults *f, uint32_t packet);
/* One that is due, which comes now; SIM_NONE: no more are, and the timer is set for the next. */
uint32_t sim_faults_due(struct sim_faults *f);

#endif
