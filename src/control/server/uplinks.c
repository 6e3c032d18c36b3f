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
#include "io/explain.h"

#define TRY_NS (250 * TRIB_MILLISECOND_NS) /* a try to connect may go without an answer; the rank tries again */
#define SILENCE_NS (10 * TRIB_SECOND_NS)   /* then a dead machine of the parent is noticed, before ranks give up */
#define GOODBYE_NS (250 * TRIB_MILLISECOND_NS)

/* An agent hears of each rank of many communicators at once, for each of its roots. */
#define TELL_MAX ((size_t)8192 * TRIB_MESSAGE_MAX)

#define CHANNEL_MAX ((size_t)32 * TRIB_MESSAGE_MAX) /* waits for the channel of a rank; the most */
#define FILLED_MAX ((size_t)8 * TRIB_MESSAGE_MAX)   /* of channels lies on the trunk at a time */
/* A parent that did not answer is not asked again for so long: all ranks come at once, and come often. */
#define AWAY_NS (25 * TRIB_MILLISECOND_NS)

struct trib_uplink {
    struct trib_remote *remote; /* NULL: the trunk, or an earlier one */
    struct trib_session_client client;
    struct trib_ping ping;
    uint64_t deadline_ns; /* of connecting, of the answer to HELLO, or of ending */
    bool is_greeted;      /* HELLO was said */
    bool is_told;         /* the remote knows that the connection stands; of the trunk: CHALLENGE has come */
    bool is_ending;       /* the connection is of no more use */
};

/* A connection here, as a channel on the trunk. */
struct trib_pass {
    struct trib_connection *down; /* NULL: it has ended */
    uint32_t number;
    bool is_begun;   /* CHANNEL was said */
    bool has_spoken; /* bytes have come from above */
    bool is_lost;    /* on the way, and not by the peer */
    bool owes_pong;  /* PING has come from below */
    uint64_t ping;   /* its number */
    /* Of the message from above whose bytes are coming. */
    uint32_t left; /* behind its length */
    uint32_t head_len;
    uint8_t head[4];   /* its length */
    bool end_is_known; /* by the parent */
    bool is_queued;    /* bytes, or END, wait for a turn */
    struct trib_pass *next_queued;
    struct trib_address peer;
    struct trib_address local;
    struct trib_path below; /* of a switch below: the path of its HELLO, and its identity */
    struct trib_outbox out;
};

/* Data and sessions of a switch below must come from one address, by which the parent knows it. */
static void choose_local(struct trib_address *local, const struct trib_address *listen)
{
    *local = *listen;
    local->len = trib_address_is_any(listen) ? 0 : listen->len;
    trib_address_set_port(local, 0);
}

static struct trib_pass *pass_begin(void *owner, struct trib_connection *connection,
                                    const struct trib_message *message);
static bool pass_take(void *owner, struct trib_pass *pass, const uint8_t *bytes, size_t count);
static void pass_end(void *owner, struct trib_pass *pass);

void trib_uplinks_init(struct trib_uplinks *uplinks, struct trib_jobs *jobs, struct trib_connections *connections,
                       const struct trib_server_config *config)
{
    memset(uplinks, 0, sizeof *uplinks);
    uplinks->jobs = jobs;
    uplinks->connections = connections;
    uplinks->verbs = (struct trib_pass_verbs){uplinks, pass_begin, pass_take, pass_end};
    uplinks->last_queued = &uplinks->first_queued;
    uplinks->parent = config->parent;
    trib_address_format(&config->parent, uplinks->name);
    choose_local(&uplinks->local, &config->listen);
    if (uplinks->local.len > 0) {
        jobs->masters.here = config->listen;
    }
}

/* This switch is named by its address on the way to its parent. Without a way there is none; then the next try may find
 * one. */
