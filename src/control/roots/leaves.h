/* SPDX-License-Identifier: Apache-2.0 */
/* leaves.h: switches below, as agents of this controller. A switch below begins one connection (HELLO, PROOF), which
 * carries sessions and openings. If another switch is between, the connection is a channel of the switch between. Each
 * job with ranks at a switch below has a placement there (struct trib_inner): all roots, summed for the ranks behind
 * the switch, and sent to the parent. A lost switch below ends an incarnation and not the job. No sockets, no clock, no
 * threads. Read next: leaves.c, placements.h (requests), channels.h (the connection), masters.h (the other side). */
#ifndef TRIB_CONTROL_LEAVES_H
#define TRIB_CONTROL_LEAVES_H

#include "control/jobs/state.h"

/* Adds the switch of a HELLO, after PROOF. session: both ends of the connection, as seen by the parent; session->leaf:
 * the switch that carries the connection. line: the driver's. NULL: out of memory. */
struct trib_remote *trib_leaves_add(struct trib_jobs *jobs, const struct trib_message *hello,
                                    const struct trib_session *session, void *line);
/* The cause of a refusal of the HELLO; NULL: accepted. */
const char *trib_leaves_explain_unfit(const struct trib_jobs *jobs, const struct trib_message *hello,
                                      const struct trib_session *session);
/* A message about an opening, or BYE. False: another message, and the connection must end. */
bool trib_leaves_answer(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                        uint64_t now_ns);
/* The connection has ended: the switch is not usable any more. Sessions end next (trib_jobs_gone); then switches below
 * the switch are removed, and then the switch. */
void trib_leaves_lose(struct trib_remote *remote);
/* Frees the switch. Jobs with a placement there start a new incarnation, unless all ranks behind the switch have sent
 * CLOSE. */
void trib_leaves_remove(struct trib_jobs *jobs, struct trib_remote *remote, const char *cause, uint64_t now_ns);
/* The topmost lost switch on the way of a session that arrived at `leaf`; if none is lost, `leaf`. */
const struct trib_remote *trib_leaves_lost_on_way(const struct trib_remote *leaf);

#endif
