/* SPDX-License-Identifier: Apache-2.0 */
/* panama_fair.c: PANAMA's Fig. 10: a job and a DCTCP flow on one link, with and without congestion control of the job.
 * Read next: panama.h, simulate.h. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "reproduce/panama.h"
#include "reproduce/simulate.h"

#define MS_PS UINT64_C(1000000000)
#define BEGIN_MS 250U
#define PACKET_BYTES 1500.0 /* on the link, for both */
#define FLOW_PAYLOAD 1460.0

struct fair {
    const char *name;
    const char *scheme;
    const char *more; /* part of the job's table */
    uint32_t end_ms;
    uint32_t settled_ms; /* shares are measured from then on */
    uint32_t bin_ms;
};

/* Return the flow's packets that have arrived, and the first worker's sums. */
static double flow_packets(const struct reproduce_cell *cell)
{
    return (double)cell->sim.flows.bytes / FLOW_PAYLOAD;
}

static double job_packets(const struct reproduce_cell *cell)
{
    return (double)sim_jobs_counters(&cell->sim.jobs, 0).workers.results / cell->scenario.jobs[0].workers;
}

/* Measures the flow's share of all packets from settled_ms on. */
static bool watch(struct reproduce_run *run, struct reproduce_cell *cell, const struct fair *f, double *share)
{
    double flow = 0;
    double job = 0;
    double settled_flow = 0;
    double settled_job = 0;

    for (uint32_t ms = f->bin_ms; ms <= f->end_ms; ms += f->bin_ms) {
        if (!reproduce_advance(run, cell, ms * MS_PS)) {
            return false;
        }
        double gbps = PACKET_BYTES * 8 / (f->bin_ms * 1e6);
        double middle_s = (ms - f->bin_ms / 2.0) / 1e3;
        double new_flow = flow_packets(cell) - flow;
        double new_job = job_packets(cell) - job;
        flow += new_flow;
        job += new_job;
        reproduce_point(run, "flow with DCTCP", middle_s, new_flow * gbps);
        reproduce_point(run, "job", middle_s, new_job * gbps);
        if (ms > f->settled_ms) {
            settled_flow += new_flow;
            settled_job += new_job;
        }
    }
    *share = settled_flow / (settled_flow + settled_job);
    return true;
}

/* Two leaves below a spine. Worker 0 and the flow's sender are on leaf 0 and share its link to the spine. This link is
 * the only bottleneck: other fabric links have four times the rate. Both RTTs are 40 us. */
static bool simulate(struct reproduce_run *run, const struct fair *f, double *share)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = f->name;
    cell->count = 1;
    bool is_good =
        reproduce_open(run, cell,
                       "duration = \"10s\"\n"
                       "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 2\nrate = \"10Gbps\"\n"
                       "delay = \"5us\"\nfabric_rate = \"40Gbps\"\n"
                       "[[link]]\nlink = \"leaf0-spine0\"\nrate = \"10Gbps\"\n"
                       "[[link]]\nlink = \"host0-leaf0\"\ndelay = \"15us\"\n"
                       "[[link]]\nlink = \"host2-leaf1\"\ndelay = \"15us\"\n"
                       "[queues]\nbuffer = \"none\"\necn = \"85pkt\"\n"
                       "[[job]]\nscheme = \"%s\"\nworkers = 2\nhosts = \"0 2\"\nsize = \"4GB\"\niterations = 1\n"
                       "compute = \"%ums\"\n%s",
                       f->scheme, BEGIN_MS, f->more);
    if (is_good) {
        reproduce_flow(cell, 1, 3, 0);
        is_good = watch(run, cell, f, share);
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

bool panama_fig10(struct reproduce_run *run)
{
    struct fair with = {"with congestion control", "panama", REPRODUCE_MARKS_OF_ALL, 1000, 400, 10};
    struct fair without = {"without congestion control", "switchml", "", 1000, 400, 10};
    struct fair own = {"with congestion control, own marks", "panama", "", 1000, 400, 10};
    double with_share = 0;
    double without_share = 0;
    double own_share = 0;

    if (run->is_quick) {
        with.end_ms = without.end_ms = own.end_ms = 500;
    }
    (void)reproduce_panel(run, "With congestion control (Fig. 10a)", "s", "Gbps");
    if (!simulate(run, &with, &with_share)) {
        return false;
    }
    (void)reproduce_panel(run, "Without (Fig. 10b)", "s", "Gbps");
    if (!simulate(run, &without, &without_share)) {
        return false;
    }
    (void)reproduce_panel(run, "With congestion control by own marks (ours)", "s", "Gbps");
    if (!simulate(run, &own, &own_share)) {
        return false;
    }
    reproduce_got(run, "fair", fmin(with_share, 1 - with_share) * 100);
    reproduce_got(run, "own-fair", fmin(own_share, 1 - own_share) * 100);
    reproduce_got(run, "starved", without_share * 100);
    return true;
}
