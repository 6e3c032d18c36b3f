/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: the control plane as nodes see it: reliable, ordered messages with a delay, between each rank and the switch's control plane.
 * Registration with a boot id, READY when all have registered, marks at idle and M as the answer. A restart of the switch cuts all
 * sessions; each rank notices in its own time, suspends its node, and registers again.
 * Read next: work.c. */
#include <stdlib.h>

#include "world.h"

#define IDLE_NS (50 * WORLD_MS)
#define POLL_FIRST_NS (2 * WORLD_MS)
#define POLL_MAX_NS WORLD_S

static uint64_t message_delay(struct world *world)
{
    return world->set.delay_ns + world_below(world, 4 * world->set.delay_ns + 2 * WORLD_MS);
}

static void post(struct world *world, const struct world_message *message, uint64_t not_before_ns)
{
    struct world_session *session = &world->sessions[message->rank];
    bool up = message->kind == MESSAGE_REGISTER || message->kind == MESSAGE_MARK_UP;
    uint64_t *last = up ? &session->up_ns : &session->down_ns;
    uint64_t time = (world->now_ns > not_before_ns ? world->now_ns : not_before_ns) + message_delay(world);

    if (world->message_count == world->message_capacity) {
        world->message_capacity = world->message_capacity == 0 ? 64 : 2 * world->message_capacity;
        world->messages = realloc(world->messages, world->message_capacity * sizeof *world->messages);
        if (world->messages == NULL) {
            exit(2);
        }
    }
    world->messages[world->message_count] = *message;
    *last = time > *last ? time : *last;
    world_schedule(world, *last, WORLD_MESSAGE, message->rank, world->message_count++, 0);
}

/* M as the control plane gives it out: the minimum over the shards. */
static uint64_t communicator_mark(const struct world *world)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        uint64_t mark = world->scheme->switch_node->communicator_mark(world->nodes[world_switch(world, root)].memory);
        lowest = mark < lowest ? mark : lowest;
    }
    return lowest;
}

static void join(struct world *world, uint32_t rank, uint64_t mark)
{
    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        uint32_t node = world_switch(world, root);
        world->scheme->switch_node->join(world->nodes[node].memory, rank, mark);
        world_wake(world, node, world->now_ns);
    }
}

static void tell_register(struct world *world, uint32_t rank, uint64_t not_before_ns)
{
    struct world_message message = {
        .kind = MESSAGE_REGISTER,
        .rank = rank,
        .epoch = world->sessions[rank].epoch,
        .mark = world->scheme->worker->mark(world->nodes[rank].memory),
    };

    world->sessions[rank].told = message.mark;
    post(world, &message, not_before_ns);
}

static uint32_t new_boot(struct world *world)
{
    uint32_t boot = world->boot;

    while (boot == world->boot || boot == 0) {
        boot = (uint32_t)trib_prng_next(&world->prng);
    }
    return boot;
}

void session_begin(struct world *world)
{
    world->boot = new_boot(world);
    world_init_switches(world);
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        tell_register(world, rank, 0);
    }
}

void session_restart(struct world *world)
{
    world_count_switches(world);
    world->report->restarts++;
    world->epoch++;
    world->boot = new_boot(world);
    world_init_switches(world);
    world->down_until_ns = world->now_ns + world_below(world, 300 * WORLD_MS);
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        world->sessions[rank].is_registered = false;
        world->sessions[rank].answered = 0;
        world_schedule(world, world->now_ns + world_below(world, 100 * WORLD_MS), WORLD_LOST, rank, world->epoch, 0);
    }
}

void session_lost(struct world *world, uint32_t rank, uint32_t epoch)
{
    if (epoch != world->epoch) {
        return; /* it will see the next loss instead */
    }
    world->scheme->worker->suspend(world->nodes[rank].memory);
    world->sessions[rank].epoch = epoch;
    check_retained(world);
    tell_register(world, rank, world->down_until_ns);
}

