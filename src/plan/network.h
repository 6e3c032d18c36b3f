/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: the network of a plan: hosts, switches and links (fabric.h), which switches add and how fast, whether
 * switches copy results, and how paths are chosen. Read next: network_read.c (the file), jobs.h, routes.h. */
#ifndef TRIB_PLAN_NETWORK_H
#define TRIB_PLAN_NETWORK_H

#include "fabric/fabric.h"
#include "plan/names.h"

/* Limits that keep all sums of check.h within their integers. */
#define PLAN_HOSTS_MAX 16384U
#define PLAN_SWITCHES_MAX 2048U
#define PLAN_LINKS_MAX 65536U

#define PLAN_ADDS_NOT UINT64_C(0)
#define PLAN_ADDS_ALL UINT64_MAX   /* without a limit */
#define PLAN_MEMORY_ALL UINT64_MAX /* likewise */

/* Which path packets from one place to another take. A plan may assume no more than the network keeps. */
enum plan_paths {
    PLAN_PINNED,   /* the shortest one, if there is no other of that length; else nothing may be sent there */
    PLAN_ECMP,     /* all shortest ones, in equal parts */
    PLAN_EXPLICIT, /* the path that the plan names */
    PLAN_PATHS_COUNT
};

struct plan_network {
    struct trib_fabric fabric; /* hosts, which are its ends, then switches */
    uint32_t hosts;
    uint32_t switches;
    struct plan_names names; /* by place */
    uint64_t *adds_bps;      /* by switch: PLAN_ADDS_NOT, PLAN_ADDS_ALL, or bit/s of all its inputs */
    uint64_t *memory;   /* by switch, bytes. Not in the digest: no bound depends on it, and a check counts it anew */
    bool has_multicast; /* switches copy a result where paths part; else each child is sent its own */
    enum plan_paths paths;
    uint64_t step_ns;  /* time of a step beside its bytes. Not in the digest: plans do not depend on it */
    uint32_t headroom; /* percent for one stream by ECMP, see plan_headroom; else 0 */
};

/* Headroom for ECMP, if the file of the network has none. A stream has 16 source ports, and each takes one path. This
 * is one standard deviation of the number of ports on a link that gets a ninth of them. docs/PERF.md, "planned rates in
 * the simulator". */
#define PLAN_HEADROOM 70U

/* Reads a file. False: error has the cause and the place. Free it in any case. */
bool plan_network_read(struct plan_network *net, const char *path, char *error);
/* As plan_network_read, for a network in which no switch needs to add. */
bool plan_network_read_bare(struct plan_network *net, const char *path, char *error);
/* Room for a network; the caller adds names in the order of places, links and the rest, then calls trib_fabric_ready.
 * False: out of memory. */
bool plan_network_init(struct plan_network *net, uint32_t hosts, uint32_t switches, uint32_t links);
/* A network of the simulator's, with its names; no switch adds. The caller then calls trib_fabric_ready. False: out of
 * memory. */
struct sim_topology;
bool plan_network_build(struct plan_network *net, const struct sim_topology *topology);
void plan_network_free(struct plan_network *net);
/* A number that differs between networks that differ in anything a plan depends on. */
uint64_t plan_network_digest(const struct plan_network *net);
/* Applies a change: "link A-B down", "link A-B 10Gbps", "switch A down", "switch A adds", "switch A adds 100Gbps",
 * "switch A adds not". False: error has the cause. */
bool plan_network_change(struct plan_network *net, const char *change, char *error);
static inline uint32_t plan_headroom_of(enum plan_paths paths)
{
    return paths == PLAN_ECMP ? PLAN_HEADROOM : 0;
}

/* Percent that a plan adds to the load of a link if `streams` streams of one hop, at least one, take several paths.
 * Ports of a stream are not spread evenly over paths. More streams are more even: the percentage falls by the root of
 * their number. */
uint32_t plan_headroom(const struct plan_network *net, uint64_t streams);
const char *plan_paths_name(enum plan_paths paths);

static inline bool plan_adds(const struct plan_network *net, uint32_t place)
{
    return place >= net->hosts && net->adds_bps[place - net->hosts] != PLAN_ADDS_NOT;
}

/* Rows: all that can be full. First links, by number; then the adding of switches; then the cables of hosts, which
 * carry as much in one direction as in the other. */
static inline uint32_t plan_rows(const struct plan_network *net)
{
    return net->fabric.link_count + net->switches + net->hosts;
}

static inline uint32_t plan_row_of_adder(const struct plan_network *net, uint32_t place)
{
    return net->fabric.link_count + place - net->hosts;
}

static inline uint32_t plan_row_of_host(const struct plan_network *net, uint32_t host)
{
    return net->fabric.link_count + net->switches + host;
}

/* bit/s. UINT64_MAX: without a limit. */
uint64_t plan_capacity(const struct plan_network *net, uint32_t row);
/* "leaf0-spine1", "spine1" of its adding, "host3" of its cable. */
#define PLAN_ROW_NAME_MAX (2 * PLAN_NAME_MAX + 2)
void plan_row_name(const struct plan_network *net, uint32_t row, char text[PLAN_ROW_NAME_MAX]);
/* Row with this name; UINT32_MAX: there is no such row. */
uint32_t plan_row_find(const struct plan_network *net, const char *text, size_t len);

#endif
