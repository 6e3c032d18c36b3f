/* SPDX-License-Identifier: Apache-2.0 */
/* cables.h: a network from a file, in the form of HPCC's topology.txt:
 *
 *   6 2 5                       nodes, switches, cables
 *   4 5                         the switches' numbers
 *   0 4 100Gbps 1000ns 0        a cable: two nodes, rate, delay, error rate (0; faults are the scenario's)
 *
 * Hosts, and switches behind them, are numbered in the order of their numbers in the file: the same ones where hosts
 * come first. Every host has one cable; all are joined with each other; at most SIM_PATH_MAX links lie between two
 * hosts.
 * Read next: topology.h (who builds it). */
#ifndef TRIB_SIM_CABLES_H
#define TRIB_SIM_CABLES_H

#include <stdbool.h>
#include <stdint.h>

/* How a link and its ports are. */
struct sim_wire {
    uint64_t rate_bps;
    uint64_t delay_ps;
};

struct sim_cable {
    uint32_t ends[2]; /* nodes; a host's cable begins with it */
    uint32_t line;    /* of the file */
    uint32_t unused;
    struct sim_wire wire;
};

struct sim_cables {
    struct sim_cable *list; /* those of hosts first, by host; then as in the file */
    uint32_t count;
    uint32_t hosts;
    uint32_t switches;
    uint32_t unused;
};

/* Reads and checks it. False: error says "FILE:LINE: cause". Free it in any case. */
bool sim_cables_read(struct sim_cables *c, const char *path, char *error);
void sim_cables_free(struct sim_cables *c);

#endif
