/* SPDX-License-Identifier: Apache-2.0 */
/* panama_partial.c: PANAMA-0.94 and -0.88 (section 7) by the paper's rule, in scheme `panama-literal`. Measures how far
 * sums get ahead of a rank with a busy link, and how often sums lack its gradients. Read next: panama.h, simulate.h,
 * published/panama_literal/panama_literal.h. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/quorum.h"
#include "published/panama_literal/accelerator.h"
#include "published/panama_literal/panama_literal.h"
#include "reproduce/panama.h"
#include "reproduce/simulate.h"
#include "sim/results/results.h"

#define WORKERS 16U
#define FLOWS 4U             /* on the slow rank's path up */
#define FRAGMENT 1344U       /* leaves room for the list of ranks of `panama:15/16` */
#define MOST_FRAGMENTS 4096U /* one operation of the simulator */
#define WINDOW 128U

static const uint32_t lengths[] = {512, 1024, 2048, MOST_FRAGMENTS};

#define LENGTHS (sizeof lengths / sizeof lengths[0])

struct partial {
    const char *name;
    const char *scheme;
    const char *more; /* part of the job's table */
    uint32_t list;    /* bytes of a payload that are no gradients */
    /* All workers at one switch, which counts them. False: each worker below its own leaf. */
    bool is_one_switch;
    double lead;
    double ms;
    double share;           /* contributions that are in sums */
    double absent[WORKERS]; /* share of sums that lack the rank */
};

/* Counts per worker, because our switch does not count by rank. */
static void count_told(const struct sim_run *sim, struct partial *p)
{
    const struct sim_job *job = &sim->jobs.jobs[0];

    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        const struct trib_counters *told =
            job->scheme->worker->node.counters(sim->jobs.endpoints[job->first + rank].node);
        p->absent[rank] = (double)told->late / (double)job->sums;
    }
}

/* Counts per switch port: each port is a rank. */
static void count(const struct sim_run *sim, struct partial *p)
{
    const struct sim_job *job = &sim->jobs.jobs[0];
    const struct trib_accelerator_counters *root = NULL;
    double absent = 0;

    p->ms = sim_results_job(sim, 0).summing_ps / 1e9;
    for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
        if (!sim->jobs.endpoints[i].is_branch && job->scheme == &trib_panama_literal) {
            root = trib_panama_literal_accelerator(sim->jobs.endpoints[i].node);
        }
    }
    if (root == NULL && job->sums != 0) {
        count_told(sim, p);
    }
    for (uint32_t rank = 0; root != NULL && rank < WORKERS; rank++) {
        p->absent[rank] = (double)root->absent[rank] / (double)root->sums;
        absent += p->absent[rank];
    }
    p->share = 1 - absent / WORKERS;
    p->lead = root != NULL ? (double)root->lead : 0;
}

/* Workers are the first hosts of 16 leaves. Flows go from the last leaf's second host to a leaf without a worker, so
 * they share only the last worker's path up. */
#define LEAVES                                                                                                 \
    "[topology]\nkind = \"leaf-spine\"\nleaves = 17\nspines = 1\nhosts = 2\nrate = \"10Gbps\"\nfabric_rate = " \
    "\"10Gbps\"\ndelay = \"1us\"\n[queues]\nbuffer = \"none\"\necn = \"85pkt\"\n[[job]]\n"                     \
    "hosts = \"0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30\"\n"
/* Workers are the first hosts of one switch. Flows go from the last worker's host to hosts without a worker. */
#define ONE_SWITCH                                                                                                   \
    "[topology]\nkind = \"star\"\nhosts = 18\nrate = \"10Gbps\"\ndelay = \"2us\"\n[queues]\nbuffer = \"none\"\necn " \
    "= \"85pkt\"\nhost_ecn = true\n[[job]]\nhosts = \"0-15\"\n"

