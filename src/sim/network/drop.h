/* SPDX-License-Identifier: Apache-2.0 */
/* drop.h: a packet is dropped at a port. */
#ifndef TRIB_SIM_NETWORK_DROP_H
#define TRIB_SIM_NETWORK_DROP_H

#include "sim/network/state.h"

/* Counts and frees a packet that is lost at this link. The packet must not be in the link's list. */
void sim_network_drop(struct sim_network *n, uint32_t link, uint32_t packet);

#endif
