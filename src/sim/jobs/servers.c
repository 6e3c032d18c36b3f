/* SPDX-License-Identifier: Apache-2.0 */
/* servers.c: jobs with servers: roots on hosts. If the scheme has combiners (protocol/combiner.h), switches on the path
 * combine: the switches of the worker's and of the server's host, or all that add. A switch has one pool for all jobs.
 * Results for all ranks behind a combiner go through it; other packets down go to each rank separately. See jobs.h.
 * Read next: ways.c, jobs.c (combine). */
#include "sim/jobs/servers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/window.h"
#include "io/explain.h"
#include "published/published.h"
#include "sim/jobs/tree.h"
#include "sim/jobs/ways.h"

/* Unbounded memory: rows per fragment of all windows, so that rows rarely collide, and most rows of a pool. */
#define POOL_EACH 8U
#define POOL_MOST 65536U
#define NS_PS UINT64_C(1000)

/* ---- places ---- */

bool sim_placed_fits(const char *scheme)
{
    const struct trib_scheme *found = trib_published_find(scheme);

    return found != NULL && found->has_pieces;
}

/* Returns the pieces that the switch adds, by a plan. count 0: the scheme has no pieces. */
static struct trib_pieces pieces_at(const struct sim_jobs *j, const struct sim_job *job, uint32_t place)
{
    const struct sim_placed *placed = job->config.placed;

    return job->scheme->has_pieces && placed != NULL
               ? (struct trib_pieces){.own = placed->own[place - j->network->hosts],
                                      .count = placed->pieces,
                                      .run = job->session.train}
               : (struct trib_pieces){.count = 0};
}

/* True if the switch may add for the job. */
static bool may_add(const struct sim_jobs *j, const struct sim_job *job, uint32_t place)
{
    return job->scheme->has_combiners && (j->adds == NULL || j->adds[place] != 0) &&
           (!job->scheme->has_pieces || pieces_at(j, job, place).own != 0);
}

/* Returns the tree's combiner at the switch, created if necessary; SIM_NONE: the switch does not add. */
static uint32_t combiner_at(struct sim_jobs *j, const struct sim_job *job, uint32_t tree, uint32_t place,
                            uint32_t parent)
{
    if (!may_add(j, job, place)) {
        return SIM_NONE;
    }
    for (uint32_t i = sim_job_combiners(job); i < j->endpoint_count; i++) {
        if (j->endpoints[i].tree == tree && j->endpoints[i].place == place) {
            return i;
        }
    }
    uint32_t combiner = sim__jobs_node(j, job, tree, place);
    j->endpoints[combiner].is_combiner = true;
    sim__jobs_adopt(j, combiner, parent);
    return combiner;
}

/* Lists the switches from a worker to the server, in order. Returns their number. */
static uint32_t list_way(const struct sim_jobs *j, uint32_t worker, uint32_t server, uint32_t way[SIM_PATH_MAX])
{
    const struct sim_endpoint *to = &j->endpoints[server];
    uint32_t place = sim__ways_switch(j->network, j->endpoints[worker].place);
    uint32_t count = 0;

    while (place != to->place) {
        TRIB_ASSERT(count < SIM_PATH_MAX);
        way[count++] = place;
        place = j->network->links[sim__ways_next(j, place, to)].to & SIM_NODE_MASK;
    }
    return count;
}

/* Connects a worker to the combiners on its path, created if necessary: at switches of hosts, or at all switches. */
static void adopt_worker(struct sim_jobs *j, const struct sim_job *job, uint32_t worker, uint32_t server)
{
    uint32_t way[SIM_PATH_MAX];
    uint32_t count = list_way(j, worker, server, way);
    uint32_t above = server;

    for (uint32_t i = count; i-- > 0;) {
        bool may_be = job->config.combines_everywhere || i == 0 || i + 1 == count;
        uint32_t combiner = may_be ? combiner_at(j, job, j->endpoints[worker].tree, way[i], above) : SIM_NONE;
        above = combiner != SIM_NONE ? combiner : above;
    }
    sim__jobs_adopt(j, worker, above);
}

/* Connects each worker to the server over the combiners on the path. */
static void place_tree(struct sim_jobs *j, const struct sim_job *job, uint32_t tree)
{
    uint32_t server = sim_job_switches(job) + tree;

    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        uint32_t worker = job->first + tree * job->config.workers + rank;
        j->endpoints[worker].child = (uint8_t)rank;
        j->behind[worker] = UINT64_C(1) << rank;
        adopt_worker(j, job, worker, server);
        for (uint32_t i = j->endpoints[worker].parent; i != SIM_NONE; i = j->endpoints[i].parent) {
            j->behind[i] |= UINT64_C(1) << rank;
        }
    }
    j->endpoints[server].children = (uint8_t)job->config.workers;
}

