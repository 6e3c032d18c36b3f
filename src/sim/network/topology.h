/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: networks by name: which nodes there are, which links join them, and the routes over them.
 *
 *   star         every host on one switch
 *   leaf-spine   hosts on leaves, every leaf on every spine
 *   fat-tree     k pods of k/2 edge and k/2 aggregation switches, k^2/4 core switches, k^3/4 hosts (Al-Fares et al.,
 *                SIGCOMM'08)
 *   clos         the same in other proportions: pods of edge and aggregation switches, with less rate up than down (its
 *                ratio) at either tier
 *   dragonfly    groups of routers that are all joined with each other, and one cable between any two groups: each
 *                router has `globals` of its group's (Kim et al., ISCA'08); shortest ways only
 *   file         whatever stands in a file (cables.h)
 *
 * Nodes: hosts, then switches tier by tier from below. Links: those of hosts first, then tier by tier, up before down.
 * Read next: network.h, names.c. */
#ifndef TRIB_SIM_TOPOLOGY_H
#define TRIB_SIM_TOPOLOGY_H

#include <stddef.h>

#include "sim/network/buffers.h"
#include "sim/network/cables.h"
#include "sim/network/network.h"

enum sim_topology_kind {
    SIM_TOPOLOGY_NONE = 0,
    SIM_STAR,
    SIM_LEAF_SPINE,
    SIM_FAT_TREE,
    SIM_CLOS,
    SIM_DRAGONFLY,
    SIM_FROM_FILE,
    SIM_TOPOLOGY_COUNT
};

/* How much comes in from below to how much goes up: 3:1. */
struct sim_ratio {
    uint32_t down;
    uint32_t up;
};

/* Which paths a plan of jobs' trees may name (plan/network.h). */
enum sim_paths { SIM_PATHS_EXPLICIT = 0, SIM_PATHS_ECMP, SIM_PATHS_PINNED, SIM_PATHS_COUNT };

#define SIM_ODD_LINKS_MAX 64U

/* A cable that is not as the others of its kind. */
struct sim_odd_link {
    uint32_t ends[2];     /* nodes that a cable joins */
    struct sim_wire wire; /* rate 0, delay SIM_NEVER: as the others */
};

struct sim_topology {
    enum sim_topology_kind kind;
    uint32_t hosts;  /* star: all; leaf-spine: of each leaf; clos: of each edge switch; dragonfly: of each router */
    uint32_t leaves; /* leaf-spine */
    uint32_t spines;
    uint32_t k;                  /* fat-tree; even */
    uint32_t pods;               /* clos */
    uint32_t edges;              /* clos: of a pod */
    struct sim_ratio ratio;      /* clos: at edge switches, by rate, */
    struct sim_ratio core_ratio; /* and at aggregation switches */
    uint32_t routers;            /* dragonfly: of a group */
    uint32_t globals;     /* dragonfly: cables of a router to other groups; so there are routers x globals + 1 groups */
    struct sim_wire edge; /* between hosts and switches */
    struct sim_wire fabric;   /* between switches */
    struct sim_cables cables; /* from a file: whoever read it frees it */
    struct sim_odd_link odd[SIM_ODD_LINKS_MAX];
    uint32_t odd_count;
    uint64_t add_ps;            /* what switches take to add; then each has a link to itself, behind all others */
    bool has_loops;             /* each host has a link to itself, behind all others: to nodes on hosts of workers */
    uint64_t buffer_bytes;      /* of a switch's port; SIM_NEVER: no packet is ever dropped */
    bool hosts_mark;            /* as switches do what waits in their own queues */
    uint64_t mark_bytes;        /* a switch marks packets that find more waiting; SIM_NEVER: none */
    uint32_t smallest, largest; /* bytes of packets */
    enum sim_paths paths;       /* of planned jobs */
    struct sim_buffers_config buffers;
};

#define SIM_LOOP_PS UINT64_C(1000) /* from process to process of a host: next to nothing */

struct sim_topology_size {
    uint32_t hosts, switches, links;
};

/* Fat trees and clos: who is joined to how many. */
struct sim_pods {
    uint32_t pods;
    uint32_t edges;        /* of a pod */
    uint32_t aggregations; /* of a pod: each joined with each of its edge switches */
    uint32_t hosts;        /* of an edge switch */
    uint32_t ups; /* core switches of an aggregation switch: the j-th of every pod has the j-th run of so many */
};

/* False: a ratio does not come out as a whole number of switches. */
bool sim_topology_pods(const struct sim_topology *t, struct sim_pods *pods);

/* The most hosts below one link down of a switch; 1 where the network is no tree. */
uint32_t sim_topology_each(const struct sim_topology *t);
const char *sim_topology_name(enum sim_topology_kind kind);
const char *sim_paths_name(enum sim_paths paths);
struct sim_topology_size sim_topology_size(const struct sim_topology *t);
/* What people call nodes: a tier, and a number in it, from 0 on. Hosts are the first tier. */
struct sim_tier {
    const char *name;
    uint32_t first; /* node */
    uint32_t count;
};

#define SIM_TIERS_MAX 4U
#define SIM_NODE_NAME_MAX 32U

uint32_t sim_topology_tiers(const struct sim_topology *t, struct sim_tier tiers[SIM_TIERS_MAX]);
/* The node of this name, of len bytes. False: error says what there is. */
bool sim_topology_find(const struct sim_topology *t, const char *name, size_t len, uint32_t *node, char *error);
void sim_topology_node_name(const struct sim_topology *t, uint32_t node, char text[SIM_NODE_NAME_MAX]);

/* The mean rate of hosts' links. */
uint64_t sim_topology_host_rate(const struct sim_topology *t);
/* Makes the network, ready to run. False: out of memory. */
bool sim_topology_build(const struct sim_topology *t, struct sim_network *n);

#endif
