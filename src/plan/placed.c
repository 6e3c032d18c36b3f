/* SPDX-License-Identifier: Apache-2.0 */
/* placed.c: see placed.h. Read next: sim/jobs/servers.c (where switches add pieces). */
#include "plan/placed.h"

#include <stdlib.h>
#include <string.h>

#include "plan/goat_file.h"
#include "plan/simulated.h"
#include "sim/jobs/servers.h"

bool plan_placed_read(struct plan_placed *it, const struct trib_toml *toml, char *error)
{
    *it = (struct plan_placed){.scenario = NULL};
    return trib_placed_read(&it->plan, toml, error);
}

void plan_placed_free(struct plan_placed *it)
{
    for (uint32_t i = 0; it->scenario != NULL && it->jobs != NULL && i < it->scenario->job_count; i++) {
        free(it->jobs[i].own);
        it->scenario->jobs[i].placed = NULL;
    }
    free(it->jobs);
    trib_placed_free(&it->plan);
    plan_network_free(&it->net);
    *it = (struct plan_placed){.scenario = NULL};
}

/* Pieces do not depend on how paths are chosen, nor on multicast, which the digest has as well. */
static bool is_its_network(const struct plan_placed *it)
{
    struct plan_network net = it->net;

    for (uint32_t paths = 0; paths < PLAN_PATHS_COUNT; paths++) {
        for (uint32_t multicast = 0; multicast < 2; multicast++) {
            net.paths = (enum plan_paths)paths;
            net.headroom = plan_headroom_of(net.paths);
            net.has_multicast = multicast != 0;
            if (plan_network_digest(&net) == it->plan.network) {
                return true;
            }
        }
    }
    return false;
}

/* Why a job of the scenario cannot have the pieces of the model; NULL: it can. */
static const char *find_fault(const struct sim_job_config *job, const struct trib_placed_model *model)
{
    if (!sim_placed_fits(job->scheme)) {
        return "the plan has pieces of its model, which are for scheme goat";
    }
    if (job->servers != 1 || job->are_servers_at_workers) {
        return "a plan of pieces is for one server, on a host of its own";
    }
    if (job->hosts == NULL || job->copies > 1) {
        return "a planned job names its hosts, as in hosts = \"0-3 8\": the workers, then the server";
    }
    if (model->hosts != 0 &&
        model->hosts != plan_goat_hosts_digest(job->hosts, job->workers, job->hosts[job->workers])) {
        return "the plan is for other hosts, or another server, which stands last in hosts: plan again";
    }
    return NULL;
}

/* The pieces of each switch. False: error. */
static bool place_job(struct plan_placed *it, uint32_t number, const struct trib_placed_model *model, char *error)
{
    struct sim_scenario *s = it->scenario;
    struct sim_placed *placed = &it->jobs[number];

    placed->pieces = model->pieces;
    placed->saved = model->parts_bytes != 0 ? 1 - (double)model->server_bytes / (double)model->parts_bytes : 0;
    placed->own = calloc(it->net.switches + 1U, sizeof *placed->own);
    if (placed->own == NULL) {
        return sim_scenario_refuse(s, number, error, "out of memory");
    }
    for (uint32_t i = 0; i < it->plan.switch_count; i++) {
        const struct trib_placed_switch *at = &it->plan.switches[i];
        if (&it->plan.models[at->model] != model) {
            continue;
        }
        uint32_t place = plan_names_find(&it->net.names, at->name, strlen(at->name));
        if (place == PLAN_NO_NAME || !plan_adds(&it->net, place)) {
            return sim_scenario_refuse(s, number, error, "the plan has pieces at %s, which is no switch that adds here",
                                       at->name);
        }
        placed->own[place - it->net.hosts] |= at->pieces;
    }
    s->jobs[number].placed = placed;
    s->jobs[number].combines_everywhere = true;
    return true;
}

static bool place_all(struct plan_placed *it, char *error)
{
    struct sim_scenario *s = it->scenario;
    uint32_t placed = 0;

    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct trib_placed_model *model = trib_placed_find(&it->plan, s->jobs[i].name);
        const char *fault = model != NULL ? find_fault(&s->jobs[i], model) : NULL;
        for (uint32_t k = 0; k < i && model != NULL && fault == NULL; k++) {
            fault =
                strcmp(s->jobs[k].name, s->jobs[i].name) == 0 ? "a second job of this name: give each its own" : NULL;
        }
        if (fault != NULL) {
            return sim_scenario_refuse(s, i, error, "%s", fault);
        }
        if (model != NULL && !place_job(it, i, model, error)) {
            return false;
        }
        if (model == NULL && sim_placed_fits(s->jobs[i].scheme)) {
            return sim_scenario_refuse(s, i, error, "the plan has no job of this name: write name = \"%s\"",
                                       it->plan.models[0].job);
        }
        placed += model != NULL;
    }
    return placed == it->plan.count ||
           sim_scenario_refuse(s, SIM_NONE, error, "the plan has %u jobs, of which %u are in this scenario",
                               it->plan.count, placed);
}

bool plan_placed_give(struct plan_placed *it, struct sim_scenario *scenario, char *error)
{
    it->scenario = scenario;
    it->jobs = calloc(scenario->job_count + 1U, sizeof *it->jobs);
    if (it->jobs == NULL) {
        return sim_scenario_refuse(scenario, SIM_NONE, error, "out of memory");
    }
    if (!plan_simulated_network(&it->net, scenario, error)) {
        return false;
    }
    if (it->plan.network != 0 && !is_its_network(it)) {
        return sim_scenario_refuse(scenario, SIM_NONE, error,
                                   "the plan is for another network than this scenario's: plan again");
    }
    return place_all(it, error);
}
