/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: the connections of control planes: two streams of encoded messages, each message with a delay, whose ends
 * travel in order with them. Read next: control.c (who speaks). */
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct world_wire *wire_create(struct world *world, uint16_t below, uint16_t above, bool is_of_rank)
{
    size_t size = is_of_rank ? offsetof(struct world_wire, link) : sizeof(struct world_wire);
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
    wire->world->wires[wire->index] = NULL;
    drop_letters(&wire->stream[CONTROL_UP]);
    drop_letters(&wire->stream[CONTROL_DOWN]);
    free(wire);
}

/* Nothing moves on it any more, and nobody holds it. */
void wire_free_if_over(struct world_wire *wire)
{
    if (wire->events == 0 && wire->stream[CONTROL_UP].is_deaf && wire->stream[CONTROL_DOWN].is_deaf) {
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

/* What a relay has sent comes before what its successor sends: both use one link. (A controller's sessions are so few
 * that a lost segment may delay all that the last one said.) */
void wire_dial(struct world_wire *wire)
{
    uint64_t before_ns = wire->remote != NULL ? 0 : wire->world->planes[wire->below].before_ns;
    uint64_t when_ns = wire->world->now_ns + wire_travel_ns(wire->world);

    wire_schedule(wire, WORLD_CONNECT, CONTROL_UP, when_ns > before_ns ? when_ns : before_ns + 1);
}

/* message NULL: the end. */
void wire_post(struct world_wire *wire, uint32_t way, const struct trib_message *message, uint64_t extra_ns)
{
    struct world *world = wire->world;
    struct world_stream *stream = &wire->stream[way];
    uint8_t bytes[TRIB_MESSAGE_MAX];

    if (stream->has_ended || stream->is_deaf) {
        stream->has_ended = stream->has_ended || message == NULL;
        return;
    }
    size_t len = message == NULL ? 0 : trib_message_encode(message, bytes);
    uint64_t time = world->now_ns + extra_ns + wire_travel_ns(world);
    struct world_letter *letter = world_zeroed(1, sizeof *letter + len);
    letter->len = (uint32_t)len;
    memcpy(letter->bytes, bytes, len);
    if (stream->first == NULL) {
        stream->first = letter;
    } else {
        stream->last->next = letter;
    }
    stream->last = letter;
    stream->last_ns = time > stream->last_ns ? time : stream->last_ns;
    stream->has_ended = message == NULL;
    if (way == CONTROL_UP && !wire->is_of_rank && message != NULL) {
        struct world_plane *plane = &world->planes[wire->below];
        plane->sent_ns = stream->last_ns > plane->sent_ns ? stream->last_ns : plane->sent_ns;
    }
    wire_schedule(wire, WORLD_MESSAGE, way, stream->last_ns);
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
