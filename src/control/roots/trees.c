/* SPDX-License-Identifier: Apache-2.0 */
/* trees.c: see trees.h. Read next: choose.c (the loads of links), switches.c (the caller, which deals roots). */
#include "control/roots/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/hosts.h"
#include "control/jobs/job.h"
#include "control/jobs/opening.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "core/assert.h"
#include "fabric/planned.h"
#include "io/clock.h"
#include "io/explain.h"

_Static_assert(TRIB_PLANNED_SWITCHES_MAX == TRIB_SWITCHES_MAX, "a grant holds the switches of a plan");

#define REFUSED_NS (10 * TRIB_SECOND_NS) /* time for which a lender is asked last after a refusal */

/* ---- the switches of a job ---- */

uint32_t trib_trees_rooted(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return trib_least(trib_trees_count(jobs, job), job->grant.roots);
}

bool trib_trees_have(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t which)
{
    uint32_t count = trib_trees_count(jobs, job);
    uint32_t k = 0;
    while (k < count && trib_trees_at(job, k) != which) {
        k++;
    }
    return k < count;
}

const struct trib_planned_job *trib_trees_planned(const struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_planned_job *planned = trib_planned_find(jobs->config->planned, job->name);
    bool is_planned = planned != NULL && planned->count == trib_trees_count(jobs, job);
    for (uint32_t k = 0; is_planned && k < planned->count; k++) {
        is_planned = trib_trees_at(job, k) == planned->switches[k];
    }
    return is_planned ? planned : NULL;
}

static bool are_same(const struct trib_jobs *jobs, const struct trib_job *a, const struct trib_job *b)
{
    uint32_t count = trib_trees_count(jobs, a);
    bool same = count == trib_trees_count(jobs, b);
    for (uint32_t k = 0; k < count && same; k++) {
        same = trib_trees_at(a, k) == trib_trees_at(b, k);
    }
    return same;
}

char *trib_trees_name(const struct trib_jobs *jobs, uint32_t which, char *text)
{
    if (which == 0 && trib_address_is_any(&jobs->config->listen)) {
        (void)snprintf(text, 64, "this switch");
    } else {
        trib_address_format(which == 0 ? &jobs->config->listen : &jobs->config->lenders.at[which - 1], text);
    }
    return text;
}

char *trib_trees_list(const struct trib_jobs *jobs, const struct trib_job *job, char *text, size_t size)
{
    uint32_t count = trib_trees_rooted(jobs, job);
    size_t len = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < count && len < size; k++) {
        char name[64];
        const char *between = k == 0 ? "" : k + 1 == count ? " and " : ", ";
        int more =
            snprintf(text + len, size - len, "%s%s", between, trib_trees_name(jobs, trib_trees_at(job, k), name));
        len += more > 0 ? (size_t)more : 0;
    }
    return text;
}

enum trib_status trib_trees_check(const struct trib_jobs *jobs, const struct trib_message *message, char *error)
{
    const uint8_t *switches = message->join.known.switches;
    uint32_t most = 0;
    bool is_sane = true;
    for (uint32_t k = 0; k < TRIB_SWITCHES_MAX; k++) {
        bool is_behind = k > 0 && switches[k - 1] == 0;
        is_sane = is_sane && switches[k] <= TRIB_LENDERS_MAX + 1 &&
                  (switches[k] == 0 || (!is_behind && !memchr(switches, switches[k], k)));
        most = switches[k] > most ? switches[k] : most;
    }
    if (!is_sane) {
        trib_explain(error,
                     "rank %u of job %s brings an invalid grant: its field \"switches\" names a switch twice, or after "
                     "a 0, or has a number that no switch has",
                     message->join.rank, message->join.job);
        return TRIB_ERR_INVALID;
    }
    if (most == 0 && jobs->config->lenders.count >= TRIB_SWITCHES_MAX) {
        trib_explain(error, "job %s has roots at all switches of this one, which now names %u others: start it anew",
                     message->join.job, jobs->config->lenders.count);
        return TRIB_ERR_REFUSED;
    }
    if (most > jobs->config->lenders.count + 1) {
        trib_explain(error,
                     "job %s has roots at number %u of the switches that this one named with --with, and now names %u: "
                     "start it with those that it had, or start the job anew",
                     message->join.job, most - 1, jobs->config->lenders.count);
        return TRIB_ERR_REFUSED;
    }
    return TRIB_OK;
}

