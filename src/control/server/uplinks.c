/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks.c: see uplinks.h. A connection or channel that has ended is freed in trib_uplinks_sweep only, never in the
 * middle of a call. So callers may send on any of them, or end any, at any time. */
#include "control/server/uplinks.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/ping.h"
#include "control/words/session_client.h"
#include "io/clock.h"

#define TRY_NS (250 * TRIB_MILLISECOND_NS) /* a try to connect may go without an answer; the rank tries again */
#define SILENCE_NS \
    (10 * TRIB_SECOND_NS) /* after which a dead machine of the parent is noticed, well before ranks give up */
#define GOODBYE_NS (250 * TRIB_MILLISECOND_NS)

/* An agent hears of each rank of many communicators at once, for each of its roots. */
#define TELL_MAX ((size_t)8192 * TRIB_MESSAGE_MAX)

#define CHANNEL_MAX ((size_t)32 * TRIB_MESSAGE_MAX) /* waits for a channel; the most */
#define FILLED_MAX ((size_t)8 * TRIB_MESSAGE_MAX)   /* of channels lies on the trunk at a time */
#define TRUNK_MAX ((size_t)64 * TRIB_MESSAGE_MAX)

struct trib_uplink {
    struct trib_remote *remote; /* NULL: the trunk, or an earlier one */
    struct trib_session_client client;
    struct trib_ping ping;
    uint64_t deadline_ns; /* of connecting, of the answer to HELLO, or of ending */
    bool is_greeted;      /* HELLO was said */
    bool is_told;         /* the remote, or relay, knows that the connection stands */
    bool is_ending;       /* the remote, or relay, has let go of the connection */
};

/* A link on the trunk. */
struct trib_channel {
    struct trib_link link; /* first: a cast leads from the link to the channel */
    uint32_t number;
    bool is_told;   /* the relay knows that the channel stands */
    bool is_begun;  /* CHANNEL was said */
    bool is_ending; /* the relay has let go of the link */
    bool is_over;   /* the channel has ended; the relay may not know yet */
    bool is_foreign;
    bool end_is_known; /* by the parent */
    bool is_queued;    /* bytes, or END, wait for a turn */
    struct trib_channel *next_queued;
    size_t in_len;
    struct trib_outbox out;
    char cause[128];
    uint8_t in[TRIB_MESSAGE_MAX + TRIB_CHANNEL_BYTES];
};

static struct trib_channel *channel_of(struct trib_link *link)
{
    return (struct trib_channel *)(void *)link;
}

/* Data and sessions of a relay must come from one address, by which the parent knows one switch. */
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
    uplinks->last_queued = &uplinks->first_queued;
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
    struct trib_uplink *uplink = uplinks->count < TRIB_UPLINKS_MAX ? calloc(1, sizeof *uplink) : NULL;
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

/* ---- the trunk ---- */

static bool trunk_stands(const struct trib_uplinks *uplinks)
{
    return uplinks->trunk && uplinks->trunk->is_told && uplinks->trunk->client.state == TRIB_SESSION_OPEN;
}

static void begin_trunk(struct trib_uplinks *uplinks)
{
    if (!uplinks->is_located) {
        locate(uplinks);
    }
    uplinks->trunk = add(uplinks, &uplinks->parent, uplinks->local.len > 0 ? &uplinks->local : NULL);
    if (uplinks->trunk) {
        uplinks->trunk->client.out.max = TRUNK_MAX;
    }
}

static bool make_place(struct trib_uplinks *uplinks)
{
    if (uplinks->channels < uplinks->size) {
        return true;
    }
    uint32_t size = uplinks->size > 0 ? 2 * uplinks->size : 16;
    struct trib_channel **made =
        size <= TRIB_CONNECTIONS_MAX ? realloc(uplinks->channel, size * sizeof(struct trib_channel *)) : NULL;
    if (!made) {
        return false;
    }
    uplinks->channel = made;
    uplinks->size = size;
    return true;
}

