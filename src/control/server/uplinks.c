/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.c: see uplinks.h. A connection that has ended is freed in trib_uplinks_sweep only, never in the middle of a
 * call: so its user may send on any, and end any, at any time. */
#include "control/server/uplinks.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/ping.h"
#include "control/words/session_client.h"
#include "io/clock.h"

#define TRY_NS (250 * TRIB_MILLISECOND_NS) /* a try to connect may go without an answer; the rank tries again */
#define SILENCE_NS \
    (10 * TRIB_SECOND_NS) /* a parent whose machine died is noticed after so long, well before its ranks give up */
#define GOODBYE_NS (250 * TRIB_MILLISECOND_NS)

/* An agent hears of each rank of many communicators at once, for each of its roots. */
#define TELL_MAX ((size_t)8192 * TRIB_MESSAGE_MAX)

struct trib_uplink {
    struct trib_link link;      /* first: it is found in its connection by a cast */
    struct trib_remote *remote; /* NULL: it is a link; set: `link` is not used */
    struct trib_session_client client;
    struct trib_ping ping;
    uint64_t deadline_ns; /* of connecting, or of ending */
    bool is_told;         /* its user knows that it stands */
    bool is_ending;       /* its user has let it go */
};

static struct trib_uplink *uplink_of(struct trib_link *link)
{
    return (struct trib_uplink *)(void *)link;
}

/* Data and sessions of a relay must come from one address, or the parent would not know them as one. */
static void choose_local(struct trib_address *local, const struct trib_address *listen)
{
    *local = *listen;
    local->len = trib_address_is_any(listen) ? 0 : listen->len;
    trib_address_set_port(local, 0);
}

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, const struct trib_server_config *config)
{
    memset(uplinks, 0, sizeof *uplinks);
    uplinks->jobs = jobs;
    uplinks->parent = config->parent;
    choose_local(&uplinks->local, &config->listen);
    uplinks->is_located = uplinks->local.len > 0;
}

/* Texts name this switch before its first connection stands. Without a way to the parent there is no address; then the
 * next try may find one. */
static void locate(struct trib_uplinks *uplinks)
{
    struct trib_address local;
    if (trib_nics_source(&uplinks->parent, &local)) {
        trib_relay_locate(uplinks->jobs, &local);
        uplinks->is_located = true;
    }
}

static struct trib_uplink *add(struct trib_uplinks *uplinks, const struct trib_address *to,
                               const struct trib_address *local)
{
    struct trib_uplink *uplink = uplinks->count < TRIB_CONNECTIONS_MAX ? calloc(1, sizeof *uplink) : NULL;
    if (!uplink) {
        return NULL;
    }
    trib_session_client_init(&uplink->client);
    trib_ping_init(&uplink->ping, uplinks->jobs->config->ping_gap_ns);
    trib_session_client_open(&uplink->client, to, local, SILENCE_NS);
    uplink->deadline_ns = uplinks->now_ns + TRY_NS;
    uplinks->all[uplinks->count++] = uplink;
    return uplink;
}

struct trib_link *trib_uplinks_open(void *uplinks)
{
    struct trib_uplinks *all = uplinks;
    if (!all->is_located) {
        locate(all);
    }
    struct trib_uplink *uplink = add(all, &all->parent, all->local.len > 0 ? &all->local : NULL);
    return uplink ? &uplink->link : NULL;
}

bool trib_uplinks_dial(void *uplinks, struct trib_remote *remote)
{
    struct trib_uplink *uplink = add(uplinks, &remote->address, NULL);
    if (!uplink) {
        return false;
    }
    uplink->client.out_max = TELL_MAX;
    uplink->remote = remote;
    remote->line = uplink;
    return true;
}

void trib_uplinks_send(void *uplinks, struct trib_link *link, const struct trib_message *message)
{
    (void)uplinks;
    trib_session_client_send(&uplink_of(link)->client, message);
}

void trib_uplinks_tell(void *uplinks, struct trib_remote *remote, const struct trib_message *message)
{
    struct trib_uplink *uplink = remote->line;
    (void)uplinks;
    trib_session_client_send(&uplink->client, message);
}

