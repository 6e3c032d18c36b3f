/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: see jobs.h: drives the nodes of jobs. An endpoint has two timers: its node's timer, and a worker's compute
 * timer. Read next: open.c, schemes/schemes.h. */
#include "sim/jobs/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "sim/jobs/iterations.h"
#include "sim/jobs/numbers.h"
#include "sim/jobs/planned.h"
#include "sim/jobs/send.h"
#include "sim/jobs/servers.h"
#include "sim/jobs/shares.h"
#include "sim/jobs/steps.h"
#include "sim/jobs/tree.h"
#include "sim/jobs/ways.h"
#include "sim/network/gates.h"

#define NS_PS UINT64_C(1000)
#define FETCH_NODE 512U /* bytes at a node's beginning that every packet needs */

const char *sim_placement_name(enum sim_placement placement)
{
    static const char *const names[SIM_PLACEMENT_COUNT] = {"none", "close", "random"};

    return names[placement];
}

void sim_jobs_init(struct sim_jobs *j, struct sim_network *network, uint32_t first_timer)
{
    *j = (struct sim_jobs){
        .network = network,
        .first_timer = first_timer,
        .message_free = SIM_NONE,
        .ended = SIM_NONE,
        .memory_bytes = SIM_NEVER,
        .first_adder = SIM_NONE,
        .first_loop = SIM_NONE,
    };
}

void sim_jobs_deinit(struct sim_jobs *j)
{
    sim_arena_free(&j->arena);
    sim_memory_unmap(j->endpoints, j->endpoint_room * sizeof *j->endpoints);
    sim_memory_unmap(j->messages, SIM_MESSAGES_MAX * sizeof *j->messages);
    sim_memory_unmap(j->lists, SIM_MESSAGES_MAX * sizeof *j->lists);
    for (uint32_t i = 0; i < j->count; i++) {
        free(j->jobs[i].log);
    }
    free(j->jobs);
    sim_pieces_free(&j->pieces);
    free(j->slots);
    free(j->loads);
    free(j->memories);
    free(j->pools);
    sim__planned_free(j->bundles);
    sim_memory_unmap(j->behind, j->endpoint_room * sizeof *j->behind);
    free(j->lodgers);
    free(j->shares);
    *j = (struct sim_jobs){0};
}

uint32_t sim_jobs_timers(const struct sim_jobs *j)
{
    return 2 * j->endpoint_room;
}

/* ---- iterations ---- */

static void submit(struct sim_jobs *j, struct sim_endpoint *e, uint64_t now_ns)
{
    struct sim_job *job = &j->jobs[e->job];
    const struct sim_turn *turn = sim_job_turn(job, e->iteration);

    while (e->unsent != 0) {
        uint32_t number = job->operations - e->unsent;
        if (number == e->ready * job->parts) {
            return;
        }
        struct trib_operation operation = {
            .send = turn->send,
            .recv = turn->recv,
            .count = sim__jobs_fragments(job, number) * SIM_JOB_ELEMENTS,
            .token = e->iteration,
            .collective = TRIB_ALLREDUCE,
            .type = trib_session_has_quorum(&job->session) ? TRIB_FLOAT32 : TRIB_INT32,
            .reduction = TRIB_SUM,
            .priority = job->config.by_bucket ? 1 + number / job->parts : 0,
        };
        if (!job->scheme->worker->submit(e->node, &operation, now_ns)) {
            return;
        }
        e->unsent--;
    }
}

static void drain(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns);

/* Takes another ready bucket. The first begins the iteration's sum; with the last, computing has ended. */
static void take_bucket(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns)
{
    struct sim_endpoint *e = &j->endpoints[endpoint];
    struct sim_job *job = &j->jobs[e->job];

    if (e->iteration > job->prepared) {
        sim__numbers_prepare(job, e->iteration);
    }
    if (e->ready++ == 0) {
        e->left = e->unsent = job->operations;
    }
    if (e->ready != job->config.buckets) {
        sim__jobs_wait_for_bucket(j, endpoint);
    } else if (++sim_job_turn(job, e->iteration)->computed == job->config.workers) {
        job->log[e->iteration - 1].computed_ps = sim_network_now(j->network);
    }
    if (job->steps != NULL) {
        sim__steps_ready(j, endpoint);
        return;
    }
    submit(j, e, now_ns);
    drain(j, endpoint, now_ns);
}

static void end_operation(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns)
{
    struct sim_endpoint *e = &j->endpoints[endpoint];

    submit(j, e, now_ns);
    if (--e->left == 0) {
        sim__jobs_ended(j, endpoint);
    }
}

/* ---- driving ---- */

