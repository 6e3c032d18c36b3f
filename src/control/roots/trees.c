/* SPDX-License-Identifier: Apache-2.0 */
/* trees.c: see trees.h. Read next: choose.c (which link has how much to do), switches.c (who asks, and deals). */
#include "control/roots/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/start.h"
#include "core/assert.h"
#include "fabric/choose.h"
#include "fabric/topology.h"
#include "io/clock.h"
#include "io/explain.h"

#define REFUSED_NS (10 * TRIB_SECOND_NS) /* a lender that did not take part in a job is asked last for so long */
#define WEIGHT_BPS UINT64_C(1000000000)

/* ---- which they are ---- */

uint32_t trib_trees_count(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t count = 0;
    while (count < TRIB_SWITCHES_MAX && job->grant.switches[count] != 0) {
        count++;
    }
    return count > 0 ? count : jobs->config->lenders.count + 1;
}

uint32_t trib_trees_rooted(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return trib_least(trib_trees_count(jobs, job), job->grant.roots);
}

uint32_t trib_trees_at(const struct trib_job *job, uint32_t k)
{
    return job->grant.switches[0] != 0 ? job->grant.switches[k] - 1U : k;
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
        trib_explain(
            error,
            "rank %u of job %s brings a grant that no switch gives: its field \"switches\" names one twice, or "
            "one behind a 0, or has a number that none has",
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

/* ---- whom it follows ---- */

/* It has switches. */
static bool is_settled(const struct trib_job *job)
{
    return !job->has_peers && (job->has_trees || job->is_return);
}

/* It has chosen them, and has not begun: they may change. */
static bool is_tentative(const struct trib_job *job)
{
    return is_settled(job) && !job->is_return && job->state == TRIB_JOB_JOINING;
}

/* Hashes of a job's processes, cut to 16 bits: few of other jobs' ranks have one of these, so that few pairs have to be
 * looked at. */
struct hashes {
    uint8_t bits[(UINT16_MAX + 1) / 8];
};

static void list_hashes(const struct trib_job *job, struct hashes *hashes)
{
    memset(hashes, 0, sizeof *hashes);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        uint16_t hash = (uint16_t)job->processes[i];
        hashes->bits[hash / 8] |= (uint8_t)(job->processes[i] != 0 ? 1U << hash % 8 : 0);
    }
}

static bool has_process(const struct trib_job *job, const struct trib_job *other, uint32_t rank)
{
    uint32_t i = 0;
    while (i < job->settings.ranks && !(job->processes[i] == other->processes[rank] &&
                                        trib_rank_is_same_process(&job->ranks[i], &other->ranks[rank]))) {
        i++;
    }
    return i < job->settings.ranks;
}

/* Some process has a rank of both, and sockets of this switch: behind a relay they are the relay's, which keeps its jobs
 * apart. */
static bool share_process(const struct trib_job *job, const struct hashes *hashes, const struct trib_job *other)
{
    for (uint32_t i = 0; i < other->settings.ranks; i++) {
        uint16_t hash = (uint16_t)other->processes[i];
        if (other->processes[i] != 0 && (hashes->bits[hash / 8] >> hash % 8 & 1) != 0 && has_process(job, other, i)) {
            return true;
        }
    }
    return false;
}

/* Some processes are bound to the switches of one job, and some to those of another; the first may be the job itself. */
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

/* The job whose switches this one must have: itself, if it is settled. NULL: no such. */
static enum trib_status find_bound(const struct trib_jobs *jobs, const struct trib_job *job,
                                   const struct trib_job **bound, char *error)
{
    enum trib_status status = TRIB_OK;
    struct hashes hashes;
    *bound = is_settled(job) ? job : NULL;
    list_hashes(job, &hashes);
    for (const struct trib_job *other = jobs->first; other && status == TRIB_OK; other = other->next) {
        if (other == job || !is_settled(other) || !share_process(job, &hashes, other)) {
            continue;
        }
        if (*bound && !are_same(jobs, *bound, other)) {
            status = refuse(jobs, job, *bound, other, error);
        }
        *bound = *bound ? *bound : other;
    }
    return status;
}

static bool is_among(struct trib_job *const *group, uint32_t count, const struct trib_job *job)
{
    uint32_t i = 0;
    while (i < count && group[i] != job) {
        i++;
    }
    return i < count;
}

/* Jobs that have not begun, and can change their switches only together: this one, those with a process of it, those
 * with a process of these. Room for all jobs in `group`; returns how many; 0: one has begun, or returns, and binds
 * all. */
static uint32_t list_group(const struct trib_jobs *jobs, struct trib_job *job, struct trib_job **group)
{
    uint32_t count = 1;
    group[0] = job;
    for (uint32_t i = 0; i < count; i++) {
        struct hashes hashes;
        list_hashes(group[i], &hashes);
        for (struct trib_job *other = jobs->first; other; other = other->next) {
            if (!is_settled(other) || is_among(group, count, other) || !share_process(group[i], &hashes, other)) {
                continue;
            }
            if (!is_tentative(other)) {
                return 0;
            }
            group[count++] = other;
        }
    }
    return count;
}

/* ---- which links have least to do ---- */

/* Where no topology is given each switch is one link away, as fast as its weight says. */
static bool make_star(const struct trib_jobs *jobs, struct trib_fabric *star)
{
    uint32_t switches = jobs->config->lenders.count + 1;
    if (!trib_fabric_init(star, switches + 1, switches, 2 * switches)) {
        return false;
    }
    for (uint32_t i = 0; i < switches; i++) {
        uint64_t weight = i == 0 ? jobs->config->weight : jobs->remote[i - 1].weight;
        (void)trib_fabric_add(star, i, switches, (weight > 0 ? weight : 1) * WEIGHT_BPS);
        (void)trib_fabric_add(star, switches, i, (weight > 0 ? weight : 1) * WEIGHT_BPS);
    }
    return trib_fabric_ready(star);
}

/* Children of the job's roots, each once: the first rank of each, as opening.c has it. A job whose ranks are coming back
 * has none yet: then its ranks, as far as they are known. */
struct members {
    struct trib_job *job;
    uint32_t next;
    struct trib_rank_set seen;
};

static struct trib_rank *next_member(struct members *m)
{
    while (m->next < m->job->settings.ranks) {
        struct trib_rank *rank = &m->job->ranks[m->next++];
        if (m->job->children == 0 ? rank->address.len > 0
                                  : rank->branch < TRIB_RANKS_MAX && !trib_rank_set_has(&m->seen, rank->branch)) {
            if (m->job->children > 0) {
                trib_rank_set_add(&m->seen, rank->branch);
            }
            return rank;
        }
    }
    return NULL;
}

/* The place of one of its NICs: looked up once, as the topology is always the same. */
static uint32_t place_of(const struct trib_topology *topology, struct trib_rank *rank, uint32_t card)
{
    if (!topology) {
        return TRIB_NO_PLACE;
    }
    if (rank->subnet[card] == 0) {
        struct trib_address at = trib_rank_place(rank, card);
        uint32_t place = trib_topology_find(topology, &at);
        rank->subnet[card] = (uint16_t)(place == TRIB_NO_PLACE ? UINT16_MAX : place + 1);
    }
    return rank->subnet[card] == UINT16_MAX ? TRIB_NO_PLACE : rank->subnet[card] - 1U;
}

/* Adds the members of the k-th of `count` trees of the job, which carries `amount`. Its root t, of which each next one is
 * t + count, gets what leaves a host by its card t mod c: so these cards take turns, as far as there are roots. How
 * many there will be of a new job nobody knows yet. A count of 0: card k alone. */
static void add_tree(const struct trib_jobs *jobs, struct trib_choose *choose, struct trib_job *job, uint32_t k,
                     uint32_t count, uint64_t amount)
{
    struct members members = {.job = job};
    uint32_t shards = job->grant.roots > 0 && count > 0 ? (job->grant.roots + count - 1) / count : TRIB_ROOTS_MAX;
    struct trib_rank *rank;
    if (!jobs->config->topology) { /* all places are unknown; of a job whose ranks are coming back all will be there */
        trib_choose_add(choose, TRIB_NO_PLACE, (job->children > 0 ? job->children : job->settings.ranks) * amount);
        return;
    }
    while ((rank = next_member(&members)) != NULL) {
        uint32_t all = trib_rank_places(rank);
        uint32_t cards = 1;
        while (cards < shards && cards * count % all != 0) {
            cards++;
        }
        for (uint32_t i = 0; i < cards; i++) {
            trib_choose_add(choose, place_of(jobs->config->topology, rank, (k + i * count) % all), amount / cards);
        }
    }
}

/* What its k-th tree has of a job's tensors. */
static uint64_t amount_of(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t k)
{
    uint32_t count = trib_trees_count(jobs, job);
    uint64_t own = job->grant.roots > 0 ? 0 : 1;
    uint64_t all = job->grant.roots > 0 ? 0 : count;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        uint64_t weight = job->grant.weight[t] > 0 ? job->grant.weight[t] : 1;
        own += t % count == k ? weight : 0;
        all += weight;
    }
    return TRIB_STREAM * own / all;
}

