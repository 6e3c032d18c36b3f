/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h: the answers of agents, and the table of places for agents (places.h). Read next: answers.c. */
#ifndef TRIB_CONTROL_JOBS_ANSWERS_H
#define TRIB_CONTROL_JOBS_ANSWERS_H

#include "control/jobs/places.h"

extern const struct trib_places trib_places_agents;
/* ROOT_READY, ROOT_MISSING or DISPUTE of an agent. False: the message is not allowed, or from is NULL. The
 * job may be gone afterwards. */
bool trib_placement_answer(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from,
                           const struct trib_message *message, uint64_t now_ns);

#endif
