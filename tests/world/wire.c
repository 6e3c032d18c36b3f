/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: the connections of control planes: two streams of encoded messages, each message with a delay, whose ends
 * travel in order with them. Read next: control.c (who speaks). */
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct world_wire *wire_create(struct world *world, uint16_t below, uint16_t at, uint16_t above)
{
    bool is_of_rank = below == UINT16_MAX;
    size_t size = is_of_rank ? offsetof(struct world_wire, leaf) : sizeof(struct world_wire);
    struct world_wire *wire = world_zeroed(1, size);
    uint32_t index = 0;

    while (index < world->wire_count && world->wires[index] != NULL) {
        index++;
    }
    if (index == world->wire_count) {
        world->wires = world_grown(world->wires, world->wire_count, &world->wire_capacity, sizeof *world->wires);
        world->wire_count++;
    }
    wire->world = world;
    wire->index = index;
    wire->below = below;
    wire->at = at;
    wire->above = above;
    wire->is_of_rank = is_of_rank;
    world->wires[index] = wire;
    return wire;
}

static void drop_letters(struct world_stream *stream)
{
    while (stream->first != NULL) {
        struct world_letter *letter = stream->first;
        stream->first = letter->next;
        free(letter);
    }
}

void wire_free(struct world_wire *wire)
{
    struct world_wire *over = wire->over;

    wire->world->wires[wire->index] = NULL;
    drop_letters(&wire->stream[CONTROL_UP]);
    drop_letters(&wire->stream[CONTROL_DOWN]);
    free(wire);
    if (over != NULL) {
        over->riders--;
        wire_free_if_over(over);
    }
}

/* Nothing moves on it any more, and nobody holds it. */
void wire_free_if_over(struct world_wire *wire)
{
    if (wire->events == 0 && wire->riders == 0 && wire->stream[CONTROL_UP].is_deaf &&
        wire->stream[CONTROL_DOWN].is_deaf) {
        wire_free(wire);
    }
}

void wire_schedule(struct world_wire *wire, uint32_t kind, uint32_t way, uint64_t time_ns)
{
    wire->events++;
    world_schedule(wire->world, time_ns, (struct world_event){.kind = (uint16_t)kind, .a = wire->index, .b = way});
}

uint64_t wire_travel_ns(struct world *world)
{
    uint64_t delay = world->set.delay_ns;

    return delay + world_below(world, 4 * delay + 2 * WORLD_MS);
}

/* The trunk of a process stands when that of the process before it has ended at the root: else the root waits for it
 * (server/channels.c). (A controller's sessions are so few that a lost segment may delay all that the last one said.) */
void wire_dial(struct world_wire *wire)
{
    uint64_t before_ns = wire->remote != NULL ? 0 : wire->world->planes[wire->below].before_ns;
    uint64_t when_ns = wire->world->now_ns + wire_travel_ns(wire->world);

    wire_schedule(wire, WORLD_CONNECT, CONTROL_UP, when_ns > before_ns ? when_ns : before_ns + 1);
}

/* Over all hops. What a switch says on its trunk is not overtaken by what the trunk carries: that is behind it. */
static uint64_t arrival_ns(const struct world_wire *wire, uint32_t way, uint64_t extra_ns)
{
    uint64_t last_ns = wire->stream[way].last_ns;
    uint64_t time_ns = wire->world->now_ns + extra_ns + wire_travel_ns(wire->world);

    for (const struct world_wire *over = wire->over; over != NULL; over = over->over) {
        time_ns += wire_travel_ns(wire->world);
        last_ns = over->stream[way].last_ns > last_ns ? over->stream[way].last_ns : last_ns;
    }
    return time_ns > last_ns ? time_ns : last_ns;
}

/* message NULL: the end. */
static void put(struct world_wire *wire, uint32_t way, const struct trib_message *message, uint64_t extra_ns)
{
    struct world_stream *stream = &wire->stream[way];
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t len = message == NULL ? 0 : trib_message_encode(message, bytes);
    struct world_letter *letter = world_zeroed(1, sizeof *letter + len);

    letter->len = (uint32_t)len;
    memcpy(letter->bytes, bytes, len);
    if (stream->first == NULL) {
        stream->first = letter;
    } else {
        stream->last->next = letter;
    }
    stream->last = letter;
    stream->last_ns = arrival_ns(wire, way, extra_ns);
    stream->has_ended = message == NULL;
    if (way == CONTROL_UP && wire_is_trunk(wire)) {
        struct world_plane *plane = &wire->world->planes[wire->below];
        plane->sent_ns = stream->last_ns > plane->sent_ns ? stream->last_ns : plane->sent_ns;
    }
    wire_schedule(wire, WORLD_MESSAGE, way, stream->last_ns);
}

/* message NULL: the end. */
void wire_post(struct world_wire *wire, uint32_t way, const struct trib_message *message, uint64_t extra_ns)
{
    struct world_stream *stream = &wire->stream[way];

    if (stream->has_ended || stream->is_deaf) {
        stream->has_ended = stream->has_ended || message == NULL;
    } else if (!wire->is_cut) {
        wire->has_spoken = wire->has_spoken || way == CONTROL_DOWN;
        put(wire, way, message, extra_ns);
    }
}

void wire_end_down(struct world_wire *wire, const struct trib_message *word, uint64_t extra_ns)
{
    const struct world_stream *stream = &wire->stream[CONTROL_DOWN];

    if (!stream->has_ended && !stream->is_deaf && word != NULL && !wire->has_spoken) {
        put(wire, CONTROL_DOWN, word, extra_ns);
    }
    if (!stream->has_ended && !stream->is_deaf) {
        put(wire, CONTROL_DOWN, NULL, extra_ns);
    }
}

/* This end says and hears nothing any more. `way`: what it sent. */
void wire_close(struct world_wire *wire, uint32_t way, uint64_t extra_ns)
{
    wire_post(wire, way, NULL, extra_ns);
    wire->stream[!way].is_deaf = true;
    wire_free_if_over(wire);
}

void control_send(struct world_wire *wire, const struct trib_message *message)
{
    wire_post(wire, CONTROL_UP, message, 0);
}

void control_hang_up(struct world_wire *wire)
{
    wire_close(wire, CONTROL_UP, 0);
}
