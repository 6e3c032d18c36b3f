/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: the rank's side of the dialogue with the control plane (control/words/words.h): getting in, getting back
 * in after the switch went away, marks, stalls, getting out.
 *
 *   state        leaves on                     to
 *   CONNECTING   TCP connected, JOIN sent      JOINING
 *   JOINING      WELCOME                       PROBING; first MEETING, of ranks of this host; REGISTERING when it has run before
 *   PROBING      all paths tried               REGISTERING
 *   REGISTERING  READY                         RUNNING
 *   RUNNING      CLOSED                        CLOSED
 *   JOINING      AWAY, RING                    CONNECTING, with the deadline that it had there
 *   any          session lost                  CONNECTING, until its deadline
 *   any          FAIL, deadline                FAILED; of a switch that is gone for good CONNECTING, elsewhere (move.c)
 * Read next: session_client.c (the connection), paths.c (PROBING), communicator.c (the rest of a communicator). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/communicator.h"
#include "comm/environment.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/units.h"

#define RETRY_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define RETRY_LAST_NS (100 * TRIB_MILLISECOND_NS)
/* Who was there before holds up an operation, so it looks more often: a restart must cost little more than itself. */
#define RETURN_LAST_NS (10 * TRIB_MILLISECOND_NS)
/* A switch that is there but takes no JOIN, since one above it is away, is not to be overrun. */
#define REFUSED_LAST_NS (50 * TRIB_MILLISECOND_NS)
/* How long a try may go without an answer. A machine that is off answers nothing, and the kernel asks after 1, 3, 7 s
 * ... only. */
#define TRY_NS (250 * TRIB_MILLISECOND_NS)
#define HINT_GAP_NS (100 * TRIB_MILLISECOND_NS)

/* ---- messages out ---- */

static void name_ports(const struct trib_comm *comm, struct trib_message *message)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < comm->endpoint->shard_count; i++) {
        const struct trib_channel *channel = &comm->endpoint->shards[i];
        struct trib_address local;
        if (channel->is_wide == trib_comm_is_wide(comm)) {
            trib_port_local(channel->port, &local);
            message->join.data_port[count++] = trib_address_port(&local);
        }
    }
    message->join.roots = trib_comm_is_wide(comm) ? 0 : count;
    message->join.address_count = (uint8_t)comm->endpoint->nics.count;
    memcpy(message->join.address, comm->endpoint->nics.at, sizeof message->join.address);
}

static void send_join(struct trib_comm *comm)
{
    const struct trib_config *config = &comm->config;
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(message.join.job, sizeof message.join.job, "%s", config->job);
    (void)snprintf(message.join.run, sizeof message.join.run, "%s", config->run);
    message.join.rank = config->rank;
    name_ports(comm, &message);
    /* After a restart the switch goes on by multicast only if it did before; who saw no READY tries it as the first
     * time. */
    message.join.multicast = comm->was_running ? comm->is_multicast : config->multicast;
    (void)snprintf(message.join.settings.scheme, sizeof message.join.settings.scheme, "%s",
                   comm->asked[0] != '\0' ? comm->asked : config->scheme);
    message.join.settings.ranks = config->ranks;
    message.join.settings.payload = config->payload;
    message.join.settings.window = config->window;
    message.join.settings.wire = (uint8_t)config->wire;
    message.join.settings.fallback = config->fallback;
    message.join.settings.gradient_bytes = config->gradient_bytes;
    message.join.is_ring = comm->asked[0] != '\0';
    message.join.meet_port = comm->where.no_box || config->rank != 0 ? 0 : trib_embedded_port(comm->embedded);
    message.join.host = trib_host_digest(config);
    message.join.level0 = config->level0;
    if (comm->has_moved) {
        trib_comm_keep_hosts(comm, &message);
    }
    if (comm->where.no_box && trib_own_root_is_open(&comm->endpoint->own_root)) {
        message.join.weight = (uint8_t)config->root_weight;
        message.join.root_port = trib_own_root_port(&comm->endpoint->own_root);
        message.join.room = trib_plane_receive_room(comm->endpoint->own_root.plane);
    }
    if (comm->has_peers) {
        message.join.room = trib_port_receive_room(comm->endpoint->wide->port);
    }
    message.join.maker = comm->made_by;
    message.join.known = comm->grant;
    message.join.was_ready = comm->was_running;
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_tell_mark(struct trib_comm *comm, enum trib_message_kind kind)
{
    struct trib_message message = {.kind = kind};
    message.mark.mark = comm->node != NULL ? comm->verbs->mark(comm->node) : trib_level0_mark(comm);
    comm->told_mark = message.mark.mark;
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_tell_close(struct trib_comm *comm)
{
    bool is_in = comm->state >= TRIB_COMM_JOINING && comm->state <= TRIB_COMM_RUNNING;
    if (comm->is_closing && comm->was_running && is_in) {
        trib_comm_tell_mark(comm, TRIB_MESSAGE_CLOSE);
    }
}

void trib_comm_register(struct trib_comm *comm)
{
    comm->state = TRIB_COMM_REGISTERING;
    comm->retry_ns = TRIB_NEVER; /* the next probe's: the rank would be awake from then on until all have registered */
    trib_comm_tell_mark(comm, TRIB_MESSAGE_REGISTER);
}

static void send_operation(struct trib_comm *comm, uint64_t sequence)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_OPERATION};
    message.operation.sequence = sequence;
    trib_comm_describe(comm, sequence, message.operation.text, sizeof message.operation.text);
    trib_session_client_send(&comm->session, &message);
}

