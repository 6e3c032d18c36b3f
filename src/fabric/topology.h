/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: who is behind which links, as the operator of several switches has said it (`tributary switch
 * --topology`): hosts, known by their subnets, the switches that jobs may be dealt over, and boxes between, which only
 * forward. Plain facts: the file is read by src/cli, and what follows from it for a job is choose.h's. */
#ifndef TRIB_FABRIC_TOPOLOGY_H
#define TRIB_FABRIC_TOPOLOGY_H

#include "io/udp.h"

#define TRIB_PLACES_MAX 1024
#define TRIB_TOPOLOGY_LINKS_MAX 4096
#define TRIB_LINK_RATE_MIN UINT64_C(1000000) /* bits per second: what a link has to do stays within 64 bits */

struct trib_topology_link {
    uint32_t end[2];   /* places */
    uint64_t rate_bps; /* at least TRIB_LINK_RATE_MIN */
};

struct trib_subnet {
    struct trib_address at;
    uint32_t bits; /* of it that a host there has too */
};

/* Places are numbered: first the switches, then the subnets, then boxes. */
struct trib_topology {
    uint32_t switches; /* this one, then its lenders */
    uint32_t subnet_count;
    uint32_t places; /* all together */
    uint32_t link_count;
    const struct trib_subnet *subnets;
    const struct trib_topology_link *links; /* no two between the same places */
};

#endif
