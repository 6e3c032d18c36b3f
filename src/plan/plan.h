/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: a plan: of each job the trees, how its bytes are dealt over them, and the rate that its ranks may send at;
 * and the prices that prove how far the rates are from the best possible.
 *
 * Use: plan_make from a network and jobs (make.h), or plan_read from a file (file.h); plan_check (check.h); plan_free.
 * Read next: price.h (families of trees), pack.h (how it is found), make.h, check.h. */
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

void plan_free(struct plan *plan);

#endif
