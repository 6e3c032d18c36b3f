/* SPDX-License-Identifier: Apache-2.0 */
/* trunk.h: one connection of this control plane to another control plane. The connection to the parent is the trunk.
 * Private to uplinks.c and passes.c. Read next: passes.h (the channels on the trunk), uplinks.c (received messages). */
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
    bool is_greeted;      /* HELLO was sent */
    bool is_refused;      /* the parent has refused this switch, with a cause */
    bool is_told;         /* the remote knows of the open connection; of the trunk: CHALLENGE has come */
    bool is_silent;       /* HELLO or PINGs without an answer have ended the connection */
    bool is_ending;       /* the connection is of no more use */
};

/* Begins to connect. local: the source address; NULL: the kernel chooses. NULL: out of memory, or too many. */
struct trib_uplink *trib_uplink_add(struct trib_uplinks *uplinks, const struct trib_address *to,
                                    const struct trib_address *local);
/* Begins the trunk; without memory there is none. */
void trib_trunk_begin(struct trib_uplinks *uplinks);
/* True if the parent has accepted this switch as an agent. */
bool trib_trunk_stands(const struct trib_uplinks *uplinks);
/* AWAY: why a rank or switch here cannot reach the controller now. */
struct trib_message trib_trunk_away(const char *text);
/* Names this switch, from now on, by the local address of the connection to the parent. */
void trib_trunk_locate(struct trib_uplinks *uplinks, const struct trib_address *local);

#endif
