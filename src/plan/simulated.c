/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.c: see simulated.h. */
#include "plan/simulated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/check.h"
#include "plan/file.h"

#define SPREAD_MAX 1024U     /* shortest paths between two switches */
#define SPREAD_WHOLE 1048576 /* weight of all of them */

static enum plan_paths paths_of(enum sim_paths paths)
{
    return paths == SIM_PATHS_EXPLICIT ? PLAN_EXPLICIT : paths == SIM_PATHS_ECMP ? PLAN_ECMP : PLAN_PINNED;
}

/* ---- network and jobs ---- */

static bool make_network(struct plan_network *net, const struct sim_scenario *s)
{
    if (!plan_network_build(net, &s->topology) || !trib_fabric_ready(&net->fabric)) {
        return false;
    }
    uint8_t *adds = calloc(net->hosts + net->switches, 1);
    if (adds == NULL) {
        return false;
    }
    sim_run_draw_adders(s, adds);
    for (uint32_t i = 0; i < net->switches; i++) {
        net->adds_bps[i] = s->adder_count == 0 || adds[net->hosts + i] != 0 ? PLAN_ADDS_ALL : PLAN_ADDS_NOT;
    }
    free(adds);
    net->has_multicast = s->is_multicast;
    net->paths = paths_of(s->topology.paths);
    net->headroom = plan_headroom_of(net->paths);
    return true;
}

bool plan_simulated_network(struct plan_network *net, const struct sim_scenario *scenario, char *error)
{
    struct sim_topology_size size = sim_topology_size(&scenario->topology);
    if (size.hosts > PLAN_HOSTS_MAX || size.switches > PLAN_SWITCHES_MAX || size.links > PLAN_LINKS_MAX) {
        return sim_scenario_refuse(scenario, SIM_NONE, error,
                                   "a planned network has at most %u hosts, %u switches and %u cables", PLAN_HOSTS_MAX,
                                   PLAN_SWITCHES_MAX, PLAN_LINKS_MAX / 2);
    }
    return make_network(net, scenario) || sim_scenario_refuse(scenario, SIM_NONE, error, "out of memory");
}

/* Why a job of the scenario cannot be planned; NULL: it can. */
static const char *find_fault(const struct plan_simulated *it, const struct sim_job_config *job)
{
    if (job->name[0] == '\0') {
        return "a job without a name: write name = \"...\" as the plan has it";
    }
    if (job->hosts == NULL || job->copies > 1) {
        return "a planned job names its hosts, as in hosts = \"0-3\"";
    }
    if (!sim_planned_fits(job->scheme)) {
        return "a plan is for schemes whose switches add, such as switchml";
    }
    for (uint32_t j = 0; j < it->jobs.count; j++) {
        if (strcmp(it->jobs.list[j].name, job->name) == 0) {
            return "a second job of this name: give each its own";
        }
    }
    return NULL;
}

static bool make_jobs(struct plan_simulated *it, char *error)
{
    const struct sim_scenario *s = it->scenario;
    it->jobs.list = calloc(s->job_count + 1U, sizeof *it->jobs.list);
    it->planned = calloc(s->job_count + 1U, sizeof *it->planned);
    if (it->jobs.list == NULL || it->planned == NULL) {
        return sim_scenario_refuse(s, SIM_NONE, error, "out of memory");
    }
    if (s->job_count == 0) {
        return sim_scenario_refuse(s, SIM_NONE, error, "there is no [[job]], so a plan has nothing to do");
    }
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct sim_job_config *config = &s->jobs[i];
        const char *fault = find_fault(it, config);
        if (fault != NULL) {
            return sim_scenario_refuse(s, i, error, "%s", fault);
        }
        struct plan_job *job = &it->jobs.list[it->jobs.count++];
        *job = (struct plan_job){.weight = 1,
                                 .bytes = config->bytes,
                                 .hosts = calloc(config->workers, sizeof *job->hosts),
                                 .host_count = config->workers};
        (void)snprintf(job->name, sizeof job->name, "%s", config->name);
        if (job->hosts == NULL) {
            return sim_scenario_refuse(s, i, error, "out of memory");
        }
        memcpy(job->hosts, config->hosts, config->workers * sizeof *job->hosts);
        if (!plan_job_settle(job, &it->net)) {
            return sim_scenario_refuse(s, i, error, "out of memory");
        }
    }
    return true;
}

