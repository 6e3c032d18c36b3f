/* SPDX-License-Identifier: Apache-2.0 */
/* rina_steps.c: Rina's steps per chunk, counted in a run's packets. The count is the longest sequence of packets from
 * hosts that leads from a worker's contribution to a worker's sum. Read next: sim/jobs/chain.c. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "reproduce/rina.h"
#include "reproduce/simulate.h"

#define PAYLOAD 1408U

/* The run, with the longest sequence to each endpoint, in packets of hosts. */
struct trace {
    struct reproduce_cell cell;
    uint32_t *steps; /* by endpoint */
    uint32_t most;   /* at a worker */
};

static uint32_t sender_of(const struct sim_jobs *j, const struct sim_packet *p)
{
    const struct sim_endpoint *e = &j->endpoints[p->owner];
    uint32_t child = e->first_child;

    if (p->value == SIM_FROM_PARENT) {
        return e->parent;
    }
    while (j->endpoints[child].child != p->value) {
        child = j->endpoints[child].sibling;
    }
    return child;
}

/* Takes a packet at the end of a link. */
static void follow(void *user, uint32_t link, uint32_t packet)
{
    struct trace *t = (struct trace *)(void *)((char *)user - offsetof(struct trace, cell.sim));
    const struct sim_jobs *j = &t->cell.sim.jobs;
    const struct sim_packet *p = &j->network->packets[packet];

    if (p->kind != SIM_JOB_KIND || sim_jobs_passes(j, packet) || j->messages[p->sequence].pieces == 0) {
        return;
    }
    uint32_t sender = sender_of(j, p);
    bool is_of_host = j->endpoints[sender].place < j->network->hosts && link < j->first_loop;
    uint32_t steps = t->steps[sender] + is_of_host;
    t->steps[p->owner] = steps > t->steps[p->owner] ? steps : t->steps[p->owner];
    t->most = j->endpoints[p->owner].is_worker && steps > t->most ? steps : t->most;
}

/* Names hosts: each rack, and each other worker, has its own leaf. */
static void name_hosts(const uint32_t racks[3], char *text, size_t size)
{
    size_t len = 0;

    for (uint32_t leaf = 0; leaf < racks[0] + racks[2]; leaf++) {
        uint32_t last = leaf * racks[1] + (leaf < racks[0] ? racks[1] - 1 : 0);
        len += (size_t)snprintf(text + len, size - len, "%u-%u ", (unsigned)(leaf * racks[1]), (unsigned)last);
    }
    TRIB_ASSERT(len < size);
}

/* Counts steps for racks[0] racks of racks[1] workers, and racks[2] single workers, on a leaf-spine network. Each tree
 * has one fragment. False: interrupted, or run->error. */
static bool count_steps(struct reproduce_run *run, const char *scheme, const uint32_t racks[3], uint32_t *steps)
{
    struct trace *t = calloc(1, sizeof *t);
    uint32_t trees = racks[0] + racks[2];
    char hosts[512];

    *steps = 0;
    if (t == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    t->cell.what = scheme;
    t->cell.count = 1;
    name_hosts(racks, hosts, sizeof hosts);
    bool is_good = reproduce_open(run, &t->cell,
                                  "duration = \"1s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = %u\nspines = 1\n"
                                  "hosts = %u\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
                                  "[[job]]\nscheme = \"%s\"\nworkers = %u\nhosts = \"%s\"\nsize = \"%uB\"\n"
                                  "iterations = 1\ntrees = %u\n",
                                  trees > 1 ? trees : 2, racks[1], scheme, racks[0] * racks[1] + racks[2], hosts,
                                  trees * PAYLOAD, trees);
    t->steps = is_good ? calloc(t->cell.sim.jobs.endpoint_count, sizeof *t->steps) : NULL;
    run->is_out_of_memory |= is_good && t->steps == NULL;
    if (t->steps != NULL) {
        t->cell.sim.network.receiver.hop = follow;
        is_good = reproduce_advance(run, &t->cell, SIM_NEVER);
        *steps = t->most;
    }
    reproduce_close(&t->cell);
    free(t->steps);
    free(t);
    return is_good;
}

/* Claims: racks that add, workers of each, single workers. */
static const struct {
    const char *claim, *scheme;
    uint32_t racks[3];
} cases[] = {
    {"eight-racks", "rina-literal", {8, 2, 0}}, {"four-racks", "rina-literal", {4, 8, 0}},
    {"mixed", "rina-literal", {4, 2, 8}},       {"ring", "rina-literal", {0, 1, 16}},
    {"eights", "rina-literal", {8, 8, 0}},      {"ours", "rina", {8, 2, 0}},
    {"ours-mixed", "rina", {4, 2, 8}},
};

bool rina_steps(struct reproduce_run *run)
{
    uint32_t steps = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!count_steps(run, cases[i].scheme, cases[i].racks, &steps)) {
            return false;
        }
        reproduce_got(run, cases[i].claim, steps);
        if (i == 0) {
            reproduce_got(run, "per-phase", (steps + 1) / 2.0);
        }
    }
    (void)reproduce_panel(run, "Steps of racks of two", "racks", "steps");
    for (uint32_t racks = 1; racks <= 12; racks++) {
        for (uint32_t is_ours = 0; is_ours < 2; is_ours++) {
            const char *scheme = is_ours != 0 ? "rina" : "rina-literal";
            if (!count_steps(run, scheme, (const uint32_t[3]){racks, 2, 0}, &steps)) {
                return false;
            }
            reproduce_point(run, scheme, racks, steps);
        }
        reproduce_point(run, "2 G - 1", racks, 2.0 * racks - 1);
        reproduce_point(run, "ring", racks, 2 * (2.0 * racks - 1));
    }
    return true;
}
