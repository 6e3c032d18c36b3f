/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c: see remote.h. */
#include "control/agents/remote.h"

#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "io/clock.h"

#define DIAL_GAP_FIRST_NS (25 * TRIB_MILLISECOND_NS)
#define DIAL_GAP_MAX_NS TRIB_SECOND_NS
#define HURRY_NS (50 * TRIB_MILLISECOND_NS) /* between the beginnings of two tries, while a communicator waits */
#define ANSWER_NS TRIB_SECOND_NS            /* from dialling to HELLO */

void trib_remote_init(struct trib_remote *remote, const struct trib_address *address,
                      const struct trib_remote_output *output)
{
    char text[64];
    *remote = (struct trib_remote){.output = output, .address = *address, .gap_ns = DIAL_GAP_FIRST_NS};
    trib_address_format(address, text);
    (void)snprintf(remote->name, sizeof remote->name, "switch %s", text);
}

void trib_remote_connected(struct trib_remote *remote, uint16_t port, uint64_t id, uint64_t nonce)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_CONTROL,
                                         .control = {.magic = TRIB_SESSION_MAGIC,
                                                     .version = TRIB_SESSION_VERSION,
                                                     .wire_version = TRIB_WIRE_VERSION,
                                                     .port = port,
                                                     .id = id,
                                                     .nonce = nonce}};
    TRIB_ASSERT(remote->state == TRIB_REMOTE_DIALLED);
    remote->state = TRIB_REMOTE_ASKED;
    remote->nonce = nonce;
    remote->output->send(remote->output->owner, remote, &message);
}

/* An agent that names 0.0.0.0 has the dialled address. */
static bool take_hello(struct trib_remote *remote, const struct trib_message *message)
{
    struct trib_address at[TRIB_ROOTS_MAX];
    if (message->hello.nonce != remote->nonce || message->hello.shards == 0 || message->hello.room == 0 ||
        message->hello.weight == 0) {
        return false;
    }
    for (uint32_t i = 0; i < message->hello.shards; i++) {
        at[i] = message->hello.at[i];
        uint16_t port = trib_address_port(&at[i]);
        if (port == 0 || at[i].storage.ss_family != remote->address.storage.ss_family ||
            trib_address_is_group(&at[i])) {
            return false;
        }
        at[i] = trib_address_is_any(&at[i]) ? remote->address : at[i];
        trib_address_set_port(&at[i], port);
    }
    memcpy(remote->at, at, message->hello.shards * sizeof at[0]);
    remote->life = message->hello.life;
    remote->room = message->hello.room;
    remote->weight = message->hello.weight;
    remote->shards = message->hello.shards;
    remote->state = TRIB_REMOTE_USABLE;
    remote->gap_ns = DIAL_GAP_FIRST_NS;
    return true;
}

bool trib_remote_receive(struct trib_remote *remote, const struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_HELLO && remote->state == TRIB_REMOTE_ASKED) {
        return take_hello(remote, message);
    }
    if (message->kind == TRIB_MESSAGE_ROOM && remote->state == TRIB_REMOTE_USABLE && message->room.room != 0) {
        remote->room = message->room.room;
        return true;
    }
    return false;
}

void trib_remote_end(struct trib_remote *remote, bool may_hurry, uint64_t now_ns)
{
    if (remote->state != TRIB_REMOTE_AWAY) {
        remote->output->end(remote->output->owner, remote);
    }
    remote->line = NULL;
    remote->state = TRIB_REMOTE_AWAY;
    remote->gap_ns = may_hurry ? remote->gap_ns : DIAL_GAP_MAX_NS;
    remote->dial_ns = now_ns + remote->gap_ns;
    remote->gap_ns = 2 * remote->gap_ns < DIAL_GAP_MAX_NS ? 2 * remote->gap_ns : DIAL_GAP_MAX_NS;
}

void trib_remote_hurry(struct trib_remote *remote, uint64_t now_ns)
{
    uint64_t next_ns = remote->tried_ns + HURRY_NS;
    uint64_t soon_ns = now_ns + TRIB_MILLISECOND_NS; /* the caller is handling a timeout */
    if (remote->state == TRIB_REMOTE_AWAY) {
        remote->dial_ns = trib_time_earlier(remote->dial_ns, next_ns > soon_ns ? next_ns : soon_ns);
    }
}

uint64_t trib_remote_timeout(const struct trib_remote *remote)
{
    if (remote->state == TRIB_REMOTE_AWAY) {
        return remote->dial_ns;
    }
    return remote->state == TRIB_REMOTE_USABLE ? TRIB_NEVER : remote->tried_ns + ANSWER_NS;
}

bool trib_remote_on_timeout(struct trib_remote *remote, uint64_t now_ns)
{
    if (remote->state != TRIB_REMOTE_AWAY) {
        return false;
    }
    TRIB_ASSERT(!remote->line); /* C-17: the session before has ended */
    remote->tried_ns = now_ns;
    if (!remote->output->open(remote->output->owner, remote)) {
        return false;
    }
    remote->state = TRIB_REMOTE_DIALLED;
    return true;
}
