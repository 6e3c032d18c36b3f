/* SPDX-License-Identifier: Apache-2.0 */
/* stall.c: reports of missing ranks, for people. STALL of a rank names the sequence on which the rank waits. missing.c
 * asks agents for the missing ranks. A rank without a contribution is named even if the rank waits, as packets may not
 * arrive. Read next: missing.c, jobs.c (calls this). */
#include <stdio.h>
#include <string.h>

#include "control/jobs/dispute.h"
#include "control/jobs/job.h"
#include "control/jobs/places.h"
#include "control/jobs/stall.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define UNHEARD_MS 3000 /* time for many packets of a waiting rank */
#define LEFT_MS 3000    /* time for many PROBEs of a waiting rank, each asking another finished rank */

/* A mark above the sequence of the STALL shows the end of the wait. */
static bool waits_too(const struct trib_rank *rank, uint64_t now_ns)
{
    const struct trib_stall *stall = &rank->stall;
    return stall->at_ns != 0 && stall->sequence >= rank->mark && now_ns - stall->at_ns <= TRIB_STALL_FRESH_NS;
}

/* If ranks send to each other, no place holds the contributions or knows the missing ranks. But each participating rank
 * also waits on some sequence, and sends STALL. If all ranks wait, packets may not arrive: names one such way. */
static void find_idle(struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    struct trib_stall *stall = &job->ranks[index].stall;
    memset(&stall->missing, 0, sizeof stall->missing);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->mark <= stall->sequence && !waits_too(rank, now_ns)) {
            trib_rank_list_add(&stall->missing, i);
        }
    }
    for (uint32_t i = 0; i < job->settings.ranks && stall->missing.count == 0 && stall->where[0] == '\0'; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->stall.silent < job->settings.ranks && waits_too(rank, now_ns)) {
            (void)snprintf(stall->where, sizeof stall->where, "rank %u to rank %u", i, rank->stall.silent);
        }
    }
}

/* If all ranks wait and send to each other, the operations may differ without any packet that shows the conflict. Asks
 * the waiting rank, and the next waiting rank. */
static void ask_next(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    uint32_t next = index;
    do {
        next = (next + 1) % job->settings.ranks;
    } while (next != index && !waits_too(&job->ranks[next], now_ns));
    if (next != index) {
        trib_job_question(jobs, job, job->ranks[index].stall.sequence, (const uint32_t[2]){index, next}, now_ns);
    }
}

/* True if the rank has finished the sequence of the STALL, and waits for unfinished ranks. */
static bool is_ahead(const struct trib_rank *rank, uint64_t sequence)
{
    return rank->mark > sequence;
}

/* True if each missing rank waits on the same sequence: a part or a result does not arrive. */
static bool are_unheard(const struct trib_job *job, const struct trib_stall *stall, uint64_t now_ns)
{
    uint32_t carried = trib_rank_list_carried(&stall->missing);
    for (uint32_t i = 0; i < carried; i++) {
        const struct trib_rank *rank = &job->ranks[stall->missing.rank[i]];
        if (!waits_too(rank, now_ns) || rank->stall.sequence != stall->sequence || rank->stall.since_ms < UNHEARD_MS) {
            return false;
        }
    }
    return carried > 0;
}

/* Finds the ranks missing on the sequence of the STALL, unless an agent must be asked first. After a restart, the
 * switch may lack contributions of finished ranks; a rank that is also ahead does not wait for such ranks. */
static void find_missing(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    struct trib_stall *stall = &job->ranks[index].stall;
    uint16_t lacking[TRIB_RANKS_MAX];
    const char *silent = NULL;
    uint32_t count = 0;
    memset(&stall->missing, 0, sizeof stall->missing);
    stall->where[0] = '\0';
    if (job->is_open) {
        count = trib_job_places(jobs, job)->missing(jobs, job, stall->sequence, now_ns, lacking, &silent);
    }
    stall->is_open = count == TRIB_MISSING_LATER;
    for (uint32_t i = 0; i < count && !stall->is_open; i++) {
        if (!is_ahead(&job->ranks[index], stall->sequence) || !is_ahead(&job->ranks[lacking[i]], stall->sequence)) {
            trib_rank_list_add(&stall->missing, lacking[i]);
        }
    }
    if (count == 0 && silent) {
        (void)snprintf(stall->where, sizeof stall->where, "%s", silent);
    } else if (!stall->is_open && are_unheard(job, stall, now_ns)) {
        (void)snprintf(stall->where, sizeof stall->where,
                       "packets do not pass, to there or from there: check the path MTU and the firewall");
    }
}

static void note_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                       uint64_t now_ns)
{
    struct trib_stall *stall = &job->ranks[index].stall;
    stall->sequence = message->stall.sequence;
    stall->since_ms = message->stall.since_ms;
    stall->at_ns = now_ns;
    stall->silent = message->stall.missing.count > 0 ? message->stall.missing.rank[0] : UINT16_MAX;
    find_missing(jobs, job, index, now_ns);
}