/* The session is the truth about boots, but a machine that lost its power resets no connection until it is spoken
 * to. */
void trib_comm_hint_boot(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->state == TRIB_COMM_RUNNING && !comm->is_closing && now_ns >= comm->boot_hint_ns + HINT_GAP_NS) {
        comm->boot_hint_ns = now_ns;
        trib_comm_tell_mark(comm, TRIB_MESSAGE_MARK);
    }
}

/* ---- connecting ---- */

/* Who comes from a switch is known to others by the address of this session, and sends from that of the wide socket,
 * which was bound when another communicator of the process moved, elsewhere perhaps. NULL: as the routes choose. */
static const struct trib_address *local_of(const struct trib_comm *comm, struct trib_address *local)
{
    bool has_said = comm->endpoint->nics.count > 0 && !comm->where.no_box; /* in JOIN: any way leads to the switch */
    if (!trib_comm_is_wide(comm) || comm->endpoint->where.no_box || has_said) {
        return NULL;
    }
    trib_port_local(comm->endpoint->wide->port, local);
    trib_address_set_port(local, 0);
    return trib_address_is_any(local) ? NULL : local;
}

static void try_connecting(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_address local;
    comm->retry_ns = now_ns + TRY_NS;
    trib_session_client_open(&comm->session, &comm->where.address, local_of(comm, &local),
                             comm->config.switch_timeout_ns);
    comm->polled_fd = -2; /* the new descriptor may have the old one's number */
    trib_comm_session_ready(comm, 0, now_ns);
}

void trib_comm_reconnect(struct trib_comm *comm, uint64_t now_ns)
{
    comm->state = TRIB_COMM_CONNECTING;
    comm->state_deadline_ns = comm->outage_deadline_ns;
    comm->retry_gap_ns = RETRY_FIRST_NS;
    try_connecting(comm, now_ns);
}

