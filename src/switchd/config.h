/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: the settings of the switch daemon. Read next: switchd.h. */
#ifndef TRIB_SWITCHD_CONFIG_H
#define TRIB_SWITCHD_CONFIG_H

#include "core/node.h"
#include "fabric/placed.h"
#include "fabric/planned.h"
#include "fabric/topology.h"
#include "net/address.h"
#include "net/nics.h"

struct trib_keyring;

struct trib_switchd_config {
    struct trib_address listen; /* [0.0.0.0:7470] UDP port of shard 0, and TCP; shard t has port + t; port 0: any */
    struct trib_address_list
        also; /* [none] further addresses, with listen's family and port: shard t is at address t mod n of all n */
    struct trib_address parent; /* [none] sessions of the parent switch; len 0: none */
    uint64_t identity;          /* [0: of the machine and `listen`] identity for the parent, the same after a restart */
    /* [none] sessions of other switches; jobs of this switch use their shards as well; not with a parent */
    struct trib_others lenders;
    struct trib_others lend_to; /* [none] hosts of switches that may use shards here for their jobs */
    /* [none: sessions are unauthenticated] keys of jobs and of the operator; borrowed */
    const struct trib_keyring *keys;
    uint32_t trees;                     /* [0: all] switches for each job, of this switch and its lenders; 8 at most */
    const struct trib_planned *planned; /* [none] switches of jobs, chosen by a plan; borrowed */
    const struct trib_placed *placed;   /* [none] pieces of jobs, placed below by a plan; borrowed */
    /* [none: each one link away] network by which switches are chosen; borrowed */
    const struct trib_topology *topology;
    /* [1] weight of a root on a shard here, relative to roots at other switches: 1 to 255 */
    uint32_t weight;
    struct trib_address http;                 /* [127.0.0.1:0] len 0: none; port 0: listen's port + 1000 */
    const struct trib_http_guard *http_guard; /* [NULL: everybody may ask] borrowed */
    /* [0: as many as addresses] shards: at least one for each address, at most TRIB_ROOTS_MAX */
    uint32_t threads;
    uint32_t buffer; /* [32 MiB] requested socket buffer, bytes, each direction of each shard */
    uint32_t dscp;   /* [0] */
    /* [127500] bytes queued behind a shard's socket, per child, above which panama's packets are flagged; 0: never */
    uint32_t backlog;
    uint32_t group;            /* [239.255.74.70] first multicast group for results, host order; 0: unicast only */
    uint32_t spin_us;          /* [200] longest busy wait of a shard before it sleeps; it yields the CPU */
    uint64_t memory_quota;     /* [4 GiB] bytes of slot memory, all jobs */
    uint64_t job_quota;        /* [3 GiB] bytes of slot memory, one job with all its communicators */
    uint64_t tenant_quota;     /* [0: no limit] bytes of slot memory, all jobs of one key */
    uint64_t pool;             /* [64 MiB] bytes of rows for combining, all shards; 0: all parts pass */
    bool is_pool_static;       /* [false] each communicator has an equal number of rows; false: all share all rows */
    bool combines_only;        /* [false] no slots for sums, only combining; with a parent alone */
    uint64_t ping_gap_ns;      /* [0: 1 s] between pings to an awaited switch; a switch has ten intervals to answer */
    uint64_t threshold;        /* [0: none] jobs with fewer bytes of gradients are rings; not with a parent */
    uint64_t join_timeout_ns;  /* [30 s] longest wait of a job's first rank for its last */
    bool is_shared;            /* [false] jobs of several users: each job needs a name of its own */
    bool trains;               /* [true] false: one packet a call, for comparison */
    struct trib_faults faults; /* [none] */
    /* [-1] descriptor for the port in decimal and a newline, written when the switch serves; -1: none. Stays open */
    int ready_fd;
};

/* Number of shards. */
static inline uint32_t trib_switchd_shards(const struct trib_switchd_config *config)
{
    return config->threads > 0 ? config->threads : config->also.count + 1;
}

#endif