void trib_uplinks_ping(void *uplinks, struct trib_link *link)
{
    const struct trib_uplinks *all = uplinks;
    trib_ping_begin(&uplink_of(link)->ping, all->now_ns);
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

void trib_uplinks_end(void *uplinks, struct trib_link *link)
{
    end(uplinks, uplink_of(link));
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

static void tell_connected(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    struct trib_address local = {.len = sizeof local.storage};
    uplink->is_told = true;
    if (uplink->remote) {
        trib_switches_connected(uplinks->jobs, uplink->remote);
        return;
    }
    (void)getsockname(uplink->client.fd, (struct sockaddr *)(void *)&local.storage, &local.len);
    trib_relay_connected(uplinks->jobs, &uplink->link, &local);
}

static void tell_lost(const struct trib_uplinks *uplinks, struct trib_uplink *uplink, bool is_foreign)
{
    const char *cause = uplink->client.cause;
    if (uplink->remote) {
        trib_switches_lost(uplinks->jobs, uplink->remote, cause, is_foreign, uplinks->now_ns);
    } else {
        trib_relay_lost(uplinks->jobs, &uplink->link, cause, is_foreign, uplinks->now_ns);
    }
}

/* PING and PONG. False: it is neither. */
static bool take_ping(const struct trib_uplinks *uplinks, struct trib_uplink *uplink,
                      const struct trib_message *message)
{
    trib_ping_heard(&uplink->ping, TRIB_NEVER);
    if (message->kind == TRIB_MESSAGE_PING) {
        const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message->ping};
        trib_session_client_send(&uplink->client, &answer);
        if (!uplink->remote) {
            trib_relay_pinged_from_above(uplinks->jobs, &uplink->link);
        }
    }
    return message->kind == TRIB_MESSAGE_PING || message->kind == TRIB_MESSAGE_PONG;
}

/* Hands over what has come, until one message ends the link. */
static void take_messages(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    struct trib_message message;
    if (!uplink->is_ending && !uplink->is_told && uplink->client.state == TRIB_SESSION_OPEN) {
        tell_connected(uplinks, uplink);
    }
    while (!uplink->is_ending && uplink->is_told && trib_session_client_next(&uplink->client, &message)) {
        if (take_ping(uplinks, uplink, &message)) {
            continue;
        }
        if (uplink->remote) {
            trib_switches_answer(uplinks->jobs, uplink->remote, &message, uplinks->now_ns);
        } else {
            trib_relay_answer(uplinks->jobs, &uplink->link, &message, uplinks->now_ns);
        }
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
}

/* Only while connecting, asking and ending is time a matter of ours; what has ended is swept at once, as no descriptor
 * will tell of it. */
static uint64_t uplink_timeout(const struct trib_uplink *uplink)
{
    if (uplink->client.fd < 0) {
        return 0;
    }
    bool is_bounded = uplink->is_ending || uplink->client.state == TRIB_SESSION_CONNECTING;
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

/* Its time is up, or it is asked again. */
static void take_time(const struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    if (uplink->is_ending || uplink->client.state != TRIB_SESSION_OPEN) {
        trib_session_client_lose(&uplink->client, "no answer");
        return;
    }
    struct trib_message question;
    trib_ping_ask(&uplink->ping, uplink->client.fd, uplinks->now_ns, &question);
    if (trib_ping_is_silent(&uplink->ping, TRIB_PING_LIMIT * uplink->ping.gap_ns)) {
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

void trib_uplinks_sweep(struct trib_uplinks *uplinks, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        struct trib_uplink *uplink = uplinks->all[i];
        take_messages(uplinks, uplink); /* one that connected at once, or what came before the loss */
        bool is_foreign = uplink->client.state == TRIB_SESSION_FOREIGN;
        if (!uplink->is_ending && (is_foreign || uplink->client.state == TRIB_SESSION_LOST)) {
            tell_lost(uplinks, uplink, is_foreign);
        }
    }
    for (uint32_t i = 0; i < uplinks->count; i++) { /* the end of one may have ended others, before it as well */
        struct trib_uplink *uplink = uplinks->all[i];
        if (uplink->is_ending && uplink->client.fd < 0) {
            uplinks->all[i--] = uplinks->all[--uplinks->count];
            free(uplink);
        }
    }
}

void trib_uplinks_deinit(struct trib_uplinks *uplinks)
{
    struct pollfd *fds = calloc((size_t)uplinks->count + 1, sizeof *fds);
    uint64_t end_ns = trib_clock_ns() + GOODBYE_NS;
    for (uint64_t now_ns = trib_clock_ns(); fds && uplinks->count > 0 && now_ns < end_ns; now_ns = trib_clock_ns()) {
        uint32_t count = trib_uplinks_poll(uplinks, fds);
        (void)poll(fds, count, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_uplinks_ready(uplinks, fds, count, trib_clock_ns());
        trib_uplinks_sweep(uplinks, trib_clock_ns());
    }
    free(fds);
    for (uint32_t i = 0; i < uplinks->count; i++) {
        trib_session_client_close(&uplinks->all[i]->client);
        free(uplinks->all[i]);
    }
    uplinks->count = 0;
}
