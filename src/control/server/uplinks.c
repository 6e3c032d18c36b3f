/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.c: see uplinks.h. An ended connection or channel is freed only in trib_uplinks_sweep, never in the middle of
 * a call. So callers may send on any connection, or end any connection, at any time. */
#include "control/server/uplinks.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/server/passes.h"
#include "io/clock.h"
#include "io/explain.h"

#define GOODBYE_NS (250 * TRIB_MILLISECOND_NS)

/* Least time between two tries with a silent parent, since all ranks come at once, and often. */
#define AWAY_NS (25 * TRIB_MILLISECOND_NS)

/* Data and sessions of a switch below must come from one address, which identifies the switch to the parent. */
static void choose_local(struct trib_address *local, const struct trib_address *listen)
{
    *local = *listen;
    local->len = trib_address_is_any(listen) ? 0 : listen->len;
    trib_address_set_port(local, 0);
}

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, struct trib_connections *connections,
                       const struct trib_server_config *config)
{
    memset(uplinks, 0, sizeof *uplinks);
    uplinks->jobs = jobs;
    uplinks->connections = connections;
    trib_passes_init(uplinks);
    uplinks->parent = config->parent;
    trib_address_format(&config->parent, uplinks->name);
    choose_local(&uplinks->local, &config->listen);
    if (uplinks->local.len > 0) {
        jobs->masters.here = config->listen;
    }
}

void trib_uplinks_begin(struct trib_uplinks *uplinks, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    if (uplinks->parent.len > 0 && !uplinks->trunk) {
        trib_trunk_begin(uplinks);
    }
}

void trib_uplinks_tell_above(void *uplinks, const struct trib_message *message)
{
    struct trib_uplinks *all = uplinks;
    if (trib_trunk_stands(all)) {
        trib_session_client_send(&all->trunk->client, message);
    }
}

void trib_uplinks_say_bye(struct trib_uplinks *uplinks, enum trib_status status, const char *text)
{
    struct trib_message bye = {.kind = TRIB_MESSAGE_BYE, .fail = {.status = status}};
    trib_explain(bye.fail.text, "%s", text);
    trib_uplinks_tell_above(uplinks, &bye);
}

/* ---- agents ---- */

bool trib_uplinks_dial(void *uplinks, struct trib_remote *remote)
{
    struct trib_uplink *uplink = trib_uplink_add(uplinks, &remote->address, NULL);
    if (!uplink) {
        return false;
    }
    uplink->client.out.max = TRIB_TELL_MAX;
    uplink->remote = remote;
    remote->line = uplink;
    return true;
}

void trib_uplinks_tell(void *uplinks, struct trib_remote *remote, const struct trib_message *message)
{
    struct trib_uplink *uplink = remote->line;
    (void)uplinks;
    trib_session_client_send(&uplink->client, message);
}

void trib_uplinks_ping_remote(void *uplinks, struct trib_remote *remote)
{
    const struct trib_uplinks *all = uplinks;
    struct trib_uplink *uplink = remote->line;
    trib_ping_begin(&uplink->ping, all->now_ns);
}

static void end(const struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    uplink->is_ending = true;
    uplink->deadline_ns = uplinks->now_ns + TRIB_DRAIN_WAIT_NS;
    trib_session_client_end(&uplink->client);
}

void trib_uplinks_hang_up(void *uplinks, struct trib_remote *remote)
{
    struct trib_uplink *uplink = remote->line;
    end(uplinks, uplink);
}

uint32_t trib_uplinks_poll(const struct trib_uplinks *uplinks, struct pollfd *fds)
{
    for (uint32_t i = 0; i < uplinks->count; i++) {
        const struct trib_session_client *client = &uplinks->all[i]->client;
        fds[i] = (struct pollfd){.fd = client->fd, .events = trib_session_client_interest(client)};
    }
    return uplinks->count;
}

/* ---- the way in: the trunk ---- */

