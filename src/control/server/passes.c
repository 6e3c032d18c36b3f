/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c: see passes.h. An ended channel is freed only in trib_passes_sweep, never in the middle of a call. */
#include "control/server/passes.h"
#include "control/server/connections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"

#define CHANNEL_MAX ((size_t)32 * TRIB_MESSAGE_MAX) /* waits for the channel of a rank; the most */

/* A connection here, as a channel on the trunk. */
struct trib_pass {
    struct trib_mux_channel channel; /* first, for a cast back to the pass */
    struct trib_connection *down;    /* NULL: ended */
    bool is_begun;                   /* CHANNEL was sent */
    bool has_spoken;                 /* bytes have come from above */
    bool is_lost;                    /* on the way, and not by the peer */
    bool owes_pong;                  /* PING has come from below */
    uint64_t ping;                   /* number of the PING */
    /* State of a partly received message from above. */
    uint32_t left; /* bytes left, behind the length field */
    uint32_t head_len;
    uint8_t head[4]; /* the length field */
    struct trib_address peer;
    struct trib_address local;
    struct trib_path below; /* of a switch below: the path in HELLO, and the identity */
    struct trib_outbox out;
};

static struct trib_pass *pass_of(struct trib_mux_channel *channel)
{
    return (struct trib_pass *)(void *)channel;
}

/* ---- the way out ---- */

static void begin_channel(struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_CHANNEL};
    message.channel.number = pass->channel.number;
    message.channel.peer = pass->peer;
    message.channel.local = pass->local;
    pass->is_begun = true;
    trib_session_client_send(&uplinks->trunk->client, &message);
}

/* Up to TRIB_FILLED_MAX. */
void trib_passes_fill(struct trib_uplinks *uplinks)
{
    while (uplinks->mux.first && trib_trunk_stands(uplinks) && uplinks->trunk->client.out.len < TRIB_FILLED_MAX) {
        struct trib_pass *pass = pass_of(trib_mux_take(&uplinks->mux));
        struct trib_message message;
        if (pass->channel.end_is_known) { /* END has come from above meanwhile */
            continue;
        }
        if (!pass->is_begun) {
            begin_channel(uplinks, pass);
        }
        if (pass->out.len > 0) {
            trib_outbox_carry(&pass->out, pass->channel.number, &message);
            trib_session_client_send(&uplinks->trunk->client, &message);
        }
        if (pass->out.len > 0) {
            trib_mux_queue(&uplinks->mux, &pass->channel);
        } else if (!pass->down) {
            message = trib_mux_end(pass->channel.number, pass->is_lost);
            trib_session_client_send(&uplinks->trunk->client, &message);
            pass->channel.end_is_known = true;
        }
    }
}

static void queue(struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    if (!pass->channel.end_is_known) {
        trib_mux_queue(&uplinks->mux, &pass->channel);
    }
    trib_passes_fill(uplinks);
}

/* ---- struct trib_pass_verbs ---- */

static void answer(const struct trib_uplinks *uplinks, struct trib_connection *connection,
                   const struct trib_message *message)
{
    trib_connections_send(uplinks->connections, &connection->session, message);
}