void trib_comm_join(struct trib_comm *comm, uint64_t now_ns)
{
    comm->waits_ns = now_ns;
    comm->outage_deadline_ns = trib_time_after(now_ns, comm->config.join_timeout_ns);
    trib_comm_reconnect(comm, now_ns);
    trib_comm_settle(comm, now_ns);
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

/* Our time is up at until_ns. */
static uint64_t hearing_time(const struct trib_comm *comm, uint64_t until_ns)
{
    return trib_time_after(until_ns, trib_time_to_hear(comm->config.join_timeout_ns));
}

static void connected(struct trib_comm *comm, uint64_t now_ns)
{
    comm->state = TRIB_COMM_JOINING;
    comm->retry_ns = TRIB_NEVER;
    uint64_t until_ns = comm->was_running ? trib_comm_return_time(comm, now_ns) : comm->outage_deadline_ns;
    comm->state_deadline_ns = hearing_time(comm, until_ns);
    if (trib_comm_may_move(comm)) {
        comm->state_deadline_ns = trib_time_earlier(trib_comm_move_time(comm, now_ns), comm->state_deadline_ns);
    }
    trib_ping_heard(&comm->ping, now_ns + comm->ping.gap_ns);
    send_join(comm);
    trib_comm_tell_close(comm); /* its time may be over before READY, and would be taken for its death */
}

static void wait_and_retry(struct trib_comm *comm, uint64_t longest_ns, uint64_t now_ns)
{
    comm->session.state = TRIB_SESSION_CLOSED; /* but its cause is kept, for texts */
    comm->state = TRIB_COMM_CONNECTING;
    comm->retry_ns = now_ns + comm->retry_gap_ns;
    comm->retry_gap_ns = trib_time_earlier(2 * comm->retry_gap_ns, longest_ns);
}

static void begin_outage(struct trib_comm *comm, uint64_t now_ns)
{
    comm->waits_ns = trib_time_earlier(comm->waits_ns, now_ns);
    comm->outage_deadline_ns =
        trib_time_earlier(trib_time_after(now_ns, comm->config.switch_timeout_ns), trib_comm_last_outage_time(comm));
}

/* Without a switch the control plane lives and dies with rank 0. What it had let in cannot come back. */
static bool ends_with_session(const struct trib_comm *comm)
{
    return comm->where.no_box && (comm->state == TRIB_COMM_PROBING || comm->state == TRIB_COMM_REGISTERING ||
                                  comm->state == TRIB_COMM_RUNNING);
}

static void leave(struct trib_comm *comm)
{
    comm->state = TRIB_COMM_CLOSED;
    comm->state_deadline_ns = TRIB_NEVER;
    comm->retry_ns = TRIB_NEVER;
    trib_session_client_close(&comm->session);
    trib_comm_forget_root(comm);
    atomic_store_explicit(&comm->ended, true, memory_order_release);
    trib_endpoint_wake(comm->endpoint);
}

static void fail_for_host(struct trib_comm *comm)
{
    const char *cause = comm->session.cause;
    if (comm->is_over) {
        trib_comm_fail(comm, TRIB_ERR_PEER, "%s, and the process at %s, where the control plane was, has ended: %s",
                       comm->left, comm->where.name, cause);
    } else if (comm->is_derived) {
        trib_comm_fail(comm, TRIB_ERR_PEER, "the process at %s, where the control plane was, is gone: %s",
                       comm->where.name, cause);
    } else {
        trib_comm_fail(comm, TRIB_ERR_PEER, "rank 0 is gone, and the control plane in its process at %s with it: %s",
                       comm->where.name, cause);
    }
}

/* The session broke: nothing that was sent counts until the control plane has confirmed a boot again. */
static void lost(struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t longest_ns = comm->was_running ? RETURN_LAST_NS : RETRY_LAST_NS;
    if (ends_with_session(comm) && comm->is_over && trib_comm_is_idle(comm)) {
        trib_log(TRIB_LOG_INFO, "job %s rank %u: %s, and its control plane has ended", comm->config.job,
                 comm->config.rank, comm->left);
        leave(comm);
        return;
    }
    if (ends_with_session(comm)) {
        fail_for_host(comm);
        return;
    }
    if (comm->state == TRIB_COMM_JOINING) {
        longest_ns = REFUSED_LAST_NS; /* it is there, and let nobody in */
    }
    if (comm->state != TRIB_COMM_CONNECTING) {
        trib_log(comm->was_running && comm->state != TRIB_COMM_JOINING ? TRIB_LOG_WARN : TRIB_LOG_INFO,
                 "job %s rank %u: session with %s lost: %s; trying again", comm->config.job, comm->config.rank,
                 comm->where.name, comm->session.cause);
        if (comm->state != TRIB_COMM_JOINING) {
            comm->retry_gap_ns = RETRY_FIRST_NS;
        }
        if (comm->was_running) {
            begin_outage(comm, now_ns);
        }
        comm->state_deadline_ns = comm->outage_deadline_ns;
        if (comm->node != NULL) {
            comm->verbs->suspend(comm->node);
        }
    }
    comm->away[0] = '\0';
    trib_comm_forget_root(comm);
    if (comm->is_closing && trib_comm_is_done_ring(comm)) {
        comm->close_deadline_ns = trib_time_earlier(trib_comm_close_time(comm, now_ns), comm->close_deadline_ns);
    }
    if (comm->state == TRIB_COMM_CONNECTING && !comm->was_running && comm->retry_gap_ns < RETRY_LAST_NS &&
        2 * comm->retry_gap_ns >= RETRY_LAST_NS) {
        char limit[TRIB_UNITS_TEXT_MAX];
        trib_format_duration(comm->config.join_timeout_ns, limit);
        bool is_said = comm->config.rank != 0 && getenv(TRIB_ENVIRONMENT_CHECKED) != NULL;
        trib_log(is_said ? TRIB_LOG_INFO : TRIB_LOG_WARN, "job %s rank %u: no %s at %s yet: %s; trying for %s",
                 comm->config.job, comm->config.rank, comm->where.no_box ? "rank 0" : "switch", comm->where.name,
                 comm->session.cause, limit);
    }
    wait_and_retry(comm, longest_ns, now_ns);
}

/* Other ranks may not have asked yet, and the switch may run again: it lets them all go then, so that they follow. */
static void say_moving(struct trib_comm *comm)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_GONE, .note = {.is_lost = true}};
    (void)snprintf(message.note.text, sizeof message.note.text,
                   "rank %u had no answer from this switch, and goes on without it", comm->config.rank);
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_lose_silent(struct trib_comm *comm, uint64_t now_ns)
{
    bool was_registered = comm->state == TRIB_COMM_RUNNING;
    uint64_t since_ns = comm->ping.since_ns;
    if (was_registered && trib_comm_may_move(comm)) {
        say_moving(comm);
    }
    trib_session_client_close(&comm->session);
    (void)snprintf(comm->session.cause, sizeof comm->session.cause, TRIB_PING_SILENT);
    lost(comm, now_ns);
    if (comm->was_running && !trib_comm_has_ended(comm)) { /* the time that it has to come back is over */
        comm->waits_ns = trib_time_earlier(comm->waits_ns, since_ns);
        comm->outage_deadline_ns = comm->state_deadline_ns = now_ns;
    }
}

