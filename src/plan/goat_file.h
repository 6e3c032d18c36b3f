/* SPDX-License-Identifier: Apache-2.0 */
/* goat_file.h: a plan of GOAT's problem as a file (fabric/placed.h), for jobs of scheme `goat`.
 * Read next: goat_file.c, goat_check.c. */
#ifndef TRIB_PLAN_GOAT_FILE_H
#define TRIB_PLAN_GOAT_FILE_H

#include "fabric/placed.h"
#include "plan/goat.h"
#include "plan/jobs.h"
#include "protocol/pieces.h"

/* A plan with all that its file says. */
struct plan_goat_file {
    const struct plan_network *net;
    const struct plan_job *job;
    uint32_t server;                 /* place */
    const char *objective;           /* rule that made the plan */
    uint64_t memory;                 /* of each switch, bytes, for this job */
    const uint32_t *switches;        /* places, as numbered in the problem */
    const struct trib_goat *problem; /* of at most TRIB_PIECES_MAX gradients, each a piece */
    const struct trib_goat_plan *plan;
};

/* Writes the plan: of each switch the pieces that some worker sends there, and the prices of its bound. False: error
 * has the cause. */
bool plan_goat_write(const struct plan_goat_file *file, const char *path, char *error);

/* Plans of a file, for --check. */
struct plan_goat_proof {
    const struct trib_placed *placed; /* all models and placements */
    const struct trib_toml *toml;     /* the file */
    uint32_t number;                  /* model that is checked, from 0 on */
    uint64_t *left;                   /* by switch of the problem: memory for this model and all later models, bytes */
};

/* Reads the plan of one model into `plan`, a new one, and checks it without a solver: network, workers and server are
 * the plan's; pieces are at switches that add, and fit into the problem's memory and into proof->left; cost and bytes
 * of the server are as the file says, and its prices prove its bound for the problem's memory. The bytes of the pieces
 * are subtracted from proof->left. The problem has as many gradients as the model has pieces. If the plan does not
 * hold, error has the cause. file->plan, objective and memory are not used. */
bool plan_goat_check(const struct plan_goat_file *file, const struct plan_goat_proof *proof,
                     struct trib_goat_plan *plan, char *error);
/* A number that is the same for the same workers, in any order, and the same server. Never 0. */
uint64_t plan_goat_hosts_digest(const uint32_t *workers, uint32_t count, uint32_t server);

#endif
