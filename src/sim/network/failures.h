/* SPDX-License-Identifier: Apache-2.0 */
/* failures.h: cables that are cut and repaired at given times.
 *
 * A cut loses all packets in the cable's ports or on the cable, and all packets sent into it. After a reaction time the
 * switches know: routes are then the shortest paths over the remaining links, and a hash chooses among equal paths as
 * before. Trees of jobs do not move: nodes retransmit packets lost on the tree's links.
 *
 * A port that was cut finishes the packet being sent before it takes another. So a cut and repair within one packet's
 * time still loses that packet.
 *
 * Read next: routes.c (the remaining paths), run.c. */
#ifndef TRIB_SIM_FAILURES_H
#define TRIB_SIM_FAILURES_H

#include "sim/network/state.h"

#define SIM_FAILURES_MAX 64U

struct sim_failure {
    uint32_t link; /* one direction of the cable */
    uint32_t unused;
    uint64_t at_ps;
    uint64_t until_ps; /* SIM_NEVER: not repaired */
    /* Time until the switches know of a cut or a repair. A repaired cable is used from then on. */
    uint64_t react_ps;
};

/* One direction of a cable that fails. */
struct sim_failing {
    uint32_t link;
    uint16_t whole; /* its port */
    uint16_t cut;   /* its port while the cable is cut */
};

/* State of a run's cuts. */
struct sim_failures {
    struct sim_network *network;
    const struct sim_failure *list;
    struct sim_failing failing[SIM_FAILURES_MAX][2];
    uint32_t count;
    uint32_t timer;
};

/* Sets the timer for the first cut. Cuts of one cable may overlap. Borrows the network and the list. */
void sim_failures_init(struct sim_failures *f, struct sim_network *network, const struct sim_failure *list,
                       uint32_t count, uint32_t timer);
/* Applies the changes that are due now. False: out of memory. */
bool sim_failures_timer(struct sim_failures *f);

#endif