static void take_register(struct world *world, uint32_t rank, uint64_t mark)
{
    world->sessions[rank].is_registered = true;
    world->sessions[rank].mark = mark;
    join(world, rank, mark);
    for (uint32_t i = 0; i < world->set.session.ranks; i++) {
        if (!world->sessions[i].is_registered) {
            return;
        }
    }
    for (uint32_t i = 0; i < world->set.session.ranks; i++) {
        struct world_message message = {
            .kind = MESSAGE_READY,
            .rank = i,
            .epoch = world->epoch,
            .mark = communicator_mark(world),
            .boot = world->boot,
        };
        world->sessions[i].answered = message.mark;
        post(world, &message, 0);
    }
}

/* Tells M to those whose mark it had not reached; looks again, at growing distance, while anybody waits. */
static void answer_marks(struct world *world)
{
    uint64_t mark = communicator_mark(world);

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        struct world_session *session = &world->sessions[rank];
        if (session->is_registered && session->mark > session->answered && mark > session->answered) {
            session->answered = mark;
            struct world_message message = {
                .kind = MESSAGE_MARK_DOWN, .rank = rank, .epoch = world->epoch, .mark = mark};
            post(world, &message, 0);
        }
    }
}

static bool is_waiting(const struct world *world)
{
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        const struct world_session *session = &world->sessions[rank];
        if (session->is_registered && session->mark > session->answered) {
            return true;
        }
    }
    return false;
}

void session_poll(struct world *world, uint32_t epoch)
{
    if (epoch != world->epoch) {
        return;
    }
    answer_marks(world);
    if (is_waiting(world)) {
        world_schedule(world, world->now_ns + POLL_FIRST_NS + world_below(world, 20 * WORLD_MS), WORLD_POLL, 0, epoch,
                       0);
    }
}

static void take_ready(struct world *world, const struct world_message *message)
{
    struct world_node *n = &world->nodes[message->rank];

    world->scheme->worker->registered(n->memory, message->boot, message->mark, world->now_ns + n->clock_ns);
    if (message->epoch == world->epoch && world->now_ns > world->quiet_from_ns) {
        world->quiet_from_ns = world->now_ns;
    }
    world_wake(world, message->rank, world->now_ns);
    world_schedule(world, world->now_ns + IDLE_NS, WORLD_IDLE, message->rank, 0, 0);
}

void session_message(struct world *world, const struct world_message *message)
{
    struct world_session *session = &world->sessions[message->rank];
    struct world_node *n = &world->nodes[message->rank];

    switch (message->kind) {
    case MESSAGE_REGISTER:
        if (message->epoch == world->epoch) {
            take_register(world, message->rank, message->mark);
        }
        return;
    case MESSAGE_MARK_UP:
        if (message->epoch == world->epoch && session->is_registered) {
            bool waited = is_waiting(world);
            session->mark = message->mark > session->mark ? message->mark : session->mark;
            join(world, message->rank, session->mark);
            answer_marks(world);
            if (!waited && is_waiting(world)) {
                session_poll(world, world->epoch);
            }
        }
        return;
    case MESSAGE_READY:
        if (message->epoch == session->epoch) {
            take_ready(world, message);
        }
        return;
    case MESSAGE_MARK_DOWN:
        if (message->epoch == session->epoch) {
            world->scheme->worker->learn_mark(n->memory, message->mark, world->now_ns + n->clock_ns);
            world_wake(world, message->rank, world->now_ns);
        }
        return;
    }
}

/* Nothing under way for a while, and a mark to tell. */
void session_idle(struct world *world, uint32_t rank)
{
    struct world_session *session = &world->sessions[rank];
    uint64_t mark = world->scheme->worker->mark(world->nodes[rank].memory);
    bool is_idle = world->submitted[rank] == world->done[rank];

    if (!is_idle || mark <= session->told || world->now_ns < session->idle_ns + IDLE_NS) {
        return;
    }
    struct world_message message = {.kind = MESSAGE_MARK_UP, .rank = rank, .epoch = session->epoch, .mark = mark};
    session->told = mark;
    world->report->session_marks++;
    post(world, &message, 0);
}