bool sim__servers_place(struct sim_jobs *j, struct sim_job *job, const uint32_t *hosts, char *error)
{
    const struct sim_job_config *c = &job->config;

    j->behind = j->behind != NULL ? j->behind : sim_memory_map(j->endpoint_room * sizeof *j->behind);
    if (j->behind == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    job->trees = c->servers;
    sim__jobs_workers_in_trees(j, job);
    for (uint32_t tree = 0; tree < job->trees; tree++) {
        job->roots[tree] = c->are_servers_at_workers ? hosts[tree * c->workers / c->servers] : hosts[c->workers + tree];
        job->levels[tree] = 0;
        sim__ways_choose(j, job, tree);
        (void)sim__jobs_node(j, job, tree, job->roots[tree]);
    }
    for (uint32_t tree = 0; tree < job->trees; tree++) {
        place_tree(j, job, tree);
    }
    job->combiners = j->endpoint_count - sim_job_combiners(job);
    sim__ways_find(j, job);
    return true;
}

/* ---- pools ---- */

struct sim_row_pool *sim__pool_at(const struct sim_jobs *j, uint32_t place)
{
    return &j->pools[place - j->network->hosts];
}

uint32_t sim__pool_member(const struct sim_endpoint *e)
{
    return (uint32_t)e->job * TRIB_ROOTS_MAX + e->tree;
}

/* Returns the job's own rows at a switch in each tree; 0: the job uses shared rows. */
static uint64_t own_rows(const struct sim_jobs *j, const struct sim_job *job, uint32_t place)
{
    struct trib_session_config session = job->session;

    if (job->scheme == NULL || !may_add(j, job, place)) {
        return 0;
    }
    const struct trib_pieces pieces = pieces_at(j, job, place);
    session.roots = job->config.servers;
    return trib_pieces_rows(&pieces, trib_window_span(&session));
}

/* Returns the own rows of the first `count` jobs. */
static uint64_t all_own_rows(const struct sim_jobs *j, uint32_t place, uint32_t count)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < count; i++) {
        rows += own_rows(j, &j->jobs[i], place) * j->jobs[i].config.servers;
    }
    return rows;
}

/* Creates the switch's pool with its first combiner. */
static bool open_pool(struct sim_jobs *j, uint32_t place)
{
    uint32_t switches = j->network->nodes - j->network->hosts;
    uint64_t payload = 1;
    uint64_t windows = 0;

    j->pools = j->pools != NULL ? j->pools : calloc(switches, sizeof *j->pools);
    struct sim_row_pool *pool = j->pools != NULL ? sim__pool_at(j, place) : NULL;
    if (pool == NULL || pool->combiner != NULL) {
        return pool != NULL;
    }
    for (uint32_t i = 0; i < j->count; i++) {
        bool shares = j->jobs[i].scheme != NULL && j->jobs[i].scheme->has_combiners;
        payload = shares && j->jobs[i].config.payload > payload ? j->jobs[i].config.payload : payload;
        windows += shares && !j->jobs[i].scheme->has_pieces ? j->jobs[i].config.window : 0;
    }
    uint64_t wanted = POOL_EACH * windows < POOL_MOST ? POOL_EACH * windows : POOL_MOST;
    wanted += all_own_rows(j, place, j->count);
    uint64_t rows = j->memory_bytes != SIM_NEVER ? j->memory_bytes / payload : wanted;
    struct trib_combiner_config config = {
        .kernels = trib_value_kernels(),
        .rows = (uint32_t)(rows < SIM_MESSAGES_MAX ? rows : SIM_MESSAGES_MAX),
        .payload = SIM_JOB_PAYLOAD,
        .members = j->room * TRIB_ROOTS_MAX,
        .is_narrow = true, /* numbers are 32 bits wide */
        .is_zeroed = true,
    };
    pool->rows = config.rows;
    pool->combiner = sim_arena_take(&j->arena, trib_combiner_size(&config));
    pool->members = sim_arena_take(&j->arena, config.members * sizeof *pool->members);
    if (pool->combiner != NULL) {
        trib_combiner_init(pool->combiner, &config);
    }
    return pool->combiner != NULL && pool->members != NULL;
}

/* Sets the rows of a grant. Rows for pieces are the last rows of the pool, as far as the pool has enough. */
static void share_rows(const struct sim_jobs *j, const struct sim_endpoint *e, const struct sim_row_pool *pool,
                       struct trib_combiner_grant *grant)
{
    const struct sim_job *job = &j->jobs[e->job];
    uint64_t own = own_rows(j, job, e->place);
    uint64_t taken = own != 0 ? all_own_rows(j, e->place, e->job) + own * e->tree : all_own_rows(j, e->place, j->count);
    uint32_t left = taken < pool->rows ? pool->rows - (uint32_t)taken : 0;

