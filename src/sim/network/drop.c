/* SPDX-License-Identifier: Apache-2.0 */
/* drop.c: a packet is dropped at a port. Read next: network.c, gates.c. */
#include "sim/network/drop.h"

#include <stddef.h>

void sim_network_drop(struct sim_network *n, uint32_t link, uint32_t packet)
{
    n->links[link].dropped++;
    n->dropped++;
    n->cut_off += sim_link_is_cut(n, link);
    if (n->receiver.dropped != NULL) {
        n->receiver.dropped(n->receiver.user, packet);
    }
    sim_packet_free(n, packet);
}
