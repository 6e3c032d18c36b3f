/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c: division of a switch's memory for sums among jobs, within its bound: see jobs.h.
 *
 * A node of a scheme without caps has an equal share of its switch's memory from the start, even while its job is
 * absent. Its window is at most half of the share. Active nodes with caps divide the rest by core/share.h. They divide
 * it again when a packet arrives and SHARE_PS have passed since the last division. This delay costs some time and no
 * memory. A finished job has left. Read next: core/share.h, open.c. */
#include "sim/jobs/shares.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/share.h"
#include "io/explain.h"

#define NS_PS UINT64_C(1000)
#define SHARE_PS UINT64_C(50000000)

static bool has_caps(const struct sim_job *job)
{
    return trib_scheme_has_caps(job->scheme);
}

static struct sim_memory *memory_of(const struct sim_jobs *j, const struct sim_endpoint *e)
{
    return &j->memories[e->place - j->network->hosts];
}

static uint64_t bytes_of(const struct sim_jobs *j, uint32_t endpoint)
{
    return (uint64_t)j->slots[endpoint].held * j->jobs[j->endpoints[endpoint].job].config.payload;
}

/* Lists the nodes of each switch. */
static bool list_nodes(struct sim_jobs *j)
{
    uint32_t switches = j->network->nodes - j->network->hosts;
    uint32_t at = 0;

    j->memories = calloc(switches, sizeof *j->memories);
    j->lodgers = calloc(j->endpoint_count + 1, sizeof *j->lodgers);
    j->shares = calloc(j->endpoint_count + 1, sizeof *j->shares);
    if (j->memories == NULL || j->lodgers == NULL || j->shares == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        if (sim_job_is_lodger(j, &j->endpoints[i])) {
            memory_of(j, &j->endpoints[i])->count++;
        }
    }
    for (uint32_t i = 0; i < switches; i++) {
        j->memories[i].first = at;
        at += j->memories[i].count;
        j->memories[i].count = 0;
    }
    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        if (sim_job_is_lodger(j, &j->endpoints[i])) {
            struct sim_memory *m = memory_of(j, &j->endpoints[i]);
            j->lodgers[m->first + m->count++] = i;
        }
    }
    return true;
}

/* Limits the windows of jobs without caps by their smallest share. */
static void bound_windows(struct sim_jobs *j)
{
    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        struct sim_job *job = &j->jobs[e->job];
        if (!sim_job_is_lodger(j, e) || has_caps(job)) {
            continue;
        }
        uint64_t most = j->memory_bytes / memory_of(j, e)->count / job->config.payload / 2;
        job->config.window = most < job->config.window ? (uint32_t)most : job->config.window;
    }
}

/* Computes the rest for nodes with caps, in fragments of their largest payload. */
static void leave_rest(struct sim_jobs *j, struct sim_memory *m)
{
    uint64_t rest = j->memory_bytes;
    uint32_t payload = 1;

    m->capped = 0;
    for (uint32_t i = m->first; i < m->first + m->count; i++) {
        const struct sim_job *job = &j->jobs[j->endpoints[j->lodgers[i]].job];
        if (has_caps(job)) {
            m->capped++;
            payload = job->config.payload > payload ? job->config.payload : payload;
        } else {
            rest -= UINT64_C(2) * job->config.window * job->config.payload;
        }
    }
    rest /= payload;
    m->fragments = rest < UINT32_MAX ? (uint32_t)rest : UINT32_MAX;
}

/* Sets the first cap of ranks. All nodes have room for it in any case. */
static void set_first(struct sim_jobs *j)
{
    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        struct sim_job *job = &j->jobs[e->job];
        if (!sim_job_is_lodger(j, e) || !has_caps(job)) {
            continue;
        }
        const struct sim_memory *m = memory_of(j, e);
        uint32_t first = m->fragments / m->capped / 2;
        first = first < TRIB_TREE_FIRST ? first : TRIB_TREE_FIRST;
        first = first < job->config.window ? first : job->config.window;
        job->session.cap = first < job->session.cap ? first : job->session.cap;
    }
}

bool sim__shares_open(struct sim_jobs *j, char *error)
{
    if (j->memory_bytes == SIM_NEVER) {
        return true;
    }
    if (!list_nodes(j)) {
        return false;
    }
    bound_windows(j);
    for (uint32_t i = 0; i < j->network->nodes - j->network->hosts; i++) {
        leave_rest(j, &j->memories[i]);
    }
    for (uint32_t i = 0; i < j->count; i++) {
        j->jobs[i].session.cap = UINT32_MAX;
    }
    set_first(j);
    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        const struct sim_job *job = &j->jobs[e->job];
        if (sim_job_is_lodger(j, e) && (has_caps(job) ? job->session.cap : job->config.window) == 0) {
            uint32_t sharing = memory_of(j, e)->count;
            trib_explain(error,
                         "switches' memory of %" PRIu64
                         " bytes, shared by %u tree%s, has no room for two fragments of %u%s",
                         j->memory_bytes, sharing, sharing == 1 ? "" : "s", job->config.payload,
                         has_caps(job) ? ": a cap would be zero" : "");
            return false;
        }
    }
    for (uint32_t i = 0; i < j->count; i++) {
        j->jobs[i].session.cap = j->jobs[i].session.cap != UINT32_MAX ? j->jobs[i].session.cap : 0;
    }
    return true;
}

