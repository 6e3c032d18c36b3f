/* SPDX-License-Identifier: Apache-2.0 */
/* rina_runs.h: simulation of a job in one of Rina's networks: its scheme, and the number and order of adding switches.
 * Read next: rina_throughput.c (figures). */
#ifndef TRIB_REPRODUCE_RINA_RUNS_H
#define TRIB_REPRODUCE_RINA_RUNS_H

#include "reproduce/rina.h"

#define RINA_ALL UINT32_MAX /* all switches */

struct rina_way {
    const char *name;
    const char *scheme;
    const char *more; /* part of the job's table */
    enum plan_deploy_order order;
};

/* A run, with the progress of the experiment. */
struct rina_run {
    const struct rina_network *network;
    const struct rina_way *way;
    uint32_t adders; /* switches that add, in the way's order; RINA_ALL */
    double bytes;    /* of gradients, at full size */
    uint32_t scale;  /* of bytes and delays */
    uint32_t number;
    uint32_t count;
    double summing_ms; /* per iteration, at full size */
    double held_bytes; /* largest use of a switch's memory */
};

/* Parameter server and ATP: a server on the first worker's host, as in the paper. */
#define RINA_SERVER "servers_at_workers = true\n"
#define RINA_ATP RINA_SERVER "combines_everywhere = true\n"
#define RINA_TREES "trees = 16\n"

/* False: interrupted, or run->error. */
bool rina_simulate(struct reproduce_run *run, struct rina_run *it);

#endif
