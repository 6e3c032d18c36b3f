/* SPDX-License-Identifier: Apache-2.0 */
/* move.c: a switch that is gone for good, and ranks that all said they would go on without it (config.fallback). They
 * meet at rank 0, where a control plane has listened from the start, and their processes become the roots, as where no
 * switch was named.
 *
 * It is a restart of the switch, at another place: ranks bring the grant that the switch gave, register with their
 * marks, who has finished a fragment OFFERs it, what nobody has finished is contributed again. So it needs no rule of
 * its own but when to go (docs/DECISIONS.md). Nobody goes back: a switch that returns later finds none of these ranks.
 * Read next: join.c (the dialogue, there as here), own_root.h, embedded.h. */
#include <stdio.h>
#include <string.h>

#include "comm/communicator.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/units.h"

/* A switch that is back may lack other ranks for so long: they are back at once, or have moved. */
#define TOGETHER_NS (2 * TRIB_SECOND_NS)
/* A link of this host may be down: it, or the switch, may be found after all. */
#define NO_WAY_NS (100 * TRIB_MILLISECOND_NS)

bool trib_comm_may_move(const struct trib_comm *comm)
{
    return comm->config.fallback && comm->was_running && !comm->where.no_box && comm->meeting.len > 0;
}

bool trib_comm_is_brought(const struct trib_comm *comm)
{
    return comm->maker != NULL && !comm->was_running && !comm->where.no_box && trib_comm_may_move(comm->maker);
}

uint64_t trib_comm_move_time(const struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t wait_ns = trib_time_earlier(comm->config.switch_timeout_ns, TOGETHER_NS);
    uint64_t lost_ns = comm->outage_deadline_ns > now_ns ? comm->outage_deadline_ns : now_ns;
    return trib_time_after(lost_ns, wait_ns + trib_time_to_hear(wait_ns));
}

void trib_comm_learn_meeting(struct trib_comm *comm, const struct trib_address *meeting)
{
    if (comm->where.no_box) {
        return;
    }
    if (comm->config.fallback && meeting->len == 0 && comm->meeting.len == 0 && !comm->was_running) {
        trib_log(
            TRIB_LOG_WARN,
            "job %s rank %u: nobody knows where rank 0 is, so nothing goes on if the switch %s is gone: it came by "
            "an address that means something on one link only",
            comm->config.job, comm->config.rank, comm->where.name);
    }
    comm->meeting = *meeting;
}

bool trib_comm_is_done_ring(const struct trib_comm *comm)
{
    bool has_switch = !comm->where.no_box && !comm->config.fallback;
    return has_switch && comm->has_peers && comm->state != TRIB_COMM_RUNNING && comm->node != NULL &&
           comm->verbs->communicator_mark(comm->node) >= comm->verbs->mark(comm->node);
}

uint64_t trib_comm_close_time(const struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    uint64_t limit_ns = config->linger_ns;
    if (comm->has_moved && comm->state != TRIB_COMM_RUNNING) { /* who lacks something comes within that time */
        limit_ns = limit_ns > config->switch_timeout_ns ? limit_ns : config->switch_timeout_ns;
    } else if ((trib_comm_is_wide(comm) || config->fallback) && !trib_comm_is_done_ring(comm)) {
        limit_ns = config->timeout_ns;
    }
    return trib_time_after(now_ns, limit_ns);
}

/* The members of the sums stay what they were, whatever way their ranks came to the switch. */
void trib_comm_keep_hosts(const struct trib_comm *comm, struct trib_message *join)
{
    join->join.level0 = comm->level0 != NULL;
    if (comm->level0 != NULL && join->join.host != 0) {
        join->join.host = trib_mix64(join->join.host + comm->level0->place.first + 1) | 1;
    }
}

static void say(const struct trib_comm *comm, const struct trib_where *where, uint64_t now_ns)
{
    char why[TRIB_ERROR_TEXT_MAX];
    char waited[TRIB_COMM_WAITED_MAX];
    if (comm->state == TRIB_COMM_CONNECTING) {
        (void)snprintf(why, sizeof why, "is gone: %.300s%s", comm->away[0] != '\0' ? comm->away : trib_comm_cause(comm),
                       trib_comm_say_waited(comm, now_ns, waited));
    } else if (comm->state == TRIB_COMM_JOINING) {
        (void)snprintf(why, sizeof why, "is back, but not all ranks are");
    } else {
        (void)snprintf(why, sizeof why, "ends the job");
    }
    trib_log(TRIB_LOG_WARN, "job %s rank %u: the switch %s %s: going on without it, at rank 0's %s", comm->config.job,
             comm->config.rank, comm->where.name, why, where->name);
}

