/* SPDX-License-Identifier: Apache-2.0 */
/* trunk.c: see trunk.h. */
#include "control/server/trunk.h"

#include <stdlib.h>

#include "io/clock.h"
#include "io/explain.h"

#define TRY_NS (250 * TRIB_MILLISECOND_NS) /* a try to connect may go without an answer; the rank tries again */
#define SILENCE_NS (10 * TRIB_SECOND_NS)   /* then a dead machine of the parent is noticed, before ranks give up */

void trib_trunk_locate(struct trib_uplinks *uplinks, const struct trib_address *local)
{
    uplinks->jobs->masters.here = *local;
    trib_address_set_port(&uplinks->jobs->masters.here, trib_address_port(&uplinks->jobs->config->listen));
}

struct trib_uplink *trib_uplink_add(struct trib_uplinks *uplinks, const struct trib_address *to,
                                    const struct trib_address *local)
{
    struct trib_uplink *uplink = uplinks->count < TRIB_UPLINKS_MAX ? calloc(1, sizeof *uplink) : NULL;
    if (!uplink) {
        return NULL;
    }
    trib_session_client_init(&uplink->client);
    uplink->client.side = uplinks->side;
    trib_ping_init(&uplink->ping, uplinks->jobs->config->ping_gap_ns);
    trib_session_client_open(&uplink->client, to, local, SILENCE_NS);
    uplink->deadline_ns = uplinks->now_ns + TRY_NS;
    uplinks->all[uplinks->count++] = uplink;
    return uplink;
}

bool trib_trunk_stands(const struct trib_uplinks *uplinks)
{
    return uplinks->trunk && uplinks->trunk->is_told && uplinks->trunk->client.state == TRIB_SESSION_OPEN;
}

void trib_trunk_begin(struct trib_uplinks *uplinks)
{
    struct trib_address local;
    if (uplinks->jobs->masters.here.len == 0 && trib_nics_source(&uplinks->parent, &local)) {
        trib_trunk_locate(uplinks, &local);
    }
    uplinks->trunk = trib_uplink_add(uplinks, &uplinks->parent, uplinks->local.len > 0 ? &uplinks->local : NULL);
    if (uplinks->trunk) {
        uplinks->trunk->client.out.max = TRIB_TELL_MAX;
    }
}

struct trib_message trib_trunk_away(const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY};
    trib_explain(message.note.text, "%s", text);
    return message;
}