/* False: interrupted, or run->error. */
static bool simulate(struct reproduce_run *run, struct partial *p, uint32_t fragments, uint32_t flows)
{
    struct reproduce_cell *cell = calloc(1, sizeof *cell);
    uint32_t from = p->is_one_switch ? WORKERS - 1 : 2 * WORKERS - 1;
    uint32_t to = p->is_one_switch ? WORKERS : 2 * WORKERS;

    if (cell == NULL) {
        run->is_out_of_memory = true;
        return true;
    }
    cell->what = p->name;
    cell->count = 1;
    bool is_good =
        reproduce_open(run, cell,
                       "duration = \"10s\"\n%s"
                       "scheme = \"%s\"\nworkers = %u\n"
                       "size = \"%uB\"\npayload = \"%uB\"\nwindow = %u\niterations = 1\ncompute = \"2ms\"\n%s",
                       p->is_one_switch ? ONE_SWITCH : LEAVES, p->scheme, WORKERS, fragments * FRAGMENT,
                       FRAGMENT + p->list, WINDOW, p->more != NULL ? p->more : "");
    for (uint32_t i = 0; is_good && i < flows; i++) {
        reproduce_flow(cell, from, to + i % 2, i);
    }
    is_good = is_good && reproduce_advance(run, cell, SIM_NEVER);
    if (is_good) {
        count(&cell->sim, p);
    }
    reproduce_close(cell);
    free(cell);
    return is_good;
}

/* Compares our rule with the published one, all workers at one switch: only there the published rule counts all 16.
 * False: interrupted, or run->error. */
static bool compare_ours(struct reproduce_run *run)
{
    struct partial ours = {
        .name = "panama:15/16", .scheme = "panama:15/16", .list = TRIB_QUORUM_LIST, .is_one_switch = true};
    struct partial published = {
        .name = "PANAMA-0.94", .scheme = "panama-literal:15/16", .list = TRIB_QUORUM_LIST, .is_one_switch = true};
    struct partial all = {.name = "PANAMA", .scheme = "panama", .is_one_switch = true};

    if (!simulate(run, &ours, MOST_FRAGMENTS, FLOWS) || !simulate(run, &published, MOST_FRAGMENTS, FLOWS) ||
        !simulate(run, &all, MOST_FRAGMENTS, FLOWS)) {
        return false;
    }
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        reproduce_point(run, ours.name, rank, 100 * ours.absent[rank]);
    }
    reproduce_got(run, "ours-waits", ours.ms / published.ms);
    reproduce_got(run, "ours-leaves-out", all.ms / ours.ms);
    return true;
}

bool panama_partial(struct reproduce_run *run)
{
    struct partial partials[] = {{.name = "PANAMA-0.94", .scheme = "panama-literal:15/16", .list = TRIB_QUORUM_LIST},
                                 {.name = "PANAMA-0.88", .scheme = "panama-literal:7/8", .list = TRIB_QUORUM_LIST}};
    struct partial alone = partials[0];
    struct partial all = {.name = "PANAMA", .scheme = "panama", .more = REPRODUCE_MARKS_OF_ALL};

    (void)reproduce_panel(run, "How far sums are ahead of a late packet", "fragments of the operation", "fragments");
    for (uint32_t i = 0; i < LENGTHS; i++) {
        for (uint32_t p = 0; p < 2; p++) {
            if (!simulate(run, &partials[p], lengths[i], FLOWS)) {
                return false;
            }
            reproduce_point(run, partials[p].name, lengths[i], partials[p].lead);
        }
        reproduce_point(run, "window", lengths[i], WINDOW);
    }
    (void)reproduce_panel(run, "Sums that lack a rank's gradients, 4,096 fragments",
                          "rank, the last with the slow link", "%");
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t rank = 0; rank < WORKERS; rank++) {
            reproduce_point(run, partials[p].name, rank, 100 * partials[p].absent[rank]);
        }
    }
    if (!compare_ours(run) || !simulate(run, &alone, MOST_FRAGMENTS, 0) ||
        !simulate(run, &all, MOST_FRAGMENTS, FLOWS)) {
        return false;
    }
    reproduce_got(run, "share-0.94", partials[0].share);
    reproduce_got(run, "share-0.88", partials[1].share);
    reproduce_got(run, "ignored", partials[0].ms / alone.ms);
    reproduce_got(run, "not-ignored", all.ms / partials[0].ms);
    reproduce_got(run, "lead", partials[0].lead);
    return true;
}
