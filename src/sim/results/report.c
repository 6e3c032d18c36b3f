/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: how results are written: JSON, and a summary for people; see results.h. Read next: tables.c. */
#include <inttypes.h>

#include "io/units.h"
#include "report/json.h"
#include "sim/network/gates.h"
#include "sim/results/ideal.h"

#define NS 1e3 /* picoseconds */
#define JOBS_SHOWN 64U

/* A number of which there may be none. */
static void print_amount(FILE *out, const char *name, uint64_t amount)
{
    if (amount == SIM_NEVER) {
        (void)fprintf(out, "\"%s\":null", name);
    } else {
        (void)fprintf(out, "\"%s\":%" PRIu64, name, amount);
    }
}

static void json_odd_link(FILE *out, const struct sim_topology *t, const struct sim_odd_link *odd)
{
    char ends[2][SIM_NODE_NAME_MAX];

    sim_topology_node_name(t, odd->ends[0], ends[0]);
    sim_topology_node_name(t, odd->ends[1], ends[1]);
    (void)fprintf(out, "{\"link\":\"%s-%s\"", ends[0], ends[1]);
    if (odd->wire.rate_bps != 0) {
        (void)fprintf(out, ",\"rate_bps\":%" PRIu64, odd->wire.rate_bps);
    }
    if (odd->wire.delay_ps != SIM_NEVER) {
        (void)fprintf(out, ",\"delay_ns\":%.3f", (double)odd->wire.delay_ps / NS);
    }
    (void)fputc('}', out);
}

static void json_topology(FILE *out, const struct sim_topology *t)
{
    struct sim_topology_size size = sim_topology_size(t);

    (void)fprintf(out, "\"topology\":{\"kind\":\"%s\",\"hosts\":%u,\"switches\":%u,\"links\":%u,",
                  sim_topology_name(t->kind), size.hosts, size.switches, size.links);
    (void)fprintf(out, "\"k\":%u,\"leaves\":%u,\"spines\":%u,\"routers\":%u,\"globals\":%u,", t->k, t->leaves,
                  t->spines, t->routers, t->globals);
    if (t->kind == SIM_CLOS) {
        struct sim_pods p = {0};
        (void)sim_topology_pods(t, &p);
        (void)fprintf(out, "\"pods\":%u,\"edges\":%u,\"aggregations\":%u,\"cores\":%u,\"ratio\":\"%u:%u\",", p.pods,
                      p.edges, p.aggregations, p.aggregations * p.ups, t->ratio.down, t->ratio.up);
        (void)fprintf(out, "\"core_ratio\":\"%u:%u\",", t->core_ratio.down, t->core_ratio.up);
    }
    (void)fprintf(out, "\"rate_bps\":%" PRIu64 ",\"delay_ns\":%.3f,", t->edge.rate_bps, (double)t->edge.delay_ps / NS);
    (void)fprintf(out, "\"fabric_rate_bps\":%" PRIu64 ",\"fabric_delay_ns\":%.3f,\"odd_links\":[", t->fabric.rate_bps,
                  (double)t->fabric.delay_ps / NS);
    for (uint32_t i = 0; i < t->odd_count; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_odd_link(out, t, &t->odd[i]);
    }
    (void)fprintf(out, "]},\"queues\":{");
    print_amount(out, "buffer_bytes", t->buffer_bytes);
    (void)fputc(',', out);
    print_amount(out, "ecn_bytes", t->mark_bytes);
    sim__json_queues(out, t);
    (void)fprintf(out, "},");
}

static void json_traffic(FILE *out, const struct sim_traffic *t)
{
    (void)fprintf(out, "{\"kind\":\"%s\",", sim_traffic_name(t->kind));
    if (t->sizes != NULL) {
        (void)fprintf(out, "\"size\":\"%s\",\"mean_bytes\":%.1f,", sim_sizes_name(t->sizes), sim_sizes_mean(t->sizes));
    } else if (t->kind != SIM_TRACE) {
        print_amount(out, "bytes", t->bytes);
        (void)fputc(',', out);
    }
    if (t->kind == SIM_POISSON) {
        (void)fprintf(out, "\"load\":%.6f,", t->load);
    } else if (t->kind == SIM_INCAST) {
        (void)fprintf(out, "\"fan_in\":%u,\"to\":%u,\"repeat\":%u,\"period_ns\":%.3f,", t->fan_in, t->to, t->repeat,
                      (double)t->period_ps / NS);
    } else if (t->kind == SIM_TRACE) {
        (void)fprintf(out, "\"flows\":%" PRIu64 ",", t->trace_count);
    }
    (void)fprintf(out, "\"start_ns\":%.3f}", (double)t->start_ps / NS);
}

