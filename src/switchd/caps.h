/* SPDX-License-Identifier: Apache-2.0 */
/* caps.h: divides the receive room of a shard's socket among communicators of schemes with caps (fragments that a rank
 * may have in flight). core/share.h does the dividing.
 * All children may send at once, so the scarce resource of a software switch is the socket's room for packets. Slots
 * are memory, which admission has counted.
 * Communicators without caps keep their grants. At least a quarter of the room is divided in any case, as a late
 * communicator is granted a quarter in any case (control/jobs/admission.c). No socket, no lock: the caller owns the
 * members. Read next: core/share.h, caps.c; shard.c calls it. */
#ifndef TRIB_SWITCHD_CAPS_H
#define TRIB_SWITCHD_CAPS_H

#include "switchd/members.h"

/* Sets the caps of all members. room: bytes. Returns the time of the next call, ns, if no communicator comes, goes or
 * begins to send before; TRIB_NEVER: none needed. */
uint64_t trib_caps_divide(struct trib_members *members, uint32_t room, uint64_t now_ns);
/* True if a communicator has begun to send since the last division. */
bool trib_caps_have_changed(const struct trib_members *members, uint64_t now_ns);

#endif
