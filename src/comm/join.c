/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: the rank's side of the dialogue with the control plane (control/words/words.h): getting in, getting back
 * in after the switch went away, marks, stalls, getting out.
 * Read next: session_client.c (the connection), paths.c (PROBING), turn.c (the rest of a communicator). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/auth.h"
#include "comm/bounds.h"
#include "comm/connect.h"
#include "comm/detour.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/join.h"
#include "comm/level0.h"
#include "comm/move.h"
#include "comm/own_root.h"
#include "comm/paths.h"
#include "comm/peers.h"
#include "comm/ring.h"
#include "comm/say.h"
#include "comm/silent.h"
#include "comm/stall.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "io/clock.h"
#include "io/log.h"
#include "schemes/schemes.h"

/* ---- WELCOME ---- */

/* True if a host may be a member of the sums, in place of its ranks: this rank has offered it. A quorum counts
 * ranks. */
static bool may_be_hosts(const struct trib_comm *comm)
{
    return comm->config.level0 && !trib_comm_has_peers(comm) && !trib_scheme_names_quorum(comm->config.scheme);
}

static bool is_sane(const struct trib_comm *comm, const struct trib_message *message)
{
    const struct trib_grant *grant = &message->welcome.grant;
    const struct trib_grant *known = &comm->grant;
    bool names_roots = message->welcome.root_count > 0;
    for (uint32_t i = 0; i < message->welcome.root_count; i++) {
        if (message->welcome.root[i].storage.ss_family != comm->where.address.storage.ss_family) {
            return false;
        }
    }
    if (!trib_comm_is_welcome_of_peers(comm, message) || !trib_comm_is_root_of(comm, grant) ||
        (names_roots ? message->welcome.root_count != grant->roots : grant->data_port == 0)) {
        return false;
    }
    if (grant->communicator == 0 || grant->boot == 0 || grant->job_token == 0 || grant->roots < 1 ||
        grant->roots > TRIB_ROOTS_MAX || grant->train < 1 || grant->train > TRIB_TRAIN_PACKETS_MAX ||
        grant->slots < 1 || grant->slots > TRIB_SLOTS_MAX || grant->window < 1 || grant->window > grant->slots ||
        (!names_roots && (uint32_t)grant->data_port + grant->roots > UINT16_MAX + 1U) ||
        (uint32_t)grant->group_port + grant->roots > UINT16_MAX + 1U ||
        (grant->group != 0 && (message->welcome.no_box || trib_comm_has_peers(comm) || comm->where.is_server)) ||
        (message->welcome.rate != 0 && message->welcome.rate < TRIB_RATE_MIN) ||
        message->welcome.generation_ranks != comm->config.ranks || !trib_hosts_are_sane(message) ||
        (message->welcome.hosts != 0 && !may_be_hosts(comm))) {
        return false;
    }
    return known->communicator == 0 ||
           (grant->communicator == known->communicator && grant->salt == known->salt && grant->key == known->key &&
            grant->job_token == known->job_token && grant->generation == known->generation &&
            grant->roots == known->roots && grant->train == known->train && grant->slots == known->slots &&
            memcmp(grant->weight, known->weight, sizeof grant->weight) == 0 &&
            memcmp(grant->switches, known->switches, sizeof grant->switches) == 0);
}

/* The rank looks for a switch and has found rank 0, or the reverse. */
static void refuse_place(struct trib_comm *comm)
{
    const char *name = comm->where.name;
    if (comm->where.no_box) {
        trib_comm_fail_all(comm, TRIB_ERR_SETTINGS,
                           "rank %u: the rendezvous %s is a switch, not rank 0: name it as the switch "
                           "(TRIB_SWITCH=%s), or give rank 0 a port of its own",
                           comm->config.rank, name, name);
    } else {
        trib_comm_fail_all(comm, TRIB_ERR_SETTINGS,
                           "rank %u: %s is not a switch, but rank 0 of a job without one: name it as the rendezvous "
                           "(TRIB_RENDEZVOUS=%s)",
                           comm->config.rank, name, name);
    }
}

