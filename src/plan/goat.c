/* SPDX-License-Identifier: Apache-2.0 */
/* goat.c: GOAT's problem and the cost of a plan. See goat.h. */
#include "plan/goat.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"

/* ---- problem ---- */

enum trib_status trib_goat_allocate(struct trib_goat *p, uint32_t workers, uint32_t switches, uint32_t gradients)
{
    *p = (struct trib_goat){.workers = workers,
                            .switches = switches,
                            .gradients = gradients,
                            .weight = calloc(workers + 1U, sizeof *p->weight),
                            .to_server = calloc(workers + 1U, sizeof *p->to_server),
                            .to_switch = calloc((size_t)workers * switches + 1, sizeof *p->to_switch),
                            .from_switch = calloc(switches + 1U, sizeof *p->from_switch),
                            .memory = calloc(switches + 1U, sizeof *p->memory),
                            .bytes = calloc(gradients + 1U, sizeof *p->bytes)};
    if (!p->weight || !p->to_server || !p->to_switch || !p->from_switch || !p->memory || !p->bytes) {
        trib_goat_destroy(p);
        return TRIB_ERR_MEMORY;
    }
    return TRIB_OK;
}

void trib_goat_destroy(struct trib_goat *p)
{
    free(p->weight);
    free(p->to_server);
    free(p->to_switch);
    free(p->from_switch);
    free(p->memory);
    free(p->bytes);
    *p = (struct trib_goat){.workers = 0};
}

/* Sizes of the model. False: error. */
static bool set_bytes(struct trib_goat *p, const struct trib_goat_job *job, char *error)
{
    for (uint32_t g = 0; g < p->gradients; g++) {
        if (job->bytes[g] > TRIB_GOAT_BYTES_MAX - p->total) {
            trib_explain(error, "the model has more than %llu bytes", (unsigned long long)TRIB_GOAT_BYTES_MAX);
            return false;
        }
        p->bytes[g] = job->bytes[g];
        p->total += job->bytes[g];
    }
    return true;
}

/* False: error. */
static bool set_way_to_server(struct trib_goat *p, uint32_t worker, uint32_t hops, char *error)
{
    if (hops == TRIB_NO_WAY) {
        trib_explain(error, "no path from worker %u to the server", worker);
        return false;
    }
    if (hops > TRIB_GOAT_HOPS_MAX) {
        trib_explain(error, "worker %u is %u hops from the server; the limit is %u", worker, hops, TRIB_GOAT_HOPS_MAX);
        return false;
    }
    p->weight[worker] = 1;
    p->to_server[worker] = hops;
    return true;
}

/* Leaves the worker only the switches that all of its shortest paths to the server pass: alone at their distance.
 * to_server, hops, order: hops to the server from all places, and room for as many numbers. */
static void keep_to_paths(struct trib_goat *p, const struct trib_goat_job *job, uint32_t w, const uint32_t *to_server,
                          uint32_t *hops, uint32_t *order)
{
    uint32_t at_distance[TRIB_GOAT_HOPS_MAX + 1] = {0}; /* places of shortest paths */
    uint32_t reached = trib_fabric_measure(job->fabric, job->worker_places[w], hops, order);

    for (uint32_t i = 0; i < reached; i++) {
        uint32_t away = hops[order[i]];
        bool is_on_path = to_server[order[i]] != TRIB_NO_WAY && away + to_server[order[i]] == p->to_server[w];
        at_distance[is_on_path ? away : 0]++;
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        uint32_t *way = &p->to_switch[(size_t)w * p->switches + s];
        bool is_on_path = *way != TRIB_NO_WAY && *way + p->from_switch[s] == p->to_server[w] && at_distance[*way] == 1;
        *way = is_on_path ? *way : TRIB_NO_WAY;
    }
}

/* False: out of memory. */
static bool keep_all_to_paths(struct trib_goat *p, const struct trib_goat_job *job, uint32_t *hops, uint32_t *order)
{
    uint32_t *to_server = calloc(job->fabric->places + 1U, sizeof *to_server);

    if (to_server != NULL) {
        (void)trib_fabric_measure(job->fabric, job->server, to_server, order);
        for (uint32_t w = 0; w < p->workers; w++) {
            keep_to_paths(p, job, w, to_server, hops, order);
        }
    }
    free(to_server);
    return to_server != NULL;
}

/* The ways of all workers and switches. hops, order: room for all places. False: error. */
static bool measure(struct trib_goat *p, const struct trib_goat_job *job, uint32_t *hops, uint32_t *order, char *error)
{
    (void)trib_fabric_measure(job->fabric, job->server, hops, order);
    for (uint32_t w = 0; w < p->workers; w++) {
        if (!set_way_to_server(p, w, hops[job->worker_places[w]], error)) {
            return false;
        }
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        uint32_t way = hops[job->switch_places[s]];
        p->from_switch[s] = way <= TRIB_GOAT_HOPS_MAX ? way : TRIB_NO_WAY;
        p->memory[s] = job->memory[s];
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        (void)trib_fabric_measure(job->fabric, job->switch_places[s], hops, order);
        for (uint32_t w = 0; w < p->workers; w++) {
            bool is_useful = p->from_switch[s] != TRIB_NO_WAY; /* else behind a worker, which forwards nothing */
            p->to_switch[(size_t)w * p->switches + s] = is_useful ? hops[job->worker_places[w]] : TRIB_NO_WAY;
        }
    }
    return true;
}

