/* SPDX-License-Identifier: Apache-2.0 */
/* trees.h: chooses the switches of a job among several switches (switches.h). Each chosen switch has one tree of the
 * job. A job uses all switches, unless the operator wants fewer (trees). Then a plan names the switches
 * (fabric/planned.h), or else the switches with the least loaded links are chosen (choose.h). The grant holds the
 * choice (grant.switches), which lasts as long as the job, through every restart. The present jobs give the loads of
 * links (loads.h). A process has one socket for each root, for all communicators. So a job that shares a process with
 * another job uses the switches of the other job. No sockets, no clock, as in jobs.h. Read next: trees.c, choose.h. */
#ifndef TRIB_CONTROL_TREES_H
#define TRIB_CONTROL_TREES_H

#include "control/jobs/state.h"
#include "fabric/planned.h"

/* Number of switches with a root of the job. Not all, if switches below carry fewer roots; all, before the job has
 * roots. */
uint32_t trib_trees_rooted(const struct trib_jobs *jobs, const struct trib_job *job);
bool trib_trees_have(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t which);
/* The job in the plan. NULL: not in the plan, or the job has other switches. */
const struct trib_planned_job *trib_trees_planned(const struct trib_jobs *jobs, const struct trib_job *job);
/* Name of a switch, "10.0.0.1:7470". which 0: this switch ("this switch" if it listens at all addresses); else lender
 * which - 1. text: 64 bytes. */
char *trib_trees_name(const struct trib_jobs *jobs, uint32_t which, char *text);
/* "10.0.0.1:7470 and 10.0.0.3:7470": all switches with a root of the job, as far as size bytes suffice. Returns
 * text. */
char *trib_trees_list(const struct trib_jobs *jobs, const struct trib_job *job, char *text, size_t size);
/* All ranks are there: chooses the switches of a new job, once. Checks once in each incarnation that no process would
 * send to different switches in two jobs; else ERR_REFUSED with the cause in error. No choice and no check if all jobs
 * have all switches. */
TRIB_MUST_USE enum trib_status trib_trees_choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns,
                                                 char *error);
/* A begun job keeps its switches. Jobs that have not begun, share processes with that job, and have chosen other
 * switches, lose the choice; so do the jobs that follow such a job. Writes the jobs without a choice to list, with room
 * for all jobs, in the order of the next choice. Returns the number of jobs. */
uint32_t trib_trees_unbind(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list);
/* The lender was away or has refused the job. Later jobs avoid the lender for a while, if other switches are there.
 * True: the job has a new choice, and so has each job that has not begun and shares processes with the job. */
bool trib_trees_avoid(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender, uint64_t now_ns);
/* Checks that the switches in the JOIN's known grant are switches of this control plane. */
TRIB_MUST_USE enum trib_status trib_trees_check(const struct trib_jobs *jobs, const struct trib_message *join,
                                                char *error);

#endif
