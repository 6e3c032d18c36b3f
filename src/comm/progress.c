/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. */
#include "comm/progress.h"

#include "comm/auth.h"
#include "comm/layout.h"
#include "comm/state.h"
#include "core/operation.h"

/* Bytes of the tensor on the wire, as the rate counts them. */
static uint64_t bytes_of(const struct trib_comm *comm, const struct trib_operation *operation)
{
    struct trib_session_config session;
    struct trib_layout layout;
    trib_comm_describe_session(comm, &session);
    trib_layout_init(&layout, &session, operation, 0);
    bool is_even = trib_operation_has_shares(operation) && operation->shares == NULL;
    uint64_t elements = operation->count * (is_even ? session.ranks : 1);
    return elements * layout.wire_size + layout.sequences * (TRIB_WIRE_EXTRA + trib_comm_behind_payload(comm));
}

void trib_comm_count_operation(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns)
{
    struct trib_progress *progress = &comm->progress;
    if (comm->node == NULL) { /* its host's leader sends */
        return;
    }
    progress->bytes += bytes_of(comm, operation);
    progress->busy_ns += now_ns > comm->idle_since_ns ? now_ns - comm->idle_since_ns : 0;
    if (comm->state != TRIB_COMM_RUNNING || progress->busy_ns < TRIB_PROGRESS_NS) {
        return;
    }
    struct trib_message message = {.kind = TRIB_MESSAGE_PROGRESS,
                                   .progress = {.bytes = progress->bytes, .busy_ns = progress->busy_ns}};
    trib_session_client_send(&comm->session, &message);
    *progress = (struct trib_progress){0};
}
