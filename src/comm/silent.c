/* SPDX-License-Identifier: Apache-2.0 */
/* silent.c: a switch whose process does not answer, stopped or hung, on a machine that does. A rank that waits asks
 * (control/words/ping.h). A switch that is silent for the switch timeout counts as gone, as one that does not come back
 * in that time. A rank's process with the control plane is not asked: a stopped rank is late, and not gone (stall.c
 * names it).
 * Read next: join.c (the dialogue), move.c (going on without the switch). */
#include <stdio.h>

#include "comm/bounds.h"
#include "comm/connect.h"
#include "comm/queue.h"
#include "comm/silent.h"
#include "comm/state.h"
#include "core/assert.h"

/* True if comm waits for the switch. An idle rank does not, unless it makes another communicator. */
static bool waits(const struct trib_comm *comm)
{
    switch (comm->state) {
    case TRIB_COMM_JOINING:
    case TRIB_COMM_PROBING:
    case TRIB_COMM_REGISTERING:
        return true;
    case TRIB_COMM_RUNNING:
        return comm->is_closing || !trib_comm_is_idle(comm) || comm->making > 0;
    case TRIB_COMM_NONE:
    case TRIB_COMM_CONNECTING:
    case TRIB_COMM_MEETING:
    case TRIB_COMM_CLOSED:
    case TRIB_COMM_FAILED:
        break;
    }
    return false;
}

uint64_t trib_comm_ping_deadline(const struct trib_comm *comm)
{
    if (comm->where.no_box || !waits(comm)) {
        return TRIB_NEVER;
    }
    uint64_t idle_ns = comm->state == TRIB_COMM_RUNNING ? comm->idle_since_ns + comm->ping.gap_ns : 0;
    return comm->ping.next_ns > idle_ns ? comm->ping.next_ns : idle_ns;
}

void trib_comm_ping(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_message question;
    TRIB_ASSERT(comm->session.fd >= 0 && !comm->where.no_box);
    trib_ping_ask(&comm->ping, comm->session.fd, now_ns, &question);
    if (!trib_ping_is_silent(&comm->ping, comm->config.switch_timeout_ns)) {
        trib_session_client_send(&comm->session, &question);
    } else if (trib_comm_is_brought(comm)) {
        trib_ping_heard(&comm->ping, now_ns + comm->ping.gap_ns); /* its maker asks too, and takes comm along */
    } else {
        trib_comm_lose_silent(comm, now_ns);
    }
}
