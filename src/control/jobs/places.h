/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: where a communicator is summed. Two tables have the differences:
 * - struct trib_places: agents sum it (answers.c), or its ranks send to each other (peers.c). The scheme decides.
 * - struct trib_dealer: over which agents its roots are dealt: the shards of this switch (here.c), those of several
 *   switches (roots/switches.c), or the ranks' own processes (roots/roots.c). The configuration of the control plane
 *   decides. peers.c deals one stream to nobody.
 * Slots are opened, fed and closed in one way, whatever the tables say (placements.h).
 *
 * All functions run in the control plane's thread, with the job in hand. Read next: start.c, which calls them in this
 * order. */
#ifndef TRIB_CONTROL_PLACES_H
#define TRIB_CONTROL_PLACES_H

#include "control/jobs/jobs.h"

struct trib_dealer {
    const char *sockets; /* the owner of the sockets that receive packets: "this switch" */
    const char *owner;   /* the process to start with larger sockets: "the switch" */
    const char *way;     /* "a root of the job": the far end of a bad path; NULL: the ports of this switch */
    /* All roots of each job are shards of this switch. So its data plane knows M, and results may go by multicast. */
    bool is_one_switch;
    /* All ranks are there. Chooses agents, and asks whether the agents are there. False: an agent is waited for, or the
     * job has ended. NULL: there is no choice. */
    bool (*choose)(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
    /* Deals the roots over the agents: grant.roots, grant.weight of a new job, the placements, job->ways. Mends
     * addresses of ranks that only one host knows. ERR_REFUSED, ERR_UNREACHABLE with the cause in error. */
    enum trib_status (*deal)(struct trib_jobs *jobs, struct trib_job *job, char *error);
    /* "switch 10.0.0.2:7470 to lend its shards to job train": an agent that `choose` waits for. False: none. NULL: it
     * never waits. text: TRIB_ERROR_TEXT_MAX bytes. */
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text);
    /* The slots are open: says in the log over which agents. NULL: nothing. */
    void (*say_dealt)(struct trib_jobs *jobs, struct trib_job *job);
};

struct trib_places {
    /* Bytes that the socket of each receiver can hold, for all jobs. */
    uint32_t (*room)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* Writes into the WELCOME of this rank where it sends to. */
    void (*name)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, struct trib_message *welcome);
    /* "the switch's UDP ports 7470 to 7473": what packets of a rank could not reach. text: 128 bytes. */
    void (*explain_way)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *text);
    /* All ranks have registered. False: the job cannot go on, and has ended. NULL: it can. */
    bool (*may_run)(struct trib_jobs *jobs, struct trib_job *job);
    /* "rank 2 (10.0.0.3:41234) of job train to open its root": an agent that is waited for. False: none is. NULL: none
     * ever is. text: TRIB_ERROR_TEXT_MAX bytes. */
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text);
    /* The smallest M that holds for every root. */
    uint64_t (*mark)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* As trib_placements_missing. */
    uint32_t (*missing)(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                        uint16_t *ranks, const char **silent);
    /* "switch 10.0.0.2:7470, its root": the agent that has not said which ranks are missing. NULL: no agent is asked.
     * text: 128 bytes. */
    void (*name_root)(struct trib_job *job, uint64_t sequence, char *text);
    /* "a root": the part of a closed rank that the others need until they have heard CLOSED. NULL: none. */
    const char *(*needs)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank);
    /* ROOT_READY, ROOT_MISSING or DISPUTE from a rank. False: it may not say so. The job may be gone afterwards. */
    bool (*receive)(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
};

extern const struct trib_places trib_places_agents;
extern const struct trib_places trib_places_peers;
extern const struct trib_dealer trib_dealer_here;
extern const struct trib_dealer trib_dealer_ranks;
extern const struct trib_dealer trib_dealer_switches;
extern const struct trib_dealer trib_dealer_peers;

static inline const struct trib_places *trib_job_places(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->has_peers ? jobs->peers : jobs->agents;
}

static inline const struct trib_dealer *trib_job_dealer(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->has_peers ? jobs->no_dealer : jobs->dealer;
}

/* answers.c: ROOT_READY, ROOT_MISSING or DISPUTE of an agent. False: it may not say so, or from is NULL. The job may be
 * gone afterwards. */
bool trib_placement_answer(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from,
                           const struct trib_message *message, uint64_t now_ns);

#endif