/* A closed rank will never contribute again: a wait for a closed rank on a later sequence is in vain. */
static bool waits_for_closed(const struct trib_job *job, uint64_t sequence, uint32_t *closed)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].is_closing && sequence >= job->ranks[i].mark) {
            *closed = i;
            return true;
        }
    }
    return false;
}

/* After a restart, the switch lacks contributions of a rank that has closed and left. Any rank with the result has had
 * enough time to OFFER it. A rank that closed behind a lost switch may still come back with all ranks, until the time
 * limit. A rank that has finished the sequence lacks nothing, and can provide the result. */
static bool waits_for_left(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index, uint32_t *left)
{
    const struct trib_stall *stall = &job->ranks[index].stall;
    uint32_t carried = trib_rank_list_carried(&stall->missing);
    bool is_over = stall->since_ms * TRIB_MILLISECOND_NS >= jobs->config->join_timeout_ns;
    bool may_lack = stall->since_ms >= LEFT_MS && !is_ahead(&job->ranks[index], stall->sequence);

    for (uint32_t i = 0; i < carried && may_lack; i++) {
        const struct trib_rank *rank = &job->ranks[stall->missing.rank[i]];
        if (rank->has_left || (is_over && rank->is_closing && (!rank->session || rank->is_outside))) {
            *left = stall->missing.rank[i];
            return true;
        }
    }
    return false;
}

static void fail_for_closed(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint32_t closed)
{
    char text[TRIB_ERROR_TEXT_MAX];
    char name[96];
    trib_explain(text, "rank %u waits on sequence %llu, but %s has closed the communicator at sequence %llu", index,
                 (unsigned long long)job->ranks[index].stall.sequence, trib_job_name_rank(job, closed, name),
                 (unsigned long long)job->ranks[closed].mark);
    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
}

static void log_stall(const struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    char text[256] = "no rank is";
    const struct trib_stall *stall = &job->ranks[index].stall;
    const struct trib_rank_list *list = &stall->missing;
    if (now_ns - job->stall_logged_ns < TRIB_SECOND_NS && job->stall_logged_ns != 0) {
        return;
    }
    job->stall_logged_ns = now_ns;
    if (list->count > 0) {
        trib_format_ranks(list->rank, trib_rank_list_carried(list), list->count, text, sizeof text);
    } else if (stall->where[0] != '\0') {
        (void)snprintf(text, sizeof text, "data from %s is", stall->where);
    }
    bool has_cause = list->count > 0 && stall->where[0] != '\0';
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s missing on sequence %llu since %u.%u s, says rank %u%s%s", job->name,
                  text, (unsigned long long)stall->sequence, stall->since_ms / 1000, stall->since_ms % 1000 / 100,
                  index, has_cause ? "; " : "", has_cause ? stall->where : "");
}

static void answer_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    const struct trib_stall *stall = &job->ranks[index].stall;
    struct trib_message answer = {.kind = TRIB_MESSAGE_MISSING};
    answer.stall.sequence = stall->sequence;
    answer.stall.since_ms = stall->since_ms;
    answer.stall.missing = stall->missing;
    memcpy(answer.stall.where, stall->where, sizeof answer.stall.where);
    trib_rank_tell(jobs, &job->ranks[index], &answer);
    log_stall(jobs, job, index, now_ns);
}

void trib_job_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                    uint64_t now_ns)
{
    uint32_t closed;
    struct trib_stall *stall = &job->ranks[index].stall;
    bool was_open = stall->is_open && stall->sequence == message->stall.sequence;
    note_stall(jobs, job, index, message, now_ns);
    if (waits_for_closed(job, stall->sequence, &closed) || waits_for_left(jobs, job, index, &closed)) {
        fail_for_closed(jobs, job, index, closed);
        return;
    }
    if (stall->is_open && !was_open) {
        return; /* trib_job_missing answers */
    }
    if (stall->is_open &&
        job->has_peers) { /* a rank sends STALL again after a second: meanwhile the other ranks have sent STALL too */
        find_idle(job, index, now_ns);
        if (stall->missing.count == 0) {
            ask_next(jobs, job, index, now_ns);
        }
    } else if (stall->is_open) { /* and the root has not answered */
        trib_job_places(jobs, job)->name_root(job, stall->sequence, stall->where);
    }
    answer_stall(jobs, job, index, now_ns);
}

bool trib_job_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        uint32_t left;
        struct trib_stall *stall = &job->ranks[i].stall;
        if (!stall->is_open || stall->sequence != sequence || !job->ranks[i].session) {
            continue;
        }
        find_missing(jobs, job, i, now_ns);
        if (stall->is_open) { /* another agent is asked */
            continue;
        }
        if (waits_for_left(jobs, job, i, &left)) {
            fail_for_closed(jobs, job, i, left);
            return false;
        }
        answer_stall(jobs, job, i, now_ns);
    }
    return true;
}
