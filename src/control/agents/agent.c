/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c: see agent.h. */
#include "control/agents/agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "io/explain.h"
#include "io/units.h"

#define GROUPS_LISTED 4U /* in an error text */
#define NEED_TEXT_MAX (2 * TRIB_UNITS_TEXT_MAX + 64)

void trib_agent_init(struct trib_agent *agent, const struct trib_data_plane *plane, uint32_t shards)
{
    *agent = (struct trib_agent){.plane = plane,
                                 .shards = shards,
                                 .memory_quota = UINT64_MAX,
                                 .job_quota = UINT64_MAX,
                                 .tenant_quota = UINT64_MAX};
}

/* ---- quotas ---- */

/* Memory and slots that a communicator needs here, beside the other communicators of its job. */
struct need {
    const struct trib_agent_opening *opening;
    uint64_t more; /* bytes of roots not open yet */
    uint64_t bytes;
    uint64_t slots;
    uint64_t others;
    bool is_part; /* there are more roots, which may come here later */
};

static bool is_same_job(const struct trib_agent_opening *a, const struct trib_agent_opening *b)
{
    return a->job_id == b->job_id && (a->master == NULL) == (b->master == NULL) &&
           (!a->master || trib_address_same_host(a->master, b->master));
}

uint64_t trib_agent_others_of_job(const struct trib_agent *agent, const struct trib_agent_opening *opening)
{
    uint64_t bytes = 0;
    for (const struct trib_agent_opening *at = agent->first; at; at = at->next) {
        bytes += at != opening && is_same_job(at, opening) ? at->bytes : 0;
    }
    return bytes;
}

/* Writes "train (20 MiB), train/0-3f (5 MiB) and 3 more": the job's other communicators with slots here. Returns the
 * number of communicators. */
static uint32_t list_others(const struct trib_agent *agent, const struct trib_agent_opening *opening, char *list,
                            size_t size)
{
    uint32_t count = 0;
    size_t len = 0;
    for (const struct trib_agent_opening *at = agent->first; at; at = at->next) {
        char bytes[TRIB_UNITS_TEXT_MAX];
        if (at == opening || !is_same_job(at, opening)) {
            continue;
        }
        if (count++ < GROUPS_LISTED) {
            trib_format_size(at->bytes, bytes);
            len += (size_t)snprintf(list + len, size - len, "%s%s (%s)", count > 1 ? ", " : "", at->job, bytes);
        }
    }
    if (count > GROUPS_LISTED) {
        (void)snprintf(list + len, size - len, " and %u more", count - GROUPS_LISTED);
    }
    return count;
}

/* "at least 20 MiB of switch memory (80 slots of 256 KiB)" */
static void format_need(const struct need *need, char text[static NEED_TEXT_MAX])
{
    char needs[TRIB_UNITS_TEXT_MAX], each[TRIB_UNITS_TEXT_MAX];
    trib_format_size(need->bytes, needs);
    trib_format_size(need->bytes / (need->slots ? need->slots : 1), each);
    (void)snprintf(text, NEED_TEXT_MAX, "%s%s of switch memory (%llu slots of %s)", need->is_part ? "at least " : "",
                   needs, (unsigned long long)need->slots, each);
}

/* The list is at the end of the text, where a long text is cut. */
static void explain_groups(const struct trib_agent *agent, const struct need *need, const char *needs, char *error)
{
    char list[GROUPS_LISTED * (TRIB_NAME_MAX + TRIB_UNITS_TEXT_MAX + 8) + 32];
    char quota[TRIB_UNITS_TEXT_MAX], others[TRIB_UNITS_TEXT_MAX];
    uint32_t count = list_others(agent, need->opening, list, sizeof list);
    trib_format_size(agent->job_quota, quota);
    trib_format_size(need->others, others);
    trib_explain(error,
                 "job %s needs %s beside %u other group%s of the same job with %s, the quota of a job is %s: close a "
                 "group, set a smaller window or payload, or raise --job-quota; they are %s",
                 need->opening->job, needs, count, count == 1 ? "" : "s", others, quota, list);
}

static enum trib_status refuse_job(const struct trib_agent *agent, const struct need *need, uint64_t free_bytes,
                                   char *error)
{
    char needs[NEED_TEXT_MAX], has[TRIB_UNITS_TEXT_MAX], of[TRIB_UNITS_TEXT_MAX];
    bool is_over_quota = need->bytes + need->others > agent->job_quota;
    const char *limit = agent->job_quota == agent->memory_quota ? "all memory for jobs" : "the quota of a job";
    format_need(need, needs);
    trib_format_size(is_over_quota ? agent->job_quota : free_bytes, has);
    trib_format_size(agent->memory_quota, of);
    if (is_over_quota && need->others > 0) {
        explain_groups(agent, need, needs, error);
    } else if (is_over_quota) {
        trib_explain(error, "job %s needs %s, %s is %s: set a smaller window or payload, or raise %s",
                     need->opening->job, needs, limit, has,
                     agent->job_quota == agent->memory_quota ? "--memory" : "--job-quota");
    } else {
        trib_explain(error,
                     "job %s needs %s, free: %s of %s: wait for other jobs to end, set a smaller window, or raise "
                     "--memory",
                     need->opening->job, needs, has, of);
    }
    return TRIB_ERR_REFUSED;
}

