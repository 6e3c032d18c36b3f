/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: where a communicator is summed. There are four ways, and each is a table of the functions below in a file of
 * its own: the shards of this switch (here.c), those of several switches (roots/borrow.c), the ranks' own processes
 * (roots/roots.c), or no place at all, where ranks send to each other (peers.c). Which one it is follows from the
 * configuration of the control plane, and from the scheme (trib_job_places); nothing else asks which.
 *
 * All run in the control plane's thread, with the job in hand; a NULL means what its line says. What a place answers later
 * comes as a message, and is the table's own business (`receive`), or its driver's (borrow.h). Read next: start.c, which
 * calls them in this order. */
#ifndef TRIB_CONTROL_PLACES_H
#define TRIB_CONTROL_PLACES_H

#include "control/jobs/jobs.h"

struct trib_places {
    const char *sockets; /* whose hold the packets that are on their way: "this switch" */
    const char *owner;   /* who can let them hold more: "the switch" */

    /* All ranks are there. Chooses places, and asks for them; NULL: there is no choice. False: they are being waited for,
     * or the job has ended. */
    bool (*choose)(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
    /* Deals the roots over the places: grant.roots, grant.weight of a new job, job->root, job->ways, job->is_elsewhere,
     * and mends addresses of ranks that only one host knows. ERR_REFUSED, ERR_UNREACHABLE with the cause in error. */
    enum trib_status (*deal)(struct trib_jobs *jobs, struct trib_job *job, char *error);
    /* Bytes that the socket of each place can hold, for all jobs. */
    uint32_t (*room)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* Do packets of this job come to a socket that is a place of `but` as well (NULL: to any of this switch)? NULL: never. */
    bool (*meet)(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_job *but);

    /* Opens the slots, or asks for that. NULL: there are none. error as of trib_agent_open. */
    enum trib_status (*open)(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                             char *error);
    /* Gives up all that was asked for, open or not. NULL: nothing was. */
    void (*part)(struct trib_jobs *jobs, struct trib_job *job);
    /* Writes into the WELCOME of this rank where it sends to. */
    void (*name)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, struct trib_message *welcome);
    /* "the switch's UDP ports 7470 to 7473": what packets of a rank could not reach. text: 128 bytes. */
    void (*explain_way)(const struct trib_job *job, char *text);

    /* A rank has registered, or told its mark. NULL: nobody needs to know. */
    void (*join)(struct trib_jobs *jobs, struct trib_job *job, uint32_t rank, uint64_t mark);
    /* The smallest M that holds for every root. */
    uint64_t (*mark)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* Are all slots open? NULL: they were when `open` returned. */
    bool (*is_ready)(const struct trib_job *job);
    /* All ranks have registered. False: the job cannot go on, and has ended. NULL: it can. */
    bool (*may_run)(struct trib_jobs *jobs, struct trib_job *job);
    /* "rank 2 (10.0.0.3:41234) of job train to open its root": what is waited for where no rank is late. False: nothing.
     * NULL: never anything. text: TRIB_ERROR_TEXT_MAX bytes. */
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text);

    /* Results by multicast from now on (group 0: no longer), and one packet of full size to the group. NULL: no multicast. */
    void (*multicast)(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t group, uint16_t port);
    void (*probe)(const struct trib_jobs *jobs, const struct trib_job *job);
    /* As in struct trib_data_plane. report, NULL: nothing is counted in this process. */
    uint32_t (*missing)(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks, uint32_t max);
    bool (*report)(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report);
    /* "switch 10.0.0.2:7470, its root": who has not said who is missing there. NULL: nobody was asked. text: 128 bytes. */
    void (*name_root)(const struct trib_jobs *jobs, const struct trib_job *job, uint64_t sequence, char *text);

    /* As what the others need a rank that has closed, until they have heard CLOSED: "a root". NULL: they do not. The
     * pointer is NULL where they need none. */
    const char *(*needs)(const struct trib_job *job, uint32_t rank);
    /* ROOT_READY, ROOT_MISSING or DISPUTE from a rank. False: it has no business to say so. The job may be gone afterwards.
     * NULL: no rank has. */
    bool (*receive)(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
};

extern const struct trib_places trib_places_here;     /* here.c */
extern const struct trib_places trib_places_peers;    /* peers.c */
extern const struct trib_places trib_places_ranks;    /* roots/roots.c */
extern const struct trib_places trib_places_switches; /* roots/borrow.c */

/* Of a job whose ranks send to each other, or of the others of this control plane. */
static inline const struct trib_places *trib_job_places(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->has_peers ? jobs->peers : jobs->places;
}

#endif
