/* SPDX-License-Identifier: Apache-2.0 */
/* stall.c: an operation waits, and the log says for which ranks. The control plane's side is control/jobs/stall.c.
 * Read next: join.c (the rest of the dialogue). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/say.h"
#include "comm/stall.h"
#include "comm/state.h"
#include "comm/worker.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/units.h"

/* STALLs without an answer: the second one is answered even if the root is silent that was asked for the first. */
#define SILENT 2

static void log_stall(const struct trib_comm *comm, uint64_t sequence, uint64_t since_ns, const char *who)
{
    char duration[TRIB_UNITS_TEXT_MAX];
    trib_format_duration(since_ns, duration);
    trib_log(TRIB_LOG_WARN, "job %s rank %u: %s on fragment %" PRIu64 " since %s", comm->config.job, comm->config.rank,
             who, sequence, duration);
}

/* Without a switch the control plane is in a rank's process, which may be stopped, or its host off, and cannot say
 * so. */
static void name_silent(struct trib_comm *comm)
{
    char who[96] = "rank 0";
    if (comm->is_derived) {
        (void)snprintf(who, sizeof who, "the process at %s", comm->where.name);
    }
    (void)snprintf(comm->stall_text, sizeof comm->stall_text,
                   "%s, whose process has the control plane, does not answer", who);
}

/* Without the socket nothing would ever come, and the others would wait for this rank for ever. */
static bool fail_without_socket(struct trib_comm *comm)
{
    const struct trib_port *taken = trib_endpoint_find_taken(comm);
    struct trib_address local;
    char text[64];
    if (taken == NULL) {
        return false;
    }
    trib_port_local(taken, &local);
    trib_address_format(&local, text);
    trib_comm_fail_all(comm, TRIB_ERR_SYSTEM,
                       "rank %u: the system has taken its UDP socket at %s from it, as \"ss -K\" does: start the "
                       "job again",
                       comm->config.rank, text);
    return true;
}

/* Only the switches know the missing ranks: this rank hears of the children of one switch. The switches answer by
 * MISSING. */
void trib_comm_report_stall(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns)
{
    uint64_t since = now_ns > event->since_ns ? now_ns - event->since_ns : 0;
    struct trib_message message = {.kind = TRIB_MESSAGE_STALL};
    if (fail_without_socket(comm)) {
        return;
    }
    if (comm->stall_sequence != event->sequence) {
        comm->stall_text[0] = '\0';
    }
    comm->stall_sequence = event->sequence;
    comm->stall_is_mark = trib_comm_mark(comm) > event->sequence;
    if (comm->stalls_open >= SILENT && comm->where.no_box) {
        name_silent(comm);
        log_stall(comm, event->sequence, since, comm->stall_text);
    } else if (comm->stalls_open > 0 || comm->state != TRIB_COMM_RUNNING) {
        log_stall(comm, event->sequence, since, "an unknown rank is missing");
    }
    message.stall.sequence = event->sequence;
    message.stall.since_ms = (uint32_t)(since / TRIB_MILLISECOND_NS);
    if (trib_comm_has_peers(comm) && event->child < comm->config.ranks) {
        trib_rank_list_add(&message.stall.missing, event->child);
    }
    if (comm->state == TRIB_COMM_RUNNING) {
        if (comm->stall_is_mark && !comm->is_closing) {
            trib_comm_tell_mark(comm, TRIB_MESSAGE_MARK); /* that this rank is not the one that is waited for */
        }
        comm->stalls_open++;
        trib_session_client_send(&comm->session, &message);
    }
}

bool trib_comm_stall_is_over(const struct trib_comm *comm)
{
    uint64_t mark = comm->stall_is_mark ? trib_comm_common_mark(comm) : trib_comm_mark(comm);
    return mark > comm->stall_sequence;
}

void trib_comm_take_missing(struct trib_comm *comm, const struct trib_message *message)
{
    char who[320] = "no rank is missing, but there is no result";
    comm->stalls_open = 0;
    if (comm->state != TRIB_COMM_RUNNING || comm->node == NULL || message->stall.sequence != comm->stall_sequence ||
        trib_comm_stall_is_over(comm)) {
        return; /* the fragment has come meanwhile */
    }
    if (message->stall.missing.count != 0) {
        trib_comm_name_ranks(&message->stall.missing, who, sizeof who);
        size_t len = strlen(who);
        if (message->stall.where[0] != '\0') {
            (void)snprintf(who + len, sizeof who - len, " (%s)", message->stall.where);
        }
    } else if (message->stall.where[0] != '\0') {
        (void)snprintf(who, sizeof who, "nothing comes from %s", message->stall.where);
    }
    log_stall(comm, comm->stall_sequence, message->stall.since_ms * TRIB_MILLISECOND_NS, who);
    memcpy(comm->stall_text, who, sizeof comm->stall_text);
}