static void locate(struct trib_uplinks *uplinks, const struct trib_address *local)
{
    uplinks->jobs->masters.here = *local;
    trib_address_set_port(&uplinks->jobs->masters.here, trib_address_port(&uplinks->jobs->config->listen));
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
    struct trib_address local;
    if (uplinks->jobs->masters.here.len == 0 && trib_nics_source(&uplinks->parent, &local)) {
        locate(uplinks, &local);
    }
    uplinks->trunk = add(uplinks, &uplinks->parent, uplinks->local.len > 0 ? &uplinks->local : NULL);
    if (uplinks->trunk) {
        uplinks->trunk->client.out.max = TELL_MAX;
    }
}

static bool make_place(struct trib_uplinks *uplinks)
{
    if (uplinks->channels < uplinks->size) {
        return true;
    }
    uint32_t size = uplinks->size > 0 ? 2 * uplinks->size : 16;
    struct trib_pass **made =
        size <= TRIB_CONNECTIONS_MAX ? realloc(uplinks->channel, size * sizeof(struct trib_pass *)) : NULL;
    if (!made) {
        return false;
    }
    uplinks->channel = made;
    uplinks->size = size;
    return true;
}

/* ---- the way out ---- */

static void begin_channel(struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_CHANNEL};
    message.channel.number = pass->number;
    message.channel.peer = pass->peer;
    message.channel.local = pass->local;
    pass->is_begun = true;
    trib_session_client_send(&uplinks->trunk->client, &message);
}

static void queue_behind(struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    pass->is_queued = true;
    pass->next_queued = NULL;
    *uplinks->last_queued = pass;
    uplinks->last_queued = &pass->next_queued;
}

/* Moves waiting bytes of channels onto the trunk, each channel in turn, up to FILLED_MAX. */
static void fill(struct trib_uplinks *uplinks)
{
    while (uplinks->first_queued && trunk_stands(uplinks) && uplinks->trunk->client.out.len < FILLED_MAX) {
        struct trib_pass *pass = uplinks->first_queued;
        struct trib_message message;
        uplinks->first_queued = pass->next_queued;
        uplinks->last_queued = uplinks->first_queued ? uplinks->last_queued : &uplinks->first_queued;
        pass->is_queued = false;
        if (pass->end_is_known) { /* END has come from above meanwhile */
            continue;
        }
        if (!pass->is_begun) {
            begin_channel(uplinks, pass);
        }
        if (pass->out.len > 0) {
            trib_outbox_carry(&pass->out, pass->number, &message);
            trib_session_client_send(&uplinks->trunk->client, &message);
        }
        if (pass->out.len > 0) {
            queue_behind(uplinks, pass);
        } else if (!pass->down) {
            message = (struct trib_message){.kind = TRIB_MESSAGE_END,
                                            .end = {.number = pass->number, .is_lost = pass->is_lost}};
            trib_session_client_send(&uplinks->trunk->client, &message);
            pass->end_is_known = true;
        }
    }
}

static void queue(struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    if (!pass->is_queued && !pass->end_is_known) {
        queue_behind(uplinks, pass);
    }
    fill(uplinks);
}

/* ---- struct trib_pass_verbs ---- */

static struct trib_message away_message(const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY};
    trib_explain(message.note.text, "%s", text);
    return message;
}

static void answer(const struct trib_uplinks *uplinks, struct trib_connection *connection,
                   const struct trib_message *message)
{
    trib_connections_send(uplinks->connections, &connection->session, message);
}

/* A switch passes HELLO on with its own identity, and so finds loops. NULL: there is none. */
static const char *pass_hello(const struct trib_uplinks *uplinks, struct trib_message *hello)
{
    struct trib_path *path = &hello->hello.path;
    uint64_t own = uplinks->jobs->config->identity;
    bool is_loop = hello->hello.identity == own;
    for (uint32_t i = 0; i < path->count; i++) {
        is_loop = is_loop || path->identity[i] == own;
    }
    if (is_loop || path->count == TRIB_HOPS_MAX) {
        return is_loop ? "the way to the parent comes back to this switch: is one of them its own parent?"
                       : "more than 16 switches are between a switch and the root: is one of them its own parent?";
    }
    path->identity[path->count++] = own;
    return NULL;
}

