/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: a plan: of each job the trees, how its bytes are dealt over them, and the rate that its ranks may send at;
 * and the prices that prove how far the rates are from the best possible.
 *
 * Use: plan_make from a network and jobs, or plan_read from a file (file.h); plan_check (check.h); plan_free. Read
 * next: price.h (families of trees), pack.h (how it is found), round.h, check.h. */
#ifndef TRIB_PLAN_PLAN_H
#define TRIB_PLAN_PLAN_H

#include "core/node.h"
#include "plan/pack.h"

#define PLAN_TREES_MAX ((uint32_t)TRIB_ROOTS_MAX) /* of a job: roots that a rank sends to */

struct plan_share {
    uint8_t weight; /* share of the job's bytes, relative to the job's other trees: 1 to 255 */
    struct plan_tree tree;
};

struct plan_grant {
    uint32_t stage;
    uint64_t level_bps; /* rate in the best packing found, before rounding */
    uint64_t rate_bps;  /* limit of each rank's send rate, over all trees */
    uint32_t wanted;    /* trees of the job in that packing */
    uint32_t count;
    struct plan_share shares[PLAN_TREES_MAX];
};

struct plan {
    enum plan_family family;
    enum plan_paths paths;
    uint32_t headroom;
    bool has_multicast;
    uint64_t network_digest;
    uint64_t jobs_digest;
    uint32_t job_count;
    struct plan_grant *grants; /* by job */
    uint32_t stage_count;
    struct plan_stage *stages;
    uint32_t most;       /* limit of trees per job */
    bool is_early;       /* is_late ended the search: not in files */
    uint32_t tree_count; /* trees of the search, and solved linear programs: for --explain, not in files */
    uint32_t solved;
};

/* How a search ends early, and which trees it tries. */
struct plan_options {
    enum plan_family family;
    uint32_t most; /* limit of trees per job, up to PLAN_TREES_MAX; 0: PLAN_TREES_MAX */
    /* Called now and then, at least after each program; true ends the search without a plan. NULL: never. */
    bool (*is_over)(void *user, const struct plan_step *step);
    bool (*is_late)(void *user); /* true, and from then on: it ends soon, with a plan that may have larger gaps */
    void *user;
};

/* ERR_INVALID: some job has no tree; ERR_UNSUPPORTED: no solver; ERR_ABORTED: is_over returned true. error has the
 * cause. Free the plan in any case. */
TRIB_MUST_USE enum trib_status plan_make(struct plan *plan, const struct plan_network *net,
                                         const struct plan_jobs *jobs, const struct plan_options *options, char *error);
void plan_free(struct plan *plan);

#endif