/* ---- jobs with common processes ---- */

/* True if the job has switches and has not begun: the switches may change. */
static bool is_tentative(const struct trib_job *job)
{
    return trib_loads_is_settled(job) && !job->is_return && job->state == TRIB_JOB_JOINING;
}

/* Some processes are bound to the switches of one job, and some to another's; the first may be the job itself. */
static enum trib_status refuse(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_job *bound,
                               const struct trib_job *other, char *error)
{
    char one[96];
    char two[96];
    char first[300];
    (void)trib_trees_list(jobs, bound, one, sizeof one);
    (void)trib_trees_list(jobs, other, two, sizeof two);
    if (bound == job) {
        (void)snprintf(first, sizeof first, "goes through %s, and", one);
    } else {
        (void)snprintf(first, sizeof first, "has ranks in processes that job %s has bound to %s, and", bound->name,
                       one);
    }
    trib_explain(error,
                 "job %s %s has ranks in processes that job %s has bound to %s: a process has the same switches for "
                 "all its communicators: end one job, or create the communicator of all ranks first and split the "
                 "others off it, or start the switch without --trees",
                 job->name, first, other->name, two);
    return TRIB_ERR_REFUSED;
}

/* True if the switches of `other` bind `job`. A job that has not begun binds no begun job, and is dealt anew instead
 * (trib_trees_unbind). */
static bool binds(const struct trib_job *other, const struct trib_job *job)
{
    return other != job && trib_loads_is_settled(other) && !(job->is_return && is_tentative(other));
}

/* Names two jobs with different switches, of the found jobs and this job. */
static enum trib_status refuse_first(const struct trib_jobs *jobs, const struct trib_job *job, char *error)
{
    const struct trib_job *bound = trib_loads_is_settled(job) ? job : NULL;
    const struct trib_job *other = jobs->first;
    for (; other; other = other->next) {
        if (!binds(other, job) || !trib_processes_is_found(jobs, other)) {
            continue;
        }
        if (bound && !are_same(jobs, bound, other)) {
            break;
        }
        bound = bound ? bound : other;
    }
    TRIB_ASSERT(other);
    return refuse(jobs, job, bound, other, error);
}

/* The job with the binding switches: the job itself, if settled. NULL: none. */
static enum trib_status find_bound(struct trib_jobs *jobs, struct trib_job *job, const struct trib_job **bound,
                                   char *error)
{
    struct trib_job **list = calloc(jobs->count, sizeof(struct trib_job *));
    bool is_one = true;
    if (!list) {
        trib_explain(error, "the control plane is out of memory");
        return TRIB_ERR_MEMORY;
    }
    *bound = trib_loads_is_settled(job) ? job : NULL;
    trib_processes_begin(jobs);
    uint32_t count = trib_processes_find(jobs, job, list, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (binds(list[i], job)) {
            is_one = is_one && (!*bound || are_same(jobs, *bound, list[i]));
            *bound = *bound ? *bound : list[i];
        }
    }
    free(list);
    return is_one ? TRIB_OK : refuse_first(jobs, job, error);
}

/* Jobs that have not begun, and can change switches only together: this job, jobs that share a process with it, and so
 * on. group: room for all jobs. Returns the number of jobs; 0: a begun or returning job binds all. */
static uint32_t list_group(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **group)
{
    uint32_t count = 1;
    group[0] = job;
    trib_processes_begin(jobs);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = count;
        uint32_t end = trib_processes_find(jobs, group[i], group, count);
        for (uint32_t k = first; k < end; k++) {
            if (trib_loads_is_settled(group[k]) && !is_tentative(group[k])) {
                return 0;
            }
            group[count] = group[k];
            count += trib_loads_is_settled(group[k]);
        }
    }
    return count;
}

/* ---- which links have least to do ---- */

static bool has_refused_lately(const struct trib_jobs *jobs, uint32_t which, uint64_t now_ns)
{
    uint64_t at_ns = which > 0 ? jobs->remote[which - 1].refused_ns : 0;
    return at_ns != 0 && now_ns - at_ns < REFUSED_NS;
}