static void greet(struct trib_uplinks *uplinks, struct trib_uplink *trunk)
{
    const struct trib_jobs *jobs = uplinks->jobs;
    const struct trib_server_config *config = jobs->config;
    struct trib_message hello = trib_masters_hello(&jobs->masters, jobs->life, config->receive_room);
    for (uint32_t i = 0; i < config->shards && config->also.count == 0; i++) { /* where the connection comes from */
        struct trib_address *at = &hello.hello.at[i];
        uint16_t port = trib_address_port(at);
        memset(&at->storage, 0, sizeof at->storage);
        at->storage.ss_family = config->parent.storage.ss_family;
        trib_address_set_port(at, port);
    }
    hello.hello.attempt = ++uplinks->attempts;
    hello.hello.path = trib_passes_first_waiting(uplinks);
    trunk->is_greeted = true;
    trunk->deadline_ns = uplinks->now_ns + TRIB_PING_LIMIT * trunk->ping.gap_ns;
    trib_session_client_send(&trunk->client, &hello);
}

/* The parent accepts this switch as an agent. */
static void take_challenge(struct trib_uplinks *uplinks, struct trib_uplink *trunk, uint64_t nonce)
{
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = {.nonce = nonce}};
    struct trib_address local = {.len = sizeof local.storage};
    if (getsockname(trunk->client.fd, (struct sockaddr *)(void *)&local.storage, &local.len) == 0) {
        trib_trunk_locate(uplinks, &local);
    }
    if (!trib_masters_add_above(&uplinks->jobs->masters)) {
        trib_session_client_lose(&trunk->client, "the control plane is out of memory");
        return;
    }
    trib_session_client_send(&trunk->client, &proof);
    trunk->is_told = true;
    trib_jobs_say(uplinks->jobs, TRIB_LOG_INFO, "switch %s, the parent, answers", uplinks->name);
    uplinks->away[0] = '\0';
    uplinks->away_ns = 0;
    uplinks->is_silent = false;
}

/* Waiting ranks are told the cause; without ranks, the cause goes to the log. */
static void note_refusal(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const char *text)
{
    char here[96];
    trib_explain(uplinks->away, "switch %s, the parent of %s, refuses: %.300s", uplinks->name,
                 trib_masters_name_here(&uplinks->jobs->masters, here), text);
    trunk->is_refused = true;
    if (!trib_passes_have_ranks(uplinks)) {
        trib_jobs_say(uplinks->jobs, TRIB_LOG_WARN, "%s", uplinks->away);
    }
}

/* The parent refuses this switch, and so each connection that waits for the parent. */
static void take_refusal(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    struct trib_message word = *message;
    char here[96];
    if (message->kind == TRIB_MESSAGE_FAIL && message->fail.status == TRIB_ERR_VERSION) {
        trib_explain(word.fail.text, "switch %s, the parent of %s: %.300s", uplinks->name,
                     trib_masters_name_here(&uplinks->jobs->masters, here), message->fail.text);
    }
    if (!trunk->is_told) {
        note_refusal(uplinks, trunk, message->kind == TRIB_MESSAGE_FAIL ? message->fail.text : message->note.text);
        trib_passes_end_all(uplinks, &word);
    }
    trib_session_client_lose(&trunk->client, "connection closed");
}

static struct trib_master *master_above(const struct trib_uplinks *uplinks)
{
    struct trib_master *master = uplinks->jobs->masters.first;
    while (master && master->session) {
        master = master->next;
    }
    return master;
}

/* False: a message out of turn. */
static bool take_of_trunk(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    enum trib_stage stage = trunk->is_told ? TRIB_STAGE_WELCOMED : TRIB_STAGE_JOINING;
    struct trib_master *master = NULL;
    if (!trib_message_is_in_turn(message->kind, TRIB_SENDER_UPPER, stage)) {
        return false;
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_CHALLENGE:
        take_challenge(uplinks, trunk, message->proof.nonce);
        return true;
    case TRIB_MESSAGE_FAIL:
    case TRIB_MESSAGE_AWAY:
        take_refusal(uplinks, trunk, message);
        return true;
    case TRIB_MESSAGE_BYTES:
        trib_passes_take_bytes(uplinks, message);
        return true;
    case TRIB_MESSAGE_END:
        trib_passes_take_end(uplinks, message);
        return true;
    case TRIB_MESSAGE_MISSING:
        (void)snprintf(uplinks->silent, sizeof uplinks->silent, "%s", message->stall.where);
        uplinks->is_named = true;
        return true;
    default:
        master = master_above(uplinks);
        if (master) {
            trib_masters_receive(&uplinks->jobs->masters, master, message);
        }
        return true;
    }
}

static void take_nonsense(struct trib_uplink *trunk, enum trib_message_kind kind)
{
    char cause[128];
    (void)snprintf(cause, sizeof cause,
                   "unexpected message %s: not a Tributary switch, or one of another version or state",
                   trib_message_name(kind));
    trib_session_client_refuse(&trunk->client, cause);
}

