/* SPDX-License-Identifier: Apache-2.0 */
/* dispute.c: a slot saw two operations under one sequence (I10): both ranks name the operations, and then all ranks get
 * both names. Read next: jobs.c (the caller). */
#include <stdio.h>
#include <string.h>

#include "control/jobs/dispute.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/state.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"

/* A running rank answers at once. On a busy machine, a rank answers when it has a core again. */
#define DISPUTE_NS (2 * TRIB_SECOND_NS)

/* True if both ranks run an operation at the sequence, and the two operations differ. A rank without an operation there
 * answers TRIB_NO_OPERATION. */
static bool have_differed(const struct trib_dispute *dispute)
{
    const char *one = dispute->text[0], *other = dispute->text[1];
    return one[0] != '\0' && other[0] != '\0' && strcmp(one, other) != 0 && strcmp(one, TRIB_NO_OPERATION) != 0 &&
           strcmp(other, TRIB_NO_OPERATION) != 0;
}

void trib_job_end_dispute(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_dispute *dispute = &job->dispute;
    static const char silent[] = "an operation that it does not name";
    char text[TRIB_ERROR_TEXT_MAX];
    char where[48] = "";
    if (dispute->is_question && !have_differed(dispute)) {
        *dispute = (struct trib_dispute){0};
        return;
    }
    if (dispute->sequence != TRIB_NO_SEQUENCE) {
        (void)snprintf(where, sizeof where, " on sequence %llu", (unsigned long long)dispute->sequence);
    }
    trib_explain(text, "operations differ%s: rank %u called %.160s, rank %u called %.160s%s", where, dispute->rank[0],
                 dispute->text[0][0] ? dispute->text[0] : silent, dispute->rank[1],
                 dispute->text[1][0] ? dispute->text[1] : silent,
                 trib_explain_alike(dispute->text[0], dispute->text[1]));
    trib_job_fail(jobs, job, TRIB_ERR_MISMATCH, text);
}

/* A late answer is no error, as the answer may have crossed the end of the dispute. */
void trib_job_operation(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                        const struct trib_message *message)
{
    struct trib_dispute *dispute = &job->dispute;
    if (dispute->deadline_ns == 0 || dispute->sequence != message->operation.sequence) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (dispute->rank[i] == index) {
            memcpy(dispute->text[i], message->operation.text, sizeof dispute->text[i]);
            trib_make_printable(dispute->text[i], sizeof dispute->text[i]);
        }
    }
    if (dispute->text[0][0] && dispute->text[1][0]) {
        trib_job_end_dispute(jobs, job);
    }
}

static void ask(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                uint64_t now_ns)
{
    TRIB_ASSERT(rank[0] < job->settings.ranks && rank[1] < job->settings.ranks);
    const struct trib_message message = {.kind = TRIB_MESSAGE_DESCRIBE, .describe = {.sequence = sequence}};
    job->dispute = (struct trib_dispute){.sequence = sequence, .deadline_ns = now_ns + DISPUTE_NS};
    trib_job_queue(jobs, job);
    for (unsigned i = 0; i < 2; i++) {
        job->dispute.rank[i] = rank[0] < rank[1] ? rank[i] : rank[1 - i];
        trib_rank_tell(jobs, &job->ranks[rank[i]], &message);
    }
}

void trib_job_question(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                       uint64_t now_ns)
{
    if (job->dispute.deadline_ns == 0) {
        ask(jobs, job, sequence, rank, now_ns);
        job->dispute.is_question = true;
    }
}

void trib_job_dispute(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                      uint64_t now_ns)
{
    bool is_there = job->dispute.deadline_ns != 0 && !job->dispute.is_question;
    bool is_over = job->state <= TRIB_JOB_PLACING; /* of an ended incarnation: ranks repeat the operation in the next */
    if (!is_there && !is_over && rank[0] < job->settings.ranks && rank[1] < job->settings.ranks) {
        ask(jobs, job, sequence, rank, now_ns);
    }
}
