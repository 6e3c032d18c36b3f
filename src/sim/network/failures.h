/* SPDX-License-Identifier: Apache-2.0 */
/* failures.h: cables that are cut at some time, and mended. What waits in their ports, or is on them, is lost, and so
 * is what is sent into them. After a time that is said the switches know: all routes are then the shortest ways over
 * what is left, and equal ones are chosen among by hash, as ever. Trees of jobs stay where they are: what their links
 * lose, their nodes send again.
 *
 * A port that was cut has ended the packet that it was sending before it takes another: cut and mended within that
 * packet's time, it loses that packet still.
 *
 * Read next: routes.c (the ways that are left), run.c (who sets the timer). */
#ifndef TRIB_SIM_FAILURES_H
#define TRIB_SIM_FAILURES_H

#include "sim/network/network.h"

#define SIM_FAILURES_MAX 64U

struct sim_failure {
    uint32_t link; /* one direction of the cable */
    uint32_t unused;
    uint64_t at_ps;
    uint64_t until_ps; /* SIM_NEVER: it stays cut */
    uint64_t
        react_ps; /* so long after each the switches know of it: routes change, and what was mended is used again */
};

/* One direction of a cable that fails. */
struct sim_failing {
    uint32_t link;
    uint16_t whole; /* its port, */
    uint16_t cut;   /* and while it is cut */
};

/* The cuts of a run, as they go on. */
struct sim_failures {
    struct sim_network *network;
    const struct sim_failure *list;
    struct sim_failing failing[SIM_FAILURES_MAX][2];
    uint32_t count;
    uint32_t timer;
};

/* Sets its timer for the first. Those of one cable may overlap. */
void sim_failures_init(struct sim_failures *f, struct sim_network *network, const struct sim_failure *list,
                       uint32_t count, uint32_t timer);
/* False: out of memory. */
bool sim_failures_timer(struct sim_failures *f);

#endif