static void take_welcome(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!is_sane(comm, message)) {
        trib_comm_fail(comm, TRIB_ERR_REFUSED, "the %s granted invalid values", comm->where.title);
        return;
    }
    if (!trib_comm_has_peers(comm) && comm->where.no_box != message->welcome.no_box) {
        refuse_place(comm);
        return;
    }
    if (!trib_level0_begin(comm, message)) {
        trib_comm_fail_all(comm, TRIB_ERR_REFUSED,
                           "rank %u: the ranks' hosts are not those of the job's start: start the job anew",
                           comm->config.rank);
        return;
    }
    trib_comm_stay(comm);
    comm->rate = message->welcome.rate;
    enum trib_status status = trib_comm_take_places(comm, message, cause);
    status = status == TRIB_OK ? trib_comm_take_auth(comm, message, cause) : status;
    if (status == TRIB_OK && comm->node == NULL && !comm->is_led) {
        status = trib_comm_make_node(comm, &message->welcome.grant);
    }
    if (status != TRIB_OK) {
        trib_comm_fail_all(comm, status, "rank %u: %s", comm->config.rank,
                           cause[0] == '\0' ? "out of memory for a worker" : cause);
        return;
    }
    comm->away[0] = '\0';
    if (comm->was_running) { /* no rank can have proceeded without this one */
        comm->state_deadline_ns = trib_comm_hearing_time(comm, trib_comm_return_time(comm, now_ns));
    }
    bool is_new = comm->grant.communicator == 0;
    comm->grant = message->welcome.grant;
    trib_comm_learn_meeting(comm, &message->welcome.meeting);
    trib_comm_learn_server(comm, &message->welcome.server);
    if (is_new) {
        trib_endpoint_enter(comm->endpoint, comm);
    }
    trib_comm_join_root(comm);
    if ((comm->has_moved || comm->where.is_server) && comm->node != NULL) {
        trib_comm_shrink_window(comm, &comm->grant);
    }
    if (comm->was_running && !comm->has_moved &&
        trib_comm_knows_peers(comm)) { /* no way leads over the switch that was away */
        trib_comm_register(comm);
    } else if (trib_level0_must_meet(comm)) {
        trib_comm_enter(comm, TRIB_COMM_MEETING);
        atomic_store_explicit(&comm->joined, true, memory_order_release); /* the creating thread meets them: comm.c */
        trib_endpoint_wake(comm->endpoint);
    } else {
        trib_comm_begin_probing(comm);
    }
}

/* ---- READY, and messages while running ---- */

static void take_ready(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    if (message->ready.boot == 0) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    trib_comm_enter(comm, TRIB_COMM_RUNNING);
    comm->state_deadline_ns = TRIB_NEVER;
    comm->waits_ns = TRIB_NEVER;
    comm->stalls_open = 0;
    comm->grant.boot = message->ready.boot;
    comm->is_multicast = message->ready.multicast && (comm->group_count > 0 || comm->is_led);
    if (!comm->is_multicast && !comm->was_running) {
        trib_comm_close_groups(comm);
    }
    comm->stats.reregistrations += comm->was_running ? 1 : 0;
    trib_log(comm->was_running ? TRIB_LOG_WARN : TRIB_LOG_INFO,
             "job %s rank %u of %u: %s %s, boot %08x, communicator %08x, %s%u %s, window %u of %u slots, results by %s",
             comm->config.job, comm->config.rank, comm->config.ranks,
             comm->has_moved     ? "without its switch, at"
             : comm->was_running ? "back at"
                                 : "joined",
             comm->where.name, comm->grant.boot, comm->grant.communicator, comm->where.no_box ? "no box: " : "",
             comm->root_count, trib_comm_places(comm), comm->grant.window, comm->grant.slots,
             comm->is_multicast ? "multicast" : "unicast");
    comm->was_running = true;
    comm->is_untried = false;
    comm->idle_since_ns = now_ns;
    if (comm->node != NULL) {
        comm->verbs->registered(comm->node, comm->grant.boot, message->ready.mark, now_ns);
    }
    atomic_store_explicit(&comm->joined, true, memory_order_release);
    trib_endpoint_wake(comm->endpoint);
    if (comm->is_closing) {
        comm->close_deadline_ns = comm->has_moved ? trib_comm_close_time(comm, now_ns) : comm->close_deadline_ns;
        trib_comm_tell_close(comm);
    }
}

