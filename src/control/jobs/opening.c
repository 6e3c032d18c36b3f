/* SPDX-License-Identifier: Apache-2.0 */
/* opening.c: a communicator as the data plane is to open it (struct trib_opening, server.h): who sends to this switch
 * as one child, and from where. Read next: start.c (who asks). */
#include <stdlib.h>
#include <string.h>

#include "control/jobs/start.h"
#include "core/assert.h"
#include "io/explain.h"
#include "schemes/schemes.h"

/* One allocation: the opening, then the branches that it points to, then their ranks. */
struct whole {
    struct trib_opening opening; /* first: it is found again by a cast */
    struct trib_branch branches[];
};

struct trib_address trib_rank_place(const struct trib_rank *rank, uint32_t root)
{
    return rank->places.count > 0 ? rank->places.at[root % rank->places.count] : rank->address;
}

/* The first port is that of the socket at the first card. */
bool trib_rank_is_same_process(const struct trib_rank *a, const struct trib_rank *b)
{
    if (a->data_port[0] != b->data_port[0]) {
        return false;
    }
    struct trib_address from = trib_rank_place(a, 0);
    struct trib_address other = trib_rank_place(b, 0);
    return trib_address_same_host(&from, &other);
}

uint32_t trib_rank_process(const struct trib_rank *rank)
{
    const struct trib_address from = trib_rank_place(rank, 0);
    return (uint32_t)trib_mix64(trib_address_near(&from) + rank->data_port[0]) | 1U << 31;
}

/* Shard t's packets come from the t-th port that the rank named; a rank with fewer sockets uses them in turn. */
static void spread(const struct trib_rank *rank, uint32_t roots, struct trib_address *row)
{
    uint32_t ports = 1; /* JOIN has checked the first */
    while (ports < TRIB_ROOTS_MAX && rank->data_port[ports] != 0) {
        ports++;
    }
    for (uint32_t t = 0; t < roots; t++) {
        row[t] = trib_rank_place(rank, t);
        trib_address_set_port(&row[t], rank->data_port[t % ports]);
    }
}

/* It is summed with the rank before it. */
static bool is_led(const struct trib_job *job, uint32_t rank)
{
    return !trib_job_leads(job, rank) && rank > 0 && job->ranks[rank].via == 0 && job->ranks[rank - 1].session &&
           job->ranks[rank - 1].via == 0;
}

/* Numbered in order of their lowest ranks: I9 asks for that. Those without a session are not there, or are behind
 * another switch. */
void trib_job_group(struct trib_job *job)
{
    uint16_t lowest[TRIB_RANKS_MAX];
    job->children = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        uint32_t branch = 0;
        if (!rank->session) {
            rank->branch = UINT32_MAX;
            continue;
        }
        if (is_led(job, i)) {
            rank->branch = job->ranks[i - 1].branch;
            continue;
        }
        while (branch < job->children && (rank->via == 0 || rank->via != job->ranks[lowest[branch]].via)) {
            branch++;
        }
        if (branch == job->children) {
            lowest[job->children++] = (uint16_t)i;
        }
        rank->branch = branch;
    }
}

uint32_t trib_job_behind(const struct trib_job *job, uint32_t rank)
{
    uint32_t count = 0;
    if (job->ranks[rank].via == 0) {
        return 1;
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        count += job->ranks[i].branch == job->ranks[rank].branch;
    }
    return count;
}

void trib_job_session(const struct trib_job *job, struct trib_session_config *session)
{
    *session = (struct trib_session_config){
        .communicator = job->grant.communicator,
        .ranks = trib_job_members(job),
        .roots = job->grant.roots,
        .train = job->grant.train,
        .slots = job->grant.slots,
        .payload = job->settings.payload,
        .generation = job->grant.generation,
        .wire = (enum trib_type)job->settings.wire,
    };
    memcpy(session->weight, job->grant.weight, sizeof session->weight);
    trib_scheme_settle(trib_job_scheme(job), session);
}

struct trib_opening *trib_opening_create(const struct trib_job *job, const struct trib_address *parent)
{
    uint32_t ranks_max = job->settings.ranks;
    struct whole *whole =
        calloc(1, sizeof *whole + job->children * sizeof whole->branches[0] + ranks_max * sizeof(uint16_t));
    if (!whole) {
        return NULL;
    }
    uint16_t *at = (uint16_t *)(void *)&whole->branches[job->children];
    for (uint32_t b = 0; b < job->children; b++) {
        struct trib_branch *branch = &whole->branches[b];
        branch->ranks = at;
        for (uint32_t i = 0; i < ranks_max; i++) {
            if (job->ranks[i].branch == b) {
                at[branch->count++] = (uint16_t)i;
            }
        }
        TRIB_ASSERT(branch->count > 0); /* C-5 */
        const struct trib_rank *first = &job->ranks[at[0]];
        branch->is_switch = first->via != 0;
        spread(first, job->grant.roots, branch->address);
        at += branch->count;
    }
    TRIB_ASSERT(job->children > 0 && job->grant.roots >= 1 && job->grant.roots <= TRIB_ROOTS_MAX);
    struct trib_opening *opening = &whole->opening;
    trib_job_session(job, &opening->session);
    opening->ranks = job->settings.ranks;
    opening->scheme = trib_job_scheme(job);
    opening->boot = job->grant.boot;
    opening->parent = parent;
    opening->branches = whole->branches;
    opening->count = job->children;
    return opening;
}

void trib_opening_destroy(struct trib_opening *opening)
{
    free(opening);
}
