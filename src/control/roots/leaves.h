/* SPDX-License-Identifier: Apache-2.0 */
/* leaves.h: switches below, as agents of this controller. A switch below begins one connection (HELLO, PROOF), which
 * carries its sessions and its openings. If another switch is between, the connection is a channel of that switch. Each
 * job with ranks at a switch below has a placement there (struct trib_inner): all roots, summed for the ranks behind
 * the switch, and sent to its parent. A lost switch below ends an incarnation and not the job.
 * No sockets, no clock, no threads. Read next: leaves.c, placements.h (requests), channels.h (the connection),
 * masters.h (the other side). */
#ifndef TRIB_CONTROL_LEAVES_H
#define TRIB_CONTROL_LEAVES_H

#include "control/jobs/jobs.h"

/* The switch of this HELLO, after PROOF. session: both ends of the connection, as the parent sees them, and as `leaf`
 * the switch that carries the connection. line: the driver's. NULL: out of memory. */
struct trib_remote *trib_leaves_add(struct trib_jobs *jobs, const struct trib_message *hello,
                                    const struct trib_session *session, void *line);
/* The cause why this HELLO is refused; NULL: a switch can be below by it. */
const char *trib_leaves_explain_unfit(const struct trib_jobs *jobs, const struct trib_message *hello,
                                      const struct trib_session *session);
/* A message about an opening, or BYE. False: another message, and the connection must end. */
bool trib_leaves_answer(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                        uint64_t now_ns);
/* The connection has ended: the switch is not usable any more. Sessions end next (trib_jobs_gone); then switches below
 * the switch are removed, and then the switch. */
void trib_leaves_lose(struct trib_remote *remote);
/* Frees it. Jobs with a placement there start a new incarnation, unless all ranks behind it have sent CLOSE. */
void trib_leaves_remove(struct trib_jobs *jobs, struct trib_remote *remote, const char *cause, uint64_t now_ns);
/* The topmost switch that is lost on the way of a session that came to `leaf`; if none is, `leaf`. */
const struct trib_remote *trib_leaves_lost_on_way(const struct trib_remote *leaf);

#endif
