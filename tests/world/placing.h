/* SPDX-License-Identifier: Apache-2.0 */
/* placing.h: a plan of pieces for the jobs of a world. Read next: placing.c. */
#ifndef TRIB_TESTS_WORLD_PLACING_H
#define TRIB_TESTS_WORLD_PLACING_H

#include "fabric/placed.h"
#include "world.h"

/* Of a scheme whose models are cut into pieces: which switch adds which. */
struct world_plan {
    struct trib_placed placed;
    struct trib_placed_model models[WORLD_COMMS_MAX];
    struct trib_placed_switch switches[WORLD_COMMS_MAX * WORLD_SWITCHES_MAX];
};

/* Draws the plan and gives it to the controller. The planes have addresses. */
void placing_begin(struct world *world);
/* The pieces that the plan has for the communicator at a switch. own 0: none. */
struct trib_pieces placing_of(const struct world_comm *comm, uint32_t at);

#endif