static struct trib_path path_of(const struct trib_message *hello)
{
    struct trib_path path = hello->hello.path;
    if (path.count < TRIB_HOPS_MAX) {
        path.identity[path.count++] = hello->hello.identity;
    }
    return path;
}

static struct trib_pass *pass_begin(void *owner, struct trib_connection *connection, const struct trib_message *message)
{
    struct trib_uplinks *uplinks = owner;
    struct trib_message first = *message;
    bool is_switch = message->kind == TRIB_MESSAGE_HELLO;
    const char *loop = is_switch ? pass_hello(uplinks, &first) : NULL;
    if (loop) {
        struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_INVALID}};
        trib_explain(fail.fail.text, "%s", loop);
        answer(uplinks, connection, &fail);
        return NULL;
    }
    if (!uplinks->trunk && uplinks->now_ns < uplinks->away_ns) {
        const struct trib_message away = away_message(uplinks->away);
        answer(uplinks, connection, &away);
        return NULL;
    }
    if (!uplinks->trunk) {
        begin_trunk(uplinks);
    }
    bool has_place = uplinks->trunk && uplinks->number < UINT32_MAX && make_place(uplinks);
    struct trib_pass *pass = has_place ? calloc(1, sizeof *pass) : NULL;
    if (!pass) {
        const struct trib_message away = away_message("the control plane is out of memory");
        answer(uplinks, connection, &away);
        return NULL;
    }
    pass->down = connection;
    pass->number = ++uplinks->number;
    pass->peer = connection->session.peer;
    pass->local = connection->session.local;
    pass->below = is_switch ? path_of(message) : (struct trib_path){0};
    pass->out.max = is_switch ? TELL_MAX : CHANNEL_MAX;
    connection->out.max = is_switch ? TELL_MAX : connection->out.max;
    uplinks->channel[uplinks->channels++] = pass;
    (void)trib_outbox_add(&pass->out, &first);
    queue(uplinks, pass);
    return pass;
}

/* Each hop answers, and asks the next one: so a silent parent is not taken for a silent switch here. PONG goes between
 * two messages from above. */
static void answer_ping(const struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    const struct trib_message pong = {.kind = TRIB_MESSAGE_PONG, .ping = {.number = pass->ping}};
    if (pass->owes_pong && pass->left == 0 && pass->head_len == 0) {
        pass->owes_pong = false;
        answer(uplinks, pass->down, &pong);
    }
}

static bool pass_take(void *owner, struct trib_pass *pass, const uint8_t *bytes, size_t count)
{
    struct trib_uplinks *uplinks = owner;
    struct trib_message message;
    size_t used = 0;
    if (bytes[4] == TRIB_MESSAGE_PING && trib_message_decode(bytes, count, &message, &used) == TRIB_OK) {
        pass->owes_pong = true;
        pass->ping = message.ping.number;
        answer_ping(uplinks, pass);
        if (trunk_stands(uplinks)) {
            trib_ping_begin(&uplinks->trunk->ping, uplinks->now_ns);
        }
        return false;
    }
    if (trib_outbox_add_bytes(&pass->out, bytes, count)) {
        queue(uplinks, pass);
    } else {
        pass->is_lost = true;
        trib_connection_break(uplinks->connections, pass->down, "its controller does not read its session");
    }
    return true;
}

static void pass_end(void *owner, struct trib_pass *pass)
{
    struct trib_uplinks *uplinks = owner;
    pass->down = NULL;
    queue(uplinks, pass);
}

/* The connection of this channel ends, after `word` unless that is NULL or something has come from above. */
static void end_down(const struct trib_uplinks *uplinks, struct trib_pass *pass, const struct trib_message *word)
{
    struct trib_connection *down = pass->down;
    pass->end_is_known = true;
    if (down) {
        down->pass = NULL;
        pass->down = NULL;
        if (word && !pass->has_spoken) {
            answer(uplinks, down, word);
        }
        trib_connections_end(uplinks->connections, &down->session);
    }
}

