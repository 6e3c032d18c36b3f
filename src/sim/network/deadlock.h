/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.h: finds stopped ports that can never send again, because each waits for memory held by packets behind
 * another.
 *
 * A stopped port waits for memory at the other end of its link: packets that arrived over this link must leave there.
 * Some of these packets wait at ports that can send, and will leave. Others may wait at stopped ports. The search
 * removes every stopped port that could resume if all packets that can leave left and no other packet arrived. It
 * repeats this until no port is removed; the remaining ports never send again. So the search reports no false deadlock.
 * Networks with up-down routes have none.
 *
 * The search runs only after a port has been stopped for a while.
 *
 * Read next: run.c. */
#ifndef TRIB_SIM_DEADLOCK_H
#define TRIB_SIM_DEADLOCK_H

#include "sim/network/gates.h"

#define SIM_DEADLOCK_LINKS 32U

struct sim_deadlock {
    /* Each link waits for the next one, the last for the first. The first links only, if the circle is longer. */
    uint32_t links[SIM_DEADLOCK_LINKS];
    /* Entries of links. 0: no deadlock. */
    uint32_t count;
    uint32_t length; /* of the circle */
    /* Stopped links that never send again: the circle, and links that wait for it. */
    uint32_t stopped;
    /* Time when the last port of the circle was stopped. */
    uint64_t since_ps;
};

/* Searches a network with gates. False: out of memory. */
bool sim_deadlock_find(struct sim_deadlock *d, const struct sim_network *n);

#endif