static void connect_again(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->session.state != TRIB_SESSION_CONNECTING) {
        try_connecting(comm, now_ns);
        return;
    }
    trib_session_client_close(&comm->session);
    (void)snprintf(comm->session.cause, sizeof comm->session.cause, "no answer");
    lost(comm, now_ns);
}

/* The switch is there, but one above it is not: as good as being away itself. */
static void take_away(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    if (comm->away[0] == '\0') {
        trib_log(TRIB_LOG_WARN, "job %s rank %u: %s; trying again", comm->config.job, comm->config.rank,
                 message->note.text);
    }
    trib_session_client_close(&comm->session);
    memcpy(comm->away, message->note.text, sizeof comm->away);
    comm->state_deadline_ns = comm->outage_deadline_ns;
    wait_and_retry(comm, REFUSED_LAST_NS, now_ns);
}

/* ---- WELCOME ---- */

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
        message->welcome.generation_ranks != comm->config.ranks || !trib_hosts_are_sane(message)) {
        return false;
    }
    return known->communicator == 0 ||
           (grant->communicator == known->communicator && grant->salt == known->salt && grant->key == known->key &&
            grant->job_token == known->job_token && grant->generation == known->generation &&
            grant->roots == known->roots && grant->train == known->train && grant->slots == known->slots &&
            memcmp(grant->weight, known->weight, sizeof grant->weight) == 0 &&
            memcmp(grant->switches, known->switches, sizeof grant->switches) == 0);
}

/* A rank that looks for a switch has found rank 0, or the other way about. */
static void refuse_place(struct trib_comm *comm)
{
    const char *name = comm->where.name;
    if (comm->where.no_box) {
        trib_comm_fail_all(comm, TRIB_ERR_SETTINGS,
                           "rank %u: at the rendezvous %s is a switch, not rank 0: name it as the switch "
                           "(TRIB_SWITCH=%s), or give rank 0 a port of its own",
                           comm->config.rank, name, name);
    } else {
        trib_comm_fail_all(comm, TRIB_ERR_SETTINGS,
                           "rank %u: at %s is no switch, but rank 0 of a job without one: name it as the rendezvous "
                           "(TRIB_RENDEZVOUS=%s)",
                           comm->config.rank, name, name);
    }
}

