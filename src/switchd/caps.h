/* SPDX-License-Identifier: Apache-2.0 */
/* caps.h: the room of a shard's socket, divided among the communicators of schemes whose switches tell ranks how much
 * they may have in flight (core/share.h does the dividing). What is scarce in a switch that is a program is not the
 * slots, which are memory that admission has counted, but what its socket holds of packets that all children may send
 * at once. Communicators without caps keep what they were granted; at least a quarter of the room is divided in any
 * case, as a late one is granted a quarter in any case (control/jobs/admission.c). No socket, no lock: the caller owns
 * the members. Read next: core/share.h, caps.c; shard.c calls it. */
#ifndef TRIB_SWITCHD_CAPS_H
#define TRIB_SWITCHD_CAPS_H

#include "switchd/members.h"

/* Sets the caps of all members. room: bytes. Returns when to do so again although no communicator has come, gone or
 * begun to send; TRIB_NEVER. */
uint64_t trib_caps_divide(struct trib_members *members, uint32_t room, uint64_t now_ns);
/* Some communicator has begun to send since then. */
bool trib_caps_have_changed(const struct trib_members *members, uint64_t now_ns);

#endif
