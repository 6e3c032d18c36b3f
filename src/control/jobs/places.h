/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: the places where a communicator is summed. Two tables have the differences:
 * - struct trib_places: agents sum the communicator (answers.c), or ranks send to each other (peers.c). The scheme
 *   decides.
 * - struct trib_dealer: deals the roots over agents: shards of this switch (here.c), shards of several switches
 *   (roots/switches.c), or the ranks' processes (roots/roots.c). The configuration of the control plane decides.
 *   peers.c deals one stream to no agent.
 *
 * Slots are opened, fed and closed in the same way with all tables (placements.h).
 *
 * All functions run in the control plane's thread. Read next: start.c (calls the functions in this order). */
#ifndef TRIB_CONTROL_PLACES_H
#define TRIB_CONTROL_PLACES_H

#include "control/jobs/state.h"

struct trib_dealer {
    const char *sockets; /* owner of the receiving sockets: "this switch" */
    const char *owner;   /* the process to start with larger sockets: "the switch" */
    const char *way;     /* "a root of the job": the far end of a bad path; NULL: the ports of this switch */
    /* All roots of each job are shards of this switch, so the data plane here knows M, and results may go by
     * multicast. */
    bool is_one_switch;
    /* All ranks are there. Chooses agents, and asks whether the agents are there. False: an agent is waited for, or the
     * job has ended. NULL: there is no choice. */
    bool (*choose)(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
    /* Deals the roots over the agents: grant.roots, grant.weight of a new job, the placements, job->ways. Replaces
     * ranks' addresses that are valid on one host only. ERR_REFUSED, ERR_UNREACHABLE with the cause in error. */
    enum trib_status (*deal)(struct trib_jobs *jobs, struct trib_job *job, char *error);
    /* "switch 10.0.0.2:7470 to lend its shards to job train": an agent on which `choose` waits. False: none. NULL: the
     * dealer never waits. text: TRIB_ERROR_TEXT_MAX bytes. */
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text);
    /* The slots are open: logs the agents of the job. NULL: no log line. */
    void (*say_dealt)(struct trib_jobs *jobs, struct trib_job *job);
};

struct trib_places {
    /* Capacity in bytes of each receiver's socket, for all jobs. */
    uint32_t (*room)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* Writes the rank's destinations into the WELCOME. */
    void (*name)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, struct trib_message *welcome);
    /* "the switch's UDP ports 7470 to 7473": the destination that the rank's packets did not reach. text: 128 bytes. */
    void (*explain_way)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *text);
    /* All ranks have registered. False: the job cannot go on, and has ended. NULL: the job can always go on. */
    bool (*may_run)(struct trib_jobs *jobs, struct trib_job *job);
    /* "rank 2 (10.0.0.3:41234) of job train to open its root": a late agent. False: none. NULL: never any. text:
     * TRIB_ERROR_TEXT_MAX bytes. */
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text);
    /* The smallest M of all roots. */
    uint64_t (*mark)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* As trib_placements_missing. */
    uint32_t (*missing)(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                        uint16_t *ranks, const char **silent);
    /* "switch 10.0.0.2:7470, its root": the agent without an answer on missing ranks. NULL: no agent is asked. text:
     * 128 bytes. */
    void (*name_root)(struct trib_job *job, uint64_t sequence, char *text);
    /* "a root": the part of a closed rank that other ranks need until CLOSED has been sent. NULL: none. */
    const char *(*needs)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank);
    /* ROOT_READY, ROOT_MISSING or DISPUTE from a rank. False: message not allowed. The job may be gone afterwards. */
    bool (*receive)(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
};

static inline const struct trib_places *trib_job_places(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->has_peers ? jobs->peers : jobs->agents;
}

static inline const struct trib_dealer *trib_job_dealer(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->has_peers ? jobs->no_dealer : jobs->dealer;
}

#endif