static void take_welcome(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!is_sane(comm, message)) {
        trib_comm_fail(comm, TRIB_ERR_REFUSED, "the %s granted what may not be granted", comm->where.title);
        return;
    }
    if (!comm->has_peers && comm->where.no_box != message->welcome.no_box) {
        refuse_place(comm);
        return;
    }
    if (!trib_level0_begin(comm, message)) {
        trib_comm_fail_all(comm, TRIB_ERR_REFUSED, "rank %u: ranks are not on the hosts that they were on",
                           comm->config.rank);
        return;
    }
    enum trib_status status = trib_comm_take_places(comm, message, cause);
    if (status == TRIB_OK && comm->node == NULL && trib_comm_has_worker(comm)) {
        status = trib_comm_make_node(comm, &message->welcome.grant);
    }
    if (status != TRIB_OK) {
        trib_comm_fail_all(comm, status, "rank %u: %s", comm->config.rank,
                           status == TRIB_ERR_MEMORY ? "out of memory for a worker" : cause);
        return;
    }
    comm->away[0] = '\0';
    if (comm->was_running) { /* nobody who was waited for has gone on without this one */
        comm->state_deadline_ns = hearing_time(comm, trib_comm_return_time(comm, now_ns));
    }
    bool is_new = comm->grant.communicator == 0;
    comm->grant = message->welcome.grant;
    trib_comm_learn_meeting(comm, &message->welcome.meeting);
    if (is_new) {
        trib_endpoint_enter(comm->endpoint, comm);
    }
    trib_comm_join_root(comm);
    if (comm->has_moved && comm->node != NULL) {
        trib_comm_shrink_window(comm, &comm->grant);
    }
    if (comm->was_running && !comm->has_moved && trib_comm_knows_peers(comm)) { /* no way leads over what was away */
        trib_comm_register(comm);
    } else if (trib_level0_must_meet(comm)) {
        comm->state = TRIB_COMM_MEETING;
        atomic_store_explicit(&comm->joined, true, memory_order_release); /* who creates it does that: comm.c */
        trib_endpoint_wake(comm->endpoint);
    } else {
        trib_comm_begin_probing(comm);
    }
}

/* ---- READY, and what comes while running ---- */

