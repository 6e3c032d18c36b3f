/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h: an agent is a place that can sum: the shards of a switch, or the process of a rank. struct trib_agent is the
 * agent in its own process: a data plane, a bound on slot memory, and the communicators with slots. A controller in the
 * same process opens slots by the calls here. A controller elsewhere sends messages (root.h, masters.h), which end in
 * the same calls. So each quota is checked in one place. No sockets, no clock, no threads. Read next: agent.c,
 * data_plane.h. */
#ifndef TRIB_CONTROL_AGENT_H
#define TRIB_CONTROL_AGENT_H

#include "control/agents/data_plane.h"

/* Less cache than more, and a loss or two in flight still do not stop the rank. */
#define TRIB_SLOTS_PER_WINDOW 2

struct trib_agent {
    const struct trib_data_plane *plane; /* borrowed */
    uint32_t shards;                     /* of the data plane. 0: nothing can be opened here */
    uint64_t memory_quota;               /* bytes of slot memory for all openings. UINT64_MAX: no limit */
    uint64_t job_quota;                  /* bytes for all openings of one job. UINT64_MAX: no limit */
    uint64_t tenant_quota;               /* bytes for all openings of one tenant. UINT64_MAX: no limit */
    uint64_t memory_used;                /* bytes of all openings */
    uint32_t passed;                     /* largest payload that has passed to a parent and back. 0: none */
    uint32_t changes;                 /* free-running count of communicators that got slots here or gave slots back */
    struct trib_agent_opening *first; /* all openings with slots; owned by their owners */
};

/* The slots of one communicator at an agent. Part of an owner, which must not move while the opening has slots. The
 * owner sets the first five fields; the other fields are zero before the first trib_agent_open. */
struct trib_agent_opening {
    const char *job;         /* name of the communicator, for texts; borrowed */
    uint64_t job_id;         /* openings of one controller with the same one are of one job */
    uint64_t tenant;         /* id of the job's key, the same at all controllers. 0: no key */
    const char *master_name; /* "10.0.0.1:7470": the asking controller elsewhere; borrowed */
    /* address of the asking controller; borrowed. NULL: the controller of this process */
    const struct trib_address *master;
    struct trib_agent_opening *next;
    uint32_t communicator;
    uint64_t bytes; /* reserved; 0 also if the data plane counts none */
    uint32_t roots; /* open here */
    bool is_open;
};

void trib_agent_init(struct trib_agent *agent, const struct trib_data_plane *plane, uint32_t shards);
/* Opens one root. roots: number of the communicator's roots that will be open here, as far as known, with this root and
 * all open roots. Returns ERR_REFUSED, with the whole cause and the numbers in error, if another opening has the
 * communicator, or if a quota has no room for the roots. The quotas are of a job, of a tenant, of the agent, and of one
 * controller elsewhere. Open roots then stay open. If the data plane fails, returns the status of the data plane
 * (ERR_MEMORY), with "24 KiB: " and the text of the data plane in error. Then no root of the communicator is open here.
 * error: TRIB_ERROR_TEXT_MAX bytes. */
TRIB_MUST_USE enum trib_status trib_agent_open(struct trib_agent *agent, struct trib_agent_opening *opening,
                                               const struct trib_opening *wanted, uint32_t roots, char *error);
/* Bytes of all other openings of the same job. */
uint64_t trib_agent_others_of_job(const struct trib_agent *agent, const struct trib_agent_opening *opening);
/* Bytes of all openings of the tenant, of all controllers. */
uint64_t trib_agent_held_by_tenant(const struct trib_agent *agent, uint64_t tenant);
/* Closes all roots of the opening and releases the memory. Does nothing if the opening is not open. */
void trib_agent_shut(struct trib_agent *agent, struct trib_agent_opening *opening);
/* Gives ranks, in ascending order, to each of `count` branches without ranks. child: branch of each rank; UINT16_MAX:
 * none. at: storage for all ranks with a branch; must outlive the branches. */
void trib_branches_lay_out(struct trib_branch *branches, uint32_t count, const uint16_t *child, uint32_t ranks,
                           uint16_t *at);
/* Returns false, with the cause in error, if two children, or a child and the parent, send to this root from one
 * address: the packets of the two could not be told apart. Children behind combiners may share an address, because such
 * packets carry the child's number. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_opening_check(const struct trib_opening *opening, char *error);

#endif