static void json_failure(FILE *out, const struct sim_run *run, const struct sim_failure *failure)
{
    const struct sim_topology *t = &run->scenario->topology;
    char ends[2][SIM_NODE_NAME_MAX];

    sim_topology_node_name(t, run->network.fabric.from[failure->link], ends[0]);
    sim_topology_node_name(t, run->network.links[failure->link].to, ends[1]);
    (void)fprintf(out, "{\"link\":\"%s-%s\",\"at_ns\":%.3f,\"react_ns\":%.3f,", ends[0], ends[1],
                  (double)failure->at_ps / NS, (double)failure->react_ps / NS);
    if (failure->until_ps == SIM_NEVER) {
        (void)fprintf(out, "\"until_ns\":null}");
    } else {
        (void)fprintf(out, "\"until_ns\":%.3f}", (double)failure->until_ps / NS);
    }
}

/* What goes wrong on purpose, as it was asked for. */
static void json_wrongs(FILE *out, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;

    (void)fprintf(out, ",\"failures\":[");
    for (uint32_t i = 0; i < s->failure_count; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_failure(out, run, &s->failures[i]);
    }
    (void)fprintf(out, "],\"restarts\":[");
    for (uint32_t i = 0; i < s->restart_count; i++) {
        char name[SIM_NODE_NAME_MAX];
        sim_topology_node_name(&s->topology, s->restarts[i].node, name);
        (void)fprintf(out, "%s{\"switch\":\"%s\",\"at_ns\":%.3f,\"away_ns\":%.3f}", i == 0 ? "" : ",", name,
                      (double)s->restarts[i].at_ps / NS, (double)s->restarts[i].away_ps / NS);
    }
    (void)fprintf(out, "],\"faults\":{\"loss\":%g,\"duplicate\":%g,\"reorder\":%g,\"late_ns\":%.3f}", s->faults.loss,
                  s->faults.duplicate, s->faults.reorder, (double)s->faults.late_ps / NS);
}

/* Switches that add, and what it costs. */
static void json_accelerators(FILE *out, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    uint32_t adds = 0;

    for (uint32_t i = run->network.hosts; i < run->network.nodes; i++) {
        adds += run->adds == NULL || run->adds[i] != 0;
    }
    (void)fprintf(out, ",\"switches_that_add\":%u,\"adding\":{\"latency_ns\":%.3f,\"bypass_ns\":%.3f,\"multicast\":%s,",
                  adds, (double)s->topology.add_ps / NS, (double)s->accelerators.bypass_ps / NS,
                  s->is_multicast ? "true" : "false");
    print_amount(out, "memory_bytes", run->jobs.memory_bytes);
    (void)fprintf(out, ",\"memory_most_bytes\":%" PRIu64 "}", sim_jobs_memory(&run->jobs));
}

static void json_scenario(FILE *out, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;

    (void)fprintf(out, "\"scenario\":{\"name\":");
    report_json_text(out, s->name);
    (void)fprintf(out, ",\"seed\":%" PRIu64 ",\"duration_ns\":%.3f,\"warmup_ns\":%.3f,", s->seed,
                  (double)s->duration_ps / NS, (double)s->warmup_ps / NS);
    (void)fprintf(out, "\"window_ns\":%.3f,\"mtu_bytes\":%u,\"scale\":%u,", (double)s->window_ps / NS, s->mtu,
                  s->scale > 1 ? s->scale : 1);
    json_topology(out, &s->topology);
    (void)fprintf(out,
                  "\"flows\":{\"packet_bytes\":%u,\"header_bytes\":%u,\"ack_bytes\":%u,\"window\":%u,\"congestion\":"
                  "\"%s\",\"rto_first_ns\":%.3f,\"rto_min_ns\":%.3f},\"traffic\":[",
                  s->flows.packet, s->flows.header, s->flows.ack, s->flows.window,
                  trib_congestion_name(s->flows.policy), (double)s->flows.rto_first_ps / NS,
                  (double)s->flows.rto_min_ps / NS);
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_traffic(out, &s->traffic[i]);
    }
    (void)fprintf(out, "]");
    json_accelerators(out, run);
    json_wrongs(out, run);
    (void)fprintf(out, "},");
}