/* A tree of a job, in a list of those with its root. */
struct tree {
    struct tree *next;
    struct trib_job *job;
    uint32_t k;
};

/* All trees with one root are one tree with the members of all. False: out of memory. */
static bool load_jobs(const struct trib_jobs *jobs, struct trib_choose *choose)
{
    struct tree *first[TRIB_LENDERS_MAX + 1] = {NULL};
    struct tree *trees = calloc((size_t)jobs->count * TRIB_SWITCHES_MAX, sizeof *trees);
    struct tree *next = trees;
    for (struct trib_job *job = jobs->first; job && trees; job = job->next) {
        uint32_t count = is_settled(job) ? trib_trees_count(jobs, job) : 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t root = trib_trees_at(job, k);
            *next = (struct tree){first[root], job, k};
            first[root] = next++;
        }
    }
    for (uint32_t root = 0; root <= jobs->config->lenders.count && trees; root++) {
        trib_choose_begin(choose);
        for (const struct tree *tree = first[root]; tree; tree = tree->next) {
            uint32_t count = trib_trees_count(jobs, tree->job);
            add_tree(jobs, choose, tree->job, tree->k, count, amount_of(jobs, tree->job, tree->k));
        }
        trib_choose_load(choose, root);
    }
    free(trees);
    return trees != NULL;
}

