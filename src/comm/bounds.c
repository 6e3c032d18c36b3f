/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c: see bounds.h. */
#include "comm/bounds.h"

#include <stdio.h>

#include "comm/state.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

/* Time for which a switch that is back may lack other ranks: they return at once, or have gone on without the
 * switch. */
#define TOGETHER_NS (2 * TRIB_SECOND_NS)

bool trib_comm_may_move(const struct trib_comm *comm)
{
    return comm->config.fallback && comm->was_running && !comm->where.no_box && comm->meeting.len > 0;
}

bool trib_comm_is_brought(const struct trib_comm *comm)
{
    return comm->maker != NULL && !comm->was_running && trib_comm_may_move(comm->maker);
}

uint64_t trib_comm_move_time(const struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t wait_ns = trib_time_earlier(comm->config.switch_timeout_ns, TOGETHER_NS);
    uint64_t lost_ns = comm->outage_deadline_ns > now_ns ? comm->outage_deadline_ns : now_ns;
    return trib_time_after(lost_ns, wait_ns + trib_time_to_hear(wait_ns));
}

uint64_t trib_comm_return_time(const struct trib_comm *comm, uint64_t now_ns)
{
    return trib_time_after(now_ns, comm->config.join_timeout_ns);
}

uint64_t trib_comm_last_outage_time(const struct trib_comm *comm)
{
    const struct trib_config *config = &comm->config;
    return trib_time_after(trib_time_after(comm->waits_ns, config->switch_timeout_ns), config->join_timeout_ns);
}

uint64_t trib_comm_hearing_time(const struct trib_comm *comm, uint64_t until_ns)
{
    return trib_time_after(until_ns, trib_time_to_hear(comm->config.join_timeout_ns));
}

bool trib_comm_is_done_ring(const struct trib_comm *comm)
{
    bool has_switch = !comm->where.no_box && !comm->config.fallback;
    return has_switch && trib_comm_has_peers(comm) && comm->state != TRIB_COMM_RUNNING && comm->node != NULL &&
           trib_comm_common_mark(comm) >= trib_comm_mark(comm);
}

uint64_t trib_comm_close_time(const struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    uint64_t limit_ns = config->linger_ns;
    if (comm->has_moved && comm->state != TRIB_COMM_RUNNING) { /* a rank that lacks a result comes within that time */
        limit_ns = limit_ns > config->switch_timeout_ns ? limit_ns : config->switch_timeout_ns;
    } else if ((comm->where.no_box || trib_comm_has_peers(comm) || config->fallback) && !trib_comm_is_done_ring(comm)) {
        limit_ns = config->timeout_ns;
    }
    return trib_time_after(now_ns, limit_ns);
}

/* ---- texts ---- */

const char *trib_comm_cause(const struct trib_comm *comm)
{
    return comm->session.cause[0] != '\0' ? comm->session.cause : "no answer"; /* the first try is under way */
}

char *trib_comm_say_waited(const struct trib_comm *comm, uint64_t now_ns, char *text)
{
    char waited[TRIB_UNITS_TEXT_MAX];
    char limit[TRIB_UNITS_TEXT_MAX];
    bool is_outage = comm->was_running && comm->state == TRIB_COMM_CONNECTING;
    TRIB_ASSERT(comm->waits_ns <= now_ns);
    trib_format_duration(now_ns - comm->waits_ns, waited);
    trib_format_duration(is_outage ? comm->config.switch_timeout_ns : comm->config.join_timeout_ns, limit);
    (void)snprintf(text, TRIB_COMM_WAITED_MAX, "; waited %s (TRIB_%s_TIMEOUT is %s)", waited,
                   is_outage ? "SWITCH" : "JOIN", limit);
    return text;
}

char *trib_comm_say_other(const struct trib_comm *comm, char *text)
{
    const struct trib_elsewhere *other = &comm->other;
    const char *cause = other->away[0] != '\0' ? other->away : other->cause;
    text[0] = '\0';
    if (other->where.address.len > 0 && cause[0] != '\0') {
        (void)snprintf(text, TRIB_COMM_OTHER_MAX, "; nor does %s take this rank: %.100s", other->where.title, cause);
    }
    return text;
}

void trib_comm_explain_absence(const struct trib_comm *comm, uint64_t now_ns, char *text)
{
    const char *name = comm->where.name;
    const char *gone = comm->endpoint->where.name;
    const char *cause = trib_comm_cause(comm);
    bool is_connecting = comm->state == TRIB_COMM_CONNECTING;
    char waited[TRIB_COMM_WAITED_MAX];
    char other[TRIB_COMM_OTHER_MAX];
    (void)trib_comm_say_waited(comm, now_ns, waited);
    (void)trib_comm_say_other(comm, other);
    if (is_connecting && comm->has_moved) {
        trib_explain(
            text, "the switch %s is gone, and %s, where the job was to go on without it, at %s, does not answer: %s%s",
            gone, comm->is_derived ? "the process" : "rank 0", name, cause, waited);
    } else if (is_connecting && comm->away[0] != '\0') {
        trib_explain(text, "%.220s%s%s", comm->away, other, waited);
    } else if (is_connecting) {
        trib_explain(text, "the switch %s is gone: %s%s%s", name, cause, other, waited);
    } else if (comm->has_moved) {
        trib_explain(text,
                     "the switch %s is gone, and not all ranks of job %s came to rank 0, at %s, to go on without it%s",
                     gone, comm->config.job, name, waited);
    } else {
        bool is_alone = comm->state == TRIB_COMM_JOINING;
        trib_explain(text, "the switch %s is back, but not all ranks of job %s %s%s", name, comm->config.job,
                     is_alone ? "are" : "have tried their paths and registered", waited);
    }
}
