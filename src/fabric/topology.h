/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: a network as its operator describes it (`tributary switch --topology FILE`): hosts, known by their
 * subnets; switches that jobs may be dealt over; and boxes between, which only forward. As TOML:
 *   [[link]]
 *   between = "10.0.1.0/24 leaf1"   # hosts, by subnet or address, and a box: any other name
 *   rate = "25Gbps"
 *   [[link]]
 *   between = "leaf1 10.0.9.1:7470" # a switch: as --listen or --with has it, or by address and port
 *   rate = "100Gbps"
 * Keys and tables for the planner only (plan/network_read.c), such as paths and [[switch]], are only checked.
 * Read next: choose.h, control/roots/trees.h (uses this). */
#ifndef TRIB_FABRIC_TOPOLOGY_H
#define TRIB_FABRIC_TOPOLOGY_H

#include "fabric/fabric.h"
#include "net/address.h"

#define TRIB_PLACES_MAX 1024
#define TRIB_TOPOLOGY_LINKS_MAX 4096 /* links of the file, of two directions each */

struct trib_subnet {
    struct trib_address at;
    uint32_t bits; /* length of the prefix */
};

/* Places of the fabric: switches, then subnets, then boxes. Switches and subnets are the ends. The i-th link of the
 * file is links 2i and 2i + 1. */
struct trib_topology {
    struct trib_fabric fabric;
    uint32_t switches; /* this switch, then its lenders */
    uint32_t subnet_count;
    struct trib_subnet *subnets;
};

/* Names of `count` switches; switch 0 is this switch. */
struct trib_switch_names {
    uint32_t count;
    uint32_t (*find)(const void *user, const char *text); /* number; TRIB_NO_PLACE: no switch has this name */
    void (*format)(const void *user, uint32_t which, char text[64]);
    const void *user;
};

/* Reads a topology. False: error has the cause and the place, and *topology holds no memory. */
bool trib_topology_read(struct trib_topology *topology, const char *path, const struct trib_switch_names *names,
                        char *error);
void trib_topology_free(struct trib_topology *topology);
/* Most specific subnet of this host, as a place; TRIB_NO_PLACE: none. */
uint32_t trib_topology_find(const struct trib_topology *topology, const struct trib_address *host);

#endif
