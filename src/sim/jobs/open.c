/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: creates the nodes of jobs, from configuration to the first iteration: see jobs.h. Read next: tree.c,
 * jobs.c. */
#include "sim/jobs/open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "io/explain.h"
#include "published/published.h"
#include "schemes/schemes.h"
#include "sim/jobs/chain.h"
#include "sim/jobs/iterations.h"
#include "sim/jobs/jobs.h"
#include "sim/jobs/numbers.h"
#include "sim/jobs/planned.h"
#include "sim/jobs/servers.h"
#include "sim/jobs/shares.h"
#include "sim/jobs/steps.h"
#include "sim/jobs/tree.h"
#include "sim/network/topology.h"

#define NS_PS UINT64_C(1000)
#define BOOT 1U       /* first boot id */
#define OPERATIONS 4U /* concurrent operations of a worker */
#define STALL_NS UINT64_C(1000000000)

static struct trib_session_config make_session(const struct sim_jobs *j, const struct sim_job_config *config,
                                               uint64_t seed)
{
    struct trib_session_config session = {
        .salt = trib_mix64(seed + j->count),
        .communicator = j->count + 1,
        .ranks = config->workers,
        .roots = 1, /* until trees are chosen */
        .train = 1,
        .slots = 2 * config->window,
        .generation = 1,
        .wire = TRIB_FLOAT32,
        .lookahead = 1,
    };

    trib_scheme_settle(config->scheme, &session);
    session.payload = SIM_JOB_PAYLOAD + (trib_session_has_quorum(&session) ? TRIB_QUORUM_LIST : 0);
    session.group = session.group != 0 ? session.group : (uint16_t)config->workers;
    return session;
}

/* Creates a worker's node, shared by its endpoints in all trees. */
static bool open_worker(struct sim_jobs *j, struct sim_job *job, struct sim_endpoint *e)
{
    struct trib_worker_config config = {
        .session = job->session,
        .kernels = trib_value_kernels(),
        .rank = e->rank,
        .window = job->config.window,
        .operations = OPERATIONS,
        .stall_ns = STALL_NS,
        .is_zeroed = 1,
        .rate = job->config.planned != NULL ? job->config.planned->rate_bps / 8 : 0,
        .distance = sim__planned_spreads(job->config.planned) ? job->session.slots : 0,
        .extra = SIM_JOB_HEADERS + job->data - SIM_JOB_PAYLOAD, /* packet bytes as counted on the links */
    };

    e->node = sim__jobs_take(j, job, job->scheme->worker->size(&config));
    if (e->node != NULL) {
        job->scheme->worker->init(e->node, &config);
    }
    for (uint32_t tree = 1; tree < job->trees; tree++) {
        e[tree * job->config.workers].node = e->node;
    }
    return e->node != NULL;
}

/* Returns the lowest mark of the ranks at or below the endpoint. */
static uint64_t mark_below(const struct sim_jobs *j, const struct sim_job *job, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    uint64_t lowest = UINT64_MAX;

    if (e->is_worker) {
        return job->scheme->worker->mark(e->node);
    }
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        uint64_t mark = mark_below(j, job, child);
        lowest = mark < lowest ? mark : lowest;
    }
    return lowest;
}

/* Tells a switch and the workers below it their child numbers, so that each recognizes its own ECN marks. */
static void tell_numbers(struct sim_jobs *j, const struct sim_job *job, const struct sim_endpoint *e)
{
    const struct trib_scheme *scheme = job->scheme;

    if (scheme->worker->set_child == NULL || job->config.marks_of_all) {
        return;
    }
    if (e->is_branch) {
        scheme->switch_node->set_child(e->node, e->child);
    }
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        if (j->endpoints[child].is_worker) {
            scheme->worker->set_child(j->endpoints[child].node, e->tree, j->endpoints[child].child);
        }
    }
}