static void warn_of_strays(const struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_members members = {.job = job};
    struct trib_rank *rank;
    char host[64];
    uint32_t strays = 0;
    while ((rank = trib_members_next(&members)) != NULL) {
        for (uint32_t card = 0; card < trib_rank_places(rank); card++) {
            if (trib_loads_place(jobs, rank, card) == TRIB_NO_PLACE && strays++ == 0) {
                struct trib_address at = trib_loads_seat(rank, card);
                trib_address_format(&at, host);
                *strrchr(host, ':') = '\0';
            }
        }
    }
    if (strays > 0) {
        trib_jobs_say(
            jobs, TRIB_LOG_WARN,
            "job %s: the topology has no subnet for %s%s: of their ways only the links of the switches are known",
            job->name, host, strays > 1 ? " and others" : "");
    }
}

/* By number of the switch. left: the job does not have the switch yet. first: the same, without a recent refusal. */
struct candidates {
    bool left[TRIB_LENDERS_MAX + 1];
    bool first[TRIB_LENDERS_MAX + 1];
    uint32_t turn;
};

/* The best switch for the present tree; a switch with a recent refusal only if no other switch is possible. */
static uint32_t find_root(struct trib_choose *choose, const struct candidates *candidates)
{
    uint32_t root = trib_choose_root(choose, candidates->first, candidates->turn);
    return root != TRIB_NO_PLACE ? root : trib_choose_root(choose, candidates->left, candidates->turn);
}

/* Chooses trees in turn, each under another switch: the wanted number, or the number of switches that all members
 * reach. If no switch is reached by all NICs that may send to it, only NIC k counts: with one shard at each switch, no
 * other NIC sends there. */
static void choose_trees(struct trib_jobs *jobs, struct trib_job *job, struct trib_choose *choose, uint64_t now_ns)
{
    uint32_t count = jobs->config->trees;
    uint32_t switches = jobs->config->lenders.count + 1;
    struct candidates candidates = {.turn = 0};
    TRIB_ASSERT(count <= TRIB_SWITCHES_MAX && switches > 0 && switches <= TRIB_LENDERS_MAX + 1);
    candidates.turn = (uint32_t)(jobs->turn % switches);
    for (uint32_t i = 0; i < switches; i++) {
        candidates.left[i] = true;
        candidates.first[i] = !has_refused_lately(jobs, i, now_ns);
    }
    memset(job->grant.switches, 0, sizeof job->grant.switches);
    for (uint32_t k = 0; k < count; k++) {
        trib_choose_begin(choose);
        trib_loads_add_tree(jobs, choose, job, k, count, TRIB_STREAM / count);
        uint32_t root = find_root(choose, &candidates);
        if (root == TRIB_NO_PLACE) {
            trib_choose_begin(choose);
            trib_loads_add_tree(jobs, choose, job, k, 0, TRIB_STREAM / count);
            root = find_root(choose, &candidates);
        }
        if (root == TRIB_NO_PLACE) {
            break;
        }
        trib_loads_try(jobs, root);
        job->grant.switches[k] = (uint8_t)(root + 1);
        candidates.left[root] = candidates.first[root] = false;
    }
    trib_loads_end_try(jobs);
}

/* True if each job has only some of the switches, without a plan. */
static bool has_some(const struct trib_jobs *jobs)
{
    return jobs->config->trees > 0 && jobs->config->trees <= jobs->config->lenders.count;
}

static bool has_choice(const struct trib_jobs *jobs)
{
    return has_some(jobs) || jobs->config->planned != NULL;
}

/* Gives the job the switches of the plan. False: the plan names none, or a switch with a recent refusal. A plan is
 * advice: the job is then dealt without a plan. */
static bool choose_planned(const struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_planned_job *planned = trib_planned_find(jobs->config->planned, job->name);
    bool is_good = planned != NULL;
    for (uint32_t k = 0; is_good && k < planned->count; k++) {
        is_good = !has_refused_lately(jobs, planned->switches[k], now_ns);
    }
    memset(job->grant.switches, 0, sizeof job->grant.switches);
    for (uint32_t k = 0; is_good && k < planned->count; k++) {
        job->grant.switches[k] = (uint8_t)(planned->switches[k] + 1);
    }
    return is_good;
}