static void json_job_times(FILE *out, const struct sim_job_times *t)
{
    (void)fprintf(out, "\"iterations_measured\":%" PRIu64 ",\"iterations_not_done\":%" PRIu64 ",", t->count,
                  t->not_done);
    if (t->count == 0) {
        (void)fprintf(out, "\"iteration_mean_ns\":null,\"iteration_max_ns\":null,\"summing_mean_ns\":null");
        return;
    }
    (void)fprintf(out, "\"iteration_mean_ns\":%.3f,\"iteration_max_ns\":%.3f,", t->iteration_ps / NS,
                  t->iteration_most_ps / NS);
    (void)fprintf(out, "\"summing_mean_ns\":%.3f", t->summing_ps / NS);
}

/* The adding switches of each tree, root first. */
static void json_trees(FILE *out, const struct sim_run *run, const struct sim_job *job)
{
    const struct sim_topology *t = &run->scenario->topology;
    char name[SIM_NODE_NAME_MAX];

    (void)fprintf(out, "\"trees\":[");
    for (uint32_t tree = 0; sim_job_adds(job) && tree < job->trees; tree++) {
        sim_topology_node_name(t, job->roots[tree], name);
        (void)fprintf(out, "%s[\"%s\"", tree == 0 ? "" : ",", name);
        for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
            const struct sim_endpoint *e = &run->jobs.endpoints[i];
            if (e->tree == tree && e->is_branch) {
                sim_topology_node_name(t, e->place, name);
                (void)fprintf(out, ",\"%s\"", name);
            }
        }
        (void)fputc(']', out);
    }
    (void)fprintf(out, "],");
}

static void json_job(FILE *out, const struct sim_run *run, uint32_t number)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    const struct sim_job_config *c = &job->config;
    struct sim_job_counters counters = sim_jobs_counters(&run->jobs, number);

    (void)fprintf(out, "{\"scheme\":");
    report_json_text(out, c->scheme);
    (void)fprintf(out, ",\"workers\":%u,\"switches\":%u,\"bytes\":%" PRIu64 ",\"payload_bytes\":%u,\"window\":%u,",
                  c->workers, sim_job_nodes(job), c->bytes, c->payload, c->window);
    json_trees(out, run, job);
    (void)fprintf(out, "\"threshold_bytes\":%" PRIu64 ",\"is_below_threshold\":%s,", c->threshold,
                  c->bytes < c->threshold ? "true" : "false");
    if (c->model != NULL) {
        (void)fprintf(out, "\"model\":\"%s\",\"model_compute\":", c->model->name);
        bool is_models = c->compute_ps == sim_job_scaled((uint64_t)(c->model->compute_ms * 1e9), run->scenario->scale);
        report_json_text(out, is_models ? c->model->source : "the scenario's");
        (void)fputc(',', out);
    }
    (void)fprintf(out, "\"jitter\":%g,\"stragglers\":%u,\"slower\":%g,", c->jitter, c->stragglers, c->slower);
    (void)fprintf(out, "\"placement\":\"%s\",\"compute_ns\":%.3f,\"start_ns\":%.3f,\"iterations\":%u,",
                  c->hosts != NULL ? "listed" : sim_placement_name(c->placement), (double)c->compute_ps / NS,
                  (double)c->start_ps / NS, c->iterations);
    struct sim_job_times t = sim_results_job(run, number);
    (void)fprintf(out, "\"iterations_ended\":%u,\"end_ns\":%.3f,", job->iterations, (double)job->end_ps / NS);
    json_job_times(out, &t);
    (void)fprintf(out, ",\"ranks_per_host\":%u,\"buckets\":%u,\"backward\":%g,", c->ranks, c->buckets, c->backward);
    (void)fprintf(out, "\"slots\":%u,\"slots_most\":%u,\"slots_mean\":%.3f,", job->session.slots, t.slots_most,
                  t.slots_mean);
    if (t.cap_most != 0) {
        (void)fprintf(out, "\"cap_first\":%u,\"cap_most\":%u,", job->session.cap, t.cap_most);
    }
    (void)fprintf(out, "\"packets_marked\":%" PRIu64 ",\"results_marked\":%" PRIu64 ",", job->marked, job->told);
    if (sim_job_has_quorum(job)) {
        (void)fprintf(out, "\"sums\":%" PRIu64 ",\"sums_lacking\":%" PRIu64 ",\"parts_late\":%" PRIu64 ",", job->sums,
                      job->lacking, t.late);
    }
    (void)fprintf(out, "\"numbers_compared\":%" PRIu64 ",\"numbers_wrong\":%" PRIu64 ",", job->compared, job->wrong);
    (void)fprintf(out, "\"worker\":{");
