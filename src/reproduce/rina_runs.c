/* SPDX-License-Identifier: Apache-2.0 */
/* rina_runs.c: see rina_runs.h. */
#include "reproduce/rina_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define NAMES_MAX 1024U
#define DELAY_NS 10000U /* delay of a host's link; a step takes two, and little more */
#define FABRIC_NS 1000U

/* Writes the table [switches]; nothing if all switches add. If none adds for the job, a switch without workers adds. */
static void name_adders(struct reproduce_run *run, const struct rina_run *it, char text[NAMES_MAX])
{
    const struct rina_network *n = it->network;
    struct sim_topology_size size = sim_topology_size(&n->topology);
    struct plan_deploy deploy;
    uint32_t list[64];
    int len = 0;

    text[0] = '\0';
    if (it->adders == RINA_ALL || !rina_tree(run, n, n->workers, &deploy)) {
        return;
    }
    TRIB_ASSERT(deploy.count <= sizeof list / sizeof list[0]);
    (void)plan_deploy_list(&deploy, it->way->order, deploy.count, list);
    len = snprintf(text, NAMES_MAX, "[switches]\nadd = \"");
    for (uint32_t i = 0; i < it->adders || i == 0; i++) {
        char name[SIM_NODE_NAME_MAX];
        uint32_t place = it->adders == 0 ? size.hosts + size.switches - 1 : deploy.switches[list[i]].place;
        sim_topology_node_name(&n->topology, place, name);
        len += snprintf(text + len, NAMES_MAX - (size_t)len, "%s ", name);
    }
    (void)snprintf(text + len, NAMES_MAX - (size_t)len, "\"\n");
    plan_deploy_free(&deploy);
}

bool rina_simulate(struct reproduce_run *run, struct rina_run *it)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char adders[NAMES_MAX];

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = it->way->name;
    cell->number = it->number++;
    cell->count = it->count;
    name_adders(run, it, adders);
    bool is_good =
        reproduce_open(run, cell,
                       "duration = \"100s\"\nmtu = \"%uB\"\n[topology]\n%srate = \"25Gbps\"\n"
                       "delay = \"%uns\"\nfabric_delay = \"%uns\"\n"
                       "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                       "[[job]]\nscheme = \"%s\"\nworkers = %u\nsize = \"%.0fB\"\niterations = 2\n%s%s",
                       it->scale > 8 ? 1500U : 9000U, it->network->text, DELAY_NS / it->scale, FABRIC_NS / it->scale,
                       it->way->scheme, it->network->workers, it->bytes / it->scale, it->way->more, adders);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        struct sim_job_times t = sim_results_job(&cell->sim, 0);
        it->summing_ms = t.summing_ps / 1e9 * it->scale;
        it->held_bytes = (double)t.slots_most * cell->sim.jobs.jobs[0].config.payload;
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}
