/* SPDX-License-Identifier: Apache-2.0 */
/* trunk.h: the data of the connections of this control plane to other control planes, and the connection to the parent,
 * the trunk. Private to this folder. Read next: passes.h (the channels on the trunk), uplinks.h (the entry points). */
#ifndef TRIB_CONTROL_TRUNK_H
#define TRIB_CONTROL_TRUNK_H

#include "control/roots/switches.h"
#include "control/server/connection.h"
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

/* Agents, the parent, and earlier connections that are ending. */
#define TRIB_UPLINKS_MAX (2 * TRIB_LENDERS_MAX + 16)

struct trib_uplinks {
    uint32_t count;
    struct trib_uplink *all[TRIB_UPLINKS_MAX];
    struct trib_uplink *trunk; /* of `all`: to the parent; NULL: none */
    struct trib_mux mux;       /* of the trunk */
    uint32_t number;           /* of the last channel */
    uint32_t attempts;         /* trunks so far */
    struct trib_jobs *jobs;
    struct trib_connections *connections;
    struct trib_pass_verbs verbs;
    struct trib_tls_side *side; /* borrowed; NULL: no key of the operator */
    struct trib_address parent;
    struct trib_address local;      /* source address of the data as well; len 0: the kernel chooses */
    char name[64];                  /* of the parent */
    char away[TRIB_ERROR_TEXT_MAX]; /* cause of the parent's last absence; "": none */
    uint64_t away_ns;               /* earliest time of the next try */
    bool is_silent;                 /* the last trunk was is_silent; ranks are told so until the next CHALLENGE */
    char silent[128];               /* silent switch above the parent, as the parent says; "": none */
    bool is_named;                  /* the parent has said so since the last PONG */
    uint64_t now_ns;                /* of the call under way */
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