static const struct trib_node_verbs *verbs_of(const struct sim_jobs *j, const struct sim_endpoint *e)
{
    const struct trib_scheme *scheme = j->jobs[e->job].scheme;

    return e->is_worker ? &scheme->worker->node : &scheme->switch_node->node;
}

/* Takes a node's events. False: there were none. */
static bool take_events(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns)
{
    bool were_some = false;
    struct sim_job *job = &j->jobs[j->endpoints[endpoint].job];
    struct sim_endpoint *e = &j->endpoints[endpoint];
    struct trib_event event;

    while (verbs_of(j, e)->next_event(e->node, &event)) {
        were_some = true;
        job->failed += event.kind == TRIB_EVENT_FAILED || event.kind == TRIB_EVENT_MISMATCH;
        if (event.kind == TRIB_EVENT_DONE) {
            end_operation(j, endpoint, now_ns);
        }
    }
    return were_some;
}

static void set_timer(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    uint32_t timer = j->first_timer + 2 * endpoint;
    uint64_t timeout_ns = verbs_of(j, e)->next_timeout(e->node);
    uint64_t due_ps = timeout_ns == TRIB_NEVER ? SIM_NEVER : timeout_ns * NS_PS;
    uint64_t now_ps = sim_network_now(j->network);

    /* Most timeouts move with every packet, so a timer that fires early is set again then. */
    if (due_ps < sim_timer_due(&j->network->events, timer)) {
        sim_timer_set(&j->network->events, timer, due_ps > now_ps ? due_ps : now_ps + NS_PS);
    }
}

static void hand_out(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct trib_node_verbs *verbs = verbs_of(j, e);
    struct trib_packet packet;
    struct trib_place to;

    while (verbs->next_packet(e->node, now_ns, &packet, &to)) {
        sim__send_packet(j, endpoint, &packet, &to);
    }
}

static void drain(struct sim_jobs *j, uint32_t endpoint, uint64_t now_ns)
{
    hand_out(j, endpoint, now_ns);
    if (take_events(j, endpoint, now_ns)) {
        hand_out(j, endpoint, now_ns); /* of operations submitted meanwhile */
    }
    set_timer(j, endpoint);
    if (j->memories != NULL && sim_job_is_lodger(j, &j->endpoints[endpoint])) {
        sim__shares_count(j, endpoint);
    }
}

void sim__jobs_drain(struct sim_jobs *j, uint32_t endpoint)
{
    drain(j, endpoint, sim_network_now(j->network) / NS_PS);
}

static struct trib_place place_of(const struct sim_jobs *j, const struct sim_endpoint *e, uint16_t value)
{
    if (e->is_worker && j->jobs[e->job].scheme->switch_node == NULL) {
        return (struct trib_place){.kind = TRIB_PLACE_PEER, .index = value};
    }
    if (e->is_worker) {
        return (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = e->tree};
    }
    if (value == SIM_FROM_PARENT) {
        return (struct trib_place){.kind = TRIB_PLACE_PARENT};
    }
    bool is_server = j->jobs[e->job].config.servers != 0;
    uint64_t children = is_server ? j->behind[j->jobs[e->job].first + value] : UINT64_C(1) << value;
    return (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = children};
}

bool sim_jobs_passes(const struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet *p = &j->network->packets[packet];

    const struct sim_endpoint *e = &j->endpoints[p->owner];
    bool is_added = j->first_adder != SIM_NONE && p->to >= j->network->hosts; /* at a switch */
    return p->to != e->place || (is_added && (p->flags & SIM_ADDED) == 0);
}

/* Sends a packet for a switch's own node over the switch's link to itself, which takes as long as adding. */
static void pass_in(struct sim_jobs *j, uint32_t packet)
{
    struct sim_packet *p = &j->network->packets[packet];

    p->flags |= SIM_ADDED;
    sim_network_give(j->network, j->first_adder + p->to - j->network->hosts, packet);
}

/* Splits a packet where paths part. Its ECN mark so far is copied to all parts. */
static void pass_many(struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet p = j->network->packets[packet];
    uint64_t children = j->network->details[packet].bitmap;

    j->on_links--;
    sim_packet_free(j->network, packet);
    sim_gates_pass(j->network);
    sim__spread(j, p.sequence, p.owner, children, p.to, p.flags & SIM_ECN_MARKED);
    sim__release_message(j, p.sequence);
}

