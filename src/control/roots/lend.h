/* SPDX-License-Identifier: Apache-2.0 */
/* lend.h: the other side of borrow.h: a switch whose shards are roots of a job of another control plane. That one asks
 * in a session of its own for each communicator; root.h does what it says, within the quotas that are here for all
 * jobs, and the end of the session ends it. This switch has jobs of its own beside that, and may have lenders itself:
 * what it lends are its own shards only. No sockets, no clock, no threads, as in jobs.h. Read next: lend.c, root.h. */
#ifndef TRIB_CONTROL_LEND_H
#define TRIB_CONTROL_LEND_H

#include "control/agents/root.h"
#include "control/jobs/jobs.h"

struct trib_lending {
    struct trib_lending *next;
    struct trib_session *session;
    char job[TRIB_NAME_MAX + 1]; /* for people */
    char asker[64];              /* its control plane: "10.0.0.1:7470" */
    struct trib_root root;
    uint64_t flight_bytes; /* that may be on their way to one shard here */
    uint64_t key;          /* of ROOT_OPEN: whose it is, in this incarnation and the next */
    uint64_t deadline_ns;  /* for ROOT_OPEN to come; NEVER: it has */
    uint32_t ranks;        /* 0: ROOT_OPEN has not come */
    char refusal[320];     /* why what the asker said was not taken; "": the root has a word for that */
};

/* LEND, in a session that has said nothing yet. Answers LENT or FAIL. */
void trib_lend_begin(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                     uint64_t now_ns);
/* What comes after it. */
void trib_lend_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message);
/* The session has ended, or is to: closes what is open for it. */
void trib_lend_end(struct trib_jobs *jobs, struct trib_session *session);
/* A slot saw two operations. Nothing, where no such communicator is lent. */
void trib_lend_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2]);
uint64_t trib_lend_next_timeout(const struct trib_jobs *jobs);
void trib_lend_on_timeout(struct trib_jobs *jobs, uint64_t now_ns);

#endif
