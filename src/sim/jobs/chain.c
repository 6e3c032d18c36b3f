/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: jobs with chains of switches (schemes/rina/rina.h). A link of the chain is a rack with its switch, or a
 * single worker with a node on its host. A rack needs enough workers below a switch that adds. Links form a ring in the
 * order of their lowest ranks. The first link is the root, at the end of two chains; each tree cuts the ring at another
 * place. Switches between links forward packets.
 *
 * By the published rule (published/rina_literal/rina_literal.h) one chain goes around once, and in tree N it begins at
 * link N. The first worker of a link, its agent, has another node, which receives the sum of the earlier links. The
 * last link is the root. Read next: ways.c, tree.c. */
#include "sim/jobs/chain.h"

#include <stdlib.h>

#include "io/explain.h"
#include "sim/jobs/tree.h"
#include "sim/jobs/ways.h"

/* A chain under construction. */
struct chain {
    struct sim_jobs *jobs;
    const struct sim_job *job;
    uint32_t tree;
    uint32_t count;     /* number of links */
    uint32_t *places;   /* by link: place of its node */
    uint32_t *switches; /* by rank: switch of the worker's host */
};

static bool counts_as_rack(const struct chain *c, uint32_t place)
{
    const struct sim_job_config *config = &c->job->config;
    uint32_t workers = 0;

    for (uint32_t rank = 0; rank < config->workers; rank++) {
        workers += c->switches[rank] == place;
    }
    return (c->jobs->adds == NULL || c->jobs->adds[place] != 0) && workers >= config->at_least;
}

/* Returns the place of a worker's link: its rack's switch, or its host. */
static uint32_t place_of(const struct chain *c, uint32_t rank)
{
    return counts_as_rack(c, c->switches[rank]) ? c->switches[rank] : c->jobs->endpoints[c->job->first + rank].place;
}

static void list_links(struct chain *c)
{
    for (uint32_t rank = 0; rank < c->job->config.workers; rank++) {
        c->switches[rank] = sim__ways_switch(c->jobs->network, c->jobs->endpoints[c->job->first + rank].place);
    }
    for (uint32_t rank = 0; rank < c->job->config.workers; rank++) {
        uint32_t place = place_of(c, rank);
        uint32_t at = 0;
        while (at < c->count && c->places[at] != place) {
            at++;
        }
        c->places[at] = place;
        c->count += at == c->count;
    }
}

static uint32_t add_node(const struct chain *c, uint32_t place)
{
    return sim__jobs_node(c->jobs, c->job, c->tree, place);
}

/* Adds all workers of the link below its node, except rank `but`. */
static bool adopt_workers(const struct chain *c, uint32_t place, uint32_t node, uint32_t but, char *error)
{
    bool is_good = true;

    for (uint32_t rank = 0; rank < c->job->config.workers && is_good; rank++) {
        if (rank != but && place_of(c, rank) == place) {
            is_good = sim__jobs_join(c->jobs, c->job->first + c->tree * c->job->config.workers + rank, node, error);
        }
    }
    return is_good;
}

static uint32_t first_rank(const struct chain *c, uint32_t place)
{
    uint32_t rank = 0;

    while (place_of(c, rank) != place) {
        rank++;
    }
    return rank;
}

/* Published rule: adds a link. Its agent is on the host of the link's first rank. The agent receives the sum of the
 * earlier links, adds the rank's contribution, and is the first child of the link's node. *last: node of the previous
 * link, SIM_NONE at first. */
static bool place_link(const struct chain *c, uint32_t place, uint32_t *last, char *error)
{
    uint32_t before = *last;
    uint32_t rank = first_rank(c, place);
    uint32_t worker = c->job->first + c->tree * c->job->config.workers + rank;
    uint32_t node = add_node(c, place);
    uint32_t agent = add_node(c, c->jobs->endpoints[worker].place);

    *last = node;
    return sim__jobs_join(c->jobs, worker, agent, error) &&
           (before == SIM_NONE || sim__jobs_join(c->jobs, before, agent, error)) &&
           sim__jobs_join(c->jobs, agent, node, error) && adopt_workers(c, place, node, rank, error);
}

static bool place_literal(const struct chain *c, struct sim_job *job, char *error)
{
    uint32_t last = SIM_NONE;

    for (uint32_t i = 0; i < c->count; i++) {
        if (!place_link(c, c->places[(c->tree + i) % c->count], &last, error)) {
            return false;
        }
    }
    job->roots[c->tree] = c->jobs->endpoints[last].place;
    return true;
}

static bool place_chains(const struct chain *c, struct sim_job *job, char *error)
{
    uint32_t first = c->jobs->endpoint_count;
    bool is_good = true;

    for (uint32_t i = 0; i < c->count; i++) {
        (void)add_node(c, c->places[i]);
    }
    for (uint32_t i = 0; i < c->count && is_good; i++) {
        is_good = adopt_workers(c, c->places[i], first + i, SIM_NONE, error);
    }
    for (uint32_t i = 1; i < c->count && is_good; i++) {
        is_good = sim__jobs_join(c->jobs, first + i, first + trib_chain_parent(c->count, c->tree, i), error);
    }
    job->roots[c->tree] = c->places[0];
    return is_good;
}

bool sim__chain_place(struct sim_jobs *j, struct sim_job *job, char *error)
{
    struct chain c = {.jobs = j,
                      .job = job,
                      .places = calloc(job->config.workers, sizeof *c.places),
                      .switches = calloc(job->config.workers, sizeof *c.switches)};
    bool is_good = c.places != NULL && c.switches != NULL;

    trib_explain(error, "out of memory");
    if (is_good) {
        list_links(&c);
        job->trees = job->config.trees < c.count ? job->config.trees : c.count;
        sim__jobs_workers_in_trees(j, job);
    }
    for (c.tree = 0; is_good && c.tree < job->trees; c.tree++) {
        sim__ways_choose(j, job, c.tree);
        is_good = job->scheme->has_agents ? place_literal(&c, job, error) : place_chains(&c, job, error);
    }
    if (is_good) {
        sim__ways_find(j, job);
    }
    free(c.places);
    free(c.switches);
    return is_good;
}
