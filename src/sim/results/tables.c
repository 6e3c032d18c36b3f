/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: results as CSV: flows, links, jobs, iterations, and the figures that a sweep plots; see results.h. Read
 * next: report.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network/gates.h"
#include "sim/results/ideal.h"

#define NS 1e3 /* picoseconds */

/* ---- origin of a file ---- */

void sim_results_comment(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        (void)fprintf(out, "# %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

/* Prints version, seed, trace hash, scenario, and the names of the columns. */
static void head(FILE *out, const struct sim_run *run, const struct sim_story *story, const char *columns)
{
    (void)fprintf(out, "## tributary %s, seed %" PRIu64 ", trace %016" PRIx64 "%s%s\n", story->version,
                  run->scenario->seed, run->network.hash, story->was_interrupted ? ", interrupted" : "",
                  story->was_stalled ? ", given up" : "");
    if (run->scenario->text != NULL) {
        sim_results_comment(out, run->scenario->text);
    }
    (void)fputs(columns, out);
}

/* ---- flows and links ---- */

void sim_results_flows(FILE *out, const struct sim_run *run, const struct sim_story *story)
{
    head(out, run, story, "src,dst,sport,dport,size,start_ns,fct_ns,ideal_fct_ns,traffic,kind\n");
    for (uint64_t i = 0; i < run->end_count; i++) {
        const struct sim_flow_end *end = &run->ends[i];
        (void)fprintf(out, "%u,%u,%u,%u,%" PRIu64 ",%.3f,%.3f,%.3f,%u,%s\n", end->plan.from, end->plan.to,
                      end->plan.hash >> 16, end->plan.hash & 0xffffU, end->plan.bytes, (double)end->start_ps / NS,
                      (double)(end->end_ps - end->start_ps) / NS, (double)end->ideal_ps / NS, end->plan.source,
                      sim_traffic_name(run->scenario->traffic[end->plan.source].kind));
    }
}

double sim_results_use(const struct sim_run *run, const struct sim_results *results, uint32_t number)
{
    const struct sim_link *link = &run->network.links[number];
    double busy_ps = (double)sim_port_time(&run->network.ports[link->port], link->bytes);

    return results->simulated_ps != 0 ? busy_ps / (double)results->simulated_ps : 0;
}

void sim_results_links(FILE *out, const struct sim_run *run, const struct sim_results *results,
                       const struct sim_story *story)
{
    const struct sim_network *n = &run->network;
    char names[2][SIM_NODE_NAME_MAX];

    head(out, run, story,
         "link,from,to,packets,bytes,use,marked,dropped,longest_wait_ns,stops,stopped_ns,headroom_most,from_name,"
         "to_name\n");
    for (uint32_t i = 0; i < n->link_count; i++) {
        const struct sim_link *link = &n->links[i];
        (void)fprintf(out, "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64 ",%.3f", i, n->fabric.from[i],
                      link->to, link->packets, link->bytes, sim_results_use(run, results, i), link->marked,
                      link->dropped, (double)link->most_ps / NS);
        (void)fprintf(out, ",%u,%.3f,%u", n->gates != NULL ? n->gates->list[i].stops : 0,
                      n->gates != NULL ? (double)sim_gate_stopped_ps(n, i) / NS : 0,
                      n->gates != NULL ? n->gates->ingress[i].over_most : 0);
        sim_topology_node_name(&run->scenario->topology, n->fabric.from[i], names[0]);
        sim_topology_node_name(&run->scenario->topology, link->to, names[1]);
        (void)fprintf(out, ",%s,%s\n", names[0], names[1]);
    }
}

/* ---- jobs ---- */

/* Prints roots, such as "core0 core5"; nothing if no switch adds. */
static void print_roots(FILE *out, const struct sim_run *run, const struct sim_job *job)
{
    char name[SIM_NODE_NAME_MAX];

    for (uint32_t tree = 0; sim_job_adds(job) && tree < job->trees; tree++) {
        sim_topology_node_name(&run->scenario->topology, job->roots[tree], name);
        (void)fprintf(out, "%s%s", tree == 0 ? "" : " ", name);
    }
}

/* Prints times; empty fields if no iteration counts. */
static void print_times(FILE *out, const struct sim_job_times *t)
{
    if (t->count != 0) {
        (void)fprintf(out, ",%.3f,%.3f", t->iteration_ps / NS, t->summing_ps / NS);
    } else {
        (void)fputs(",,", out);
    }
}

static void job_line(FILE *out, const struct sim_run *run, uint32_t number, const struct sim_ideal *ideal)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    const struct sim_job_config *c = &job->config;
    struct sim_job_counters counters = sim_jobs_counters(&run->jobs, number);
    struct sim_job_times t = sim_results_job(run, number);

    (void)fprintf(out, "%u,%s,%s,%u,%u,%u,%" PRIu64 ",%u,%u,%.3f,", number, c->scheme,
                  c->model != NULL ? c->model->name : "", c->workers, c->ranks, sim_job_nodes(job), c->bytes,
                  c->payload, c->buckets, (double)c->compute_ps / NS);
    (void)fprintf(out, "%.3f,%.3f,%u,%u,%" PRIu64, (double)c->start_ps / NS, (double)job->end_ps / NS, c->iterations,
                  job->iterations, t.count);
    print_times(out, &t);
    (void)fprintf(out, ",%" PRIu64 ",%u,%u,%.3f",
                  counters.workers.contributions_resent + counters.flows.resent_order + counters.flows.resent_timeout,
                  job->session.slots, t.slots_most, t.slots_mean);
    (void)fprintf(out, ",%u,", sim_job_adds(job) ? job->trees : 0);
    print_roots(out, run, job);
    (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, job->told, job->lacking, t.late, t.not_done);
    (void)fprintf(out, job->state == SIM_JOB_WAITS ? "," : ",%.3f", (double)job->log[0].begun_ps / NS);
    if (ideal != NULL) {
        print_times(out, &ideal->jobs[number]);
    }
    (void)fputc('\n', out);
}

void sim_results_jobs(FILE *out, const struct sim_run *run, const struct sim_story *story)
{
    head(out, run, story,
         "job,scheme,model,workers,ranks_per_host,switches,bytes,payload_bytes,buckets,compute_ns,start_ns,end_ns,"
         "iterations,ended,measured,iteration_ns,summing_ns,resent,slots,slots_most,slots_mean,trees,roots,results_"
         "marked,sums_lacking,parts_late,not_done,begun_ns");
    (void)fprintf(out, "%s\n", story->ideal != NULL ? ",ideal_iteration_ns,ideal_summing_ns" : "");
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        job_line(out, run, i, story->ideal);
    }
}