static enum trib_status choose_anew(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns, char *error)
{
    const struct trib_topology *topology = jobs->config->topology;
    if (choose_planned(jobs, job, now_ns) || !has_some(jobs)) {
        return TRIB_OK;
    }
    struct trib_choose *choose = trib_loads_get(jobs); /* this job is not settled */
    if (!choose) {
        trib_explain(error, "the control plane is out of memory");
        return TRIB_ERR_MEMORY;
    }
    trib_job_choose_hosts(job); /* the members of the sums */
    if (!trib_job_group(job)) {
        trib_explain(error, "the control plane is out of memory");
        return TRIB_ERR_MEMORY;
    }
    choose_trees(jobs, job, choose, now_ns);
    trib_job_ungroup(job); /* the job may have to wait */
    jobs->turn++;
    if (topology) {
        warn_of_strays(jobs, job);
    }
    if (job->grant.switches[0] == 0) {
        trib_explain(error,
                     "no switch can be reached by all ranks of job %s, says the topology (--topology) of this one, "
                     "which has %u",
                     job->name, jobs->config->lenders.count + 1);
        return TRIB_ERR_REFUSED;
    }
    return TRIB_OK;
}

/* True if all jobs have all switches, and no choice is possible: then no job needs a check. */
static bool have_all(const struct trib_jobs *jobs)
{
    bool all = !has_choice(jobs);
    for (const struct trib_job *job = jobs->first; job && all; job = job->next) {
        all = job->grant.switches[0] == 0;
    }
    return all;
}

enum trib_status trib_trees_choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns, char *error)
{
    const struct trib_job *bound = NULL;
    enum trib_status status = TRIB_OK;
    if (!job->has_trees && !have_all(jobs)) {
        status = find_bound(jobs, job, &bound, error);
        if (status == TRIB_OK && !bound && has_choice(jobs)) {
            status = choose_anew(jobs, job, now_ns, error);
        } else if (status == TRIB_OK && bound) {
            memmove(job->grant.switches, bound->grant.switches, sizeof job->grant.switches);
        }
    }
    job->has_trees = status == TRIB_OK;
    trib_loads_change(jobs, job);
    return status;
}

/* Deals anew a group of jobs that have not begun. False: not possible without switches that refused recently; nothing
 * has changed. */
static bool change(struct trib_jobs *jobs, struct trib_job *const *group, uint32_t count, uint64_t now_ns)
{
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = group[0];
    const struct trib_grant before = job->grant;
    for (uint32_t i = 0; i < count; i++) {
        group[i]->has_trees = false; /* the former trees are no load */
        trib_loads_change(jobs, group[i]);
    }
    bool is_new = choose_anew(jobs, job, now_ns, error) == TRIB_OK;
    for (uint32_t k = 0; is_new && k < trib_trees_count(jobs, job); k++) {
        is_new = !has_refused_lately(jobs, trib_trees_at(job, k),
                                     now_ns); /* else the refusing switches would be tried in turn */
    }
    job->grant = is_new ? job->grant : before;
    for (uint32_t i = 0; i < count; i++) {
        group[i]->has_trees = true;
        trib_loads_change(jobs, group[i]);
        if (is_new && i > 0) {
            memcpy(group[i]->grant.switches, job->grant.switches, sizeof job->grant.switches);
            group[i]->unlent_ns = 0;
        }
    }
    return is_new;
}

uint32_t trib_trees_unbind(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list)
{
    uint32_t count = 0;
    if (!job->is_return) {
        return 0;
    }
    trib_processes_begin(jobs);
    for (uint32_t i = 0; i <= count; i++) { /* this job, then each job of the list */
        uint32_t end = trib_processes_find(jobs, i > 0 ? list[i - 1] : job, list, count);
        for (uint32_t k = count; k < end; k++) {
            struct trib_job *other = list[k];
            if (is_tentative(other) && !are_same(jobs, job, other)) {
                list[count++] = other;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i]->has_trees = false;
        list[i]->unlent_ns = 0;
        trib_loads_change(jobs, list[i]);
    }
    return count;
}

bool trib_trees_avoid(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender, uint64_t now_ns)
{
    jobs->remote[lender].refused_ns = now_ns;
    if (!is_tentative(job) || job->grant.switches[0] == 0 || !trib_job_is_complete(job)) {
        return false;
    }
    if (!trib_trees_have(jobs, job, lender + 1)) {
        return true; /* another job of the group has already been dealt anew */
    }
    if (job->unlent_ns != 0) {
        return false; /* unchanged: the lender is being tried again */
    }
    struct trib_job **group = calloc(jobs->count, sizeof(struct trib_job *));
    uint32_t count = group ? list_group(jobs, job, group) : 0;
    bool is_new = count > 0 && change(jobs, group, count, now_ns);
    free(group);
    return is_new;
}