/* Forwards a packet at a switch that does not add. */
static void pass_on(struct sim_jobs *j, uint32_t packet)
{
    struct sim_packet *p = &j->network->packets[packet];
    const struct sim_endpoint *e = &j->endpoints[p->owner];

    if ((p->flags & SIM_MANY) != 0) {
        pass_many(j, packet);
        return;
    }
    uint32_t link = j->jobs[e->job].config.planned != NULL ? sim__planned_link(j, ++p->hash)
                    : sim_job_is_routed(&j->jobs[e->job])  ? sim__ways_next(j, p->to, e)
                    : p->value == SIM_FROM_PARENT
                        ? sim__jobs_next_down(j->network, p->to, e)
                        : sim__jobs_next_up(j->network, p->to, &j->jobs[e->job].ways[e->tree]);

    p->to = j->network->links[link].to & SIM_NODE_MASK;
    sim_gates_pass(j->network);
    sim_network_give(j->network, link, packet);
}

/* Sends the sums that leave the pool, of any job. */
static void send_sums(struct sim_jobs *j, const struct sim_row_pool *pool)
{
    struct trib_packet packet;
    uint32_t member;

    while (trib_combiner_next(pool->combiner, &packet, &member)) {
        uint32_t message = sim__keep_message(j, &packet);
        j->messages[message].references++;
        sim__send_up(j, pool->members[member], message);
        sim__release_message(j, message);
    }
    trib_combiner_release(pool->combiner);
}

/* At a combiner: handles a contribution or request on the way up, or a result on the way down. */
static void combine(struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet p = j->network->packets[packet];
    const struct sim_endpoint *e = &j->endpoints[p.owner];
    struct sim_job *job = &j->jobs[e->job];
    const struct sim_row_pool *pool = sim__pool_at(j, e->place);
    struct trib_packet received;
    struct sim_room room;

    sim__read_message(j, job, p.sequence, &received, &room);
    j->on_links--;
    sim_packet_free(j->network, packet);
    if (p.value == SIM_FROM_PARENT) {
        trib_combiner_down(pool->combiner, sim__pool_member(e), &received);
        sim__send_through(j, p.owner, p.sequence, j->behind[p.owner], p.flags & SIM_ECN_MARKED);
    } else {
        received.flags |= (p.flags & SIM_ECN_MARKED) != 0 ? TRIB_FLAG_ECN : 0;
        job->marked += (p.flags & SIM_ECN_MARKED) != 0;
        uint64_t sender = j->behind[job->first + p.value];
        enum trib_combined verdict = trib_combiner_up(pool->combiner, sim__pool_member(e), sender, &received);
        j->aggregated += verdict == TRIB_COMBINED_TAKEN;
        send_sums(j, pool);
        if (verdict == TRIB_COMBINED_PASS) {
            uint32_t message = sim__keep_message(j, &received);
            j->messages[message].references++;
            sim__send_up(j, p.owner, message);
            sim__release_message(j, message);
        }
    }
    sim__release_message(j, p.sequence);
}

/* True if a result tells this worker of congestion on its path. */
static bool is_told(const struct sim_job *job, const struct sim_endpoint *e, const struct trib_packet *result)
{
    bool is_named =
        job->scheme->worker->set_child != NULL; /* the result names the children with marked contributions */

    return is_named ? trib_result_is_marked(result, job->config.marks_of_all ? 0 : e->child + 1U)
                    : (result->flags & TRIB_FLAG_ECN) != 0;
}

void sim_jobs_arrived(struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet p = j->network->packets[packet];
    const struct sim_endpoint *e = &j->endpoints[p.owner];

    if (p.to != e->place) {
        pass_on(j, packet);
        return;
    }
    if (j->first_adder != SIM_NONE && sim_jobs_passes(j, packet)) {
        pass_in(j, packet);
        return;
    }
    bool is_closed = j->jobs[e->job].state == SIM_JOB_CLOSED;
    if (is_closed || (!e->is_worker && j->jobs[e->job].away != 0)) { /* no node to receive it */
        sim_jobs_dropped(j, packet);
        sim_packet_free(j->network, packet);
        return;
    }
    if (e->is_combiner) {
        combine(j, packet);
        return;
    }
    struct sim_job *job = &j->jobs[e->job];
    uint64_t now_ns = sim_network_now(j->network) / NS_PS;
    struct trib_place from = place_of(j, e, p.value);
    struct trib_packet received;
    struct sim_room room;

    sim__read_message(j, job, p.sequence, &received, &room);
    received.flags |= (p.flags & SIM_ECN_MARKED) != 0 ? TRIB_FLAG_ECN : 0;
    job->marked += (p.flags & SIM_ECN_MARKED) != 0;
    job->told += e->is_worker && received.kind == TRIB_RESULT && is_told(job, e, &received);
    j->on_links--;
    sim_packet_free(j->network, packet);
    bool is_taken = verbs_of(j, e)->receive(e->node, from, &received, now_ns) == TRIB_DROP_NONE;
    if (!e->is_worker) {
        j->aggregated += is_taken && received.kind == TRIB_CONTRIBUTION;
    } else if (is_taken && received.kind == TRIB_RESULT && job->said != NULL) {
        sim__numbers_taken(job, &received);
    }
    sim__release_message(j, p.sequence);
    drain(j, e->is_worker ? job->first + e->rank : p.owner, now_ns);
}

