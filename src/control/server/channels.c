/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c: see channels.h. */
#include "control/server/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/jobs.h"
#include "control/jobs/ping.h"
#include "control/roots/leaves.h"
#include "control/server/accept.h"
#include "control/server/connections.h"
#include "io/clock.h"
#include "io/draw.h"
#include "io/explain.h"

#define ANSWER_NS TRIB_SECOND_NS /* in which a live process of an older connection answers */
/* All ranks of a switch come at once; then many jobs a second are plenty. */
#define CHANNEL_GAP_NS TRIB_MILLISECOND_NS
#define CHANNELS_AT_ONCE TRIB_CONNECTIONS_MAX

enum below_state {
    BELOW_WAITS = 0,  /* an older connection of another life is being asked */
    BELOW_CHALLENGED, /* PROOF is awaited */
    BELOW_PROVED
};

struct trib_below {
    struct trib_message hello;
    struct trib_remote *remote; /* PROVED: the switch as an agent */
    uint64_t identity;
    uint64_t life;
    uint32_t attempt;
    enum below_state state;
    uint64_t nonce;
    bool is_asked;   /* PROVED: by PING, for a new connection with the same identity; nothing has come since */
    uint64_t asked;  /* WAITS, CHALLENGED: the life of the asked switch */
    uint32_t number; /* highest number of a channel so far */
};

/* ---- finding ---- */

static struct trib_connection *channel_at(const struct trib_connection *connection, uint32_t index)
{
    return trib_connection_of_channel(connection->carried.at[index]);
}

static struct trib_connection *find(const struct trib_connection *connection, uint32_t number)
{
    struct trib_mux_channel *found = trib_mux_find(&connection->carried, number);
    struct trib_connection *channel = found ? trib_connection_of_channel(found) : NULL;
    return channel && channel->state != CONNECTION_BROKEN ? channel : NULL;
}

/* True if both have one identity, or one place to send from, which only one process at a time has. */
static bool is_same_switch(const struct trib_connection *one, const struct trib_connection *two)
{
    return one->below->identity == two->below->identity ||
           (one->over == two->over && trib_address_same_host(&one->session.peer, &two->session.peer) &&
            trib_address_port(&one->below->hello.hello.at[0]) == trib_address_port(&two->below->hello.hello.at[0]));
}

/* True for a usable connection of the same switch, by identity or by place. An ending connection may still be
 * usable. */
static bool is_before(const struct trib_connection *other, const struct trib_connection *connection)
{
    return other != connection && other->below && other->below->remote && is_same_switch(other, connection);
}

/* The older connection of the same switch, which can be asked by PING. NULL: none. */
static struct trib_connection *find_before(const struct trib_connections *connections,
                                           const struct trib_connection *connection)
{
    for (uint32_t i = 0; i < connections->count; i++) {
        struct trib_connection *other = connections->all[i];
        if (is_before(other, connection) && other->state == CONNECTION_OPEN) {
            return other;
        }
    }
    return NULL;
}

/* ---- the way in: HELLO and PROOF ---- */

static void challenge(struct trib_connections *connections, struct trib_connection *connection)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_CHALLENGE};
    connection->below->state = BELOW_CHALLENGED;
    connection->asked_ns = TRIB_NEVER;
    connection->below->nonce = trib_draw();
    message.proof.nonce = connection->below->nonce;
    trib_connection_say(connections, connection, &message);
    trib_connection_flush(connections, connection);
    trib_connection_watch(connections, connection);
}

/* Asks whether the older process with the same identity still lives. */
static void ask(struct trib_connections *connections, struct trib_connection *connection, struct trib_connection *other)
{
    const struct trib_message question = {.kind = TRIB_MESSAGE_PING};
    connection->asked_ns = connections->now_ns + ANSWER_NS;
    connection->below->asked = other->below->life;
    other->below->is_asked = true;
    trib_connection_say(connections, other, &question);
    trib_connection_flush(connections, other);
    trib_connection_watch(connections, connection);
}

/* False: the way of the switch's connection is a loop, or too long. */
static bool is_way(const struct trib_connections *connections, const struct trib_connection *connection,
                   const struct trib_message *message, char *text)
{
    uint32_t count = 1;
    char from[64];
    bool is_twice = message->hello.identity == connections->jobs->config->identity;
    if (is_twice) {
        trib_explain(text, "a switch cannot be its own parent, nor can two have one identity: see --identity");
        return false;
    }
    for (const struct trib_connection *at = connection->over; at; at = at->over) {
        is_twice = is_twice || at->below->identity == message->hello.identity;
        count++;
    }
    if (is_twice) {
        trib_address_format(&connection->session.peer, from);
        trib_explain(text, "the switch at %s is below itself, over %u switches (is one of them its own parent?)", from,
                     count);
        return false;
    }
    if (count > TRIB_HOPS_MAX) {
        trib_explain(text, "hops %u: a switch comes over more than %d switches (is one of them its own parent?)", count,
                     TRIB_HOPS_MAX);
        return false;
    }
    return true;
}