/* A switch adds its identity to HELLO and passes HELLO on, and so finds loops. NULL: no loop. */
static const char *pass_hello(const struct trib_uplinks *uplinks, struct trib_message *hello)
{
    struct trib_path *path = &hello->hello.path;
    uint64_t own = uplinks->jobs->config->identity;
    bool is_loop = hello->hello.identity == own;
    for (uint32_t i = 0; i < path->count; i++) {
        is_loop = is_loop || path->identity[i] == own;
    }
    if (is_loop || path->count == TRIB_HOPS_MAX) {
        return is_loop ? "the way to the parent comes back to this switch (is one of them its own parent?)"
                       : "more than 16 switches are between a switch and the root (is one of them its own parent?)";
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

static void discard(struct trib_pass *pass)
{
    if (pass) {
        trib_outbox_drop(&pass->out);
    }
    free(pass);
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
    bool is_paused = !uplinks->trunk && uplinks->now_ns < uplinks->away_ns;
    if (!uplinks->trunk && !is_paused) {
        trib_trunk_begin(uplinks);
    }
    if (is_paused || uplinks->is_silent) {
        const struct trib_message away = trib_trunk_away(uplinks->away);
        answer(uplinks, connection, &away);
        return NULL;
    }
    bool has_place = uplinks->trunk && uplinks->number < UINT32_MAX && uplinks->mux.count < TRIB_CONNECTIONS_MAX;
    struct trib_pass *pass = has_place ? calloc(1, sizeof *pass) : NULL;
    if (pass) {
        pass->out.max = is_switch ? TRIB_TELL_MAX : CHANNEL_MAX;
        pass->channel.number = uplinks->number + 1;
    }
    if (!pass || !trib_outbox_add(&pass->out, &first) || !trib_mux_add(&uplinks->mux, &pass->channel)) {
        discard(pass);
        const struct trib_message away = trib_trunk_away("the control plane is out of memory");
        answer(uplinks, connection, &away);
        return NULL;
    }
    pass->down = connection;
    uplinks->number++;
    pass->peer = connection->session.peer;
    pass->local = connection->session.local;
    pass->below = is_switch ? path_of(message) : (struct trib_path){0};
    connection->out.max = is_switch ? TRIB_TELL_MAX : connection->out.max;
    queue(uplinks, pass);
    return pass;
}

/* True if a message from here would not be in the middle of a message from above. */
static bool is_between(const struct trib_pass *pass)
{
    return pass->left == 0 && pass->head_len == 0;
}

/* Writes the name of a silent switch above: the parent, or the switch named by the parent; "": none. */
static void name_silent(const struct trib_uplinks *uplinks, char *text, size_t size)
{
    bool is_parent = !trib_trunk_stands(uplinks) || trib_ping_is_silent(&uplinks->trunk->ping, 0);
    (void)snprintf(text, size, is_parent ? "switch %s (its process does not answer)" : "%s",
                   is_parent ? uplinks->name : uplinks->silent);
}

static void say_silent(const struct trib_uplinks *uplinks, const struct trib_pass *pass,
                       const struct trib_message *stall)
{
    struct trib_message missing = {.kind = TRIB_MESSAGE_MISSING,
                                   .stall = {.sequence = stall->stall.sequence, .since_ms = stall->stall.since_ms}};
    if (!trib_trunk_stands(uplinks)) {
        return;
    }
    name_silent(uplinks, missing.stall.where, sizeof missing.stall.where);
    if (missing.stall.where[0] != '\0') {
        answer(uplinks, pass->down, &missing);
    }
}

/* Each hop answers, and asks the next hop: so a silent parent does not look like a silent switch here. A switch below
 * hears the name of a silent switch before PONG, for the ranks there. PONG goes between two messages from above. */
static void answer_ping(const struct trib_uplinks *uplinks, struct trib_pass *pass)
{
    const struct trib_message pong = {.kind = TRIB_MESSAGE_PONG, .ping = {.number = pass->ping}};
    const struct trib_message none = {.kind = TRIB_MESSAGE_STALL};
    if (pass->owes_pong && is_between(pass)) {
        pass->owes_pong = false;
        if (pass->below.count > 0) {
            say_silent(uplinks, pass, &none);
        }
        answer(uplinks, pass->down, &pong);
    }
}

/* If a switch above is silent, answers STALL with its name; STALL is passed on as well. A RECALL from the parent would
 * have arrived here. */
static void answer_stall(const struct trib_uplinks *uplinks, const struct trib_pass *pass,
                         const struct trib_message *stall)
{
    if (is_between(pass)) {
        say_silent(uplinks, pass, stall);
    }
}

/* A joining rank gives up, and waits a moment for the names of missing ranks. A silent switch above cannot answer. */
static void answer_abort(const struct trib_uplinks *uplinks, const struct trib_pass *pass)
{
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_TIMEOUT}};
    char silent[sizeof uplinks->silent];
    name_silent(uplinks, silent, sizeof silent);
    if (silent[0] != '\0' && !pass->has_spoken) {
        trib_explain(fail.fail.text, "nothing comes from %s", silent);
        answer(uplinks, pass->down, &fail);
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
        if (trib_trunk_stands(uplinks)) {
            trib_ping_begin(&uplinks->trunk->ping, uplinks->now_ns);
        }
        return false;
    }
    if (bytes[4] == TRIB_MESSAGE_STALL && trib_message_decode(bytes, count, &message, &used) == TRIB_OK) {
        answer_stall(uplinks, pass, &message);
    }
    if (bytes[4] == TRIB_MESSAGE_ABORT) {
        answer_abort(uplinks, pass);
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

/* Ends the channel's connection, after `word`, unless `word` is NULL or bytes have come from above. */
static void end_down(const struct trib_uplinks *uplinks, struct trib_pass *pass, const struct trib_message *word)
{
    struct trib_connection *down = pass->down;
    pass->channel.end_is_known = true;
    if (down) {
        down->pass = NULL;
        pass->down = NULL;
        if (word && !pass->has_spoken) {
            answer(uplinks, down, word);
        }
        trib_connections_end(uplinks->connections, &down->session);
    }
}

/* ---- the way in ---- */

struct trib_path trib_passes_first_waiting(const struct trib_uplinks *uplinks)
{
    uint32_t at = 0;
    while (at < uplinks->mux.count && pass_of(uplinks->mux.at[at])->below.count == 0) {
        at++;
    }
    return at < uplinks->mux.count ? pass_of(uplinks->mux.at[at])->below : (struct trib_path){0};
}

bool trib_passes_have_ranks(const struct trib_uplinks *uplinks)
{
    for (uint32_t i = 0; i < uplinks->mux.count; i++) {
        const struct trib_pass *pass = pass_of(uplinks->mux.at[i]);
        if (pass->down && pass->below.count == 0) {
            return true;
        }
    }
    return false;
}

static struct trib_pass *find(const struct trib_uplinks *uplinks, uint32_t number)
{
    struct trib_mux_channel *channel = trib_mux_find(&uplinks->mux, number);
    struct trib_pass *pass = channel ? pass_of(channel) : NULL;
    return pass && pass->is_begun && pass->down ? pass : NULL;
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
            size_t size = trib_message_size(pass->head); /* 0: the receiver ends the session there */
            pass->left = size > sizeof pass->head ? (uint32_t)(size - sizeof pass->head) : 0;
        }
    }
}

