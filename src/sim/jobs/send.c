/* SPDX-License-Identifier: Apache-2.0 */
/* send.c: see send.h. Read next: jobs.c (the caller), ways.c, planned.h. */
#include "sim/jobs/send.h"

#include "core/lane.h"
#include "core/slot.h"
#include "sim/jobs/planned.h"
#include "sim/jobs/tree.h"
#include "sim/jobs/ways.h"

/* ---- messages ---- */

static uint32_t take_message(struct sim_jobs *j)
{
    uint32_t message = j->message_free;

    if (message != SIM_NONE) {
        j->message_free = j->messages[message].next;
        sim__fetch_message(j, j->message_free);
        return message;
    }
    TRIB_ASSERT(j->message_high < SIM_MESSAGES_MAX);
    return j->message_high++;
}

uint32_t sim__keep_message(struct sim_jobs *j, const struct trib_packet *packet)
{
    uint32_t message = take_message(j);
    struct sim_message *m = &j->messages[message];

    memcpy(m->packet, packet, sizeof m->packet);
    m->pieces = (uint8_t)(packet->payload_len / SIM_JOB_PAYLOAD);
    m->references = 0;
    TRIB_ASSERT(packet->payload_len == m->pieces * SIM_JOB_PAYLOAD && m->pieces <= (j->lists != NULL ? 2 : 1));
    if (m->pieces != 0) {
        memcpy(m->payload, packet->payload, SIM_JOB_PAYLOAD);
    }
    if (m->pieces == 2 && j->lists != NULL) {
        memcpy(j->lists[message], (const uint8_t *)packet->payload + SIM_JOB_PAYLOAD, TRIB_QUORUM_LIST);
    }
    return message;
}

/* Returns the size on the links. A list has its real size; the payload has the size that it represents. */
static uint16_t size_of(const struct sim_job *job, const struct sim_message *m)
{
    return (uint16_t)(SIM_JOB_HEADERS + (m->pieces != 0 ? job->data : 0) + (m->pieces == 2 ? TRIB_QUORUM_LIST : 0));
}

/* ---- sending ---- */

/* Sends a copy to one endpoint over this link or, in a planned job, over the link of this step (planned.h). */
static void give(struct sim_jobs *j, uint32_t message, uint32_t to, uint16_t from, uint32_t link, uint8_t mark)
{
    const struct sim_endpoint *e = &j->endpoints[to];
    const struct sim_job *job = &j->jobs[e->job];
    uint32_t packet = sim_packet_take(j->network);
    uint32_t hash = (uint32_t)trib_mix64((uint64_t)e->job << 32 | (uint64_t)e->rank << 16 | from);

    if (job->config.planned != NULL) {
        hash = link;
        link = sim__planned_link(j, link);
    }
    j->messages[message].references++;
    j->network->packets[packet] = (struct sim_packet){
        .owner = to,
        .sequence = message,
        .hash = hash,
        .to = (job->scheme->switch_node != NULL ? j->network->links[link].to : e->place) & SIM_NODE_MASK,
        .size = size_of(job, &j->messages[message]),
        .value = from,
        .kind = SIM_JOB_KIND,
        .flags = (uint8_t)(SIM_ECN_CAPABLE | mark),
    };
    j->on_links++;
    sim_network_give(j->network, link, packet);
}

/* Sends one packet for all these children of the endpoint over this link. */
static void give_many(struct sim_jobs *j, uint32_t message, uint32_t endpoint, uint64_t children, uint32_t link,
                      uint8_t mark)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    uint32_t packet = sim_packet_take(j->network);

    j->messages[message].references++;
    j->network->details[packet].bitmap = children;
    j->network->packets[packet] = (struct sim_packet){
        .owner = endpoint,
        .sequence = message,
        .to = j->network->links[link].to & SIM_NODE_MASK,
        .size = size_of(job, &j->messages[message]),
        .value = SIM_FROM_PARENT,
        .kind = SIM_JOB_KIND,
        .flags = (uint8_t)(SIM_ECN_CAPABLE | SIM_MANY | mark),
    };
    j->on_links++;
    sim_network_give(j->network, link, packet);
}

/* Returns a child's bits in a packet sent down: its number or, with servers, the ranks behind it. */
static uint64_t bits_of(const struct sim_jobs *j, uint32_t child)
{
    const struct sim_endpoint *e = &j->endpoints[child];

    return j->jobs[e->job].config.servers != 0 ? j->behind[child] : UINT64_C(1) << e->child;
}

static uint32_t link_down(const struct sim_jobs *j, uint32_t place, uint32_t child)
{
    const struct sim_endpoint *e = &j->endpoints[child];

    return j->jobs[e->job].config.planned != NULL ? sim__planned_link(j, sim__planned_step(j, e->down, place))
           : sim_job_is_routed(&j->jobs[e->job])  ? sim__ways_next(j, place, e)
                                                  : sim__jobs_next_down(j->network, place, e);
}