#define X(name, help) (void)fprintf(out, "\"" #name "\":%" PRIu64 ",", counters.workers.name);
    TRIB_COUNTER_MAP(X)
#undef X
    (void)fprintf(out, "\"dropped_lane\":%" PRIu64 "},\"switch\":{", counters.workers.dropped[TRIB_DROP_LANE]);
#define X(name, help) (void)fprintf(out, "\"" #name "\":%" PRIu64 ",", counters.switches.name);
    TRIB_COUNTER_MAP(X)
#undef X
    (void)fprintf(out, "\"dropped_lane\":%" PRIu64 "},\"flow\":{", counters.switches.dropped[TRIB_DROP_LANE]);
    const char *comma = "";
#define X(name, help)                                                           \
    (void)fprintf(out, "%s\"" #name "\":%" PRIu64, comma, counters.flows.name); \
    comma = ",";
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
    (void)fprintf(out, "}}");
}

/* Pools of combiners, all switches together; nothing where no job has some. */
static void json_pools(FILE *out, const struct sim_run *run)
{
    struct trib_combiner_counters sum;

    if (run->jobs.pools == NULL) {
        return;
    }
    sim_jobs_pools(&run->jobs, &sum);
    (void)fprintf(out, "\"pool\":{\"allocation\":\"%s\"", run->jobs.is_pool_static ? "static" : "dynamic");
#define X(name, help) (void)fprintf(out, ",\"" #name "\":%" PRIu64, sum.name);
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
    (void)fprintf(out, "},");
}

static void json_jobs(FILE *out, const struct sim_run *run)
{
    (void)fprintf(out, "\"jobs\":[");
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_job(out, run, i);
    }
    (void)fprintf(out, "],");
}

static void json_times(FILE *out, const struct sim_times *t)
{
    (void)fprintf(out, "{\"from_bytes\":%" PRIu64 ",\"count\":%" PRIu64 ",\"bytes\":%" PRIu64, t->least_bytes, t->count,
                  t->bytes);
    if (t->count != 0) {
        (void)fprintf(out,
                      ",\"mean_ns\":%.3f,\"p50_ns\":%.3f,\"p99_ns\":%.3f,\"max_ns\":%.3f,\"slowdown_mean\":%.4f,"
                      "\"slowdown_p99\":%.4f",
                      t->mean_ps / NS, (double)t->median_ps / NS, (double)t->p99_ps / NS, (double)t->most_ps / NS,
                      t->slowdown_mean, t->slowdown_p99);
    }
    (void)fputc('}', out);
}