void sim_jobs_soon(const struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet *p = &j->network->packets[packet];
    const char *node = j->endpoints[p->owner].node;

    sim__fetch_message(j, p->sequence);
    for (size_t line = 0; line < FETCH_NODE; line += 64) {
        __builtin_prefetch(node + line, 1);
    }
}

void sim_jobs_sooner(const struct sim_jobs *j, uint32_t packet)
{
    const struct sim_packet *p = &j->network->packets[packet];
    const struct sim_endpoint *e = &j->endpoints[p->owner];

    if ((p->flags & SIM_MANY) != 0 || e->node == NULL) {
        return; /* no node here receives it from its owner, or the job has ended */
    }
    struct trib_packet message;
    struct sim_room room;
    sim__read_message(j, &j->jobs[e->job], p->sequence, &message, &room);
    if (verbs_of(j, e)->soon != NULL) {
        verbs_of(j, e)->soon(e->node, place_of(j, e, p->value), &message);
    }
}

void sim_jobs_copied(struct sim_jobs *j, uint32_t packet)
{
    j->on_links++;
    j->messages[j->network->packets[packet].sequence].references++;
}

void sim_jobs_dropped(struct sim_jobs *j, uint32_t packet)
{
    j->on_links--;
    sim__release_message(j, j->network->packets[packet].sequence);
}

void sim_jobs_timer(struct sim_jobs *j, uint32_t timer)
{
    uint32_t endpoint = (timer - j->first_timer) / 2;
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    uint64_t now_ns = sim_network_now(j->network) / NS_PS;

    if ((timer - j->first_timer) % 2 != 0) {
        take_bucket(j, endpoint, now_ns);
        return;
    }
    verbs_of(j, e)->on_timeout(e->node, now_ns);
    drain(j, endpoint, now_ns);
}

void sim_jobs_count_slots(struct sim_jobs *j)
{
    bool were_some = false;

    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        if (e->is_worker || e->node == NULL) {
            continue;
        }
        uint32_t held = j->jobs[e->job].scheme->switch_node->slots_held(e->node);
        were_some = true;
        j->slots[i].looks++;
        j->slots[i].sum += held;
        j->slots[i].most = held > j->slots[i].most ? held : j->slots[i].most;
    }
    if (were_some && j->done_jobs != j->count) {
        sim_timer_set(&j->network->events, j->timer, sim_network_now(j->network) + SIM_SLOTS_PS);
    }
}

/* ---- results ---- */

struct sim_job_counters sim_jobs_counters(const struct sim_jobs *j, uint32_t job)
{
    const struct sim_job *it = &j->jobs[job];
    struct sim_job_counters sum = {.switches = it->before};

    if (it->state == SIM_JOB_CLOSED) {
        return it->counters;
    }
    if (it->scheme == NULL || it->state != SIM_JOB_OPEN) {
        return sum; /* waiting, or a ring in steps without nodes */
    }
    for (uint32_t i = it->first; i < it->first + it->config.workers; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        trib_counters_add(&sum.workers, it->scheme->worker->node.counters(e->node));
        if (it->scheme->worker->flows != NULL) {
            it->scheme->worker->flows(e->node, &sum.flows);
        }
    }
    for (uint32_t i = sim_job_switches(it); i < sim_job_combiners(it); i++) {
        trib_counters_add(&sum.switches, it->scheme->switch_node->node.counters(j->endpoints[i].node));
    }
    return sum;
}

const char *sim_jobs_check(const struct sim_jobs *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        struct sim_job_counters counters = sim_jobs_counters(j, i);
        if (j->jobs[i].scheme != NULL && j->jobs[i].scheme->refusal != NULL) {
            continue; /* a published rule is simulated with its failures */
        }
        if (j->jobs[i].wrong != 0) {
            return "a job's sum is wrong";
        }
        if (counters.workers.dropped[TRIB_DROP_LANE] != 0 || counters.switches.dropped[TRIB_DROP_LANE] != 0) {
            return "a lane shows a sum without all contributors";
        }
        if (j->jobs[i].failed != 0) {
            return "a node has failed";
        }
    }
    if (sim_jobs_memory(j) > j->memory_bytes) {
        return "a switch held more sums than fit in its memory";
    }
    return sim_jobs_rings(j) <= j->memory_bytes ? NULL : "a switch's caps allow more sums than fit in its memory";
}
