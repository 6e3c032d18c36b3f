/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c: see flows.h. Read next: network.c. */
#include "sim/traffic/flows.h"

#include <stdlib.h>
#include <string.h>

#include "core/node.h"

#define NS_PS UINT64_C(1000)
#define WORD 64U
#define LINE 64U
#define NO_LIMIT UINT64_MAX /* on labels: the receiver has memory for all fragments */

/* Returns the window of a memory class, at most config.window. */
static uint32_t window_of(const struct sim_flows *f, uint32_t class)
{
    uint32_t window = UINT32_C(1) << class;

    return window < f->config.window ? window : f->config.window;
}

static uint32_t whole_lines(size_t size)
{
    return (uint32_t)((size + LINE - 1) / LINE * LINE);
}

void sim_flows_init(struct sim_flows *f, struct sim_network *network, const struct sim_flows_config *config,
                    uint32_t first_timer)
{
    TRIB_ASSERT(config->window >= 1 && config->window <= TRIB_FLOW_WINDOW_MAX && config->packet > config->header);
    *f = (struct sim_flows){
        .network = network,
        .config = *config,
        .free = SIM_NONE,
        .first_timer = first_timer,
    };
    for (uint32_t i = 0; i < SIM_FLOW_CLASSES; i++) {
        uint32_t aside_at = whole_lines(trib_flow_plain_size(window_of(f, i)));
        f->places[i] = (struct sim_flow_places){
            .aside_at = aside_at,
            .receiver_at = aside_at + whole_lines(trib_flow_aside_size(window_of(f, i))),
        };
    }
}

void sim_flows_deinit(struct sim_flows *f)
{
    sim_arena_free(&f->arena);
    sim_memory_unmap(f->flows, f->room * sizeof *f->flows);
    memset(f, 0, sizeof *f);
}

/* ---- memory ---- */

static struct trib_flow_sender *sender_of(const struct sim_flow *flow)
{
    return flow->memory;
}

static struct trib_flow_receiver *receiver_of(const struct sim_flows *f, const struct sim_flow *flow)
{
    return (struct trib_flow_receiver *)(void *)((char *)flow->memory + f->places[flow->size].receiver_at);
}

static void make_room(struct sim_flows *f)
{
    uint32_t room = f->room == 0 ? 1024 : 2 * f->room;
    struct sim_flow *flows = sim_memory_map(room * sizeof *flows);

    TRIB_ASSERT(flows != NULL);
    if (f->room != 0) {
        memcpy(flows, f->flows, f->room * sizeof *flows);
        sim_memory_unmap(f->flows, f->room * sizeof *flows);
    }
    f->flows = flows;
    f->room = room;
}

static uint32_t place_of(struct sim_flows *f)
{
    uint32_t place = f->free;

    if (place != SIM_NONE) {
        f->free = f->flows[place].free;
        return place;
    }
    if (f->high == f->room) {
        make_room(f);
    }
    return f->high++;
}

static void take_memory(struct sim_flows *f, struct sim_flow *flow)
{
    while (flow->size + 1U < SIM_FLOW_CLASSES && (flow->is_kept || UINT64_C(1) << flow->size < flow->fragments) &&
           UINT32_C(1) << flow->size < f->config.window) {
        flow->size++;
    }
    uint32_t window = window_of(f, flow->size);
    const struct sim_flow_places *places = &f->places[flow->size];
    flow->memory = f->memory[flow->size];
    if (flow->memory != NULL) {
        memcpy(&f->memory[flow->size], flow->memory, sizeof(void *));
    } else {
        flow->memory = sim_arena_take(&f->arena, places->receiver_at + trib_flow_receiver_size(window));
        TRIB_ASSERT(flow->memory != NULL);
    }
    struct trib_flow_config config = {
        .limit = NO_LIMIT,
        .window = window,
        .policy = f->config.policy,
        .is_plain = true,
        .rto_first_ns = f->config.rto_first_ps / NS_PS,
        .rto_min_ns = f->config.rto_min_ps / NS_PS,
    };
    trib_flow_sender_init(flow->memory, (char *)flow->memory + places->aside_at, &config);
    trib_flow_receiver_init(receiver_of(f, flow), &config);
}