/* Creates or restarts a switch's node, with its children's marks and the job's mark. */
static bool open_switch(struct sim_jobs *j, struct sim_job *job, uint32_t endpoint, uint64_t mark)
{
    struct sim_endpoint *e = &j->endpoints[endpoint];
    struct trib_switch_config config = {
        .session = job->session,
        .kernels = trib_value_kernels(),
        .branches = e->branches,
        .children = e->children,
        .root = e->tree,
        .boot = job->boot,
        .answers = trib_switch_answers(e->children), /* drained after every packet */
        .has_parent = e->is_branch,
        .is_zeroed = e->node == NULL,
        .is_narrow = true, /* numbers are 32 bits wide */
        .has_paths = sim__planned_spreads(job->config.planned),
    };

    config.session.salt = 0;
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        const struct sim_endpoint *below = &j->endpoints[child];
        config.spare += below->is_worker ? trib_quorum_brings(&config.session, below->rank) : 0;
    }
    if (e->node == NULL) {
        e->node = sim__jobs_take(j, job, job->scheme->switch_node->size(&config));
        if (e->node == NULL) {
            return false;
        }
    }
    job->scheme->switch_node->init(e->node, &config);
    for (uint32_t child = e->first_child; child != SIM_NONE; child = j->endpoints[child].sibling) {
        job->scheme->switch_node->join(e->node, j->endpoints[child].child, mark_below(j, job, child));
    }
    job->scheme->switch_node->learn_mark(e->node, mark);
    tell_numbers(j, job, e);
    if (j->memories != NULL && sim_job_is_lodger(j, e)) {
        sim__shares_opened(j, endpoint);
    }
    return true;
}

static bool open_switches(struct sim_jobs *j, struct sim_job *job)
{
    for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
        if (!open_switch(j, job, i, 0)) {
            return false;
        }
    }
    return true;
}

/* Creates the nodes of a scheme. */
static bool open_nodes(struct sim_jobs *j, struct sim_job *job)
{
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        if (!open_worker(j, job, &j->endpoints[i])) {
            return false;
        }
    }
    if (job->config.servers != 0 ? !sim__servers_open(j, job) : !open_switches(j, job)) {
        return false;
    }
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        job->scheme->worker->registered(j->endpoints[i].node, job->boot, 0, sim_network_now(j->network) / NS_PS);
    }
    return true;
}

static bool open_job(struct sim_jobs *j, struct sim_job *job)
{
    uint64_t now_ps = sim_network_now(j->network);

    job->state = SIM_JOB_OPEN;
    if (!sim__numbers_open(j, job) || !(job->scheme != NULL ? open_nodes(j, job) : sim__steps_open(j, job))) {
        return false;
    }
    job->log[0].begun_ps = job->config.start_ps > now_ps ? job->config.start_ps : now_ps;
    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        sim__jobs_begin(j, job->first + rank);
    }
    return true;
}

uint64_t sim_job_endpoints(const struct sim_job_config *config)
{
    uint32_t trees = config->trees != 0 ? config->trees : 1;
    uint32_t roots = config->servers > trees ? config->servers : trees;

    if (config->planned != NULL) {
        return sim_planned_endpoints(config->planned, config->workers);
    }
    return (uint64_t)roots * config->workers * (config->combines_everywhere ? SIM_PATH_MAX : SIM_TIERS_MAX);
}

bool sim_jobs_reserve(struct sim_jobs *j, uint32_t jobs, uint64_t endpoints)
{
    TRIB_ASSERT(jobs <= SIM_JOBS_MAX && endpoints < UINT32_MAX / 4);
    j->room = jobs;
    j->endpoint_room = (uint32_t)endpoints;
    j->jobs = calloc(jobs, sizeof *j->jobs);
    j->endpoints = sim_memory_map(j->endpoint_room * sizeof *j->endpoints);
    j->messages = sim_memory_map(SIM_MESSAGES_MAX * sizeof *j->messages);
    return j->jobs != NULL && j->endpoints != NULL && j->messages != NULL;
}

/* Divides fragments into operations. Buckets differ by at most one fragment, which is in the last operation. */
static void deal(struct sim_job *job)
{
    uint64_t least = job->fragments / job->config.buckets;

    job->parts = least <= SIM_FRAGMENTS ? 1 : (uint32_t)((least + SIM_FRAGMENTS - 1) / SIM_FRAGMENTS);
    job->operations = job->config.buckets * job->parts;
    job->largest = job->parts > 1 ? SIM_FRAGMENTS : 0;
    for (uint32_t bucket = 0; bucket < job->config.buckets; bucket++) {
        uint32_t last = (uint32_t)sim__jobs_fragments(job, (bucket + 1) * job->parts - 1);
        job->largest = last > job->largest ? last : job->largest;
    }
}

