/* SPDX-License-Identifier: Apache-2.0 */
/* owner.h: a job, the owner of communicators. The first communicator of a launch begins the job. Communicators derived
 * from a communicator of the job (trib_comm_split, trib_comm_subset) are of the same job. A job has one quota at each
 * agent, for all its communicators together (agents/agent.h).
 *
 * The job's token is a secret of its ranks, which get it in the grant. The JOIN of a derived communicator brings it. A
 * JOIN without the token begins another job, so no rank can charge a stranger's job (I7). After a restart of the switch
 * the ranks bring the token again, in any order. The first returning rank re-creates the job. The job ends with its
 * last communicator.
 * Read next: join.c (JOIN), owner.c. */
#ifndef TRIB_CONTROL_OWNER_H
#define TRIB_CONTROL_OWNER_H

#include "control/jobs/state.h"

struct trib_owner {
    struct trib_owner *next;
    struct trib_job *first; /* communicators of the job, by next_owned, the youngest first; never NULL */
    char name[TRIB_NAME_MAX + 1];
    char run[TRIB_NAME_MAX + 1]; /* "": unknown */
    uint64_t token;              /* never shown, and not sent to lenders; 0: no grant drawn yet */
    uint64_t id;                 /* id for agents, valid in this life of the control plane; no secret */
};

/* True for a text that is plain (trib_is_plain) and not "". */
bool trib_name_is_good(const char *name);
/* The job token in a JOIN: from the known grant of a returning rank, or from the origin of a derived communicator. 0:
 * none. */
uint64_t trib_join_job_token(const struct trib_message *join);
/* False, with the cause in error: the maker in the JOIN is impossible. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_maker_check(const struct trib_message *join, char *error);
/* False: the communicator, or the communicator of the JOIN, is derived, and the two have different jobs. A stranger
 * that knows only the name of a derived communicator cannot join. */
bool trib_owner_allows(const struct trib_job *job, const struct trib_message *join);
/* False: a or b is derived, and the two have different jobs, whatever the names are. */
static inline bool trib_owner_may_be_same(const struct trib_job *a, const struct trib_job *b)
{
    return a->owner == b->owner || (a->maker == 0 && b->maker == 0);
}

/* Moves the communicator from the old job to the job with the token. If there is no such job, a new job begins with the
 * communicator, named by the JOIN. token 0: a new job without a token, which draw_grant sets later. False: out of
 * memory; the communicator stays unchanged. */
TRIB_MUST_USE bool trib_owner_adopt(struct trib_jobs *jobs, struct trib_job *job, const struct trib_message *join,
                                    uint64_t token);
uint32_t trib_owners_count(const struct trib_jobs *jobs);
/* The communicator ends; the last communicator ends the job. The slots must be shut. */
void trib_owner_leave(struct trib_jobs *jobs, struct trib_job *job);

#endif