/* Frees the flow if the sender knows that all bytes have arrived and no packet is under way. */
static void release(struct sim_flows *f, uint32_t number)
{
    struct sim_flow *flow = &f->flows[number];
    struct trib_flow_sender *sender = sender_of(flow);

    if (flow->in_network != 0 || sender->lowest < flow->fragments || flow->is_kept) {
        return;
    }
    trib_flow_counters_add(&f->counters, &trib_flow_sender_aside(sender)->counters);
    if (flow->timer_ps != SIM_NEVER) {
        sim_timer_set(&f->network->events, f->first_timer + number, SIM_NEVER);
    }
    memcpy(flow->memory, &f->memory[flow->size], sizeof(void *));
    f->memory[flow->size] = flow->memory;
    flow->memory = NULL;
    flow->free = f->free;
    f->free = number;
    f->over++;
}

struct trib_flow_counters sim_flows_counters(const struct sim_flows *f)
{
    struct trib_flow_counters sum = f->counters;

    for (uint32_t i = 0; i < f->high; i++) {
        if (f->flows[i].memory != NULL) {
            trib_flow_counters_add(&sum, &trib_flow_sender_aside(sender_of(&f->flows[i]))->counters);
        }
    }
    return sum;
}

/* ---- sending ---- */

static uint16_t size_of(const struct sim_flows *f, const struct sim_flow *flow, uint64_t sequence)
{
    uint32_t payload = f->config.packet - f->config.header;

    if ((sequence + 1) % flow->message != 0) {
        return (uint16_t)f->config.packet;
    }
    return (uint16_t)((flow->bytes - 1) % payload + 1 + f->config.header);
}

static void send_fragment(struct sim_flows *f, uint32_t number, const struct trib_packet *fragment)
{
    struct sim_flow *flow = &f->flows[number];
    uint32_t packet = sim_packet_take(f->network);

    TRIB_ASSERT(fragment->sequence < UINT32_MAX);
    f->network->packets[packet] = (struct sim_packet){
        .owner = number,
        .sequence = (uint32_t)fragment->sequence,
        .hash = flow->hash,
        .to = flow->to,
        .size = size_of(f, flow, fragment->sequence),
        .kind = TRIB_FLOW,
        .flags = (uint8_t)(SIM_ECN_CAPABLE | ((fragment->flags & TRIB_FLAG_RESEND) != 0 ? SIM_RESENT : 0)),
    };
    flow->in_network++;
    sim_network_send(f->network, flow->from, packet);
}

/* Sends all packets that may be sent now. */
static void pump(struct sim_flows *f, uint32_t number, uint64_t now_ns)
{
    struct sim_flow *flow = &f->flows[number];
    struct trib_flow_sender *sender = sender_of(flow);
    struct trib_packet fragment;

    while (trib_flow_sender_next(sender, now_ns, &fragment)) {
        send_fragment(f, number, &fragment);
    }
    while (flow->next < flow->fragments && trib_flow_admits(sender, flow->next, now_ns)) {
        (void)trib_flow_send(sender, flow->next, now_ns, &fragment);
        flow->next++;
        send_fragment(f, number, &fragment);
    }
}

/* Most timeouts move with every acknowledgement, so a timer that fires early is set again then. */
static void set_timer(struct sim_flows *f, uint32_t number)
{
    struct sim_flow *flow = &f->flows[number];
    uint64_t timeout_ns = trib_flow_next_timeout(sender_of(flow));
    uint64_t due_ps = timeout_ns == TRIB_NEVER ? SIM_NEVER : timeout_ns * NS_PS;
    uint64_t now_ps = sim_network_now(f->network);

    if (due_ps < flow->timer_ps) {
        flow->timer_ps = due_ps > now_ps ? due_ps : now_ps;
        sim_timer_set(&f->network->events, f->first_timer + number, flow->timer_ps);
    }
}

static uint32_t begin(struct sim_flows *f, const struct sim_flow_plan *plan, bool is_kept)
{
    uint32_t number = place_of(f);
    struct sim_flow *flow = &f->flows[number];
    uint64_t payload = f->config.packet - f->config.header;
    uint64_t bytes = plan->bytes < payload * (UINT32_MAX - 1) ? plan->bytes : payload * (UINT32_MAX - 1);

    TRIB_ASSERT(bytes != 0 && plan->from != plan->to && plan->from < f->network->hosts && plan->to < f->network->hosts);
    *flow = (struct sim_flow){
        .timer_ps = SIM_NEVER,
        .start_ps = sim_network_now(f->network),
        .bytes = plan->bytes,
        .fragments = (uint32_t)((bytes + payload - 1) / payload),
        .hash = plan->hash,
        .from = plan->from & SIM_NODE_MASK,
        .to = plan->to & SIM_NODE_MASK,
        .source = (uint8_t)plan->source,
        .is_kept = is_kept,
    };
    flow->message = flow->fragments;
    take_memory(f, flow);
    f->started++;
    pump(f, number, flow->start_ps / NS_PS);
    set_timer(f, number);
    return number;
}