bool plan_simulated_init(struct plan_simulated *it, struct sim_scenario *scenario, char *error)
{
    *it = (struct plan_simulated){.scenario = scenario};
    return plan_simulated_network(&it->net, scenario, error) && make_jobs(it, error);
}

static void free_tree(struct sim_planned_tree *tree)
{
    free(tree->hops);
    free(tree->paths);
    free(tree->links);
    *tree = (struct sim_planned_tree){.root = 0};
}

void plan_simulated_free(struct plan_simulated *it)
{
    for (uint32_t j = 0; it->planned != NULL && j < it->jobs.count; j++) {
        for (uint32_t i = 0; i < it->planned[j].count; i++) {
            free_tree(&it->planned[j].trees[i]);
        }
        it->scenario->jobs[j].planned = NULL;
    }
    free(it->planned);
    plan_free(&it->plan);
    plan_jobs_free(&it->jobs);
    plan_network_free(&it->net);
    *it = (struct plan_simulated){.scenario = NULL};
}

/* ---- trees ---- */

/* A tree while it is made. */
struct maker {
    const struct trib_fabric *f;
    struct sim_planned_tree *tree;
    uint32_t path_count, path_room, link_count, link_room;
    uint32_t *hops; /* to the end of the hop at hand */
    uint32_t *order;
    uint32_t stack[PLAN_HOPS_MAX]; /* links */
    uint32_t target;
};

static bool add_path(struct maker *m, uint32_t weight, const uint32_t *links, uint32_t count)
{
    if (m->path_count == m->path_room) {
        m->path_room = 2 * m->path_room + 16;
        struct sim_planned_path *paths = realloc(m->tree->paths, m->path_room * sizeof *paths);
        if (paths == NULL) {
            return false;
        }
        m->tree->paths = paths;
    }
    if (m->link_count + count > m->link_room) {
        m->link_room = 2 * m->link_room + count + 64;
        uint32_t *list = realloc(m->tree->links, m->link_room * sizeof *list);
        if (list == NULL) {
            return false;
        }
        m->tree->links = list;
    }
    m->tree->paths[m->path_count++] = (struct sim_planned_path){weight > 0 ? weight : 1, m->link_count, count};
    memcpy(m->tree->links + m->link_count, links, count * sizeof *links);
    m->link_count += count;
    m->tree->hops[m->tree->hop_count - 1].path_count++;
    return true;
}

/* All shortest paths from a switch, each switch in equal parts. */
static bool spread(struct maker *m, uint32_t at, uint32_t depth, double weight)
{
    const struct trib_fabric *f = m->f;
    uint32_t ways = 0;
    if (at == m->target) {
        return m->tree->hops[m->tree->hop_count - 1].path_count < SPREAD_MAX &&
               add_path(m, (uint32_t)(weight * SPREAD_WHOLE), m->stack, depth);
    }
    for (uint32_t k = f->first[at]; k < f->first[at + 1]; k++) {
        ways += trib_fabric_leads(f, m->hops, m->target, f->out[k]);
    }
    for (uint32_t k = f->first[at]; k < f->first[at + 1]; k++) {
        if (!trib_fabric_leads(f, m->hops, m->target, f->out[k])) {
            continue;
        }
        if (depth == PLAN_HOPS_MAX) {
            return false;
        }
        m->stack[depth] = f->out[k];
        if (!spread(m, f->to[f->out[k]], depth + 1, weight / ways)) {
            return false;
        }
    }
    return true;
}