/* The switch lets go a communicator in the making. The maker takes it along when the switch lets the maker go. */
static void await_maker(struct trib_comm *comm, const char *text, uint64_t now_ns)
{
    trib_session_client_close(&comm->session);
    (void)snprintf(comm->session.cause, sizeof comm->session.cause, "%.100s", text);
    trib_comm_lost(comm, now_ns);
}

static void take_fail(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    int32_t status = message->fail.status;
    bool known = status < 0 && status >= TRIB_ERR_CHECK;
    if (status == TRIB_ERR_SWITCH &&
        trib_comm_may_move(comm)) { /* the switch, or one above it, shuts down: all ranks are told */
        trib_log(TRIB_LOG_WARN, "job %s rank %u: %s", comm->config.job, comm->config.rank, message->fail.text);
        trib_comm_move(comm, now_ns);
        return;
    }
    if (status == TRIB_ERR_SWITCH && trib_comm_is_brought(comm)) {
        await_maker(comm, message->fail.text, now_ns);
        return;
    }
    trib_comm_fail(comm, known ? (enum trib_status)status : TRIB_ERR_REFUSED, "%s", message->fail.text);
}

/* Not all ranks came back to the switch, or to the place where they were to go on without it. */
static void fail_to_return(struct trib_comm *comm, const char *missing, uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    bool is_connecting = comm->state == TRIB_COMM_CONNECTING;
    bool was_away = !is_connecting && comm->away[0] != '\0'; /* the missing ranks may have ended for that */
    trib_comm_explain_absence(comm, now_ns, text);
    trib_comm_fail(comm, is_connecting ? TRIB_ERR_SWITCH : TRIB_ERR_TIMEOUT, "%s%s%.*s%s%.150s", text,
                   missing[0] != '\0' ? ": " : "", was_away ? 100 : 250, missing, was_away ? "; before that: " : "",
                   was_away ? comm->away : "");
}

/* Not all ranks have joined. missing: as the control plane says; "": it does not. */
static void fail_to_join(struct trib_comm *comm, const char *missing, uint64_t now_ns)
{
    char waited[TRIB_COMM_WAITED_MAX];
    if (comm->was_running) {
        fail_to_return(comm, missing, now_ns);
        return;
    }
    (void)trib_comm_say_waited(comm, now_ns, waited);
    trib_comm_fail(comm, TRIB_ERR_TIMEOUT, "not all %u ranks of job %s joined at %s%s%s%.250s", comm->config.ranks,
                   comm->config.job, comm->where.title, waited, missing[0] != '\0' ? ": " : "", missing);
}

static void take_closed(struct trib_comm *comm)
{
    if (!comm->is_closing) {
        trib_comm_fail(comm, TRIB_ERR_CLOSED, "the %s closed the communicator", comm->where.title);
        return;
    }
    trib_comm_leave(comm);
}

/* One rank has closed, and no operation of that rank is unfinished on any other. */
static void take_gone(struct trib_comm *comm, const struct trib_message *message)
{
    if (!comm->where.no_box) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    comm->is_over = true;
    (void)snprintf(comm->left, sizeof comm->left, "%.150s", message->note.text);
}

static void take_root(struct trib_comm *comm, const struct trib_message *message)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = trib_comm_take_root(comm, message, cause);
    if (status != TRIB_OK) {
        trib_comm_fail(comm, status, "%s", cause);
    }
}

static enum trib_stage stage_of(const struct trib_comm *comm)
{
    switch ((int)comm->state) {
    case TRIB_COMM_JOINING:
        return TRIB_STAGE_JOINING;
    case TRIB_COMM_MEETING:
    case TRIB_COMM_PROBING:
        return TRIB_STAGE_WELCOMED;
    case TRIB_COMM_REGISTERING:
        return TRIB_STAGE_REGISTERED;
    case TRIB_COMM_RUNNING:
        return comm->is_closing ? TRIB_STAGE_CLOSING : TRIB_STAGE_RUNNING;
    default:
        return TRIB_STAGE_FIRST;
    }
}