static void set_out(struct trib_comm *comm, const struct trib_where *where)
{
    trib_session_client_close(&comm->session);
    comm->where = *where;
    comm->away[0] = '\0';
    comm->root_count = 0; /* WELCOME says where they are */
    trib_comm_forget_root(comm);
}

/* It has a grant of the switch, which other ranks have too. */
static void keep_grant(struct trib_comm *comm)
{
    if (comm->node != NULL) {
        comm->verbs->suspend(comm->node);
    }
    comm->has_moved = true;
    comm->stats.moved++;
    trib_comm_close_groups(comm);
    comm->is_multicast = false;
    comm->grant.group = 0; /* it was this rank's switch's own */
    comm->grant.group_port = 0;
    memset(comm->grant.switches, 0, sizeof comm->grant.switches); /* where its roots were is over */
}

/* What is being made of this one would look for the switch. Where it meets nobody knows yet but the maker's rank 0. Of
 * those whose WELCOME has come some ranks may have seen a READY, and work: so all of them bring what it granted. */
static void bring_made(struct trib_comm *maker, uint64_t now_ns)
{
    for (struct trib_comm *made = maker->endpoint->comms; made != NULL; made = made->next) {
        if (made->maker != maker || trib_comm_has_ended(made) || made->was_running || made->where.no_box) {
            continue;
        }
        if (made->grant.communicator != 0) {
            keep_grant(made);
        }
        set_out(made, &maker->where);
        if (made->embedded == NULL) {
            made->embedded = trib_embedded_share(maker->embedded);
        }
        trib_comm_join(made, now_ns);
    }
}

void trib_comm_move(struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_where where;
    trib_where_init(&where, &comm->meeting, true);
    enum trib_status status = comm->has_peers ? trib_endpoint_widen(comm->endpoint, &where, config, cause)
                                              : trib_endpoint_be_root(comm->endpoint, &where, config, cause);
    if (status == TRIB_ERR_UNREACHABLE && comm->state == TRIB_COMM_CONNECTING &&
        now_ns < trib_comm_last_outage_time(comm)) {
        comm->state_deadline_ns = comm->outage_deadline_ns = now_ns + NO_WAY_NS;
        return;
    }
    if (status != TRIB_OK) {
        trib_comm_fail(comm, status, "the switch %s is gone, and rank %u cannot go on without it: %.300s",
                       comm->where.name, config->rank, cause);
        return;
    }
    say(comm, &where, now_ns);
    keep_grant(comm);
    set_out(comm, &where);
    comm->waits_ns = now_ns;
    comm->outage_deadline_ns = trib_time_after(now_ns, config->switch_timeout_ns);
    if (comm->is_closing) {
        comm->close_deadline_ns = trib_comm_close_time(comm, now_ns);
    }
    trib_comm_reconnect(comm, now_ns);
    if (comm->state != TRIB_COMM_FAILED) {
        bring_made(comm, now_ns);
    }
}

/* ---- when nothing helps ---- */

void trib_comm_explain_absence(const struct trib_comm *comm, uint64_t now_ns, char *text)
{
    const char *name = comm->where.name;
    const char *gone = comm->endpoint->where.name;
    const char *cause = trib_comm_cause(comm);
    bool is_connecting = comm->state == TRIB_COMM_CONNECTING;
    char waited[TRIB_COMM_WAITED_MAX];
    (void)trib_comm_say_waited(comm, now_ns, waited);
    if (is_connecting && comm->has_moved) {
        trib_explain(
            text, "the switch %s is gone, and %s, where the job was to go on without it, at %s, does not answer: %s%s",
            gone, comm->is_derived ? "the process" : "rank 0", name, cause, waited);
    } else if (is_connecting && comm->away[0] != '\0') {
        trib_explain(text, "%.400s%s", comm->away, waited);
    } else if (is_connecting) {
        trib_explain(text, "the switch %s is gone: %s%s", name, cause, waited);
    } else if (comm->has_moved) {
        trib_explain(text,
                     "the switch %s is gone, and not all ranks of job %s came to rank 0, at %s, to go on without it%s",
                     gone, comm->config.job, name, waited);
    } else {
        trib_explain(text, "the switch %s is back, but not all ranks of job %s are%s", name, comm->config.job, waited);
    }
}

void trib_comm_give_up_return(struct trib_comm *comm, uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_comm_explain_absence(comm, now_ns, text);
    trib_comm_fail(comm, comm->state == TRIB_COMM_CONNECTING ? TRIB_ERR_SWITCH : TRIB_ERR_TIMEOUT, "%s", text);
}