/* Bytes of all openings of the controller at the host of `master`. */
static uint64_t held_by(const struct trib_agent *agent, const struct trib_address *master)
{
    uint64_t bytes = 0;
    for (const struct trib_agent_opening *at = agent->first; at; at = at->next) {
        bytes += at->master && trib_address_same_host(at->master, master) ? at->bytes : 0;
    }
    return bytes;
}

/* A controller elsewhere leaves the quota of one job to other controllers, or may have half of all memory, if half is
 * more. */
static bool fits_master(const struct trib_agent *agent, const struct trib_agent_opening *opening, uint64_t more,
                        char *error)
{
    char needs[TRIB_UNITS_TEXT_MAX], limit[TRIB_UNITS_TEXT_MAX];
    uint64_t most = agent->memory_quota - agent->job_quota;
    most = most > agent->memory_quota / 2 ? most : agent->memory_quota / 2;
    if (!opening->master || held_by(agent, opening->master) + more <= most) {
        return true;
    }
    trib_format_size(held_by(agent, opening->master) + more, needs);
    trib_format_size(most, limit);
    trib_explain(
        error,
        "all jobs of switch %.60s need %.20s of switch memory with job %.40s, one switch gets %.20s: raise the "
        "memory (--memory)",
        opening->master_name, needs, opening->job, limit);
    return false;
}

uint64_t trib_agent_held_by_tenant(const struct trib_agent *agent, uint64_t tenant)
{
    uint64_t bytes = 0;
    for (const struct trib_agent_opening *at = agent->first; at; at = at->next) {
        bytes += at->tenant == tenant ? at->bytes : 0;
    }
    return bytes;
}

/* Jobs with a key leave memory to jobs of other keys. */
static bool fits_tenant(const struct trib_agent *agent, const struct need *need, char *error)
{
    uint64_t tenant = need->opening->tenant;
    char needs[NEED_TEXT_MAX], held[TRIB_UNITS_TEXT_MAX], quota[TRIB_UNITS_TEXT_MAX];
    if (tenant == 0) {
        return true;
    }
    uint64_t others = trib_agent_held_by_tenant(agent, tenant) - need->opening->bytes;
    if (others + need->bytes <= agent->tenant_quota) {
        return true;
    }
    format_need(need, needs);
    trib_format_size(others, held);
    trib_format_size(agent->tenant_quota, quota);
    trib_explain(error,
                 "job %s needs %s beside other jobs of key %016" PRIx64 " with %s, the quota of a key is %s: end other "
                 "jobs of this key, set a smaller window or payload, or raise the quota (--tenant-quota)",
                 need->opening->job, needs, tenant, held, quota);
    return false;
}

static enum trib_status check_quotas(const struct trib_agent *agent, const struct need *need, char *error)
{
    uint64_t others = agent->memory_used - need->opening->bytes;
    uint64_t free_bytes = agent->memory_quota > others ? agent->memory_quota - others : 0;
    if (need->bytes + need->others > agent->job_quota || need->bytes > free_bytes) {
        return refuse_job(agent, need, free_bytes, error);
    }
    bool fits = fits_tenant(agent, need, error) && fits_master(agent, need->opening, need->more, error);
    return fits ? TRIB_OK : TRIB_ERR_REFUSED;
}

/* each: bytes of one root. */
static struct need need_of(const struct trib_agent *agent, const struct trib_agent_opening *opening,
                           const struct trib_session_config *session, uint32_t roots, uint64_t each)
{
    uint32_t left = roots > opening->roots ? roots - opening->roots : 1;
    uint64_t more = left * each;
    return (struct need){.opening = opening,
                         .more = more,
                         .bytes = opening->bytes + more,
                         .slots = (uint64_t)session->slots * (opening->roots + left),
                         .others = trib_agent_others_of_job(agent, opening),
                         .is_part = opening->roots + left < session->roots};
}

/* ---- slots ---- */

static void enter(struct trib_agent *agent, struct trib_agent_opening *opening, uint32_t communicator)
{
    TRIB_ASSERT(!opening->is_open || opening->communicator == communicator);
    if (!opening->is_open) {
        opening->next = agent->first;
        agent->first = opening;
        opening->is_open = true;
        opening->communicator = communicator;
        agent->changes++;
        opening->bytes = 0;
        opening->roots = 0;
    }
}