uint32_t sim_flows_start(struct sim_flows *f, const struct sim_flow_plan *plan)
{
    return begin(f, plan, false);
}

uint32_t sim_flows_connect(struct sim_flows *f, const struct sim_flow_plan *plan)
{
    return begin(f, plan, true);
}

void sim_flows_message(struct sim_flows *f, uint32_t number)
{
    struct sim_flow *flow = &f->flows[number];

    TRIB_ASSERT(flow->is_kept && flow->taken == flow->fragments && flow->fragments <= UINT32_MAX - flow->message);
    flow->fragments += flow->message;
    flow->start_ps = sim_network_now(f->network);
    pump(f, number, flow->start_ps / NS_PS);
    set_timer(f, number);
}

void sim_flows_disconnect(struct sim_flows *f, uint32_t number)
{
    f->flows[number].is_kept = false;
    release(f, number);
}

void sim_flows_timer(struct sim_flows *f, uint32_t timer)
{
    uint32_t number = timer - f->first_timer;
    uint64_t now_ns = sim_network_now(f->network) / NS_PS;

    f->flows[number].timer_ps = SIM_NEVER;
    trib_flow_on_timeout(sender_of(&f->flows[number]), now_ns);
    pump(f, number, now_ns);
    set_timer(f, number);
}

/* Returns the duration on an empty network: the first packet over each link, the rest at the slowest link's rate. */
static uint64_t ideal_of(const struct sim_flows *f, const struct sim_flow_plan *plan)
{
    uint64_t payload = f->config.packet - f->config.header;
    uint64_t fragments = (plan->bytes + payload - 1) / payload;
    uint64_t first = plan->bytes < payload ? plan->bytes + f->config.header : f->config.packet;
    uint64_t rest = plan->bytes + fragments * f->config.header - first;
    struct sim_packet packet = {.hash = plan->hash, .to = plan->to & SIM_NODE_MASK};
    uint32_t links[SIM_PATH_MAX];
    uint32_t count = sim_network_path(f->network, plan->from, &packet, links);
    uint64_t sum_ps = 0;
    uint64_t slowest = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct sim_port *port = &f->network->ports[f->network->links[links[i]].port];
        sum_ps += port->delay_ps + sim_port_time(port, first);
        slowest = port->byte_ps > slowest ? port->byte_ps : slowest;
    }
    return sum_ps + rest * slowest / SIM_BYTE_ONE;
}

/* ---- receiving ---- */

static void send_ack(struct sim_flows *f, uint32_t number, const struct trib_packet *ack)
{
    const struct sim_flow *flow = &f->flows[number];
    uint32_t packet = sim_packet_take(f->network);
    uint64_t before = (UINT64_C(1) << ack->mark % WORD) - 1;
    bool is_plain = ack->sequence == ack->mark - ack->mark % WORD && ack->bitmap == before;

    f->network->packets[packet] = (struct sim_packet){
        .owner = number,
        .sequence = (uint32_t)ack->mark,
        .hash = sim_flow_back(flow->hash),
        .to = flow->from,
        .size = (uint16_t)f->config.ack,
        .value = ack->window_cap,
        .kind = TRIB_FLOW_ACK,
        .flags = is_plain ? 0 : SIM_DETAILED,
    };
    if (!is_plain) {
        f->network->details[packet] = (struct sim_details){.bitmap = ack->bitmap, .base = ack->sequence};
    }
    f->flows[number].in_network++;
    sim_network_send(f->network, flow->to, packet);
}

static void end_flow(struct sim_flows *f, const struct sim_flow *flow)
{
    struct sim_flow_end end = {
        .plan = sim_flow_plan(flow),
        .start_ps = flow->start_ps,
        .end_ps = sim_network_now(f->network),
    };

    if (f->ended != NULL) {
        end.ideal_ps = ideal_of(f, &end.plan);
        f->ended(f->user, &end);
    }
}