void trib_uplinks_tell_above(void *uplinks, const struct trib_message *message)
{
    struct trib_uplinks *all = uplinks;
    if (trunk_stands(all)) {
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

/* The first switch that waits here for the trunk, with switches that wait for that one. If this switch waits for one of
 * them, the HELLO shows the loop there. */
static struct trib_path first_waiting(const struct trib_uplinks *uplinks)
{
    uint32_t at = 0;
    while (at < uplinks->channels && uplinks->channel[at]->below.count == 0) {
        at++;
    }
    return at < uplinks->channels ? uplinks->channel[at]->below : (struct trib_path){0};
}

static void greet(struct trib_uplinks *uplinks, struct trib_uplink *trunk)
{
    const struct trib_jobs *jobs = uplinks->jobs;
    const struct trib_server_config *config = jobs->config;
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = config->identity,
                                           .life = jobs->life,
                                           .attempt = ++uplinks->attempts,
                                           .room = config->receive_room,
                                           .weight = config->weight > 0 ? config->weight : 1,
                                           .shards = (uint8_t)config->shards}};
    for (uint32_t i = 0; i < config->shards; i++) {
        struct trib_address *at = &hello.hello.at[i];
        *at = trib_server_shard(config, i);
        if (config->also.count == 0) { /* where the connection comes from */
            uint16_t port = trib_address_port(at);
            memset(&at->storage, 0, sizeof at->storage);
            at->storage.ss_family = config->parent.storage.ss_family;
            trib_address_set_port(at, port);
        }
    }
    hello.hello.path = first_waiting(uplinks);
    trunk->is_greeted = true;
    trunk->deadline_ns = uplinks->now_ns + TRIB_PING_LIMIT * trunk->ping.gap_ns;
    trib_session_client_send(&trunk->client, &hello);
}

/* The parent takes this switch for an agent. */
static void take_challenge(struct trib_uplinks *uplinks, struct trib_uplink *trunk, uint64_t nonce)
{
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = {.nonce = nonce}};
    struct trib_address local = {.len = sizeof local.storage};
    if (getsockname(trunk->client.fd, (struct sockaddr *)(void *)&local.storage, &local.len) == 0) {
        locate(uplinks, &local);
    }
    if (!trib_masters_add_above(&uplinks->jobs->masters)) {
        trib_session_client_lose(&trunk->client, "the control plane is out of memory");
        return;
    }
    trib_session_client_send(&trunk->client, &proof);
    trunk->is_told = true;
    uplinks->away[0] = '\0';
    uplinks->away_ns = 0;
}

/* The parent turns this switch away, and so each connection that waits for it. */
static void take_refusal(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    struct trib_message word = *message;
    char here[96];
    if (message->kind == TRIB_MESSAGE_FAIL && message->fail.status == TRIB_ERR_VERSION) {
        trib_explain(word.fail.text, "switch %s, the parent of %s: %.300s", uplinks->name,
                     trib_masters_name_here(&uplinks->jobs->masters, here), message->fail.text);
    }
    for (uint32_t i = 0; i < uplinks->channels && !trunk->is_told; i++) {
        end_down(uplinks, uplinks->channel[i], &word);
    }
    trib_session_client_lose(&trunk->client, "connection closed");
}

static struct trib_pass *find(const struct trib_uplinks *uplinks, uint32_t number)
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
    struct trib_pass *pass = low < uplinks->channels ? uplinks->channel[low] : NULL;
    bool is_open = pass && pass->number == number && pass->is_begun;
    return is_open && pass->down && !pass->end_is_known ? pass : NULL;
}

static struct trib_master *master_above(const struct trib_uplinks *uplinks)
{
    struct trib_master *master = uplinks->jobs->masters.first;
    while (master && master->session) {
        master = master->next;
    }
    return master;
}

/* Where messages from above end. */
static void follow(struct trib_pass *pass, const uint8_t *bytes, uint32_t count)
{
    while (count > 0) {
        uint32_t skipped = pass->left < count ? pass->left : count;
        pass->left -= skipped;
        bytes += skipped;
        count -= skipped;
        if (count > 0) {
            pass->head[pass->head_len++] = *bytes++;
            count--;
        }
        if (pass->head_len == sizeof pass->head) {
            pass->head_len = 0;
            size_t size = trib_message_size(pass->head); /* 0: the receiver ends its session there */
            pass->left = size > sizeof pass->head ? (uint32_t)(size - sizeof pass->head) : 0;
        }
    }
}