/* Returns the endpoint's link or, in a planned job, the packet's first step. */
static uint32_t way_of(const struct sim_jobs *j, const struct sim_endpoint *e, uint32_t link, uint32_t message)
{
    uint64_t sequence;

    if (j->jobs[e->job].config.planned == NULL) {
        return link;
    }
    memcpy(&sequence, j->messages[message].packet + offsetof(struct trib_packet, sequence), sizeof sequence);
    return sim__planned_pick(j, e, link, sequence);
}

void sim__spread(struct sim_jobs *j, uint32_t message, uint32_t endpoint, uint64_t children, uint32_t place,
                 uint8_t mark)
{
    uint32_t first = j->endpoints[endpoint].first_child;

    for (uint32_t child = first; child != SIM_NONE; child = j->endpoints[child].sibling) {
        if ((children & bits_of(j, child)) == 0) {
            continue;
        }
        uint32_t link = link_down(j, place, child);
        uint64_t together = 0;
        uint32_t count = 0;
        for (uint32_t i = child; i != SIM_NONE; i = j->endpoints[i].sibling) {
            uint64_t bits = bits_of(j, i);
            bool is_there = (children & bits) != 0 && link_down(j, place, i) == link;
            together |= is_there ? bits : 0;
            count += is_there;
        }
        children &= ~together;
        if (count > 1) {
            give_many(j, message, endpoint, together, link, mark);
        } else {
            bool is_planned = j->jobs[j->endpoints[child].job].config.planned != NULL;
            uint32_t way = is_planned ? sim__planned_step(j, j->endpoints[child].down, place) : link;
            give(j, message, child, SIM_FROM_PARENT, way, mark);
        }
    }
}

void sim__send_through(struct sim_jobs *j, uint32_t endpoint, uint32_t message, uint64_t ranks, uint8_t mark)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    uint64_t whole = 0;

    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        uint64_t some = ranks & j->behind[child];
        if (some == j->behind[child]) {
            whole |= some;
            continue;
        }
        for (; some != 0; some &= some - 1) {
            uint32_t worker = job->first + e->tree * job->config.workers + trib_lowest(some);
            give(j, message, worker, SIM_FROM_PARENT, link_down(j, e->place, worker), mark);
        }
    }
    if (j->is_multicast) {
        sim__spread(j, message, endpoint, whole, e->place, mark);
        return;
    }
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        if ((whole & j->behind[child]) != 0) {
            give(j, message, child, SIM_FROM_PARENT, j->endpoints[child].down, mark);
        }
    }
}

/* Sends to the combiner or server above. The packet has the sender's index among the job's endpoints. */
void sim__send_up(struct sim_jobs *j, uint32_t endpoint, uint32_t message)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];

    give(j, message, e->parent, (uint16_t)(endpoint - j->jobs[e->job].first), e->up, 0);
}

static void send_down(struct sim_jobs *j, uint32_t endpoint, uint32_t message, uint64_t children)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];

    if (j->jobs[e->job].config.servers != 0) {
        sim__send_through(j, endpoint, message, children, 0);
        return;
    }
    const struct sim_planned *planned = j->jobs[e->job].config.planned;
    if (j->is_multicast && (planned == NULL || planned->trees[e->tree].is_multicast)) {
        sim__spread(j, message, endpoint, children, e->place, 0);
        return;
    }
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        const struct sim_endpoint *c = &j->endpoints[child];
        if ((children >> c->child & 1) != 0) {
            give(j, message, child, SIM_FROM_PARENT, way_of(j, c, c->down, message), 0);
        }
    }
}

void sim__send_packet(struct sim_jobs *j, uint32_t endpoint, const struct trib_packet *packet,
                      const struct trib_place *to)
{
    struct sim_endpoint e = j->endpoints[endpoint];
    uint32_t message = sim__keep_message(j, packet);

    TRIB_ASSERT(packet->communicator == j->jobs[e.job].session.communicator);
    j->messages[message].references++;
    switch (to->kind) {
    case TRIB_PLACE_ROOT:
        endpoint += to->index * j->jobs[e.job].config.workers; /* the worker's endpoint in that tree */
        e = j->endpoints[endpoint];
        if (j->jobs[e.job].config.servers != 0) {
            sim__send_up(j, endpoint, message);
        } else {
            give(j, message, e.parent, (uint16_t)e.child, way_of(j, &e, e.up, message), 0);
        }
        break;
    case TRIB_PLACE_PARENT:
        give(j, message, e.parent, (uint16_t)e.child, way_of(j, &e, e.up, message), 0);
        break;
    case TRIB_PLACE_CHILDREN:
        send_down(j, endpoint, message, to->children);
        break;
    case TRIB_PLACE_PEER:
        give(j, message, j->jobs[e.job].first + to->index, (uint16_t)e.rank, sim_network_host_link(e.place), 0);
        break;
    case TRIB_PLACE_NONE:
        break;
    }
    sim__release_message(j, message);
}
