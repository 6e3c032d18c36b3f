/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: networks by name: their nodes, links and routes.
 *
 *   star         every host on one switch
 *   leaf-spine   hosts on leaves, every leaf on every spine
 *   fat-tree     k pods of k/2 edge and k/2 aggregation switches, k^2/4 core switches, k^3/4 hosts (Al-Fares et al.,
 *                SIGCOMM'08)
 *   clos         a fat tree in other proportions: pods of edge and aggregation switches, with less rate up than down
 *                (its ratio) at either tier
 *   dragonfly    groups of fully connected routers, and one cable between any two groups: each router has `globals` of
 *                its group's (Kim et al., ISCA'08); shortest paths only
 *   file         a network from a file (cables.h)
 *
 * Nodes: hosts, then switches tier by tier from below. Links: links of hosts first, then tier by tier, up before down.
 *
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

/* Rate down to rate up of a switch, as in 3:1. */
struct sim_ratio {
    uint32_t down;
    uint32_t up;
};

/* Paths that a plan of jobs' trees may use (plan/network.h). */
enum sim_paths { SIM_PATHS_EXPLICIT = 0, SIM_PATHS_ECMP, SIM_PATHS_PINNED, SIM_PATHS_COUNT };

#define SIM_ODD_LINKS_MAX 64U

/* A cable with its own rate or delay. */
struct sim_odd_link {
    uint32_t ends[2];     /* nodes */
    struct sim_wire wire; /* rate 0, delay SIM_NEVER: as other cables */
};

struct sim_topology {
    enum sim_topology_kind kind;
    /* star: all; leaf-spine: per leaf; clos: per edge switch; dragonfly: per router. */
    uint32_t hosts;
    uint32_t leaves; /* leaf-spine */
    uint32_t spines;
    uint32_t k;                  /* fat-tree; even */
    uint32_t pods;               /* clos */
    uint32_t edges;              /* clos: per pod */
    struct sim_ratio ratio;      /* clos: at edge switches, by rate */
    struct sim_ratio core_ratio; /* clos: at aggregation switches */
    uint32_t routers;            /* dragonfly: per group */
    /* dragonfly: cables of a router to other groups. There are routers x globals + 1 groups. */
    uint32_t globals;
    struct sim_wire edge;     /* between hosts and switches */
    struct sim_wire fabric;   /* between switches */
    struct sim_cables cables; /* file: the reader of the file frees it */
    struct sim_odd_link odd[SIM_ODD_LINKS_MAX];
    uint32_t odd_count;
    /* Time that a switch takes to add. Not 0: each switch has a link to itself, numbered after all cables. */
    uint64_t add_ps;
    /* Each host has a link to itself, numbered after all other links, for nodes on workers' hosts. */
    bool has_loops;
    /* Buffer of a switch's port. SIM_NEVER: no drops. */
    uint64_t buffer_bytes;
    /* Hosts mark packets in their own queues like switches. */
    bool hosts_mark;
    /* A switch marks a packet that finds more bytes waiting. SIM_NEVER: no marks. */
    uint64_t mark_bytes;
    uint32_t smallest, largest; /* bytes of a packet */
    enum sim_paths paths;       /* for planned jobs */
    struct sim_buffers_config buffers;
};

#define SIM_LOOP_PS UINT64_C(1000) /* between processes of a host: close to zero */

struct sim_topology_size {
    uint32_t hosts, switches, links;
};

/* Sizes of fat trees and clos networks. */
struct sim_pods {
    uint32_t pods;
    uint32_t edges;        /* per pod */
    uint32_t aggregations; /* per pod; each is connected to each edge switch of the pod */
    uint32_t hosts;        /* per edge switch */
    /* Core switches per aggregation switch. The j-th of every pod is connected to the j-th run of this many. */
    uint32_t ups;
};

/* False: a ratio does not give a whole number of switches. */
bool sim_topology_pods(const struct sim_topology *t, struct sim_pods *pods);

/* Returns the largest number of hosts below a link down of a switch; 1 if the network is no tree. */
uint32_t sim_topology_each(const struct sim_topology *t);
const char *sim_topology_name(enum sim_topology_kind kind);
const char *sim_paths_name(enum sim_paths paths);
struct sim_topology_size sim_topology_size(const struct sim_topology *t);
/* A tier of nodes, for names such as leaf0. Numbers begin at 0; hosts are the first tier. */
struct sim_tier {
    const char *name;
    uint32_t first; /* first node */
    uint32_t count;
};

#define SIM_TIERS_MAX 4U
#define SIM_NODE_NAME_MAX 32U

uint32_t sim_topology_tiers(const struct sim_topology *t, struct sim_tier tiers[SIM_TIERS_MAX]);
/* Finds the node of this name, len bytes long. False: error lists the valid names. */
bool sim_topology_find(const struct sim_topology *t, const char *name, size_t len, uint32_t *node, char *error);
void sim_topology_node_name(const struct sim_topology *t, uint32_t node, char text[SIM_NODE_NAME_MAX]);

/* Returns the mean rate of hosts' links, bit/s. */
uint64_t sim_topology_host_rate(const struct sim_topology *t);
/* Creates the network, ready to run. False: out of memory. */
bool sim_topology_build(const struct sim_topology *t, struct sim_network *n);

#endif
