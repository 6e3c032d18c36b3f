/* SPDX-License-Identifier: Apache-2.0 */
/* atp_racks.c: a job of ATP's slides, larger than a rack: GPUs and time, computed; and in the simulator a full switch,
 * and two levels of adding switches. Read next: atp.h, simulate.h. */
#include <stdlib.h>

#include "reproduce/atp.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define GPUS_OF_NODE 16U /* a DGX-2H's */
#define WORKERS 64U      /* nodes */

/* BERT-Large on two clusters, from the slide. */
static const struct {
    uint32_t nodes;
    double minutes;
} clusters[] = {{92, 47}, {64, 67}};

/* Minutes of training on one cluster, from the other cluster's minutes, in inverse proportion to the GPUs. */
static double scaled(uint32_t to, uint32_t from)
{
    return clusters[from].minutes * clusters[from].nodes / clusters[to].nodes;
}

bool atp_bert(struct reproduce_run *run)
{
    (void)reproduce_panel(run, "BERT-Large: minutes of training, from those of the other cluster", "V100", "min");
    for (uint32_t i = 0; i < 2; i++) {
        reproduce_point(run, "in inverse proportion", clusters[i].nodes * GPUS_OF_NODE, scaled(i, 1 - i));
    }
    reproduce_got(run, "gpus-92", clusters[0].nodes * GPUS_OF_NODE);
    reproduce_got(run, "gpus-64", clusters[1].nodes * GPUS_OF_NODE);
    reproduce_got(run, "minutes-92", scaled(0, 1));
    reproduce_got(run, "minutes-64", scaled(1, 0));
    return true;
}

/* Results of a run. */
struct rates {
    double worker_bps; /* while the worker sums, headers included */
    double switch_bps; /* arrives at the server's switch, headers included */
    double streams;    /* received packets of the server, relative to sent packets of a worker */
    uint32_t adders;   /* adding switches */
};

static void read_rates(const struct sim_run *sim, struct rates *rates)
{
    const struct sim_network *n = &sim->network;
    const struct trib_fabric *f = &n->fabric;
    uint32_t of_worker = sim_network_host_link(0);
    uint32_t of_server = sim_network_host_link(WORKERS);
    uint64_t bytes = 0;

    for (uint32_t link = 0; link < n->link_count; link++) {
        bytes += f->to[link] == f->to[of_server] ? n->links[link].bytes : 0;
    }
    *rates = (struct rates){
        .worker_bps = sim_results_rate(sim, 0),
        .switch_bps = 8e12 * (double)bytes / (double)sim->jobs.jobs[0].end_ps,
        .streams = (double)n->links[f->opposite[of_server]].packets / (double)n->links[of_worker].packets,
        .adders = sim_job_nodes(&sim->jobs.jobs[0]),
    };
}

/* Sums BERT-Large's gradients once, over nodes at one switch, or in two racks below a spine. False: interrupted, or
 * run->error. */
static bool sum_up(struct reproduce_run *run, uint32_t racks, struct rates *rates)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = racks == 1 ? "one switch" : "two racks";
    cell->number = racks - 1;
    cell->count = 2;
    bool is_good = reproduce_open(run, cell,
                                  "duration = \"100s\"\nmtu = \"9000B\"\nscale = \"1/%u\"\n"
                                  "[topology]\n%shosts = %u\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
                                  "[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n[switches]\nmemory = \"64MB\"\n"
                                  "[[job]]\nscheme = \"atp\"\nworkers = %u\nsize = \"1341MB\"\niterations = 1\n",
                                  run->is_quick ? 32 : 4,
                                  racks == 1 ? "kind = \"star\"\n" : "kind = \"leaf-spine\"\nspines = 1\nleaves = 2\n",
                                  WORKERS / racks + 1, WORKERS);
    if (is_good) {
        is_good = reproduce_advance(run, cell, SIM_NEVER);
        read_rates(&cell->sim, rates);
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

bool atp_racks(struct reproduce_run *run)
{
    struct rates rates[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};

    (void)reproduce_panel(run, "A job of 64 workers: rate of a worker while it sums", "racks", "Gbps");
    for (uint32_t racks = 1; racks <= 2; racks++) {
        if (!sum_up(run, racks, &rates[racks - 1])) {
            return false;
        }
        reproduce_point(run, "ATP", racks, rates[racks - 1].worker_bps / 1e9);
    }
    reproduce_got(run, "switch", rates[0].switch_bps / 1e12);
    reproduce_got(run, "levels", rates[1].adders);
    reproduce_got(run, "merged", rates[1].streams);
    return true;
}