static bool take_hello(struct trib_connections *connections, struct trib_connection *connection,
                       const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    if (message->hello.identity == 0) { /* ranks with identity 0 would count as direct ranks (struct trib_rank, via) */
        trib_connection_fail(connections, connection, TRIB_ERR_INVALID, "identity: 0 is no switch's: see --identity");
        return true;
    }
    const char *unfit = trib_leaves_explain_unfit(connections->jobs, message, &connection->session);
    if (unfit) {
        trib_connection_fail(connections, connection, TRIB_ERR_REFUSED, unfit);
        return true;
    }
    if (!is_way(connections, connection, message, text)) {
        trib_connection_fail(connections, connection, TRIB_ERR_INVALID, text);
        return true;
    }
    struct trib_below *below = calloc(1, sizeof *below);
    if (!below) {
        trib_connection_fail(connections, connection, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return true;
    }
    below->hello = *message;
    below->identity = message->hello.identity;
    below->life = message->hello.life;
    below->attempt = message->hello.attempt;
    connection->below = below;
    struct trib_connection *other = find_before(connections, connection);
    if (!other || other->below->life == below->life) {
        challenge(connections, connection);
    } else {
        ask(connections, connection, other);
    }
    return true;
}

/* Nothing is sent any more, to a switch or a channel. */
static void mark_lost(struct trib_connections *connections, struct trib_connection *connection, const char *cause)
{
    const struct trib_below *below = connection->below;
    if (below->remote) {
        trib_leaves_lose(below->remote);
    }
    for (uint32_t i = 0; i < connection->carried.count; i++) {
        struct trib_connection *channel = channel_at(connection, i);
        channel->channel.end_is_known = true;
        trib_connection_break(connections, channel, cause);
        if (channel->below) {
            mark_lost(connections, channel, cause);
        }
    }
}

static void tell_lost(struct trib_connections *connections, const struct trib_connection *connection, const char *cause)
{
    struct trib_below *below = connection->below;
    for (uint32_t i = 0; i < connection->carried.count; i++) {
        struct trib_connection *channel = channel_at(connection, i);
        if (channel->below) {
            tell_lost(connections, channel, cause);
        } else {
            trib_jobs_gone(connections->jobs, &channel->session, cause, connections->now_ns);
        }
    }
    if (below->remote) {
        trib_leaves_remove(connections->jobs, below->remote, cause, connections->now_ns);
        below->remote = NULL;
    }
    for (uint32_t i = 0; i < connection->carried.count; i++) {
        channel_at(connection, i)->session.leaf = NULL;
    }
}

static void lose(struct trib_connections *connections, struct trib_connection *connection, const char *cause)
{
    mark_lost(connections, connection, cause);
    tell_lost(connections, connection, cause);
}

/* A later connection of the same process displaces; one of another process does if the older process was asked and is
 * silent. */
static bool may_displace(const struct trib_below *below, const struct trib_below *other)
{
    return below->life == other->life ? below->attempt > other->attempt
                                      : other->is_asked && below->asked == other->life;
}

/* Ends all usable connections of the same switch. False: one connection may live, and none was ended. */
static bool displace(struct trib_connections *connections, const struct trib_connection *connection)
{
    for (uint32_t i = 0; i < connections->count; i++) {
        const struct trib_connection *other = connections->all[i];
        if (is_before(other, connection) && other->state == CONNECTION_OPEN &&
            !may_displace(connection->below, other->below)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < connections->count; i++) {
        struct trib_connection *other = connections->all[i];
        if (is_before(other, connection)) {
            trib_connection_read_last(connections, other); /* messages from before the death count */
        }
        if (is_before(other, connection)) {
            lose(connections, other, "its switch has connected anew");
            trib_connection_break(connections, other, "its switch has connected anew");
        }
    }
    return true;
}

/* False: a wrong nonce. An earlier connection of the process with the usable connection is late, and ends. */
static bool take_proof(struct trib_connections *connections, struct trib_connection *connection, uint64_t nonce)
{
    struct trib_below *below = connection->below;
    if (nonce != below->nonce) {
        return false;
    }
    if (!displace(connections, connection)) {
        trib_connection_break(connections, connection, "a later one is there");
        return true;
    }
    below->remote = trib_leaves_add(connections->jobs, &below->hello, &connection->session, connection);
    if (!below->remote) {
        trib_connection_fail(connections, connection, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return true;
    }
    below->state = BELOW_PROVED;
    connection->is_proved = true;
    connection->out.max = TRIB_TELL_MAX;
    connection->paid_ns = 0; /* HELLO was paid at the rate of a rank, which saves less */
    return true;
}

/* The older connection lives: refuses all new connections with the same identity. */
static void refuse_others(struct trib_connections *connections, struct trib_connection *connection)
{
    char a[64];
    char b[64];
    char text[TRIB_ERROR_TEXT_MAX];
    connection->below->is_asked = false;
    trib_address_format(&connection->session.peer, a);
    for (uint32_t i = 0; i < connections->count; i++) {
        struct trib_connection *other = connections->all[i];
        if (other->below && other->state == CONNECTION_OPEN && other->below->state == BELOW_WAITS &&
            is_same_switch(other, connection)) {
            trib_address_format(&other->session.peer, b);
            trib_explain(text, "the switches at %s and %s say that they are one: give them different --identity", b, a);
            trib_connection_fail(connections, other, TRIB_ERR_INVALID, text);
        }
    }
}

static void on_timeout(struct trib_connections *connections, struct trib_connection *connection)
{
    challenge(connections, connection);
}

/* ---- the way in: channels ---- */

/* Sends a last message and END to a refused channel. */
static void turn_channel_away(struct trib_connections *connections, struct trib_connection *connection, uint32_t number,
                              const struct trib_message *word)
{
    struct trib_outbox box = {.max = TRIB_MESSAGE_MAX};
    struct trib_message message;
    if (trib_outbox_add(&box, word)) {
        trib_outbox_carry(&box, number, &message);
        trib_connection_say(connections, connection, &message);
    }
    trib_outbox_drop(&box);
    message = trib_mux_end(number, false);
    trib_connection_say(connections, connection, &message);
    trib_connection_flush(connections, connection);
}

static bool begin(struct trib_connections *connections, struct trib_connection *connection,
                  const struct trib_message *message)
{
    struct trib_connection *channel = trib_connection_add(connections, -1, &connection->session.peer);
    if (!channel) {
        return false;
    }
    channel->channel.number = message->channel.number;
    if (!trib_mux_add(&connection->carried, &channel->channel)) {
        trib_connection_break(connections, channel, "the control plane is out of memory");
        return false;
    }
    channel->over = connection;
    channel->session.peer = message->channel.peer;
    channel->session.local = message->channel.local;
    channel->session.leaf = connection->below->remote;
    return true;
}

/* False: too many channels. Refused channels cost nothing; else returning ranks would exclude all other ranks. */
static bool pay_channel(const struct trib_connections *connections, struct trib_connection *connection)
{
    bool is_paid = trib_connection_pay(connections, connection, CHANNEL_GAP_NS, CHANNELS_AT_ONCE * CHANNEL_GAP_NS);
    connection->paid_ns -= is_paid ? 0 : CHANNEL_GAP_NS;
    return is_paid;
}

static void take_channel(struct trib_connections *connections, struct trib_connection *connection,
                         const struct trib_message *message)
{
    struct trib_below *below = connection->below;
    uint32_t number = message->channel.number;
    bool is_share = false;
    struct trib_message word = {.kind = TRIB_MESSAGE_AWAY};
    if (number <= below->number) { /* an error of an open channel, or late */
        struct trib_connection *channel = find(connection, number);
        if (channel) {
            trib_connection_reject(connections, channel, &connections->stats.rejected_turn, "its channel began twice");
        }
        return;
    }
    below->number = number;
    if (!pay_channel(connections, connection)) { /* as by ranks that are turned away and come again */
        trib_explain(word.note.text, "more than 1000 sessions a second come over one switch: come again later");
        turn_channel_away(connections, connection, number, &word);
    } else if (trib_connections_lack_room(connections, &connection->session.peer, &is_share) ||
               !begin(connections, connection, message)) {
        trib_connections_explain_room(connections, &connection->session.local, is_share, word.note.text);
        turn_channel_away(connections, connection, number, &word);
    }
}

static void take_end(struct trib_connections *connections, struct trib_connection *channel, bool is_lost)
{
    channel->channel.end_is_known = true;
    trib_connection_break(connections, channel, "its session closed");
    if (channel->below) {
        lose(connections, channel, "its session closed");
    } else if (is_lost) {
        trib_jobs_gone(connections->jobs, &channel->session, "its session closed", connections->now_ns);
    } else {
        trib_jobs_expel(connections->jobs, &channel->session, "its session closed", connections->now_ns);
    }
}

/* BYTES and END of a closed channel have no effect: the peer may not have read END yet. */
static void take_of_channel(struct trib_connections *connections, struct trib_connection *connection,
                            const struct trib_message *message)
{
    uint32_t number = message->kind == TRIB_MESSAGE_BYTES ? message->bytes.number : message->end.number;
    struct trib_connection *channel = find(connection, number);
    if (!channel) {
        return;
    }
    if (message->kind == TRIB_MESSAGE_BYTES) {
        trib_connection_feed(connections, channel, message->bytes.bytes, message->bytes.count);
    } else {
        take_end(connections, channel, message->end.is_lost);
    }
}

/* PING of a switch below, on behalf of ranks of any job. */
static void take_ping(struct trib_connections *connections, struct trib_connection *connection,
                      const struct trib_message *message)
{
    const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message->ping};
    trib_connection_say(connections, connection, &answer);
    trib_connection_flush(connections, connection);
    for (uint32_t i = 0; i < connection->carried.count; i++) {
        trib_jobs_pinged(connections->jobs, &channel_at(connection, i)->session, connections->now_ns);
    }
}

static enum trib_stage stage_of(const struct trib_below *below)
{
    if (!below) {
        return TRIB_STAGE_FIRST;
    }
    return below->state == BELOW_PROVED ? TRIB_STAGE_WELCOMED : TRIB_STAGE_JOINING;
}

static bool receive(struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message)
{
    struct trib_below *below = connection->below;
    if (!trib_message_is_in_turn(message->kind, TRIB_SENDER_LEAF, stage_of(below))) {
        return false;
    }
    if (below && below->is_asked) {
        refuse_others(connections, connection);
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_HELLO:
        return take_hello(connections, connection, message);
    case TRIB_MESSAGE_PROOF:
        return below->state == BELOW_CHALLENGED && take_proof(connections, connection, message->proof.nonce);
    case TRIB_MESSAGE_CHANNEL:
        take_channel(connections, connection, message);
        return true;
    case TRIB_MESSAGE_PING:
        take_ping(connections, connection, message);
        return true;
    case TRIB_MESSAGE_PONG:
        return true;
    case TRIB_MESSAGE_BYTES:
    case TRIB_MESSAGE_END:
        take_of_channel(connections, connection, message);
        return true;
    default:
        return trib_leaves_answer(connections->jobs, below->remote, message, connections->now_ns);
    }
}

static bool may_say(const struct trib_connections *connections, struct trib_connection *connection,
                    const struct trib_message *message)
{
    bool is_of_channel = message->kind == TRIB_MESSAGE_CHANNEL || message->kind == TRIB_MESSAGE_BYTES ||
                         message->kind == TRIB_MESSAGE_END;
    return is_of_channel ||
           trib_connection_pay(connections, connection, CHANNEL_GAP_NS, CHANNELS_AT_ONCE * CHANNEL_GAP_NS);
}

/* ---- the end ---- */

static void forget_channel(struct trib_connections *connections, struct trib_connection *channel)
{
    trib_mux_remove(&channel->over->carried, &channel->channel);
    if (!channel->channel.end_is_known) {
        const struct trib_message message = trib_mux_end(channel->channel.number, false);
        trib_connection_say(connections, channel->over, &message);
        trib_connection_flush(connections, channel->over);
    }
}

static void forget(struct trib_connections *connections, struct trib_connection *connection)
{
    if (connection->over) {
        forget_channel(connections, connection);
    }
    if (connection->below) {
        lose(connections, connection, connection->cause);
        for (uint32_t i = 0; i < connection->carried.count; i++) {
            channel_at(connection, i)->over = NULL; /* the channel is swept later, or is being freed */
        }
        free(connection->carried.at);
        free(connection->below);
    }
}

/* ---- struct trib_remote_output of switches below ---- */

void trib_channels_tell(void *connections, struct trib_remote *remote, const struct trib_message *message)
{
    trib_connection_say(connections, remote->line, message);
    trib_connection_flush(connections, remote->line);
}

void trib_channels_ping(void *connections, struct trib_remote *remote)
{
    struct trib_connection *connection = remote->line;
    trib_connections_ping(connections, &connection->session);
}

const struct trib_channel_verbs trib_channels = {
    .receive = receive,
    .may_say = may_say,
    .lose = lose,
    .on_timeout = on_timeout,
    .forget = forget,
};