/* Each kind of traffic alone. */
static void json_ideal(FILE *out, const struct sim_ideal *ideal)
{
    if (ideal == NULL) {
        (void)fprintf(out, "\"ideal\":null,");
        return;
    }
    (void)fprintf(out, "\"ideal\":{\"flows_ended\":%" PRIu64 ",\"completion_times\":", ideal->flows.ended);
    json_times(out, &ideal->flows.all);
    (void)fprintf(out, ",\"completion_times_by_size\":[");
    for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_times(out, &ideal->flows.classes[i]);
    }
    (void)fprintf(out, "],\"jobs\":[");
    for (uint32_t i = 0; i < ideal->job_count; i++) {
        (void)fprintf(out, "%s{", i == 0 ? "" : ",");
        json_job_times(out, &ideal->jobs[i]);
        (void)fputc('}', out);
    }
    (void)fprintf(out, "],\"trace_hashes\":[\"%016" PRIx64 "\",\"%016" PRIx64 "\"]},", ideal->hashes[0],
                  ideal->hashes[1]);
}

static void json_network(FILE *out, const struct sim_run *run, const struct sim_results *r)
{
    const struct sim_network *n = &run->network;

    (void)fprintf(out, "\"packets\":{\"sent\":%" PRIu64 ",\"arrived\":%" PRIu64 ",\"dropped\":%" PRIu64, n->sent,
                  n->arrived, n->dropped);
    (void)fprintf(out, ",\"held\":%u,\"lost_by_failures\":%" PRIu64 ",\"lost_by_faults\":%" PRIu64, run->faults.count,
                  run->network.cut_off, run->faults.lost);
    (void)fprintf(out, ",\"duplicated\":%" PRIu64 ",\"reordered\":%" PRIu64, run->faults.duplicated,
                  run->faults.reordered);
    (void)fprintf(out, ",\"on_links\":%" PRIu64 ",\"marked\":%" PRIu64 ",\"longest_wait_ns\":%.3f},",
                  sim_network_count(n), r->marked, (double)r->waited_ps / NS);
    (void)fprintf(out, "\"counters\":{");
#define X(name, help) (void)fprintf(out, "\"" #name "\":%" PRIu64 ",", r->counters.name);
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
    (void)fprintf(out, "\"hops\":%" PRIu64 ",\"events\":%" PRIu64 "},\"trace_hash\":\"%016" PRIx64 "\",", n->hops,
                  n->events.count, n->hash);
}

void sim_results_json(FILE *out, const struct sim_run *run, const struct sim_results *r, const struct sim_story *story)
{
    const char *fault = sim_run_check(run);

    (void)fprintf(out, "{\"version\":\"%s\",", story->version);
    json_scenario(out, run);
    if (run->scenario->text != NULL) {
        (void)fprintf(out, "\"scenario_toml\":");
        report_json_text(out, run->scenario->text);
        (void)fputc(',', out);
    }
    (void)fprintf(out, "\"interrupted\":%s,\"stalled\":%s,", story->was_interrupted ? "true" : "false",
                  story->was_stalled ? "true" : "false");
    (void)fprintf(out, "\"simulated_ns\":%.3f,\"measured_ns\":%.3f,\"cpu_s\":%.3f,", (double)r->simulated_ps / NS,
                  (double)r->measured_ps / NS, story->cpu_s);
    (void)fprintf(out, "\"goodput_bps_per_host\":%.1f,\"flows_begun\":%" PRIu64 ",\"flows_ended\":%" PRIu64 ",",
                  r->goodput_bps, r->begun, r->ended);
    (void)fprintf(out, "\"completion_times\":");
    json_times(out, &r->all);
    (void)fprintf(out, ",\"completion_times_by_size\":[");
    for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
        (void)fprintf(out, "%s", i == 0 ? "" : ",");
        json_times(out, &r->classes[i]);
    }
    (void)fprintf(out, "],");
    json_jobs(out, run);
    json_pools(out, run);
    json_ideal(out, story->ideal);
    json_network(out, run, r);
    sim__json_buffers(out, run);
    (void)fprintf(out, "\"check\":");
    report_json_text(out, fault != NULL ? fault : "ok");
    (void)fprintf(out, "}\n");
}

/* ---- for people ---- */