struct trib_link *trib_uplinks_open(void *uplinks)
{
    struct trib_uplinks *all = uplinks;
    if (!all->trunk) {
        begin_trunk(all);
    }
    bool has_place = all->trunk && all->number < UINT32_MAX && make_place(all);
    struct trib_channel *channel = has_place ? calloc(1, sizeof *channel) : NULL;
    if (!channel) {
        return NULL;
    }
    channel->number = ++all->number;
    channel->out.max = CHANNEL_MAX;
    all->channel[all->channels++] = channel;
    return &channel->link;
}

/* ---- the way out ---- */

static void begin_channel(struct trib_uplinks *uplinks, struct trib_channel *channel)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_CHANNEL};
    const struct trib_session *place = &channel->link.place;
    message.channel.number = channel->number;
    message.channel.peer = place->origin;
    message.channel.local = place->local;
    message.channel.path = place->path;
    channel->is_begun = true;
    trib_session_client_send(&uplinks->trunk->client, &message);
}

static void queue_behind(struct trib_uplinks *uplinks, struct trib_channel *channel)
{
    channel->is_queued = true;
    channel->next_queued = NULL;
    *uplinks->last_queued = channel;
    uplinks->last_queued = &channel->next_queued;
}

/* Moves waiting bytes of channels onto the trunk, each channel in turn, up to FILLED_MAX. */
static void fill(struct trib_uplinks *uplinks)
{
    while (uplinks->first_queued && trunk_stands(uplinks) && uplinks->trunk->client.out.len < FILLED_MAX) {
        struct trib_channel *channel = uplinks->first_queued;
        struct trib_message message;
        uplinks->first_queued = channel->next_queued;
        uplinks->last_queued = uplinks->first_queued ? uplinks->last_queued : &uplinks->first_queued;
        channel->is_queued = false;
        if (!channel->is_begun) {
            begin_channel(uplinks, channel);
        }
        if (channel->out.len > 0) {
            trib_outbox_carry(&channel->out, channel->number, &message);
            trib_session_client_send(&uplinks->trunk->client, &message);
        }
        if (channel->out.len > 0) {
            queue_behind(uplinks, channel);
        } else if (channel->is_ending) {
            message = (struct trib_message){.kind = TRIB_MESSAGE_END,
                                            .end = {.number = channel->number, .is_lost = !channel->link.is_ending}};
            trib_session_client_send(&uplinks->trunk->client, &message);
            channel->end_is_known = true;
        }
    }
}

static void queue(struct trib_uplinks *uplinks, struct trib_channel *channel)
{
    if (!channel->is_queued && !channel->end_is_known) {
        queue_behind(uplinks, channel);
    }
    fill(uplinks);
}

static void lose_channel(struct trib_channel *channel, bool is_foreign, const char *cause)
{
    if (!channel->is_over) {
        channel->is_over = true;
        channel->is_foreign = is_foreign;
        (void)snprintf(channel->cause, sizeof channel->cause, "%s", cause);
    }
}

void trib_uplinks_send(void *uplinks, struct trib_link *link, const struct trib_message *message)
{
    struct trib_channel *channel = channel_of(link);
    if (channel->is_ending || channel->is_over) {
        return;
    }
    if (!trib_outbox_add(&channel->out, message)) {
        lose_channel(channel, false, "the control plane does not read its session");
        return;
    }
    queue(uplinks, channel);
}

void trib_uplinks_end(void *uplinks, struct trib_link *link)
{
    struct trib_channel *channel = channel_of(link);
    channel->is_ending = true;
    if (channel->is_told) {
        queue(uplinks, channel);
    }
}

/* ---- agents ---- */

bool trib_uplinks_dial(void *uplinks, struct trib_remote *remote)
{
    struct trib_uplink *uplink = add(uplinks, &remote->address, NULL);
    if (!uplink) {
        return false;
    }
    uplink->client.out.max = TELL_MAX;
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

void trib_uplinks_ping(void *uplinks, struct trib_link *link)
{
    struct trib_uplinks *all = uplinks;
    (void)link; /* all are on one connection */
    if (trunk_stands(all)) {
        trib_ping_begin(&all->trunk->ping, all->now_ns);
    }
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
    const struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                       .hello = {.magic = TRIB_SESSION_MAGIC,
                                                 .version = TRIB_SESSION_VERSION,
                                                 .wire_version = TRIB_WIRE_VERSION,
                                                 .identity = jobs->config->identity,
                                                 .life = jobs->life,
                                                 .attempt = ++uplinks->attempts}};
    trunk->is_greeted = true;
    trunk->deadline_ns = uplinks->now_ns + TRIB_PING_LIMIT * trunk->ping.gap_ns;
    trib_session_client_send(&trunk->client, &hello);
}