    grant->pieces = pieces_at(j, job, e->place);
    grant->rows = left;
    if (own != 0) {
        grant->rows = own < left ? (uint32_t)own : left;
        grant->first_row = left - grant->rows;
    } else if (j->is_pool_static) {
        grant->rows = left / j->count;
        grant->first_row = grant->rows * e->job;
    }
}

/* Grants a communicator at a combiner, as the control plane does, with the lowest mark. */
static void admit(struct sim_jobs *j, uint32_t endpoint, uint64_t mark)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    struct sim_row_pool *pool = sim__pool_at(j, e->place);
    struct trib_combiner_grant grant = {
        .behind = j->behind[endpoint],
        .mark = mark,
        .span = trib_window_span(&job->session),
        .communicator = job->session.communicator,
        .generation = job->session.generation,
        .roots = (uint8_t)job->session.roots,
        .priority = (uint8_t)job->config.priority,
    };

    share_rows(j, e, pool, &grant);
    pool->members[sim__pool_member(e)] = endpoint;
    trib_combiner_admit(pool->combiner, sim__pool_member(e), &grant);
}

static uint64_t lowest_mark(const struct sim_jobs *j, const struct sim_job *job)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        uint64_t mark = job->scheme->worker->mark(j->endpoints[i].node);
        lowest = mark < lowest ? mark : lowest;
    }
    return lowest;
}

/* ---- nodes ---- */

static bool open_server(struct sim_jobs *j, struct sim_job *job, struct sim_endpoint *e)
{
    const struct trib_scheme *scheme = job->scheme;
    struct trib_switch_config config = {
        .session = job->session,
        .kernels = trib_value_kernels(),
        .children = e->children,
        .root = e->tree,
        .boot = job->boot,
        .answers = trib_switch_answers(e->children),
        .has_combiners = scheme->has_combiners,
        .is_zeroed = true,
        .is_narrow = true,
    };

    config.session.salt = 0;
    e->node = sim__jobs_take(j, job, scheme->switch_node->size(&config));
    if (e->node == NULL) {
        return false;
    }
    scheme->switch_node->init(e->node, &config);
    for (uint32_t rank = 0; rank < e->children; rank++) {
        scheme->switch_node->join(e->node, rank, 0);
        if (scheme->worker->set_child != NULL && !job->config.marks_of_all) {
            scheme->worker->set_child(j->endpoints[job->first + rank].node, e->tree, rank);
        }
    }
    return true;
}

bool sim__servers_open(struct sim_jobs *j, struct sim_job *job)
{
    for (uint32_t i = sim_job_switches(job); i < sim_job_combiners(job); i++) {
        if (!open_server(j, job, &j->endpoints[i])) {
            return false;
        }
    }
    for (uint32_t i = sim_job_combiners(job); i < job->first + job->count; i++) {
        if (!open_pool(j, j->endpoints[i].place)) {
            return false;
        }
        admit(j, i, 0);
    }
    return true;
}

void sim__servers_close(struct sim_jobs *j, const struct sim_job *job)
{
    for (uint32_t i = sim_job_combiners(job); i < job->first + job->count; i++) {
        trib_combiner_dismiss(sim__pool_at(j, j->endpoints[i].place)->combiner, sim__pool_member(&j->endpoints[i]));
    }
}

void sim__servers_tell_mark(struct sim_jobs *j, const struct sim_job *job, uint64_t mark)
{
    for (uint32_t i = sim_job_combiners(job); i < job->first + job->count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        trib_combiner_learn_mark(sim__pool_at(j, e->place)->combiner, sim__pool_member(e), mark);
    }
}

/* Empties the switch's pool and grants each communicator again with its mark. No other node is affected. */
void sim__pool_forget(struct sim_jobs *j, uint32_t place)
{
    for (uint32_t i = 0; j->pools != NULL && i < j->count; i++) {
        const struct sim_job *job = &j->jobs[i];
        for (uint32_t at = sim_job_combiners(job); job->state == SIM_JOB_OPEN && at < job->first + job->count; at++) {
            if (j->endpoints[at].is_combiner && j->endpoints[at].place == place) {
                admit(j, at, lowest_mark(j, job));
            }
        }
    }
}

uint32_t sim_jobs_rows(const struct sim_jobs *j, uint32_t number)
{
    const struct sim_job *job = &j->jobs[number];
    uint32_t rows = 0;

    for (uint32_t i = sim_job_combiners(job); j->pools != NULL && i < job->first + job->count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        rows += trib_combiner_rows_held(sim__pool_at(j, e->place)->combiner, sim__pool_member(e));
    }
    return rows;
}

void sim_jobs_pools(const struct sim_jobs *j, struct trib_combiner_counters *sum)
{
    *sum = (struct trib_combiner_counters){0};
    for (uint32_t i = 0; j->pools != NULL && i < j->network->nodes - j->network->hosts; i++) {
        if (j->pools[i].combiner != NULL) {
            trib_combiner_counters_add(sum, trib_combiner_counters(j->pools[i].combiner));
        }
    }
}