static void summary_times(FILE *out, const char *what, const struct sim_times *t)
{
    char count[TRIB_UNITS_TEXT_MAX];

    if (t->count == 0) {
        return;
    }
    trib_format_count(t->count, count);
    (void)fprintf(out, "  %-17s %11s %12.1f %12.1f %12.1f %9.2f %9.2f\n", what, count, t->mean_ps / 1e6,
                  (double)t->median_ps / 1e6, (double)t->p99_ps / 1e6, t->slowdown_mean, t->slowdown_p99);
}

static void summary_head(FILE *out, const struct sim_run *run, const struct sim_results *r)
{
    char simulated[TRIB_UNITS_TEXT_MAX];
    struct sim_topology_size size = sim_topology_size(&run->scenario->topology);

    trib_format_duration(r->simulated_ps / 1000, simulated);
    (void)fprintf(out, "%s: %s of %u hosts and %u switches, %s simulated, seed %" PRIu64 "\n", run->scenario->name,
                  sim_topology_name(run->scenario->topology.kind), size.hosts, size.switches, simulated,
                  run->scenario->seed);
}

/* Those of the scenario's that were to happen until now have happened. */
static void summary_wrongs(FILE *out, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    uint32_t cuts = 0;
    uint32_t restarts = 0;

    for (uint32_t i = 0; i < s->failure_count; i++) {
        cuts += s->failures[i].at_ps <= sim_run_now(run);
    }
    for (uint32_t i = 0; i < s->restart_count; i++) {
        restarts += s->restarts[i].at_ps <= sim_run_now(run);
    }
    if (s->failure_count != 0) {
        (void)fprintf(out, "  cables cut %u; packets that they lost %" PRIu64 "\n", cuts, run->network.cut_off);
    }
    if (s->restart_count != 0) {
        (void)fprintf(out, "  restarts of switches %u\n", restarts);
    }
    if (sim_faults_are_any(&run->scenario->faults)) {
        (void)fprintf(out, "  faults: packets lost %" PRIu64 ", doubled %" PRIu64 ", late %" PRIu64 "\n",
                      run->faults.lost, run->faults.duplicated, run->faults.reordered);
    }
}

/* Scaling of the run, and the part of the run in the results. */
static void summary_levers(FILE *out, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;

    if (s->scale > 1) {
        (void)fprintf(out, "  at a scale of 1/%u: sizes, times to compute and arrivals of jobs\n", s->scale);
    }
    if (s->mtu != 1500 || s->flows.packet != 1500) {
        (void)fprintf(out, "  MTU %u, packets of flows %u bytes\n", s->mtu, s->flows.packet);
    }
    if (s->warmup_ps != 0 || s->window_ps != 0) {
        double end_ms = (double)(s->warmup_ps + s->window_ps) / 1e9;
        (void)fprintf(out, "  what counts began after %.3f ms", (double)s->warmup_ps / 1e9);
        (void)fprintf(out, s->window_ps != 0 ? " and before %.3f ms\n" : "\n", end_ms);
    }
}

static void summary_fact(FILE *out, const char *what, const char *text)
{
    (void)fprintf(out, "  %s: %s\n", what, text);
}

/* A mean in ms, or none. */
static void summary_mean(FILE *out, int width, uint64_t count, double mean_ps)
{
    if (count != 0) {
        (void)fprintf(out, " %*.3f", width, mean_ps / 1e9);
    } else {
        (void)fprintf(out, " %*s", width, "none");
    }
}