/* All links that wait for the trunk to stand. */
static void tell_connected(struct trib_uplinks *uplinks)
{
    struct trib_address local = {.len = sizeof local.storage};
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        struct trib_channel *channel = uplinks->channel[i];
        if (!channel->is_told && !channel->is_ending && trunk_stands(uplinks)) {
            channel->is_told = true;
            (void)getsockname(uplinks->trunk->client.fd, (struct sockaddr *)(void *)&local.storage, &local.len);
            trib_relay_connected(uplinks->jobs, &channel->link, &local);
        }
    }
}

/* The parent turns this switch away, and so each of its links. */
static void take_refusal(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    for (uint32_t i = 0; i < uplinks->channels && !trunk->is_told; i++) {
        if (!uplinks->channel[i]->is_ending) {
            trib_relay_answer(uplinks->jobs, &uplinks->channel[i]->link, message, uplinks->now_ns);
        }
    }
    trib_session_client_lose(&trunk->client, "connection closed");
}

static struct trib_channel *find(const struct trib_uplinks *uplinks, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = uplinks->channels;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (uplinks->channel[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct trib_channel *channel = low < uplinks->channels ? uplinks->channel[low] : NULL;
    bool is_open = channel && channel->number == number && channel->is_begun;
    return is_open && !channel->is_ending && !channel->is_over ? channel : NULL;
}

/* Hands over each whole message of a channel, until one ends the link. */
static void take_bytes(struct trib_uplinks *uplinks, struct trib_channel *channel, const struct trib_message *carrier)
{
    struct trib_message message;
    size_t used = 1;
    size_t at = 0;
    memcpy(channel->in + channel->in_len, carrier->bytes.bytes, carrier->bytes.count);
    channel->in_len += carrier->bytes.count;
    while (!channel->is_ending && !channel->is_over && used > 0) {
        if (trib_message_decode(channel->in + at, channel->in_len - at, &message, &used) != TRIB_OK) {
            lose_channel(channel, true, "what answers there is no tributary switch of this version");
        } else if (used > 0) {
            at += used;
            trib_relay_answer(uplinks->jobs, &channel->link, &message, uplinks->now_ns);
        }
    }
    channel->in_len = used == 0 ? channel->in_len - at : 0;
    memmove(channel->in, channel->in + at, channel->in_len);
}

static void take_of_trunk(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    enum trib_stage stage = trunk->is_told ? TRIB_STAGE_WELCOMED : TRIB_STAGE_JOINING;
    bool is_in_turn = trib_message_is_in_turn(message->kind, TRIB_SENDER_UPPER, stage);
    struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = message->proof};
    struct trib_channel *channel = NULL;
    char cause[128];
    switch (is_in_turn ? (int)message->kind : TRIB_MESSAGE_NONE) {
    case TRIB_MESSAGE_CHALLENGE:
        trib_session_client_send(&trunk->client, &proof);
        trunk->is_told = true;
        return;
    case TRIB_MESSAGE_FAIL:
    case TRIB_MESSAGE_AWAY:
        take_refusal(uplinks, trunk, message);
        return;
    case TRIB_MESSAGE_BYTES:
        channel = find(uplinks, message->bytes.number);
        if (channel) {
            take_bytes(uplinks, channel, message);
        }
        return;
    case TRIB_MESSAGE_END:
        channel = find(uplinks, message->end.number);
        if (channel) {
            channel->end_is_known = true;
            lose_channel(channel, false, "connection closed");
        }
        return;
    default:
        (void)snprintf(cause, sizeof cause,
                       "unexpected message %s: not a Tributary switch, or one of another version or state",
                       trib_message_name(message->kind));
        trib_session_client_lose(&trunk->client, cause);
        trunk->client.state = TRIB_SESSION_FOREIGN;
        return;
    }
}

/* PING and PONG. False: another message. */
static bool take_ping(struct trib_uplinks *uplinks, struct trib_uplink *uplink, const struct trib_message *message)
{
    trib_ping_heard(&uplink->ping, TRIB_NEVER);
    if (message->kind == TRIB_MESSAGE_PING) {
        const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message->ping};
        trib_session_client_send(&uplink->client, &answer);
        for (uint32_t i = 0; !uplink->remote && i < uplinks->channels; i++) {
            if (!uplinks->channel[i]->is_ending) {
                trib_relay_pinged_from_above(uplinks->jobs, &uplinks->channel[i]->link);
            }
        }
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
        } else {
            take_of_trunk(uplinks, uplink, &message);
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
    fill(uplinks);
}

/* Only while connecting, asking and ending is time a matter of ours; what has ended is swept at once, as no descriptor
 * will tell of it. */
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

/* Its time is up, or it is asked again. */
static void take_time(const struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    if (uplink->is_ending || !uplink->is_told) {
        trib_session_client_lose(&uplink->client, uplink->is_greeted ? TRIB_PING_SILENT : "no answer");
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

static void tell_lost(struct trib_uplinks *uplinks, struct trib_uplink *uplink)
{
    bool is_foreign = uplink->client.state == TRIB_SESSION_FOREIGN;
    if (uplink->remote) {
        trib_switches_lost(uplinks->jobs, uplink->remote, uplink->client.cause, is_foreign, uplinks->now_ns);
        return;
    }
    uplink->is_ending = true;
    uplinks->trunk = NULL;
    uplinks->first_queued = NULL;
    uplinks->last_queued = &uplinks->first_queued;
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        uplinks->channel[i]->end_is_known = true; /* no END can be sent any more */
        uplinks->channel[i]->is_queued = false;
        lose_channel(uplinks->channel[i], is_foreign, uplink->client.cause);
    }
}

/* Tells the relay of ended channels, and frees those that the relay has let go, once END was sent or is needless. */
static void sweep_channels(struct trib_uplinks *uplinks)
{
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        struct trib_channel *channel = uplinks->channel[i];
        if (channel->is_over && !channel->is_ending) {
            trib_relay_lost(uplinks->jobs, &channel->link, channel->cause, channel->is_foreign, uplinks->now_ns);
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        struct trib_channel *channel = uplinks->channel[i];
        if (channel->is_ending && !channel->is_queued && (channel->end_is_known || !channel->is_begun)) {
            trib_outbox_drop(&channel->out);
            free(channel);
        } else {
            uplinks->channel[kept++] = channel;
        }
    }
    uplinks->channels = kept;
}

void trib_uplinks_sweep(struct trib_uplinks *uplinks, uint64_t now_ns)
{
    uplinks->now_ns = now_ns;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        struct trib_uplink *uplink = uplinks->all[i];
        take_messages(uplinks, uplink); /* a connection may stand at once; messages from before a loss count */
        bool has_ended = uplink->client.state == TRIB_SESSION_FOREIGN || uplink->client.state == TRIB_SESSION_LOST;
        if (!uplink->is_ending && has_ended) {
            tell_lost(uplinks, uplink);
        }
    }
    tell_connected(uplinks);
    sweep_channels(uplinks);
    for (uint32_t i = 0; i < uplinks->count; i++) { /* the end of one may have ended others, before it as well */
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
        if (uplinks->trunk && uplinks->channels == 0) { /* all channels have sent END */
            end(uplinks, uplinks->trunk);
            uplinks->trunk = NULL;
        }
        uint32_t count = trib_uplinks_poll(uplinks, fds);
        (void)poll(fds, count, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_uplinks_ready(uplinks, fds, count, trib_clock_ns());
        trib_uplinks_sweep(uplinks, trib_clock_ns());
    }
    free(fds);
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        trib_outbox_drop(&uplinks->channel[i]->out);
        free(uplinks->channel[i]);
    }
    free(uplinks->channel);
    uplinks->channel = NULL;
    uplinks->channels = 0;
    uplinks->size = 0;
    uplinks->trunk = NULL;
    for (uint32_t i = 0; i < uplinks->count; i++) {
        trib_session_client_close(&uplinks->all[i]->client);
        free(uplinks->all[i]);
    }
    uplinks->count = 0;
}