enum trib_status trib_goat_create(struct trib_goat *p, const struct trib_goat_job *job, char *error)
{
    if (job->workers > TRIB_GOAT_WORKERS_MAX || job->switches > TRIB_GOAT_SWITCHES_MAX) {
        trib_explain(error, "%u workers and %u switches; the limit is %u and %u", job->workers, job->switches,
                     TRIB_GOAT_WORKERS_MAX, TRIB_GOAT_SWITCHES_MAX);
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = trib_goat_allocate(p, job->workers, job->switches, job->gradients);
    if (status != TRIB_OK) {
        return status;
    }
    uint32_t *hops = calloc(job->fabric->places + 1U, sizeof *hops);
    uint32_t *order = calloc(job->fabric->places + 1U, sizeof *order);
    bool has_memory = hops != NULL && order != NULL;
    if (has_memory && (!set_bytes(p, job, error) || !measure(p, job, hops, order, error))) {
        status = TRIB_ERR_INVALID;
    } else if (has_memory && job->is_on_path) {
        has_memory = keep_all_to_paths(p, job, hops, order);
    }
    status = has_memory ? status : TRIB_ERR_MEMORY;
    free(hops);
    free(order);
    if (status != TRIB_OK) {
        trib_goat_destroy(p);
    }
    return status;
}

/* ---- plan ---- */

enum trib_status trib_goat_plan_create(struct trib_goat_plan *plan, const struct trib_goat *p)
{
    size_t nodes = (size_t)p->gradients * p->workers;

    *plan = (struct trib_goat_plan){.is_open = calloc((size_t)p->gradients * p->switches + 1, sizeof *plan->is_open),
                                    .node = calloc(nodes + 1, sizeof *plan->node)};
    if (plan->is_open == NULL || plan->node == NULL) {
        trib_goat_plan_destroy(plan);
        return TRIB_ERR_MEMORY;
    }
    for (size_t i = 0; i < nodes; i++) {
        plan->node[i] = TRIB_GOAT_SERVER;
    }
    trib_goat_count(p, plan);
    return TRIB_OK;
}

void trib_goat_plan_destroy(struct trib_goat_plan *plan)
{
    free(plan->is_open);
    free(plan->node);
    free(plan->price);
    *plan = (struct trib_goat_plan){.cost = 0};
}

/* The nearest open switch that is nearer than the server; of equal ones the first. */
static uint32_t nearest(const struct trib_goat *p, const bool *is_open, uint32_t w)
{
    const uint32_t *to = &p->to_switch[(size_t)w * p->switches];
    uint32_t best = TRIB_GOAT_SERVER;
    uint32_t hops = p->to_server[w];

    for (uint32_t s = 0; s < p->switches; s++) {
        if (is_open[s] && to[s] < hops) {
            best = s;
            hops = to[s];
        }
    }
    return best;
}

void trib_goat_send_to_nearest(const struct trib_goat *p, struct trib_goat_plan *plan)
{
    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t w = 0; w < p->workers; w++) {
            plan->node[(size_t)g * p->workers + w] = nearest(p, &plan->is_open[(size_t)g * p->switches], w);
        }
    }
}

/* Hops of one gradient's parts and sums, and the messages that its server receives. */
static void count_gradient(const struct trib_goat *p, const uint32_t *node, uint64_t *hops, uint64_t *messages)
{
    bool is_used[TRIB_GOAT_SWITCHES_MAX];

    memset(is_used, 0, p->switches);
    for (uint32_t w = 0; w < p->workers; w++) {
        bool is_direct = node[w] == TRIB_GOAT_SERVER;
        uint32_t way = is_direct ? p->to_server[w] : p->to_switch[(size_t)w * p->switches + node[w]];
        *hops += (uint64_t)way * p->weight[w];
        *messages += is_direct ? p->weight[w] : 0;
        if (!is_direct) {
            is_used[node[w]] = true;
        }
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        *hops += is_used[s] ? p->from_switch[s] : 0;
        *messages += is_used[s];
    }
}

void trib_goat_count(const struct trib_goat *p, struct trib_goat_plan *plan)
{
    plan->cost = 0;
    plan->server_bytes = 0;
    plan->excess_bytes = 0;
    for (uint32_t g = 0; g < p->gradients; g++) {
        uint64_t hops = 0;
        uint64_t messages = 0;
        count_gradient(p, &plan->node[(size_t)g * p->workers], &hops, &messages);
        plan->cost += hops * p->bytes[g];
        plan->server_bytes += messages * p->bytes[g];
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        uint64_t held = 0;
        for (uint32_t g = 0; g < p->gradients; g++) {
            held += plan->is_open[(size_t)g * p->switches + s] ? p->bytes[g] : 0;
        }
        plan->excess_bytes += held > p->memory[s] ? held - p->memory[s] : 0;
    }
}

uint64_t trib_goat_gradient_cost(const struct trib_goat *p, const bool *is_open, uint32_t *node)
{
    uint64_t hops = 0;
    uint64_t messages = 0;

    for (uint32_t w = 0; w < p->workers; w++) {
        node[w] = nearest(p, is_open, w);
    }
    count_gradient(p, node, &hops, &messages);
    return hops;
}
