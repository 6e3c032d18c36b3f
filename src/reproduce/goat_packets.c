/* SPDX-License-Identifier: Apache-2.0 */
/* goat_packets.c: packets saved at the server of a job of scheme `goat`, on three simulated switches, with pieces
 * placed by GOAT's planner. Read next: goat.h, sim/jobs/servers.c (switches add pieces). */
#include <math.h>
#include <stdlib.h>

#include "reproduce/goat.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

enum { PIECES = 16, WORKERS_MAX = 16, SWITCHES = 3, HOSTS = 18, SERVER = 8 };

/* Megabytes. */
#define RESNET50 98U

/* A job: workers alternate between both leaves, and the server is at the first. */
struct packets_case {
    const char *scheme, *rule;
    uint32_t workers;
    uint32_t megabytes; /* memory of each switch */
    struct sim_placed placed;
    uint64_t own[SWITCHES];
    uint32_t hosts[WORKERS_MAX];
};

/* One worker at each leaf in turn. */
static void choose_hosts(struct packets_case *c)
{
    for (uint32_t w = 0; w < c->workers; w++) {
        c->hosts[w] = w % 2 * (HOSTS / 2) + w / 2;
    }
}

/* Plans the pieces of each switch. The plan's cost counts only switches on the workers' paths. False: run->error. */
static bool place(struct reproduce_run *run, const struct sim_network *n, struct packets_case *c)
{
    const uint32_t switches[SWITCHES] = {HOSTS, HOSTS + 1, HOSTS + 2};
    uint64_t memory[SWITCHES], bytes[PIECES];
    struct trib_goat problem;
    struct trib_goat_plan plan;
    struct trib_goat_options options = {.error = run->error};
    struct trib_goat_job job = {&n->fabric, SERVER,   c->workers, SWITCHES, PIECES,
                                c->hosts,   switches, memory,     bytes,    true};

    for (uint32_t s = 0; s < SWITCHES; s++) {
        memory[s] = c->megabytes * GOAT_MB;
    }
    for (uint32_t g = 0; g < PIECES; g++) {
        bytes[g] = RESNET50 * GOAT_MB / PIECES;
    }
    if (trib_goat_create(&problem, &job, run->error) != TRIB_OK) {
        return false;
    }
    bool is_good = trib_goat_plan_create(&plan, &problem) == TRIB_OK &&
                   trib_goat_rule_find(c->rule)->make(&problem, &options, &plan) == TRIB_OK;
    for (uint32_t i = 0; is_good && i < PIECES * c->workers; i++) {
        uint32_t node = plan.node[i];
        if (node != TRIB_GOAT_SERVER) {
            c->own[node] |= UINT64_C(1) << i / c->workers;
        }
    }
    c->placed = (struct sim_placed){.pieces = PIECES, .own = c->own};
    c->placed.saved = is_good ? 1 - (double)plan.server_bytes / (double)(problem.total * c->workers) : 0;
    trib_goat_plan_destroy(&plan);
    trib_goat_destroy(&problem);
    run->is_out_of_memory |= !is_good && run->error[0] == '\0';
    return is_good;
}

/* Simulates the case: percent of the workers' packets saved at the server. False: interrupted, or run->error. */
static bool simulate(struct reproduce_run *run, struct packets_case *c, double *planned, double *saved)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    char hosts[4 * (WORKERS_MAX + 1)] = "";
    size_t len = 0;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    choose_hosts(c);
    for (uint32_t w = 0; w < c->workers; w++) {
        len += (size_t)snprintf(hosts + len, sizeof hosts - len, "%u ", c->hosts[w]);
    }
    cell->what = c->scheme;
    cell->count = 1;
    bool is_good =
        reproduce_parse(run, cell,
                        "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 9\n"
                        "rate = \"100Gbps\"\ndelay = \"1us\"\n"
                        "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
                        "[switches]\nmemory = \"%uMB\"\n"
                        "[[job]]\nscheme = \"%s\"\nworkers = %u\nhosts = \"%s%u\"\nsize = \"%uMB\"\n"
                        "iterations = 1\n",
                        run->is_quick ? 32 : 4, c->megabytes, c->scheme, c->workers, hosts, SERVER, RESNET50);
    struct sim_network n;
    if (is_good && c->rule != NULL && sim_topology_build(&cell->scenario.topology, &n)) {
        is_good = place(run, &n, c);
        cell->scenario.jobs[0].placed = &c->placed;
        cell->scenario.jobs[0].combines_everywhere = true;
        sim_network_deinit(&n);
    }
    if (is_good) {
        is_good = reproduce_begin(run, cell) && reproduce_advance(run, cell, SIM_NEVER);
        *planned = 100 * c->placed.saved;
        *saved = 100 * sim_results_saved(&cell->sim, 0);
    }
    reproduce_close(cell);
    free(cell);
    return is_good || run->is_out_of_memory;
}

/* Varies memory, with all workers. most: largest difference between simulated and planned shares, with each piece at
 * one switch. */
static bool by_memory(struct reproduce_run *run, double *most, double *tofino)
{
    static const uint32_t megabytes[] = {22, 40, 64, 80, 98};

    (void)reproduce_panel(run, "Packets that the server is saved, 16 workers", "MB of each switch", "%");
    for (size_t i = 0; i < sizeof megabytes / sizeof megabytes[0]; i++) {
        struct packets_case goat = {.scheme = "goat", .rule = "greedy", .workers = 16, .megabytes = megabytes[i]};
        struct packets_case slide = {.scheme = "goat", .rule = "goat-slide", .workers = 16, .megabytes = megabytes[i]};
        struct packets_case atp = {.scheme = "atp", .workers = 16, .megabytes = megabytes[i]};
        double planned = 0, saved = 0, of_slide = 0, slide_planned = 0, of_atp = 0;
        if (!simulate(run, &goat, &planned, &saved) || !simulate(run, &slide, &slide_planned, &of_slide) ||
            !simulate(run, &atp, &planned, &of_atp)) {
            return false;
        }
        planned = 100 * goat.placed.saved;
        reproduce_point(run, "GOAT, planned", megabytes[i], planned);
        reproduce_point(run, "GOAT, simulated", megabytes[i], saved);
        reproduce_point(run, "form (4), simulated", megabytes[i], of_slide);
        reproduce_point(run, "ATP, simulated", megabytes[i], of_atp);
        *most = fmax(*most, fabs(of_slide - slide_planned));
        *tofino = i == 0 ? saved : *tofino;
    }
    return true;
}

bool goat_packets(struct reproduce_run *run)
{
    double most = 0, tofino = 0, all = 0;

    if (!by_memory(run, &most, &tofino)) {
        return false;
    }
    (void)reproduce_panel(run, "Packets that the server is saved, memory for the model", "workers", "%");
    for (uint32_t workers = 4; workers <= WORKERS_MAX; workers += 4) {
        struct packets_case c = {.scheme = "goat", .rule = "greedy", .workers = workers, .megabytes = RESNET50};
        double planned = 0;
        if (!simulate(run, &c, &planned, &all)) {
            return false;
        }
        reproduce_point(run, "GOAT, planned", workers, planned);
        reproduce_point(run, "GOAT, simulated", workers, all);
    }
    reproduce_got(run, "all", all);
    reproduce_got(run, "tofino-1", tofino);
    reproduce_got(run, "as-planned", most);
    return true;
}
