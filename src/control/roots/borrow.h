/* SPDX-License-Identifier: Apache-2.0 */
/* borrow.h: several switches used at once. The control plane of one of them, which the ranks join, has others take part
 * in its jobs: the lenders that its operator has named. The roots of a job are dealt over the shards of all of them in
 * turn, and what the data planes of lenders are asked for goes as messages to their control planes (roots.h), on a
 * connection for each job and lender: the loan.
 *
 * A loan: opened when all ranks of the job are there -> LEND is said -> lent, when LENT has come; with the last of them
 * the job starts. A lender that cannot be reached is asked again for a moment; then the ranks are told, and come again
 * (AWAY): they have the deadlines. One that is lost later has lost its slots, as this switch would by a restart: the
 * incarnation ends (trib_job_recall), all ranks return, and it is asked anew. What a lender refuses ends the job with
 * its words, but for a new one that may have others (trees.h). A job that ends, ends its loans, and with them the roots
 * there. No sockets, no clock, no threads, as in jobs.h. Read next: borrow.c, lend.h (the doing side), uplinks.h (the
 * connections). */
#ifndef TRIB_CONTROL_BORROW_H
#define TRIB_CONTROL_BORROW_H

#include "control/jobs/jobs.h"

/* It lies in its connection, and is the job's from `open` to `end`. */
struct trib_loan {
    struct trib_job *job;
    uint32_t lender; /* of config->lenders */
    bool is_lent;    /* LENT has come: what is below holds */
    char name[96];   /* "switch 10.0.0.2:7470" */
    uint64_t asked_ns;
    uint32_t room;
    uint32_t shards;
    uint8_t weight;
    struct trib_address at[TRIB_ROOTS_MAX]; /* where shards are, with their ports */
};

/* At job->loans_ns: asks again, and gives up those who do not answer. The job may be gone afterwards. */
void trib_borrow_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

/* From the lender. The connection stands. */
void trib_loan_connected(struct trib_jobs *jobs, struct trib_loan *loan);
/* The loan, and its job, may be gone afterwards. */
void trib_loan_answer(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                      uint64_t now_ns);
/* It never stood, or has ended. is_foreign: who answers there is no switch. The loan, and its job, may be gone
 * afterwards. */
void trib_loan_lost(struct trib_jobs *jobs, struct trib_loan *loan, const char *cause, bool is_foreign,
                    uint64_t now_ns);

#endif
