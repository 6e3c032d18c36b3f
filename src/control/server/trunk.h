/* SPDX-License-Identifier: Apache-2.0 */
/* trunk.h: one connection of this control plane to another, and the one to the parent, the trunk. Private to uplinks.c
 * and passes.c. Read next: passes.h (what the trunk carries), uplinks.c (what comes). */
#ifndef TRIB_CONTROL_TRUNK_H
#define TRIB_CONTROL_TRUNK_H

#include "control/server/uplinks.h"
#include "control/words/ping.h"
#include "control/words/session_client.h"

struct trib_uplink {
    struct trib_remote *remote; /* NULL: the trunk, or an earlier one */
    struct trib_session_client client;
    struct trib_ping ping;
    uint64_t deadline_ns; /* of connecting, of the answer to HELLO, or of ending */
    bool is_greeted;      /* HELLO was said */
    bool is_refused;      /* the parent has said why it does not take this switch */
    bool is_told;         /* the remote knows that the connection stands; of the trunk: CHALLENGE has come */
    bool is_silent;       /* questions without an answer have ended it */
    bool is_ending;       /* the connection is of no more use */
};

/* Begins to connect. local: the source address; NULL: the kernel chooses. NULL: out of memory, or too many. */
struct trib_uplink *trib_uplink_add(struct trib_uplinks *uplinks, const struct trib_address *to,
                                    const struct trib_address *local);
/* Begins the trunk; without memory there is none. */
void trib_trunk_begin(struct trib_uplinks *uplinks);
/* The parent has taken this switch for an agent. */
bool trib_trunk_stands(const struct trib_uplinks *uplinks);
/* AWAY: why a rank or switch here cannot reach the controller now. */
struct trib_message trib_trunk_away(const char *text);
/* This switch is named by its address on the way to its parent. */
void trib_trunk_locate(struct trib_uplinks *uplinks, const struct trib_address *local);

#endif