/* "24 KiB: out of memory", or why a combiner takes no more communicators. */
static void explain_failure(uint64_t bytes, enum trib_status status, char *error)
{
    char needs[TRIB_UNITS_TEXT_MAX];
    if (status == TRIB_ERR_REFUSED) {
        trib_explain(error, "it combines for no more communicators: run fewer jobs at once, or put their ranks behind "
                            "more switches (--combine)");
        return;
    }
    trib_format_size(bytes, needs);
    trib_explain(error, "%s%s%s", bytes > 0 ? needs : "", bytes > 0 ? ": " : "", trib_status_text(status));
}

/* The opening of the communicator. NULL: none. */
static const struct trib_agent_opening *find(const struct trib_agent *agent, uint32_t communicator)
{
    const struct trib_agent_opening *at = agent->first;
    while (at && at->communicator != communicator) {
        at = at->next;
    }
    return at;
}

/* Slots belong to one communicator; no other communicator may join or close them. */
static bool is_free(const struct trib_agent *agent, const struct trib_agent_opening *opening, uint32_t communicator,
                    char *error)
{
    const struct trib_agent_opening *other = find(agent, communicator);
    if (!other || other == opening) {
        return true;
    }
    trib_explain(error, "communicator %08x is another job's here", communicator);
    return false;
}

enum trib_status trib_agent_open(struct trib_agent *agent, struct trib_agent_opening *opening,
                                 const struct trib_opening *wanted, uint32_t roots, char *error)
{
    const struct trib_data_plane *plane = agent->plane;
    const struct trib_session_config *session = &wanted->session;
    /* nothing is counted in the process of a rank */
    uint64_t bytes = plane->slot_bytes ? plane->slot_bytes(plane->plane, wanted) : 0;
    if (!is_free(agent, opening, session->communicator, error)) {
        return TRIB_ERR_REFUSED;
    }
    const struct need need = need_of(agent, opening, session, roots, bytes);
    enum trib_status status = check_quotas(agent, &need, error);
    if (status != TRIB_OK) {
        return status;
    }
    status = plane->open(plane->plane, wanted);
    if (status != TRIB_OK) {
        explain_failure(need.bytes, status, error);
        trib_agent_shut(agent, opening); /* the data plane may have closed all of them */
        return status;
    }
    enter(agent, opening, session->communicator);
    opening->bytes += bytes;
    opening->roots++;
    agent->memory_used += bytes;
    TRIB_ASSERT(agent->memory_used <= agent->memory_quota); /* C-14 */
    return TRIB_OK;
}

void trib_agent_shut(struct trib_agent *agent, struct trib_agent_opening *opening)
{
    if (!opening->is_open) {
        return;
    }
    struct trib_agent_opening **at = &agent->first;
    while (*at != opening) {
        TRIB_ASSERT(*at); /* it is in the list */
        at = &(*at)->next;
    }
    *at = opening->next;
    agent->changes++;
    agent->plane->close(agent->plane->plane, opening->communicator);
    TRIB_ASSERT(agent->memory_used >= opening->bytes); /* C-14 */
    agent->memory_used -= opening->bytes;
    opening->bytes = 0;
    opening->roots = 0;
    opening->is_open = false;
    TRIB_ASSERT(agent->first || agent->memory_used == 0); /* C-14, C-19 */
}

/* ---- branches ---- */

void trib_branches_lay_out(struct trib_branch *branches, uint32_t count, const uint16_t *child, uint32_t ranks,
                           uint16_t *at)
{
    uint32_t start[TRIB_RANKS_MAX + 1] = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        if (child[i] != UINT16_MAX) {
            start[child[i] + 1]++;
        }
    }
    for (uint32_t b = 0; b < count; b++) {
        start[b + 1] += start[b];
        branches[b].ranks = at + start[b];
        branches[b].count = 0;
    }
    for (uint32_t i = 0; i < ranks; i++) {
        if (child[i] != UINT16_MAX) {
            at[start[child[i]] + branches[child[i]].count++] = (uint16_t)i;
        }
    }
}

static bool check_parent(const struct trib_opening *opening, const struct trib_branch *branch, char *error)
{
    if (opening->parent && trib_address_equal(opening->parent, &branch->from)) {
        trib_explain(error, "rank %u claims to send from the address of this switch's parent", branch->ranks[0]);
        return false;
    }
    return true;
}

static bool check_pair(const struct trib_branch *one, const struct trib_branch *two, char *error)
{
    char text[64];
    if ((one->is_combined && two->is_combined) || !trib_address_equal(&one->from, &two->from)) {
        return true;
    }
    trib_address_format(&one->from, text);
    trib_explain(error, "ranks %u and %u both claim to send from %s, UDP", one->ranks[0], two->ranks[0], text);
    return false;
}

bool trib_opening_check(const struct trib_opening *opening, char *error)
{
    bool is_good = true;
    for (uint32_t b = 0; b < opening->count && is_good; b++) {
        is_good = check_parent(opening, &opening->branches[b], error);
        for (uint32_t a = 0; a < b && is_good; a++) {
            is_good = check_pair(&opening->branches[a], &opening->branches[b], error);
        }
    }
    return is_good;
}
