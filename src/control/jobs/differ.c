/* SPDX-License-Identifier: Apache-2.0 */
/* differ.c: ranks of one job and run with different settings, while the job gathers for the first time. Most often the
 * cause is a mistake of the launch, which all ranks should be told. But one side may be a stranger, and no rank has
 * proved its identity yet. So no rank ends another: ranks with equal settings gather as a job. Jobs of one name are
 * called siblings here. The first complete sibling runs. If the missing ranks of a job have joined siblings, all
 * launched ranks are there. The ranks wait a moment for more ranks with equal settings, and are then told the
 * difference.
 * Read next: join.c (finds the job of a rank). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/jobs/differ.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/owner.h"
#include "control/roots/roots.h"
#include "io/clock.h"
#include "io/explain.h"

/* Longer than the spread of the arrivals of one launch, shorter than people wait for an error. */
#define APART_NS TRIB_SECOND_NS

/* Room for a setting as text. */
#define SETTING_MAX 32

static char *say_number(uint32_t number, char *text)
{
    (void)snprintf(text, SETTING_MAX, "%u", number);
    return text;
}

static const char *say_flag(bool flag)
{
    return flag ? "on" : "off";
}

/* Names the first setting in which rank `other` differs from `rank`; false: none. */
static bool explain_difference(const struct trib_settings *a, uint32_t rank, const struct trib_settings *b,
                               uint32_t other, char *error)
{
    char text[8][SETTING_MAX];
    const struct {
        const char *name, *a, *b;
    } settings[] = {
        {"scheme", a->scheme, b->scheme},
        {"ranks", say_number(a->ranks, text[0]), say_number(b->ranks, text[1])},
        {"payload", say_number(a->payload, text[2]), say_number(b->payload, text[3])},
        {"window", say_number(a->window, text[4]), say_number(b->window, text[5])},
        {"priority", say_number(a->priority, text[6]), say_number(b->priority, text[7])},
        {"wire", trib_type_name((enum trib_type)a->wire), trib_type_name((enum trib_type)b->wire)},
        {"fallback", say_flag(a->fallback), say_flag(b->fallback)},
        {"encrypt", say_flag(a->encrypt), say_flag(b->encrypt)},
    };
    for (unsigned i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strcmp(settings[i].a, settings[i].b) != 0) {
            trib_explain(error, "settings differ: %s is %s on rank %u and %s on rank %u", settings[i].name,
                         settings[i].a, rank, settings[i].b, other);
            return true;
        }
    }
    if (a->gradient_bytes != b->gradient_bytes) {
        trib_explain(error,
                     "settings differ: gradient bytes are %" PRIu64 " on rank %u and %" PRIu64 " on rank %u: all ranks "
                     "say the same number (TRIB_GRADIENT_BYTES), or none does",
                     a->gradient_bytes, rank, b->gradient_bytes, other);
    }
    return a->gradient_bytes != b->gradient_bytes;
}

/* The text names the lower rank first. */
bool trib_job_differs(const struct trib_job *job, const struct trib_message *join, char *error)
{
    uint32_t first = trib_job_first_rank(job);
    uint32_t rank = join->join.rank;
    const struct trib_settings *settings = &join->join.settings;
    return first < rank ? explain_difference(&job->settings, first, settings, rank, error)
                        : explain_difference(settings, rank, &job->settings, first, error);
}

static bool are_siblings(const struct trib_job *a, const struct trib_job *b)
{
    return a != b && trib_owner_may_be_same(a, b) && a->state == TRIB_JOB_JOINING && b->state == TRIB_JOB_JOINING &&
           !a->is_return && !b->is_return && strcmp(a->name, b->name) == 0 && strcmp(a->run, b->run) == 0;
}

static uint32_t count_present(const struct trib_job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        count += job->ranks[i].session != NULL;
    }
    return count;
}

static void add_present(const struct trib_job *job, struct trib_rank_set *set)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].session) {
            trib_rank_set_add(set, i);
        }
    }
}

/* The ranks present in the job or in its siblings. */
static struct trib_rank_set all_present(const struct trib_jobs *jobs, const struct trib_job *job)
{
    struct trib_rank_set present = {0};
    add_present(job, &present);
    for (const struct trib_job *other = trib_jobs_named(jobs, job->name); other; other = other->next_named) {
        if (are_siblings(job, other)) {
            add_present(other, &present);
        }
    }
    return present;
}