/* True if the endpoint's node shares the rest. */
static bool shares(const struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_job *job = &j->jobs[j->endpoints[endpoint].job];

    return has_caps(job) && job->iterations != job->config.iterations;
}

/* Sums the most that open jobs may hold in a switch: twice the cap of each. A job counts for more while its ranks may
 * still use an older, larger cap. The sum grows only in divide(). */
static void count_rings(struct sim_jobs *j, struct sim_memory *m)
{
    uint64_t rings = 0;

    for (uint32_t i = m->first; i < m->first + m->count; i++) {
        const struct sim_endpoint *e = &j->endpoints[j->lodgers[i]];
        const struct sim_job *job = &j->jobs[e->job];
        if (has_caps(job) && !shares(j, j->lodgers[i])) {
            continue;
        }
        uint64_t ring = has_caps(job) ? job->scheme->switch_node->room(e->node) : UINT64_C(2) * job->config.window;
        rings += ring * job->config.payload;
    }
    m->most_rings = rings > m->most_rings ? rings : m->most_rings;
}

static void divide(struct sim_jobs *j, struct sim_memory *m, uint64_t now_ns)
{
    const uint32_t *lodgers = j->lodgers + m->first;
    uint32_t count = 0;

    for (uint32_t i = 0; i < m->count; i++) {
        const struct sim_endpoint *e = &j->endpoints[lodgers[i]];
        const struct sim_job *job = &j->jobs[e->job];
        if (shares(j, lodgers[i])) {
            j->shares[count++] = (struct trib_share){
                .first = job->session.cap,
                .most = job->session.slots / 2,
                .room = job->scheme->switch_node->room(e->node),
                .cap = j->slots[lodgers[i]].cap,
                .is_active = job->scheme->switch_node->is_active(e->node, now_ns),
            };
        }
    }
    trib_share_divide(m->fragments, j->shares, count);
    count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        struct sim_slots *slots = &j->slots[lodgers[i]];
        uint32_t cap = shares(j, lodgers[i]) ? j->shares[count++].cap : slots->cap;
        if (cap != slots->cap) {
            const struct sim_endpoint *e = &j->endpoints[lodgers[i]];
            slots->cap = cap;
            j->jobs[e->job].scheme->switch_node->set_cap(e->node, cap, now_ns);
        }
        slots->cap_most = cap > slots->cap_most ? cap : slots->cap_most;
    }
    count_rings(j, m);
}

static struct sim_memory *count_held(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    struct sim_memory *m = memory_of(j, e);

    m->held_bytes -= bytes_of(j, endpoint);
    j->slots[endpoint].held = j->jobs[e->job].scheme->switch_node->slots_held(e->node);
    m->held_bytes += bytes_of(j, endpoint);
    m->most_bytes = m->held_bytes > m->most_bytes ? m->held_bytes : m->most_bytes;
    return m;
}

void sim__shares_opened(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];

    if (has_caps(job)) {
        j->slots[endpoint].cap = job->session.cap;
        job->scheme->switch_node->set_cap(e->node, job->session.cap, sim_network_now(j->network) / NS_PS);
    }
    (void)count_held(j, endpoint);
}

void sim__shares_closed(struct sim_jobs *j, uint32_t endpoint)
{
    memory_of(j, &j->endpoints[endpoint])->held_bytes -= bytes_of(j, endpoint);
    j->slots[endpoint].held = 0;
}

void sim__shares_count(struct sim_jobs *j, uint32_t endpoint)
{
    struct sim_memory *m = count_held(j, endpoint);
    uint64_t now_ps = sim_network_now(j->network);

    if (m->capped != 0 && now_ps >= m->next_ps) {
        m->next_ps = now_ps + SHARE_PS;
        divide(j, m, now_ps / NS_PS);
    }
}

uint64_t sim_jobs_rings(const struct sim_jobs *j)
{
    uint64_t most = 0;

    for (uint32_t i = 0; j->memories != NULL && i < j->network->nodes - j->network->hosts; i++) {
        most = j->memories[i].most_rings > most ? j->memories[i].most_rings : most;
    }
    return most;
}

uint64_t sim_jobs_memory(const struct sim_jobs *j)
{
    uint64_t most = 0;

    for (uint32_t i = 0; j->memories != NULL && i < j->network->nodes - j->network->hosts; i++) {
        most = j->memories[i].most_bytes > most ? j->memories[i].most_bytes : most;
    }
    return most;
}