static void take_message(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    trib_ping_heard(&comm->ping, now_ns + comm->ping.gap_ns);
    if (comm->has_given_up && message->kind != TRIB_MESSAGE_FAIL) {
        return; /* it was said before ABORT came */
    }
    if (!trib_message_is_in_turn(message->kind, TRIB_SENDER_CONTROL, stage_of(comm))) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_WELCOME:
        take_welcome(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_READY:
        take_ready(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_MARK:
        if (comm->node != NULL) {
            comm->verbs->learn_mark(comm->node, message->mark.mark, now_ns);
        }
        return;
    case TRIB_MESSAGE_DESCRIBE:
        trib_comm_say_operation(comm, message->describe.sequence);
        return;
    case TRIB_MESSAGE_MISSING:
        trib_comm_take_missing(comm, message);
        return;
    case TRIB_MESSAGE_RECALL:
        trib_comm_take_recall(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_AWAY:
        trib_comm_take_away(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_RING:
        trib_comm_take_ring(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_FAIL:
        if (comm->has_given_up && comm->state == TRIB_COMM_JOINING) {
            fail_to_join(comm, message->fail.text, now_ns);
        } else {
            take_fail(comm, message, now_ns);
        }
        return;
    case TRIB_MESSAGE_CLOSED:
        take_closed(comm);
        return;
    case TRIB_MESSAGE_GONE:
        take_gone(comm, message);
        return;
    case TRIB_MESSAGE_ROOT_OPEN:
    case TRIB_MESSAGE_ROOT_CHILD:
    case TRIB_MESSAGE_ROOT_JOIN:
    case TRIB_MESSAGE_ROOT_MISSING:
        take_root(comm, message);
        return;
    default: /* PONG: heard above */
        return;
    }
}

void trib_comm_session_ready(struct trib_comm *comm, short revents, uint64_t now_ns)
{
    struct trib_message message;
    if (trib_comm_has_ended(comm)) {
        return;
    }
    trib_session_client_ready(&comm->session, revents);
    if (comm->state == TRIB_COMM_CONNECTING && comm->session.state == TRIB_SESSION_OPEN) {
        trib_comm_connected(comm, now_ns);
    }
    while (trib_session_client_next(&comm->session, &message)) {
        take_message(comm, &message, now_ns);
        trib_message_wipe(&message);
    }
    bool is_foreign = comm->session.state == TRIB_SESSION_FOREIGN;
    if (is_foreign && !comm->is_detour) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s unreachable: %s", comm->where.title, comm->session.cause);
    }
    if (comm->session.state == TRIB_SESSION_LOST && comm->has_given_up && comm->state != TRIB_COMM_FAILED) {
        fail_to_join(comm, "", now_ns);
    }
    if ((comm->session.state == TRIB_SESSION_LOST || (is_foreign && comm->is_detour)) &&
        comm->state != TRIB_COMM_FAILED && comm->state != TRIB_COMM_CLOSED) {
        trib_comm_lost(comm, now_ns);
    }
    trib_comm_make_dirty(comm);
}

/* ---- time ---- */

static void give_up(struct trib_comm *comm, uint64_t now_ns)
{
    const char *cause = trib_comm_cause(comm);
    char waited[TRIB_COMM_WAITED_MAX], other[TRIB_COMM_OTHER_MAX];
    bool is_connecting = comm->state == TRIB_COMM_CONNECTING;
    if (comm->was_running) {
        fail_to_return(comm, "", now_ns);
        return;
    }
    (void)trib_comm_say_waited(comm, now_ns, waited);
    if (!is_connecting && comm->ping.silent > 1) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s: %s", comm->where.title, TRIB_PING_SILENT);
    } else if (is_connecting && comm->away[0] != '\0') {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%.400s%s", comm->away, waited);
    } else if (is_connecting) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s unreachable: %s%s; is %s running there?", comm->where.title,
                       cause, trib_comm_say_other(comm, other), comm->where.no_box ? "rank 0" : "`tributary switch`");
    } else {
        fail_to_join(comm, "", now_ns);
    }
}