bool sim_jobs_add(struct sim_jobs *j, const struct sim_job_config *config, uint64_t seed, char *error)
{
    struct sim_job *job = &j->jobs[j->count];

    TRIB_ASSERT(j->count < j->room);
    *job = (struct sim_job){.config = *config, .next_ended = SIM_NONE};
    if (config->bytes < config->threshold) {
        (void)snprintf(job->config.scheme, sizeof job->config.scheme, SIM_STEPS_NAME);
    }
    job->scheme = trib_published_find(job->config.scheme);
    job->session = make_session(j, &job->config, seed);
    TRIB_ASSERT(job->scheme != NULL || strcmp(job->config.scheme, SIM_STEPS_NAME) == 0);
    job->config.servers = job->scheme == NULL || !job->scheme->has_servers ? 0
                          : config->servers != 0                           ? config->servers
                                                                           : 1;
    job->data = sim_job_data(&job->config);
    job->fragments = (config->bytes + job->data - 1) / job->data;
    job->boot = BOOT;
    job->config.ranks = config->ranks != 0 ? config->ranks : 1;
    job->config.buckets = config->buckets != 0 ? config->buckets : 1;
    job->config.trees = config->planned != NULL ? config->planned->count : config->trees != 0 ? config->trees : 1;
    job->config.at_least = config->at_least != 0 ? config->at_least : SIM_RACK_LEAST;
    TRIB_ASSERT(job->config.trees <= TRIB_ROOTS_MAX);
    job->log = calloc(job->config.iterations, sizeof *job->log);
    j->count++;
    if (trib_session_has_quorum(&job->session) && j->lists == NULL) {
        j->lists = sim_memory_map(SIM_MESSAGES_MAX * sizeof *j->lists);
    }
    if (job->log == NULL || (trib_session_has_quorum(&job->session) && j->lists == NULL)) {
        trib_explain(error, "out of memory");
        return false;
    }
    const char *unfit = job->scheme != NULL && job->scheme->unfit != NULL ? job->scheme->unfit(&job->session) : NULL;
    if (unfit == NULL && job->scheme != NULL && job->scheme->has_servers && job->session.ranks > TRIB_CHILDREN_MAX) {
        unfit = "a simulated server is one node, with at most 64 workers";
    }
    if (unfit != NULL) {
        trib_explain(error, "%s", unfit);
        return false;
    }
    if (job->fragments < job->config.buckets) {
        trib_explain(error, "%u buckets of only %" PRIu64 " fragments", job->config.buckets, job->fragments);
        return false;
    }
    deal(job);
    return true;
}

/* Places nodes after the job's workers. */
static bool place_nodes(struct sim_jobs *j, struct sim_job *job, const uint32_t *hosts, char *error)
{
    if (job->config.planned != NULL) {
        return sim__planned_trees(j, job, error);
    }
    if (job->config.servers != 0) {
        return sim__servers_place(j, job, hosts, error);
    }
    if (!sim_job_adds(job)) {
        return true;
    }
    return job->scheme->is_chain ? sim__chain_place(j, job, error) : sim__jobs_trees(j, job, error);
}

bool sim_jobs_place(struct sim_jobs *j, uint32_t number, const uint32_t *hosts, char *error)
{
    struct sim_job *job = &j->jobs[number];

    TRIB_ASSERT(job->state == SIM_JOB_WAITS);
    job->state = SIM_JOB_PLACED;
    job->first = j->endpoint_count;
    job->trees = 1;
    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        (void)sim__jobs_endpoint(j, &(struct sim_endpoint){
                                        .job = (uint16_t)number,
                                        .place = hosts[rank],
                                        .rank = (uint16_t)rank,
                                        .parent = SIM_NONE,
                                        .first_child = SIM_NONE,
                                        .sibling = SIM_NONE,
                                        .is_worker = true,
                                    });
    }
    if (!place_nodes(j, job, hosts, error)) {
        return false;
    }
    job->session.roots = job->trees;
    job->count = j->endpoint_count - job->first;
    return true;
}