void sim_results_iterations(FILE *out, const struct sim_run *run, const struct sim_story *story)
{
    head(out, run, story, "job,iteration,begun_ns,computed_ns,ended_ns\n");
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        const struct sim_job *job = &run->jobs.jobs[i];
        for (uint32_t j = 0; j < job->iterations; j++) {
            (void)fprintf(out, "%u,%u,%.3f,%.3f,%.3f\n", i, j + 1, (double)job->log[j].begun_ps / NS,
                          (double)job->log[j].computed_ps / NS, (double)job->log[j].ended_ps / NS);
        }
    }
}

/* ---- figures ---- */

static void figure(FILE *out, const char *name, double value)
{
    (void)fprintf(out, "\"%s\",%.9g\n", name, value);
}

static void flow_figures(FILE *out, const struct sim_run *run, const struct sim_results *r,
                         const struct sim_ideal *ideal)
{
    if (run->scenario->traffic_count == 0) {
        return;
    }
    figure(out, "goodput of flows per host / Gbps", r->goodput_bps / 1e9);
    if (r->all.count == 0) {
        return;
    }
    figure(out, "flows: mean time / us", r->all.mean_ps / 1e6);
    figure(out, "flows: p99 time / us", (double)r->all.p99_ps / 1e6);
    figure(out, "flows: mean slowdown", r->all.slowdown_mean);
    figure(out, "flows: p99 slowdown", r->all.slowdown_p99);
    if (ideal != NULL && ideal->flows.all.count != 0) {
        figure(out, "flows without jobs: mean slowdown", ideal->flows.all.slowdown_mean);
        figure(out, "flows without jobs: p99 slowdown", ideal->flows.all.slowdown_p99);
    }
}

/* Prints the mean over all jobs with an iteration that counts; an empty value if none has. */
static void job_figures(FILE *out, const char *names[2], const struct sim_job_times *times, uint32_t count)
{
    double iteration_ps = 0;
    double summing_ps = 0;
    uint32_t counted = 0;

    for (uint32_t i = 0; i < count; i++) {
        iteration_ps += times[i].iteration_ps;
        summing_ps += times[i].summing_ps;
        counted += times[i].count != 0;
    }
    if (counted != 0) {
        figure(out, names[0], iteration_ps / counted / 1e9);
        figure(out, names[1], summing_ps / counted / 1e9);
    } else if (count != 0) {
        (void)fprintf(out, "\"%s\",\n\"%s\",\n", names[0], names[1]);
    }
}

/* Share of sums that lack ranks, over jobs with a quorum. */
static void quorum_figure(FILE *out, const struct sim_run *run)
{
    uint64_t sums = 0;
    uint64_t lacking = 0;

    for (uint32_t i = 0; i < run->jobs.count; i++) {
        sums += run->jobs.jobs[i].sums;
        lacking += run->jobs.jobs[i].lacking;
    }
    if (sums != 0) {
        figure(out, "jobs: sums that lack ranks / %", 100 * (double)lacking / (double)sums);
    }
}

void sim_results_figures(FILE *out, const struct sim_run *run, const struct sim_results *r,
                         const struct sim_story *story)
{
    static const char *names[] = {"jobs: iteration / ms", "jobs: summing / ms"};
    static const char *ideal_names[] = {"jobs without flows: iteration / ms", "jobs without flows: summing / ms"};
    const struct sim_ideal *ideal = story->ideal;
    struct sim_job_times *times = calloc(run->jobs.count + 1, sizeof *times);

    head(out, run, story, "figure,value\n");
    flow_figures(out, run, r, ideal);
    for (uint32_t i = 0; times != NULL && i < run->jobs.count; i++) {
        times[i] = sim_results_job(run, i);
    }
    if (times != NULL) {
        job_figures(out, names, times, run->jobs.count);
    }
    free(times);
    if (run->jobs.count != 0) {
        uint32_t jobs = 0;
        figure(out, SIM_FIGURE_NOT_DONE, (double)sim_results_not_done(run, &jobs));
    }
    quorum_figure(out, run);
    if (ideal != NULL) {
        job_figures(out, ideal_names, ideal->jobs, ideal->job_count);
    }
    figure(out, "longest wait at a port / us", (double)r->waited_ps / 1e6);
    figure(out, "packets dropped, of a million", (double)run->network.dropped * 1e6 / (double)(run->network.sent + 1));
    figure(out, "packets marked, of a thousand hops", (double)r->marked * 1e3 / (double)(run->network.hops + 1));
    if (run->scenario->topology.buffers.is_lossless) {
        figure(out, "deadlock", run->deadlock.count != 0);
    }
    if (story->was_stalled || run->scenario->failure_count != 0 || sim_faults_are_any(&run->scenario->faults)) {
        figure(out, "given up", story->was_stalled);
    }
}