/* The parent names a silent switch above before each PONG. Without a name, all above the parent answer. */
static void forget_silent(struct trib_uplinks *uplinks)
{
    if (!uplinks->is_named) {
        uplinks->silent[0] = '\0';
    }
    uplinks->is_named = false;
}

/* PING and PONG. False: another message. */
static bool take_ping(struct trib_uplinks *uplinks, struct trib_uplink *uplink, const struct trib_message *message)
{
    trib_ping_heard(&uplink->ping, TRIB_NEVER);
    if (message->kind == TRIB_MESSAGE_PONG && uplink == uplinks->trunk) {
        forget_silent(uplinks);
    }
    if (message->kind == TRIB_MESSAGE_PING) {
        const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message->ping};
        trib_session_client_send(&uplink->client, &answer);
    }
    return message->kind == TRIB_MESSAGE_PING || message->kind == TRIB_MESSAGE_PONG;
}

static void connect_up(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    if (!uplink->remote && !uplink->is_greeted) {
        greet(uplinks, uplink);
    } else if (uplink->remote && !uplink->is_told) {
        uplink->is_told = true;
        trib_switches_connected(uplinks->jobs, uplink->remote);
    }
}

/* Hands over each whole message, until one ends the connection. */
static void take_messages(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    struct trib_message message;
    if (!uplink->is_ending && uplink->client.state == TRIB_SESSION_OPEN) {
        connect_up(uplinks, uplink);
    }
    while (!uplink->is_ending && (uplink->is_told || uplink->is_greeted) &&
           trib_session_client_next(&uplink->client, &message)) {
        if (take_ping(uplinks, uplink, &message)) {
            continue;
        }
        if (uplink->remote) {
            trib_switches_answer(uplinks->jobs, uplink->remote, &message, uplinks->now_ns);
        } else if (!take_of_trunk(uplinks, uplink, &message)) {
            take_nonsense(uplink, message.kind);
        }
        trib_message_wipe(&message);
    }
}

void trib_uplinks_ready(struct trib_uplinks *uplinks, const struct pollfd *fds, uint32_t count, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    for (uint32_t i = 0; i < count; i++) { /* new ones are added behind */
        struct trib_uplink *uplink = uplinks->all[i];
        trib_session_client_ready(&uplink->client, fds[i].revents);
        take_messages(uplinks, uplink);
    }
    trib_passes_fill(uplinks);
}

/* Time of the uplink's next deadline. Ended uplinks are due at once, as no descriptor reports the end. */
static uint64_t uplink_timeout(const struct trib_uplink *uplink)
{
    if (uplink->client.fd < 0) {
        return 0;
    }
    bool is_bounded = uplink->is_ending || !uplink->is_told;
    return is_bounded ? uplink->deadline_ns : uplink->ping.next_ns;
}

uint64_t trib_uplinks_next_timeout(const struct trib_uplinks *uplinks)
{
    uint64_t when = TRIB_NEVER;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        uint64_t next = uplink_timeout(uplinks->all[i]);
        when = next < when ? next : when;
    }
    return when;
}

/* The uplink's deadline is over, or the next PING is due. */
static void take_time(const struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    if (uplink->is_ending || !uplink->is_told) {
        uplink->is_silent = uplink->is_greeted && !uplink->is_ending;
        trib_session_client_lose(&uplink->client, uplink->is_greeted ? TRIB_PING_SILENT : "no answer");
        return;
    }
    struct trib_message question;
    trib_ping_ask(&uplink->ping, uplink->client.fd, uplinks->now_ns, &question);
    if (trib_ping_is_silent(&uplink->ping, TRIB_PING_LIMIT * uplink->ping.gap_ns)) {
        uplink->is_silent = true;
        trib_session_client_lose(&uplink->client, TRIB_PING_SILENT);
    } else {
        trib_session_client_send(&uplink->client, &question);
    }
}

void trib_uplinks_on_timeout(struct trib_uplinks *uplinks, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        struct trib_uplink *uplink = uplinks->all[i];
        if (uplink->client.fd >= 0 && now_ns >= uplink_timeout(uplink)) {
            take_time(uplinks, uplink);
        }
    }
}

