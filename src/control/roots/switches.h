/* SPDX-License-Identifier: Apache-2.0 */
/* switches.h: several switches used at once. The ranks join one of the switches. The controller there uses agents
 * elsewhere, which the operator has named (--with). The roots of a job are dealt over the shards of all switches in
 * turn (struct trib_dealer, places.h).
 *
 * A complete job starts when all agents of the job are usable (agents/remote.h). The controller dials an absent agent
 * for a moment. Then the ranks get AWAY and come again, since ranks have the deadlines. A lost agent has lost all
 * slots, as after a restart. Each incarnation with roots there ends (trib_job_recall), and all ranks return. A refusal
 * of an agent ends the job, with the agent's text, unless a new job may have other agents (trees.h). No sockets, no
 * clock, no threads, as in jobs.h. Read next: switches.c, agents/remote.h. */
#ifndef TRIB_CONTROL_SWITCHES_H
#define TRIB_CONTROL_SWITCHES_H

#include "control/jobs/state.h"

/* The connection to an agent of jobs->remote is open. */
void trib_switches_connected(struct trib_jobs *jobs, struct trib_remote *remote);
/* Jobs may be gone afterwards. */
void trib_switches_answer(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                          uint64_t now_ns);
/* The connection never stood, or has ended. is_foreign: no switch answers there. Jobs may be gone afterwards. */
void trib_switches_lost(struct trib_jobs *jobs, struct trib_remote *remote, const char *cause, bool is_foreign,
                        uint64_t now_ns);
/* Ends all sessions with agents elsewhere. */
void trib_switches_end(struct trib_jobs *jobs);
uint64_t trib_switches_next_timeout(const struct trib_jobs *jobs);
void trib_switches_on_timeout(struct trib_jobs *jobs, uint64_t now_ns);

extern const struct trib_dealer trib_dealer_switches;

#endif