/* False: a message that has no place there. */
static bool take_of_trunk(struct trib_uplinks *uplinks, struct trib_uplink *trunk, const struct trib_message *message)
{
    enum trib_stage stage = trunk->is_told ? TRIB_STAGE_WELCOMED : TRIB_STAGE_JOINING;
    struct trib_pass *pass = NULL;
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
        pass = find(uplinks, message->bytes.number);
        if (pass) {
            pass->has_spoken = true;
            follow(pass, message->bytes.bytes, message->bytes.count);
            trib_connection_write(uplinks->connections, pass->down, message->bytes.bytes, message->bytes.count);
            answer_ping(uplinks, pass);
        }
        return true;
    case TRIB_MESSAGE_END:
        pass = find(uplinks, message->end.number);
        if (pass) {
            end_down(uplinks, pass, NULL);
        }
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
    trib_session_client_lose(&trunk->client, cause);
    trunk->client.state = TRIB_SESSION_FOREIGN;
}

/* PING and PONG. False: another message. */
static bool take_ping(struct trib_uplink *uplink, const struct trib_message *message)
{
    trib_ping_heard(&uplink->ping, TRIB_NEVER);
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
        if (take_ping(uplink, &message)) {
            continue;
        }
        if (uplink->remote) {
            trib_switches_answer(uplinks->jobs, uplink->remote, &message, uplinks->now_ns);
        } else if (!take_of_trunk(uplinks, uplink, &message)) {
            take_nonsense(uplink, message.kind);
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

/* What ranks hear of a parent that is gone before it has said anything to them. */
static struct trib_message word_of_loss(struct trib_uplinks *uplinks, const struct trib_uplink *trunk)
{
    char here[96];
    (void)trib_masters_name_here(&uplinks->jobs->masters, here);
    if (trunk->client.state == TRIB_SESSION_FOREIGN) {
        struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_UNREACHABLE}};
        trib_explain(fail.fail.text, "%s, which %s has as its parent, cannot be used: %s", uplinks->name, here,
                     trunk->client.cause);
        return fail;
    }
    trib_explain(uplinks->away, "switch %s, the parent of %s, %s: %s", uplinks->name, here,
                 trunk->is_told ? "is lost" : "does not answer", trunk->client.cause);
    uplinks->away_ns = trunk->is_told ? 0 : uplinks->now_ns + AWAY_NS;
    if (trunk->is_told) {
        trib_jobs_say(uplinks->jobs, TRIB_LOG_WARN, "%s", uplinks->away);
    }
    return away_message(uplinks->away);
}

static void lose_trunk(struct trib_uplinks *uplinks, struct trib_uplink *trunk)
{
    const struct trib_message word = word_of_loss(uplinks, trunk);
    struct trib_master *master = master_above(uplinks);
    trunk->is_ending = true;
    uplinks->trunk = NULL;
    uplinks->first_queued = NULL;
    uplinks->last_queued = &uplinks->first_queued;
    if (master) {
        trib_masters_remove(&uplinks->jobs->masters, master);
    }
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        uplinks->channel[i]->is_queued = false;
        end_down(uplinks, uplinks->channel[i], &word);
    }
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

/* Frees channels whose connection has ended, once END was sent or is needless. */
static void sweep_channels(struct trib_uplinks *uplinks)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < uplinks->channels; i++) {
        struct trib_pass *pass = uplinks->channel[i];
        bool is_over = !pass->down && !pass->is_queued && (pass->end_is_known || !uplinks->trunk);
        if (is_over) {
            trib_outbox_drop(&pass->out);
            free(pass);
        } else {
            uplinks->channel[kept++] = pass;
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
    fill(uplinks);
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
        end_down(uplinks, uplinks->channel[i], NULL);
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
