/* SPDX-License-Identifier: Apache-2.0 */
/* threshold.c: jobs that are too small for the switch. The operator sets a threshold in bytes of gradients in an
 * iteration (server.h). The job states its bytes (settings), before any tensor is known. So the decision is made once,
 * for the whole communicator, when all ranks are there and none has a grant yet. Each rank gets RING, opens another
 * socket, and comes again. From then on the job is like a job that asked for a ring (peers.h).
 *
 * There is no way back: a rank that has got RING stays in a ring, whatever the threshold of a restarted switch is. Such
 * a rank makes the other ranks of the job a ring. So no rank is told twice. Read next: start.c (the caller),
 * comm/ring.c (the rank). */
#include "control/jobs/threshold.h"
#include "control/jobs/job.h"
#include "control/jobs/peers.h"
#include "io/explain.h"
#include "io/units.h"

/* "4,000,000 bytes of gradients an iteration are below the switch's threshold of 40,000,000 (--threshold)" */
static void explain_threshold(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    char bytes[TRIB_UNITS_TEXT_MAX];
    char threshold[TRIB_UNITS_TEXT_MAX];
    if (job->settings.gradient_bytes >= jobs->config->threshold) {
        trib_explain(text, "other ranks of the job were told to be a ring, when the switch had another threshold");
        return;
    }
    trib_format_count(job->settings.gradient_bytes, bytes);
    trib_format_count(jobs->config->threshold, threshold);
    trib_explain(text, "%s bytes of gradients an iteration are below the switch's threshold of %s (--threshold)", bytes,
                 threshold);
}

/* True if each rank has an address known to other ranks. */
static bool is_known(const struct trib_job *job, char *error)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        char rank[96];
        if (job->ranks[i].session && job->ranks[i].session->leaf) {
            trib_explain(error, "%s comes over %s, and other ranks do not know addresses below that switch",
                         trib_job_name_rank(job, i, rank), job->ranks[i].session->leaf->name);
            return false;
        }
    }
    return true;
}

/* A job with a grant keeps the kind of the grant. */
static bool is_to_be_ring(const struct trib_jobs *jobs, struct trib_job *job)
{
    char why[TRIB_ERROR_TEXT_MAX];
    char cause[TRIB_ERROR_TEXT_MAX];
    uint64_t bytes = job->settings.gradient_bytes;
    if (job->is_ring || job->is_return || job->has_peers || bytes == 0 || bytes >= jobs->config->threshold) {
        return job->is_ring;
    }
    if (is_known(job, cause) && trib_peers_check(job, cause) == TRIB_OK) {
        return true;
    }
    if (!job->stays) {
        job->stays = true;
        explain_threshold(jobs, job, why);
        trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: %s, but it stays at the switch: %s", job->name, why, cause);
    }
    return false;
}

bool trib_job_settles_ring(struct trib_jobs *jobs, struct trib_job *job)
{
    uint32_t told = 0;
    char cause[TRIB_ERROR_TEXT_MAX];
    struct trib_message message = {.kind = TRIB_MESSAGE_RING};
    if (!is_to_be_ring(jobs, job)) {
        return true;
    }
    if (!is_known(job, cause)) { /* a rank has come another way since the other ranks got RING */
        trib_job_fail(jobs, job, TRIB_ERR_REFUSED, cause);
        return false;
    }
    explain_threshold(jobs, job, message.note.text);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->session && !rank->is_ring) {
            jobs->output.send(jobs->output.owner, rank->session, &message);
            trib_rank_let_go(jobs, rank);
            told++;
        }
    }
    if (told == 0) {
        return true;
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: %s: %u of its ranks join again as a ring, which replaces scheme %s",
                  job->name, message.note.text, told, job->settings.scheme);
    if (trib_job_is_empty(job)) {
        trib_job_free(jobs, job);
    }
    return false;
}
