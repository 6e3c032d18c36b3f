/* SPDX-License-Identifier: Apache-2.0 */
/* missing.h: ranks without a contribution to a sequence, from the agents. Read next: missing.c. */
#ifndef TRIB_CONTROL_JOBS_MISSING_H
#define TRIB_CONTROL_JOBS_MISSING_H

#include "control/jobs/state.h"

/* Writes the ranks, ascending, without a contribution to the sequence; returns the number of ranks. *silent: a switch
 * below without a missing rank, and without a sum; NULL: none. TRIB_MISSING_LATER: an agent has been asked, one
 * question at a time. ranks: room for TRIB_RANKS_MAX. */
uint32_t trib_placements_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                                 uint16_t *ranks, const char **silent);
/* Takes the answer of an agent down. */
void trib_placement_heard(struct trib_placement *placement, uint64_t sequence, const struct trib_rank_list *lacks,
                          uint64_t now_ns);
/* Of the placements that are asked for the sequence, the one that has been silent longest: the others have answered,
 * and are asked again. None: the placement with the root of the sequence. */
struct trib_placement *trib_placement_asked(struct trib_job *job, uint64_t sequence);
/* Sends the question on `sequence` to the agent, unless an earlier question has no answer yet. */
void trib_placement_ask(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_placement *placement,
                        uint64_t sequence);

#endif
