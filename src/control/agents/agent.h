/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h: an agent is a place that can sum: the shards of a switch, or the process of a rank. This is the agent as its
 * own process sees it: a data plane, the memory that its slots may take, and the communicators that have slots there.
 * A controller in the same process opens slots by these calls. A controller elsewhere does it by messages (root.h,
 * masters.h), which end in the same calls. So each quota is checked in one place.
 * No sockets, no clock, no threads. Read next: agent.c, data_plane.h. */
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
    uint32_t changes;                    /* free-running: communicators that got slots here, and that gave them back */
    struct trib_agent_opening *first;    /* all that have slots; their owners' */
};

/* The slots of one communicator at an agent. It lies in its owner, which keeps it in place while it has slots. The
 * owner fills in the first five fields; the rest is zero before the first trib_agent_open. */
struct trib_agent_opening {
    const char *job;                   /* name of the communicator, for texts; borrowed */
    uint64_t job_id;                   /* openings of one controller with the same one are of one job */
    uint64_t tenant;                   /* id of the key of the job, the same at all controllers. 0: it has no key */
    const char *master_name;           /* "10.0.0.1:7470": the controller elsewhere that asks; borrowed */
    const struct trib_address *master; /* its address; borrowed. NULL: the controller of this process */
    struct trib_agent_opening *next;
    uint32_t communicator;
    uint64_t bytes; /* reserved. 0 also where the data plane counts none */
    uint32_t roots; /* that are open here */
    bool is_open;
};

void trib_agent_init(struct trib_agent *agent, const struct trib_data_plane *plane, uint32_t shards);
/* Opens one root. `roots`: the number of roots of this communicator that will be open here, as far as known; it counts
 * this root and all open ones. Returns ERR_REFUSED, with the whole cause and the numbers in error, if another opening
 * has that communicator, or if a quota has no room for so many roots of this size: of a job, of a tenant, of the agent,
 * or of one controller elsewhere. Open roots stay open then. If the data plane fails, returns its status (ERR_MEMORY),
 * with "24 KiB: " and its text in error: then no root of the communicator is open here. error: TRIB_ERROR_TEXT_MAX
 * bytes. */
TRIB_MUST_USE enum trib_status trib_agent_open(struct trib_agent *agent, struct trib_agent_opening *opening,
                                               const struct trib_opening *wanted, uint32_t roots, char *error);
/* Bytes of all openings of the job that this one is of, without this one. */
uint64_t trib_agent_others_of_job(const struct trib_agent *agent, const struct trib_agent_opening *opening);
/* Bytes of all openings of this tenant, of all controllers. */
uint64_t trib_agent_held_by_tenant(const struct trib_agent *agent, uint64_t tenant);
/* The opening of this communicator. NULL: none. */
const struct trib_agent_opening *trib_agent_find(const struct trib_agent *agent, uint32_t communicator);
/* Closes all its roots and gives the memory back. Not open: nothing happens. */
void trib_agent_shut(struct trib_agent *agent, struct trib_agent_opening *opening);
/* Gives each of `count` branches, which have no ranks yet, its ranks in ascending order. child: branch of each rank;
 * UINT16_MAX: none. at: room for all ranks that have a branch; outlives the branches. */
void trib_branches_lay_out(struct trib_branch *branches, uint32_t count, const uint16_t *child, uint32_t ranks,
                           uint16_t *at);
/* Returns false, with the cause in error, if two children, or a child and the parent, send to this root from one
 * address: packets of the two could not be told apart. Children behind combiners may share an address, because their
 * packets have their numbers. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_opening_check(const struct trib_opening *opening, char *error);

#endif