static void log_loss(struct trib_uplinks *uplinks, const struct trib_uplink *trunk, const char *text)
{
    if (trunk->is_told || !trib_passes_have_ranks(uplinks)) {
        trib_jobs_say(uplinks->jobs, TRIB_LOG_WARN, "%s%s", text,
                      trunk->is_told ? "" : " (--parent; the next rank tries again)");
    }
}

/* The message for ranks with no message from the parent yet, after the loss of the parent. Without ranks the cause goes
 * to the log. */
static struct trib_message word_of_loss(struct trib_uplinks *uplinks, const struct trib_uplink *trunk)
{
    char here[96];
    (void)trib_masters_name_here(&uplinks->jobs->masters, here);
    if (trunk->client.state == TRIB_SESSION_FOREIGN) {
        struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_UNREACHABLE}};
        trib_explain(fail.fail.text, "switch %s, the parent of %s, cannot be used: %s", uplinks->name, here,
                     trunk->client.cause);
        log_loss(uplinks, trunk, fail.fail.text);
        return fail;
    }
    uplinks->away_ns = trunk->is_told ? 0 : uplinks->now_ns + AWAY_NS;
    uplinks->is_silent = trunk->is_silent;
    if (!trunk->is_refused) {
        trib_explain(uplinks->away, "switch %s, the parent of %s, %s: %s", uplinks->name, here,
                     trunk->is_told ? "is lost" : "does not answer", trunk->client.cause);
        log_loss(uplinks, trunk, uplinks->away);
    }
    return trib_trunk_away(uplinks->away);
}

static void lose_trunk(struct trib_uplinks *uplinks, struct trib_uplink *trunk)
{
    const struct trib_message word = word_of_loss(uplinks, trunk);
    struct trib_master *master = master_above(uplinks);
    trunk->is_ending = true;
    uplinks->trunk = NULL;
    uplinks->is_named = false;
    forget_silent(uplinks);
    if (master) {
        trib_masters_remove(&uplinks->jobs->masters, master);
    }
    trib_passes_end_all(uplinks, &word);
}

static void tell_lost(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    bool is_foreign = uplink->client.state == TRIB_SESSION_FOREIGN;
    if (uplink->remote) {
        trib_switches_lost(uplinks->jobs, uplink->remote, uplink->client.cause, is_foreign, uplinks->now_ns);
    } else {
        lose_trunk(uplinks, uplink);
    }
}

void trib_uplinks_sweep(struct trib_uplinks *uplinks, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        struct trib_uplink *uplink = uplinks->all[i];
        take_messages(uplinks, uplink); /* a connection may be open at once; messages from before a loss count */
        bool has_ended = uplink->client.state == TRIB_SESSION_FOREIGN || uplink->client.state == TRIB_SESSION_LOST;
        if (!uplink->is_ending && has_ended) {
            tell_lost(uplinks, uplink);
        }
    }
    trib_passes_fill(uplinks);
    trib_passes_sweep(uplinks);
    for (uint32_t i = 0; i < uplinks->count; i++) { /* one end may have ended other uplinks, also at lower indexes */
        struct trib_uplink *uplink = uplinks->all[i];
        if (uplink->is_ending && uplink->client.fd < 0) {
            uplinks->all[i--] = uplinks->all[--uplinks->count];
            trib_session_client_close(&uplink->client);
            free(uplink);
        }
    }
}

void trib_uplinks_deinit(struct trib_uplinks *uplinks)
{
    struct pollfd *fds = calloc((size_t)uplinks->count + 1, sizeof *fds);
    uint64_t end_ns = trib_clock_ns() + GOODBYE_NS;
    for (uint64_t now_ns = trib_clock_ns(); fds && uplinks->count > 0 && now_ns < end_ns; now_ns = trib_clock_ns()) {
        trib_uplinks_sweep(uplinks, now_ns);
        if (uplinks->trunk && uplinks->mux.count == 0) { /* all channels have sent END */
            end(uplinks, uplinks->trunk);
            uplinks->trunk = NULL;
        }
        uint32_t count = trib_uplinks_poll(uplinks, fds);
        (void)poll(fds, count, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_uplinks_ready(uplinks, fds, count, trib_clock_ns());
        trib_uplinks_sweep(uplinks, trib_clock_ns());
    }
    free(fds);
    trib_passes_deinit(uplinks);
    uplinks->trunk = NULL;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        trib_session_client_close(&uplinks->all[i]->client);
        free(uplinks->all[i]);
    }
    uplinks->count = 0;
}