static void take_fragment(struct sim_flows *f, uint32_t number, const struct sim_packet *p)
{
    struct sim_flow *flow = &f->flows[number];
    struct trib_flow_receiver *receiver = receiver_of(f, flow);
    struct trib_packet packet = {
        .kind = TRIB_FLOW,
        .sequence = p->sequence,
        .flags = (p->flags & SIM_ECN_MARKED) != 0 ? TRIB_FLAG_ECN : 0,
    };

    if (trib_flow_receiver_receive(receiver, &packet, &f->counters) == TRIB_DROP_NONE) {
        trib_flow_take(receiver, p->sequence, &f->counters);
        *(flow->source == SIM_FLOW_OF_JOB ? &f->job_bytes : &f->bytes) += p->size - f->config.header;
        if (++flow->taken == flow->fragments) {
            end_flow(f, flow);
        }
    }
    while (trib_flow_receiver_next(receiver, NO_LIMIT, &packet, &f->counters)) {
        send_ack(f, number, &packet);
    }
}

static void take_ack(struct sim_flows *f, uint32_t number, const struct sim_packet *p, const struct sim_details *d)
{
    bool is_plain = (p->flags & SIM_DETAILED) == 0;
    uint64_t now_ns = sim_network_now(f->network) / NS_PS;
    struct trib_packet packet = {
        .kind = TRIB_FLOW_ACK,
        .sequence = is_plain ? p->sequence - p->sequence % WORD : d->base,
        .mark = p->sequence,
        .bitmap = is_plain ? (UINT64_C(1) << p->sequence % WORD) - 1 : d->bitmap,
        .window_cap = p->value,
        .lane = NO_LIMIT,
    };

    (void)trib_flow_sender_receive(sender_of(&f->flows[number]), &packet, now_ns, NULL, NULL);
    pump(f, number, now_ns);
    set_timer(f, number);
}

void sim_flows_arrived(struct sim_flows *f, uint32_t packet)
{
    const struct sim_packet *p = &f->network->packets[packet];
    uint32_t number = p->owner;

    if (p->kind == TRIB_FLOW) {
        take_fragment(f, number, p);
    } else {
        take_ack(f, number, p, &f->network->details[packet]);
    }
    f->flows[number].in_network--; /* only now: a packet sent into a cut cable is reported lost at once */
    sim_packet_free(f->network, packet);
    release(f, number);
}

void sim_flows_copied(struct sim_flows *f, uint32_t packet)
{
    f->flows[f->network->packets[packet].owner].in_network++;
}

void sim_flows_dropped(struct sim_flows *f, uint32_t packet)
{
    uint32_t number = f->network->packets[packet].owner;

    f->flows[number].in_network--;
    release(f, number);
}

void sim_flows_soon(const struct sim_flows *f, uint32_t packet)
{
    __builtin_prefetch(&f->flows[f->network->packets[packet].owner], 1);
}

void sim_flows_sooner(const struct sim_flows *f, uint32_t packet)
{
    const struct sim_packet *p = &f->network->packets[packet];
    const struct sim_flow *flow = &f->flows[p->owner];
    const struct sim_flow_places *places = &f->places[flow->size];
    const char *memory = flow->memory;

    if (p->kind == TRIB_FLOW) {
        __builtin_prefetch(memory + places->receiver_at, 1);
        __builtin_prefetch(memory + places->receiver_at + LINE, 1);
        return;
    }
    const char *aside = memory + places->aside_at;
    const char *times = aside + sizeof(struct trib_flow_aside);
    uint32_t last = window_of(f, flow->size) - 1; /* mask; exact for windows that are powers of 2 */
    __builtin_prefetch(memory, 1);
    __builtin_prefetch(memory + LINE, 1);
    __builtin_prefetch(memory + sizeof(struct trib_flow_sender) + ((p->sequence - 1) & last), 1);
    __builtin_prefetch(memory + sizeof(struct trib_flow_sender) + (flow->next & last), 1);
    __builtin_prefetch(aside, 1);
    __builtin_prefetch(aside + LINE, 1);
    __builtin_prefetch(times + ((p->sequence - 1) & last) * sizeof(uint64_t), 1);
    __builtin_prefetch(times + (flow->next & last) * sizeof(uint64_t), 1);
}