static bool has_refused_lately(const struct trib_jobs *jobs, uint32_t which, uint64_t now_ns)
{
    uint64_t at_ns = which > 0 ? jobs->remote[which - 1].refused_ns : 0;
    return at_ns != 0 && now_ns - at_ns < REFUSED_NS;
}

static void warn_of_strays(const struct trib_jobs *jobs, struct trib_job *job)
{
    struct members members = {.job = job};
    struct trib_rank *rank;
    char host[64];
    uint32_t strays = 0;
    while ((rank = next_member(&members)) != NULL) {
        for (uint32_t card = 0; card < trib_rank_places(rank); card++) {
            if (place_of(jobs->config->topology, rank, card) == TRIB_NO_PLACE && strays++ == 0) {
                struct trib_address at = trib_rank_place(rank, card);
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

/* Switches by number: those that the job does not have yet, and of these the ones that have not refused lately. */
struct candidates {
    bool left[TRIB_LENDERS_MAX + 1];
    bool first[TRIB_LENDERS_MAX + 1];
    uint32_t turn;
};

/* The best one for the tree at hand; one that has refused lately only if no other one can be. */
static uint32_t find_root(struct trib_choose *choose, const struct candidates *candidates)
{
    uint32_t root = trib_choose_root(choose, candidates->first, candidates->turn);
    return root != TRIB_NO_PLACE ? root : trib_choose_root(choose, candidates->left, candidates->turn);
}

/* One tree after the other, each under another switch: as many as are wanted, or as all members can reach. Where none is
 * reached by all cards that may send to it, by the first: with one shard at each switch that is all. */
static void choose_trees(const struct trib_jobs *jobs, struct trib_job *job, struct trib_choose *choose,
                         uint64_t now_ns)
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
        add_tree(jobs, choose, job, k, count, TRIB_STREAM / count);
        uint32_t root = find_root(choose, &candidates);
        if (root == TRIB_NO_PLACE) {
            trib_choose_begin(choose);
            add_tree(jobs, choose, job, k, 0, TRIB_STREAM / count);
            root = find_root(choose, &candidates);
        }
        if (root == TRIB_NO_PLACE) {
            break;
        }
        trib_choose_load(choose, root);
        job->grant.switches[k] = (uint8_t)(root + 1);
        candidates.left[root] = candidates.first[root] = false;
    }
}

static bool has_choice(const struct trib_jobs *jobs)
{
    return jobs->config->trees > 0 && jobs->config->trees <= jobs->config->lenders.count;
}

static enum trib_status choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns, char *error)
{
    struct trib_fabric star = {0};
    struct trib_choose choice = {0};
    const struct trib_topology *topology = jobs->config->topology;
    bool is_ready =
        (topology || make_star(jobs, &star)) &&
        trib_choose_create(&choice, topology ? &topology->fabric : &star, jobs->config->lenders.count + 1) == TRIB_OK &&
        load_jobs(jobs, &choice); /* this one is not settled */
    if (is_ready) {
        trib_job_choose_hosts(job); /* who its members are */
        trib_job_group(job);
        choose_trees(jobs, job, &choice, now_ns);
        jobs->turn++;
    }
    trib_choose_destroy(&choice);
    trib_fabric_deinit(&star);
    if (!is_ready) {
        trib_explain(error, "the control plane is out of memory");
        return TRIB_ERR_MEMORY;
    }
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

/* All have all of them, and none may differ: then nobody has to be looked at. */
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
    const struct trib_job *bound;
    enum trib_status status = TRIB_OK;
    if (!job->has_trees && !have_all(jobs)) {
        status = find_bound(jobs, job, &bound, error);
        if (status == TRIB_OK && !bound && has_choice(jobs)) {
            status = choose(jobs, job, now_ns, error);
        } else if (status == TRIB_OK && bound) {
            memmove(job->grant.switches, bound->grant.switches, sizeof job->grant.switches);
        }
    }
    job->has_trees = status == TRIB_OK;
    return status;
}

/* Deals jobs that have not begun anew. False: without those that refused lately they cannot be, and nothing has
 * changed. */
static bool change(struct trib_jobs *jobs, struct trib_job *const *group, uint32_t count, uint64_t now_ns)
{
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = group[0];
    const struct trib_grant before = job->grant;
    for (uint32_t i = 0; i < count; i++) {
        group[i]->has_trees = false; /* what they had is no load */
    }
    bool is_new = choose(jobs, job, now_ns, error) == TRIB_OK;
    for (uint32_t k = 0; is_new && k < trib_trees_count(jobs, job); k++) {
        is_new = !has_refused_lately(jobs, trib_trees_at(job, k), now_ns); /* else they would be tried in turn */
    }
    job->grant = is_new ? job->grant : before;
    for (uint32_t i = 0; i < count; i++) {
        group[i]->has_trees = true;
        if (is_new && i > 0) {
            memcpy(group[i]->grant.switches, job->grant.switches, sizeof job->grant.switches);
            group[i]->unlent_ns = 0;
        }
    }
    return is_new;
}

bool trib_trees_avoid(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender, uint64_t now_ns)
{
    jobs->remote[lender].refused_ns = now_ns;
    if (!is_tentative(job) || job->grant.switches[0] == 0 || !trib_job_is_complete(job)) {
        return false;
    }
    if (!trib_trees_have(jobs, job, lender + 1)) {
        return true; /* another one of its group has been here before */
    }
    if (job->unlent_ns != 0) {
        return false; /* as before: it is being tried again */
    }
    struct trib_job **group = calloc(jobs->count, sizeof(struct trib_job *));
    uint32_t count = group ? list_group(jobs, job, group) : 0;
    bool is_new = count > 0 && change(jobs, group, count, now_ns);
    free(group);
    return is_new;
}
