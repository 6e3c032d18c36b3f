/* SPDX-License-Identifier: Apache-2.0 */
/* cables.h: a network from a file, in the format of HPCC's topology.txt:
 *
 *   6 2 5                       nodes, switches, cables
 *   4 5                         numbers of the switches
 *   0 4 100Gbps 1000ns 0        a cable: two nodes, rate, delay, error rate (must be 0; see [faults] of the scenario)
 *
 * Hosts are numbered first and switches after them, each in the order of their numbers in the file. The numbers do not
 * change if the file lists hosts first. Every host has one cable. The network is connected, and at most SIM_PATH_MAX
 * links lie between two hosts.
 *
 * Read next: topology.h. */
#ifndef TRIB_SIM_CABLES_H
#define TRIB_SIM_CABLES_H

#include <stdbool.h>
#include <stdint.h>

/* Rate and delay of a link. */
struct sim_wire {
    uint64_t rate_bps;
    uint64_t delay_ps;
};

struct sim_cable {
    /* Nodes, the lower number first: a host's cable begins with the host. */
    uint32_t ends[2];
    uint32_t line; /* of the file */
    uint32_t unused;
    struct sim_wire wire;
};

struct sim_cables {
    /* Cables of hosts first, by host; then the others, by their ends. */
    struct sim_cable *list;
    uint32_t count;
    uint32_t hosts;
    uint32_t switches;
    uint32_t unused;
};

/* Reads and checks the file. False: error says "FILE:LINE: cause". Call sim_cables_free in either case. */
bool sim_cables_read(struct sim_cables *c, const char *path, char *error);
void sim_cables_free(struct sim_cables *c);

#endif