void trib_passes_take_bytes(struct trib_uplinks *uplinks, const struct trib_message *message)
{
    struct trib_pass *pass = find(uplinks, message->bytes.number);
    if (pass) {
        pass->has_spoken = true;
        follow(pass, message->bytes.bytes, message->bytes.count);
        trib_connection_write(uplinks->connections, pass->down, message->bytes.bytes, message->bytes.count);
        answer_ping(uplinks, pass);
    }
}

void trib_passes_take_end(struct trib_uplinks *uplinks, const struct trib_message *message)
{
    struct trib_pass *pass = find(uplinks, message->end.number);
    if (pass) {
        end_down(uplinks, pass, NULL);
    }
}

/* ---- the end ---- */

void trib_passes_end_all(struct trib_uplinks *uplinks, const struct trib_message *word)
{
    while (trib_mux_take(&uplinks->mux)) {
    }
    for (uint32_t i = 0; i < uplinks->mux.count; i++) {
        end_down(uplinks, pass_of(uplinks->mux.at[i]), word);
    }
}

void trib_passes_sweep(struct trib_uplinks *uplinks)
{
    struct trib_mux *mux = &uplinks->mux;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mux->count; i++) {
        struct trib_pass *pass = pass_of(mux->at[i]);
        bool end_is_known = pass->channel.end_is_known || !uplinks->trunk;
        if (!pass->down && !pass->channel.is_queued && end_is_known) {
            discard(pass);
        } else {
            mux->at[kept++] = &pass->channel;
        }
    }
    mux->count = kept;
}

void trib_passes_deinit(struct trib_uplinks *uplinks)
{
    for (uint32_t i = 0; i < uplinks->mux.count; i++) {
        struct trib_pass *pass = pass_of(uplinks->mux.at[i]);
        end_down(uplinks, pass, NULL);
        discard(pass);
    }
    free(uplinks->mux.at);
    uplinks->mux = (struct trib_mux){.count = 0};
}

static const struct trib_pass_verbs verbs = {.begin = pass_begin, .take = pass_take, .end = pass_end};

void trib_passes_init(struct trib_uplinks *uplinks)
{
    uplinks->verbs = verbs;
    uplinks->verbs.owner = uplinks;
}