/* The control plane may wait longer than this rank, and knows the missing ranks. */
static bool may_ask_missing(const struct trib_comm *comm)
{
    bool is_there =
        comm->state == TRIB_COMM_JOINING || comm->state == TRIB_COMM_PROBING || comm->state == TRIB_COMM_REGISTERING;
    return is_there && !comm->has_given_up && comm->ping.silent <= 1;
}

static void ask_missing(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {.status = TRIB_ERR_TIMEOUT}};
    (void)snprintf(message.fail.text, sizeof message.fail.text,
                   "not all ranks joined within this rank's TRIB_JOIN_TIMEOUT");
    comm->has_given_up = true;
    comm->state_deadline_ns = trib_comm_hearing_time(comm, now_ns);
    trib_session_client_send(&comm->session, &message);
}

/* True if the session has news without an event of its descriptor: a try with an answer at once, to an address of this
 * host or without a route; or, in any state, a send that found the outbox full. */
static bool has_answer(const struct trib_comm *comm)
{
    enum trib_session_state session = comm->session.state;
    return (comm->state == TRIB_COMM_CONNECTING && session != TRIB_SESSION_CLOSED &&
            session != TRIB_SESSION_CONNECTING) ||
           (session == TRIB_SESSION_LOST && !trib_comm_has_ended(comm));
}

void trib_comm_read_session(struct trib_comm *comm, uint64_t now_ns)
{
    struct pollfd session = {.fd = comm->session.fd, .events = trib_session_client_interest(&comm->session)};
    if (session.fd >= 0 && poll(&session, 1, 0) > 0) {
        trib_comm_session_ready(comm, session.revents, now_ns);
    }
}

void trib_comm_session_timeout(struct trib_comm *comm, uint64_t now_ns)
{
    bool must_ask = now_ns >= trib_comm_ping_deadline(comm);
    if (has_answer(comm)) {
        trib_comm_session_ready(comm, 0, now_ns);
    }
    if (!trib_comm_has_ended(comm) && (must_ask || now_ns >= comm->state_deadline_ns)) {
        trib_comm_read_session(comm, now_ns);
    }
    if (must_ask && now_ns >= trib_comm_ping_deadline(comm)) {
        trib_comm_ping(comm, now_ns);
    }
    if (trib_comm_has_ended(comm)) {
        return;
    }
    bool is_outside = comm->state == TRIB_COMM_CONNECTING || comm->state == TRIB_COMM_JOINING;
    if (now_ns >= comm->state_deadline_ns && comm->state == TRIB_COMM_CONNECTING) {
        trib_comm_end_detour(comm); /* for the texts */
    }
    if (now_ns >= comm->state_deadline_ns && is_outside && trib_comm_may_move(comm)) {
        trib_comm_move(comm, now_ns);
    } else if (now_ns >= comm->state_deadline_ns && may_ask_missing(comm)) {
        ask_missing(comm, now_ns);
    } else if (now_ns >= comm->state_deadline_ns) {
        give_up(comm, now_ns);
    } else if (comm->state == TRIB_COMM_PROBING) {
        trib_comm_check_paths(comm, now_ns);
    } else if (comm->state == TRIB_COMM_CONNECTING && now_ns >= comm->retry_ns) {
        trib_comm_connect_again(comm, now_ns);
    }
}

uint64_t trib_comm_session_deadline(const struct trib_comm *comm)
{
    if (has_answer(comm)) {
        return 0;
    }
    uint64_t deadline_ns = trib_comm_ping_deadline(comm);
    switch (comm->state) {
    case TRIB_COMM_CONNECTING:
        deadline_ns = trib_time_earlier(deadline_ns, comm->retry_ns);
        break;
    case TRIB_COMM_PROBING:
        deadline_ns = trib_time_earlier(deadline_ns, trib_comm_paths_deadline(comm));
        break;
    case TRIB_COMM_JOINING:
    case TRIB_COMM_MEETING:
    case TRIB_COMM_REGISTERING:
        break;
    case TRIB_COMM_NONE:
    case TRIB_COMM_RUNNING:
    case TRIB_COMM_CLOSED:
    case TRIB_COMM_FAILED:
        return deadline_ns;
    }
    return trib_time_earlier(deadline_ns, comm->state_deadline_ns);
}
