/* SPDX-License-Identifier: Apache-2.0 */
/* master.h: the linear program of pack.h. The first rows are links between switches, adders with a limit, and hosts'
 * cables (one row for all cables that the same jobs use). Then each job has three rows: its trees give its rate, its
 * rate is a share of the level, and its rate is at least its fixed rate. Columns: the level, rates, shares of trees.
 * Read next: lp.h. */
#ifndef TRIB_PLAN_MASTER_H
#define TRIB_PLAN_MASTER_H

#include "plan/lp.h"
#include "plan/tree.h"

/* Hosts' cables that the same jobs use: the slowest of them. */
struct plan_cable {
    uint32_t host;
    uint32_t first_job; /* in jobs_of */
    uint32_t job_count;
    uint64_t key;
};

struct plan_master {
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    struct trib_lp *lp;
    double unit_bps;  /* of all rates in the program: the least capacity, so that no rate is near the tolerance */
    uint32_t *lp_row; /* row of the program, by row; UINT32_MAX: the row can never be full */
    uint32_t *row_of; /* row, by row of the program */
    uint32_t limited; /* rows of links and adders */
    struct plan_cable *cables;
    uint32_t cable_count;
    uint32_t *jobs_of; /* of all hosts, by host */
    uint32_t *list;    /* scratch: a column */
    double *values;
    double *time; /* by tree: of links, for one unit of its rate */
    uint32_t tree_count, tree_room;
};

/* False: out of memory. Free it in any case. */
bool plan_master_init(struct plan_master *m, const struct plan_network *net, const struct plan_jobs *jobs);
void plan_master_free(struct plan_master *m);
/* Appends the share of a tree as a column. */
TRIB_MUST_USE enum trib_status plan_master_add(struct plan_master *m, const struct plan_tree *tree);
/* Fixes a job: its rate is at least `bps`, and no longer depends on the level. */
void plan_master_fix(struct plan_master *m, uint32_t job, uint64_t bps);
/* Changes the objective from the level, on which no job depends any more, to the least time that links are used. */
void plan_master_settle(struct plan_master *m);
/* Sets the cost of an added tree in the objective of plan_master_settle. */
void plan_master_cost(struct plan_master *m, uint32_t tree, double cost);
/* Of the last solution: the level, bit/s; bit/s of the i-th tree that was added; a job's part of the level's price,
 * 1 in sum over all jobs that are not fixed. */
double plan_master_level(const struct plan_master *m);
double plan_master_rate(const struct plan_master *m, uint32_t tree);
double plan_master_part(const struct plan_master *m, uint32_t job);
/* Prices of all rows as whole numbers, and the price below which a tree of each job would be worth its place. */
void plan_master_prices(const struct plan_master *m, int64_t *prices, int64_t *limits);

#endif