static void take_ready(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    if (message->ready.boot == 0) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    comm->state = TRIB_COMM_RUNNING;
    comm->state_deadline_ns = TRIB_NEVER;
    comm->waits_ns = TRIB_NEVER;
    comm->retry_ns = TRIB_NEVER;
    comm->stalls_open = 0;
    comm->grant.boot = message->ready.boot;
    comm->is_multicast = message->ready.multicast && (comm->group_count > 0 || !trib_comm_has_worker(comm));
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

/* The switch lets go what is being made, which its maker will take along when it is told so as well. */
static void await_maker(struct trib_comm *comm, const char *text, uint64_t now_ns)
{
    trib_session_client_close(&comm->session);
    (void)snprintf(comm->session.cause, sizeof comm->session.cause, "%.100s", text);
    lost(comm, now_ns);
}

static void take_fail(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    int32_t status = message->fail.status;
    bool known = status < 0 && status >= TRIB_ERR_CHECK;
    if (status == TRIB_ERR_SWITCH &&
        trib_comm_may_move(comm)) { /* it, or one above it, shuts down: all ranks are told */
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

static void take_closed(struct trib_comm *comm)
{
    if (!comm->is_closing) {
        trib_comm_fail(comm, TRIB_ERR_CLOSED, "the %s closed the communicator", comm->where.title);
        return;
    }
    leave(comm);
}

/* One rank has closed, and nothing that it took part in is unfinished anywhere. */
static void take_gone(struct trib_comm *comm, const struct trib_message *message)
{
    if (!comm->where.no_box) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    comm->is_over = true;
    (void)snprintf(comm->left, sizeof comm->left, "%.150s", message->note.text);
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

void trib_comm_refuse_turn(struct trib_comm *comm, enum trib_message_kind kind)
{
    if (trib_message_is_of(kind, TRIB_SENDER_CONTROL)) {
        trib_comm_fail(comm, TRIB_ERR_REFUSED, "the %s said %s out of turn", comm->where.title,
                       trib_message_name(kind));
    } else {
        trib_comm_fail(comm, TRIB_ERR_REFUSED,
                       "%s: unexpected message %s: not a Tributary switch, or one of another version", comm->where.name,
                       trib_message_name(kind));
    }
}

static void take_message(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    trib_ping_heard(&comm->ping, now_ns + comm->ping.gap_ns);
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
        send_operation(comm, message->describe.sequence);
        return;
    case TRIB_MESSAGE_MISSING:
        trib_comm_take_missing(comm, message);
        return;
    case TRIB_MESSAGE_AWAY:
        take_away(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_RING:
        trib_comm_take_ring(comm, message, now_ns);
        return;
    case TRIB_MESSAGE_FAIL:
        take_fail(comm, message, now_ns);
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
        trib_comm_take_root(comm, message);
        return;
    default: /* PONG: it was heard */
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
        connected(comm, now_ns);
    }
    while (trib_session_client_next(&comm->session, &message)) {
        take_message(comm, &message, now_ns);
    }
    if (comm->session.state == TRIB_SESSION_FOREIGN) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s unreachable: %s", comm->where.title, comm->session.cause);
    }
    if (comm->session.state == TRIB_SESSION_LOST && comm->state != TRIB_COMM_FAILED &&
        comm->state != TRIB_COMM_CLOSED) {
        lost(comm, now_ns);
    }
    comm->dirty = true;
    trib_endpoint_awaken(comm);
}

/* ---- time ---- */

const char *trib_comm_cause(const struct trib_comm *comm)
{
    return comm->session.cause[0] != '\0' ? comm->session.cause : "no answer"; /* the first try is under way */
}

char *trib_comm_say_waited(const struct trib_comm *comm, uint64_t now_ns, char *text)
{
    char waited[TRIB_UNITS_TEXT_MAX];
    char limit[TRIB_UNITS_TEXT_MAX];
    bool is_outage = comm->was_running && comm->state == TRIB_COMM_CONNECTING;
    trib_format_duration(now_ns - comm->waits_ns, waited);
    trib_format_duration(is_outage ? comm->config.switch_timeout_ns : comm->config.join_timeout_ns, limit);
    (void)snprintf(text, TRIB_COMM_WAITED_MAX, "; waited %s (TRIB_%s_TIMEOUT is %s)", waited,
                   is_outage ? "SWITCH" : "JOIN", limit);
    return text;
}

static void give_up(struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    const char *cause = trib_comm_cause(comm);
    char waited[TRIB_COMM_WAITED_MAX];
    bool is_connecting = comm->state == TRIB_COMM_CONNECTING;
    if (comm->was_running) {
        trib_comm_give_up_return(comm, now_ns);
        return;
    }
    (void)trib_comm_say_waited(comm, now_ns, waited);
    if (!is_connecting && comm->ping.silent > 1) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s: %s", comm->where.title, TRIB_PING_SILENT);
    } else if (is_connecting && comm->away[0] != '\0') {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%.400s%s", comm->away, waited);
    } else if (is_connecting) {
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s unreachable: %s; is %s running there?", comm->where.title, cause,
                       comm->where.no_box ? "rank 0" : "`tributary switch`");
    } else {
        trib_comm_fail(comm, TRIB_ERR_TIMEOUT, "not all %u ranks of job %s joined at %s%s", config->ranks, config->job,
                       comm->where.title, waited);
    }
}

/* A rank that was off its core past a deadline has an answer in its socket, perhaps: that comes first, or the cause
 * would be wrong. */
static void look_first(struct trib_comm *comm, uint64_t now_ns)
{
    struct pollfd session = {.fd = comm->session.fd, .events = trib_session_client_interest(&comm->session)};
    if (session.fd >= 0 && poll(&session, 1, 0) > 0) {
        trib_comm_session_ready(comm, session.revents, now_ns);
    }
}

void trib_comm_session_timeout(struct trib_comm *comm, uint64_t now_ns)
{
    bool must_ask = now_ns >= trib_comm_ping_deadline(comm);
    if (!trib_comm_has_ended(comm) && (must_ask || now_ns >= comm->state_deadline_ns)) {
        look_first(comm, now_ns);
    }
    if (must_ask && now_ns >= trib_comm_ping_deadline(comm)) {
        trib_comm_ping(comm, now_ns);
    }
    if (trib_comm_has_ended(comm)) {
        return;
    }
    bool is_outside = comm->state == TRIB_COMM_CONNECTING || comm->state == TRIB_COMM_JOINING;
    if (now_ns >= comm->state_deadline_ns && is_outside && trib_comm_may_move(comm)) {
        trib_comm_move(comm, now_ns);
    } else if (now_ns >= comm->state_deadline_ns) {
        give_up(comm, now_ns);
    } else if (comm->state == TRIB_COMM_PROBING) {
        trib_comm_check_paths(comm, now_ns);
    } else if (comm->state == TRIB_COMM_CONNECTING && now_ns >= comm->retry_ns) {
        connect_again(comm, now_ns);
    }
}

uint64_t trib_comm_session_deadline(const struct trib_comm *comm)
{
    if (trib_comm_has_ended(comm)) {
        return TRIB_NEVER;
    }
    uint64_t deadline_ns = trib_time_earlier(comm->state_deadline_ns, trib_comm_ping_deadline(comm));
    return trib_time_earlier(deadline_ns,
                             comm->state == TRIB_COMM_PROBING ? trib_comm_paths_deadline(comm) : comm->retry_ns);
}