bool sim_jobs_open(struct sim_jobs *j, char *error)
{
    j->slots = calloc(j->endpoint_room + 1, sizeof *j->slots);
    trib_explain(error, "out of memory");
    bool is_good = j->slots != NULL && sim__shares_open(j, error);
    for (uint32_t i = 0; is_good && i < j->count; i++) {
        j->jobs[i].session.slots = 2 * j->jobs[i].config.window;
        is_good = j->jobs[i].state != SIM_JOB_PLACED || open_job(j, &j->jobs[i]);
    }
    return is_good;
}

bool sim_jobs_open_late(struct sim_jobs *j, uint32_t number, char *error)
{
    TRIB_ASSERT(j->memories == NULL);
    trib_explain(error, "out of memory");
    return open_job(j, &j->jobs[number]);
}

void sim_jobs_close(struct sim_jobs *j, uint32_t number)
{
    struct sim_job *job = &j->jobs[number];

    TRIB_ASSERT(job->state == SIM_JOB_OPEN && job->iterations == job->config.iterations);
    job->counters = sim_jobs_counters(j, number);
    job->state = SIM_JOB_CLOSED;
    for (uint32_t i = job->first; i < job->first + job->count; i++) {
        for (uint32_t timer = j->first_timer + 2 * i; timer < j->first_timer + 2 * i + 2; timer++) {
            if (sim_timer_due(&j->network->events, timer) != SIM_NEVER) {
                sim_timer_set(&j->network->events, timer, SIM_NEVER);
            }
        }
        if (j->memories != NULL && sim_job_is_lodger(j, &j->endpoints[i])) {
            sim__shares_closed(j, i);
        }
        j->endpoints[i].node = NULL;
    }
    if (job->steps != NULL) {
        sim__steps_close(job);
    }
    if (job->config.servers != 0) {
        sim__servers_close(j, job);
    } else if (sim_job_adds(job) && !sim_job_is_routed(job) && job->config.planned == NULL) {
        sim__jobs_unload(j, job);
    }
    job->steps = NULL;
    job->turns = NULL;
    job->said = NULL;
    sim_pieces_give(&j->pieces, &job->pieces);
}

/* ---- restarts ---- */

static bool is_at(const struct sim_jobs *j, const struct sim_job *job, uint32_t place)
{
    for (uint32_t i = sim_job_switches(job); i < sim_job_combiners(job); i++) {
        if (j->endpoints[i].place == place) {
            return true;
        }
    }
    return false;
}

void sim_jobs_leave(struct sim_jobs *j, uint32_t place)
{
    sim__pool_forget(j, place);
    for (uint32_t i = 0; i < j->count; i++) {
        struct sim_job *job = &j->jobs[i];
        if (job->state != SIM_JOB_OPEN || !is_at(j, job, place)) {
            continue;
        }
        for (uint32_t rank = 0; rank < job->config.workers && job->away == 0; rank++) {
            job->scheme->worker->suspend(j->endpoints[job->first + rank].node);
        }
        job->away++;
    }
}

/* Opens the trees under another boot id, then the ranks. */
static void open_again(struct sim_jobs *j, struct sim_job *job)
{
    uint64_t now_ns = sim_network_now(j->network) / NS_PS;
    uint64_t lowest = UINT64_MAX;

    job->boot++;
    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        uint64_t mark = mark_below(j, job, job->first + rank);
        lowest = mark < lowest ? mark : lowest;
    }
    for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
        trib_counters_add(&job->before, job->scheme->switch_node->node.counters(j->endpoints[i].node));
        TRIB_ASSERT(open_switch(j, job, i, lowest));
    }
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        job->scheme->worker->registered(j->endpoints[i].node, job->boot, lowest, now_ns);
        sim__jobs_drain(j, i);
    }
}

void sim_jobs_return(struct sim_jobs *j, uint32_t place)
{
    for (uint32_t i = 0; i < j->count; i++) {
        struct sim_job *job = &j->jobs[i];
        if (job->state == SIM_JOB_OPEN && job->away != 0 && is_at(j, job, place) && --job->away == 0) {
            open_again(j, job);
        }
    }
}