/* True if the job lacks ranks, and each missing rank has joined a sibling. */
static bool is_apart(const struct trib_job *job, const struct trib_rank_set *present)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (!trib_rank_set_has(present, i)) {
            return false;
        }
    }
    return !trib_job_is_complete(job);
}

/* Keeps the difference for both, with the two ranks: the text names the lower rank first. */
static void note(struct trib_job *a, struct trib_job *b)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    bool is_lower = trib_job_first_rank(a) < trib_job_first_rank(b);
    const struct trib_job *low = is_lower ? a : b;
    const struct trib_job *high = is_lower ? b : a;
    uint32_t first = trib_job_first_rank(low);
    uint32_t other = trib_job_first_rank(high);
    (void)explain_difference(&low->settings, first, &high->settings, other, cause);
    trib_explain(a->differs, "%.300s (rank %u came from %s, rank %u from %s)", cause, first, low->ranks[first].name,
                 other, high->ranks[other].name);
    memcpy(b->differs, a->differs, sizeof b->differs);
}

void trib_job_note_siblings(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    struct trib_rank_set present = {0};
    bool has_siblings = false;
    for (struct trib_job *other = trib_jobs_named(jobs, job->name); other; other = other->next_named) {
        if (are_siblings(job, other)) {
            note(job, other);
            add_present(other, &present);
            has_siblings = true;
        }
    }
    if (!has_siblings) {
        return;
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: %s", job->name, job->differs);
    add_present(job, &present);
    for (struct trib_job *other = trib_jobs_named(jobs, job->name); other; other = other->next_named) {
        if ((other == job || are_siblings(job, other)) && other->apart_ns == 0 && is_apart(other, &present)) {
            other->apart_ns = now_ns + APART_NS;
            trib_job_queue(jobs, other);
        }
    }
}

void trib_job_prevail(struct trib_jobs *jobs, const struct trib_job *job)
{
    struct trib_job *next;
    for (struct trib_job *other = trib_jobs_named(jobs, job->name); other; other = next) {
        next = other->next_named;
        if (are_siblings(job, other)) {
            char text[TRIB_ERROR_TEXT_MAX];
            trib_explain(text, "%.450s: job %s has all its ranks without", other->differs, job->name);
            trib_job_fail(jobs, other, TRIB_ERR_SETTINGS, text);
        }
    }
}

/* Marks the siblings that end together with a job that is apart: siblings that are also apart, and siblings with fewer
 * ranks, which have a wrong number of ranks. Larger siblings stay, so that one stranger cannot end a job that is still
 * gathering. If this control plane is in the process of rank 0, which ends with the job, all siblings end. */
static void doom(struct trib_jobs *jobs, const struct trib_job *job, bool is_expired)
{
    const struct trib_rank_set present = all_present(jobs, job);
    bool ends_all = trib_roots_are_ranks(jobs->config) && job->ranks[0].session;
    uint32_t count = count_present(job);
    for (struct trib_job *other = trib_jobs_named(jobs, job->name); other; other = other->next_named) {
        if (are_siblings(job, other)) {
            other->is_doomed = other->is_doomed || ends_all ||
                               (!is_expired && (is_apart(other, &present) || count_present(other) < count));
        }
    }
}

static void end_doomed(struct trib_jobs *jobs, bool with_rank_0)
{
    struct trib_job *next;
    for (struct trib_job *job = jobs->first; job; job = next) {
        next = job->next;
        if (job->is_doomed && (with_rank_0 || !job->ranks[0].session)) {
            trib_job_fail(jobs, job, TRIB_ERR_SETTINGS, job->differs);
        }
    }
}

bool trib_job_is_to_part(const struct trib_job *job, uint64_t now_ns)
{
    return (job->apart_ns != 0 && now_ns >= job->apart_ns) || (now_ns >= job->deadline_ns && job->differs[0] != '\0');
}

void trib_jobs_part(struct trib_jobs *jobs, uint64_t now_ns)
{
    for (struct trib_job *job = jobs->first; job; job = job->next) {
        if (job->apart_ns != 0 && now_ns >= job->apart_ns) {
            const struct trib_rank_set present = all_present(jobs, job);
            job->apart_ns = 0;
            job->is_doomed = job->state == TRIB_JOB_JOINING && !job->is_return && is_apart(job, &present);
        }
        if (job->is_doomed || (now_ns >= job->deadline_ns && job->differs[0] != '\0')) {
            doom(jobs, job, !job->is_doomed);
        }
    }
    end_doomed(jobs, false); /* a control plane in the process of rank 0 ends with the job */
    end_doomed(jobs, true);
}