static bool add_hop(struct maker *m, const struct plan_tree *tree, const struct plan_hop *hop, bool has_ports)
{
    bool is_spread = hop->path_count == 0, is_good = true;
    m->tree->hops[m->tree->hop_count++] = (struct sim_planned_hop){.from = hop->from,
                                                                   .to = hop->to,
                                                                   .adds = hop->adds,
                                                                   .ports = is_spread && has_ports ? PLAN_PORTS : 0,
                                                                   .first_path = m->path_count};
    for (uint32_t i = 0; is_good && i < hop->path_count; i++) {
        const struct plan_path *path = &tree->paths[hop->first_path + i];
        is_good = add_path(m, path->weight, tree->links + path->first_link, path->link_count);
    }
    if (is_spread) {
        m->target = hop->to;
        (void)trib_fabric_measure(m->f, hop->to, m->hops, m->order);
        is_good = spread(m, hop->from, 0, 1);
    }
    return is_good;
}

bool plan_simulated_tree(const struct plan_network *net, const struct plan_tree *tree, bool has_ports,
                         struct sim_planned_tree *out)
{
    *out = (struct sim_planned_tree){.root = tree->root,
                                     .weight = 1,
                                     .is_multicast = tree->is_multicast,
                                     .hops = calloc(tree->hop_count + 1U, sizeof *out->hops)};
    struct maker m = {.f = &net->fabric,
                      .tree = out,
                      .hops = calloc(net->fabric.places, sizeof *m.hops),
                      .order = calloc(net->fabric.places, sizeof *m.order)};
    bool is_good = out->hops != NULL && m.hops != NULL && m.order != NULL;
    for (uint32_t i = 0; is_good && i < tree->hop_count; i++) {
        is_good = add_hop(&m, tree, &tree->hops[i], has_ports);
    }
    free(m.hops);
    free(m.order);
    return is_good;
}

/* ---- a plan ---- */

bool plan_simulated_give(struct plan_simulated *it, char *error)
{
    bool has_ports = it->scenario->topology.paths != SIM_PATHS_EXPLICIT;
    for (uint32_t j = 0; j < it->jobs.count; j++) {
        const struct plan_grant *grant = &it->plan.grants[j];
        struct sim_planned *planned = &it->planned[j];
        planned->rate_bps = grant->rate_bps;
        while (planned->count < grant->count) {
            struct sim_planned_tree *tree = &planned->trees[planned->count];
            const struct plan_share *share = &grant->shares[planned->count++];
            if (!plan_simulated_tree(&it->net, &share->tree, has_ports, tree)) {
                trib_explain(error, "job %s: out of memory, or more than %u shortest paths of a hop",
                             it->jobs.list[j].name, SPREAD_MAX);
                return false;
            }
            tree->weight = share->weight;
            planned->weights += share->weight;
        }
        if (planned->rate_bps < UINT64_C(8) * TRIB_RATE_MIN) {
            trib_explain(error, "job %s: a rate of %" PRIu64 " bit/s is below 1Mbps, the least that ranks keep",
                         it->jobs.list[j].name, planned->rate_bps);
            return false;
        }
        it->scenario->jobs[j].planned = planned;
    }
    return true;
}

/* A plan may assume less of paths than the network has, and has the headroom of its own network. */
static bool read_plan(struct plan_simulated *it, const struct trib_toml *toml, char *error)
{
    bool is_good = plan_read(&it->plan, &it->net, &it->jobs, true, toml, error);
    if (!is_good && it->plan.paths <= it->net.paths && it->plan.network_digest != 0) {
        it->net.paths = it->plan.paths;
        it->net.headroom = it->plan.headroom;
        plan_free(&it->plan);
        is_good = plan_read(&it->plan, &it->net, &it->jobs, true, toml, error);
    }
    return is_good;
}

bool plan_simulated_read(struct plan_simulated *it, const struct trib_toml *toml, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!read_plan(it, toml, error)) {
        return false;
    }
    if (!plan_check_loads(&it->plan, &it->net, &it->jobs, cause) || !plan_simulated_give(it, cause)) {
        trib_explain(error, "%s: %s", toml->path, cause);
        return false;
    }
    return true;
}