static void summary_jobs(FILE *out, const struct sim_run *run, const struct sim_ideal *ideal)
{
    char numbers[TRIB_UNITS_TEXT_MAX];

    if (run->jobs.count != 0) {
        (void)fprintf(out, "  %-16s %9s %9s %12s %12s %11s%s %9s %9s\n", "jobs", "workers", "switches", "iterations",
                      "iteration ms", "summing ms", ideal != NULL ? "    alone ms" : "", "resent", "compared");
    }
    for (uint32_t i = 0; i < run->jobs.count && i < JOBS_SHOWN; i++) {
        const struct sim_job *job = &run->jobs.jobs[i];
        struct sim_job_counters c = sim_jobs_counters(&run->jobs, i);
        struct sim_job_times t = sim_results_job(run, i);
        uint64_t resent = c.workers.contributions_resent + c.flows.resent_order + c.flows.resent_timeout;
        trib_format_count(job->compared, numbers);
        (void)fprintf(out, "  %-16s %9u %9u %5u of %3u", job->config.scheme, job->config.workers, sim_job_nodes(job),
                      job->iterations, job->config.iterations);
        summary_mean(out, 12, t.count, t.iteration_ps);
        summary_mean(out, 11, t.count, t.summing_ps);
        if (ideal != NULL) {
            summary_mean(out, 11, ideal->jobs[i].count, ideal->jobs[i].iteration_ps);
        }
        (void)fprintf(out, " %9" PRIu64 " %9s\n", resent, numbers);
        if (sim_job_has_quorum(job)) {
            (void)fprintf(out,
                          "    sums %" PRIu64 ", of which lack ranks %" PRIu64 " (%.1f %%); late parts %" PRIu64 "\n",
                          job->sums, job->lacking, 100 * t.lacking, t.late);
        }
    }
    if (run->jobs.count > JOBS_SHOWN) {
        (void)fprintf(out, "  and %u more: jobs.csv has all\n", run->jobs.count - JOBS_SHOWN);
    }
}

static void summary_pools(FILE *out, const struct sim_run *run)
{
    struct trib_combiner_counters sum;

    if (run->jobs.pools == NULL) {
        return;
    }
    sim_jobs_pools(&run->jobs, &sum);
    double parts = (double)(sum.combined + sum.passed);
    (void)fprintf(out,
                  "  combiners added %.1f %% of the parts that came by; %.1f %% met a row of another fragment; sums "
                  "whole %" PRIu64 ", early %" PRIu64 "\n",
                  parts != 0 ? 100 * (double)sum.combined / parts : 0,
                  parts != 0 ? 100 * (double)sum.collisions / parts : 0, sum.complete, sum.flushed + sum.evicted);
}

void sim_results_summary(FILE *out, const struct sim_run *run, const struct sim_results *r,
                         const struct sim_story *story)
{
    static const char *const names[SIM_SIZE_CLASSES] = {"below 10 KB", "10 to 100 KB", "100 KB to 10 MB",
                                                        "10 MB and more"};
    const struct sim_network *n = &run->network;
    char counts[4][TRIB_UNITS_TEXT_MAX];
    double rate = story->cpu_s > 0 ? (double)n->hops / story->cpu_s / 1e6 : 0;

    summary_head(out, run, r);
    summary_levers(out, run);
    (void)fprintf(out, "  goodput %.3f Gbps per host; longest wait at a port %.1f us\n", r->goodput_bps / 1e9,
                  (double)r->waited_ps / 1e6);
    trib_format_count(n->sent, counts[0]);
    trib_format_count(r->marked, counts[1]);
    trib_format_count(n->dropped, counts[2]);
    trib_format_count(r->counters.timeouts, counts[3]);
    (void)fprintf(out, "  packets %s; marked %s times, dropped %s; timeouts %s\n", counts[0], counts[1], counts[2],
                  counts[3]);
    summary_wrongs(out, run);
    sim__tell_buffers(summary_fact, out, run);
    trib_format_count(r->begun, counts[0]);
    trib_format_count(r->ended, counts[1]);
    (void)fprintf(out, "  flows begun %s, of which ended %s\n", counts[0], counts[1]);
    if (r->all.count != 0) {
        (void)fprintf(out, "  %-16s %12s %12s %12s %12s %9s %9s\n", "flows", "count", "mean us", "p50 us", "p99 us",
                      "slowdown", "p99");
        for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
            summary_times(out, names[i], &r->classes[i]);
        }
        summary_times(out, "all", &r->all);
    }
    if (story->ideal != NULL) {
        summary_times(out, "all, without jobs", &story->ideal->flows.all);
    }
    summary_jobs(out, run, story->ideal);
    summary_pools(out, run);
    trib_format_count(n->hops, counts[0]);
    (void)fprintf(out, "  %s packet-hops in %.2f s of CPU time: %.2f million a second; trace %016" PRIx64 "\n",
                  counts[0], story->cpu_s, rate, n->hash);
}
