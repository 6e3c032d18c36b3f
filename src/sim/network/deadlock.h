/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.h: the watchdog of stopped ports: finds those that will never send again, because what would let each of
 * them go waits behind another of them.
 *
 * A stopped port waits for memory at the other end of its link: for packets there to leave that came by this link. Some
 * of them wait at ports that can send, and will leave; some may wait at ports that are stopped too. Of all stopped
 * ports those are taken away, again and again, that could go on if all left that can, and nothing else came; what
 * remains in the end never moves. So a deadlock that is told is one; networks whose ways go up and then down have none.
 *
 * A run looks when a port has been stopped for a while: nothing is searched where none is.
 * Read next: run.c (who asks). */
#ifndef TRIB_SIM_DEADLOCK_H
#define TRIB_SIM_DEADLOCK_H

#include "sim/network/gates.h"

#define SIM_DEADLOCK_LINKS 32U

struct sim_deadlock {
    uint32_t links[SIM_DEADLOCK_LINKS]; /* each waits for the next one, and the last for the first */
    uint32_t count;                     /* 0: there is none; of a longer circle the first are told */
    uint32_t length;                    /* of the circle */
    uint32_t stopped;                   /* links that never move again, with those that wait for the circle */
    uint64_t since_ps;                  /* when the last of the circle was stopped */
};

/* False: out of memory. Of a network with gates. */
bool sim_deadlock_find(struct sim_deadlock *d, const struct sim_network *n);

#endif
