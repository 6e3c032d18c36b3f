/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: results as JSON and as a text summary; see results.h. Read next: tables.c. */
#include <inttypes.h>

#include "io/units.h"
#include "report/json.h"
#include "sim/jobs/planned.h"
#include "sim/jobs/servers.h"
#include "sim/jobs/shares.h"
#include "sim/network/gates.h"
#include "sim/results/ideal.h"

#define NS 1e3 /* picoseconds */
#define JOBS_SHOWN 64U

static void put_ns(struct report_json *json, const char *name, uint64_t ps)
{
    report_json_put(json, name, "%.3f", (double)ps / NS);
}

/* An amount; null if there is no bound. */
static void put_amount(struct report_json *json, const char *name, uint64_t amount)
{
    if (amount == SIM_NEVER) {
        report_json_put(json, name, "null");
    } else {
        report_json_count(json, name, amount);
    }
}

static void put_ratio(struct report_json *json, const char *name, struct sim_ratio ratio)
{
    report_json_put(json, name, "\"%u:%u\"", ratio.down, ratio.up);
}

static void put_link(struct report_json *json, const struct sim_topology *t, uint32_t from, uint32_t to)
{
    char ends[2][SIM_NODE_NAME_MAX];

    sim_topology_node_name(t, from, ends[0]);
    sim_topology_node_name(t, to, ends[1]);
    report_json_put(json, "link", "\"%s-%s\"", ends[0], ends[1]);
}

static void put_node(struct report_json *json, const char *name, const struct sim_topology *t, uint32_t node)
{
    char text[SIM_NODE_NAME_MAX];

    sim_topology_node_name(t, node, text);
    report_json_say(json, name, text);
}

static void json_odd_link(struct report_json *json, const struct sim_topology *t, const struct sim_odd_link *odd)
{
    report_json_open(json, NULL, '{');
    put_link(json, t, odd->ends[0], odd->ends[1]);
    if (odd->wire.rate_bps != 0) {
        report_json_count(json, "rate_bps", odd->wire.rate_bps);
    }
    if (odd->wire.delay_ps != SIM_NEVER) {
        put_ns(json, "delay_ns", odd->wire.delay_ps);
    }
    report_json_close(json, '}');
}

static void json_topology(struct report_json *json, const struct sim_topology *t)
{
    struct sim_topology_size size = sim_topology_size(t);

    report_json_open(json, "topology", '{');
    report_json_say(json, "kind", sim_topology_name(t->kind));
    report_json_count(json, "hosts", size.hosts);
    report_json_count(json, "switches", size.switches);
    report_json_count(json, "links", size.links);
    report_json_count(json, "k", t->k);
    report_json_count(json, "leaves", t->leaves);
    report_json_count(json, "spines", t->spines);
    report_json_count(json, "routers", t->routers);
    report_json_count(json, "globals", t->globals);
    if (t->kind == SIM_CLOS) {
        struct sim_pods p = {0};
        (void)sim_topology_pods(t, &p);
        report_json_count(json, "pods", p.pods);
        report_json_count(json, "edges", p.edges);
        report_json_count(json, "aggregations", p.aggregations);
        report_json_count(json, "cores", p.aggregations * p.ups);
        put_ratio(json, "ratio", t->ratio);
        put_ratio(json, "core_ratio", t->core_ratio);
    }
    report_json_count(json, "rate_bps", t->edge.rate_bps);
    put_ns(json, "delay_ns", t->edge.delay_ps);
    report_json_count(json, "fabric_rate_bps", t->fabric.rate_bps);
    put_ns(json, "fabric_delay_ns", t->fabric.delay_ps);
    report_json_open(json, "odd_links", '[');
    for (uint32_t i = 0; i < t->odd_count; i++) {
        json_odd_link(json, t, &t->odd[i]);
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
    report_json_open(json, "queues", '{');
    put_amount(json, "buffer_bytes", t->buffer_bytes);
    put_amount(json, "ecn_bytes", t->mark_bytes);
    sim__json_queues(json, t);
    report_json_close(json, '}');
}

static void json_traffic(struct report_json *json, const struct sim_traffic *t)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "kind", sim_traffic_name(t->kind));
    if (t->sizes != NULL) {
        report_json_say(json, "size", sim_sizes_name(t->sizes));
        report_json_put(json, "mean_bytes", "%.1f", sim_sizes_mean(t->sizes));
    } else if (t->kind != SIM_TRACE) {
        put_amount(json, "bytes", t->bytes);
    }
    if (t->kind == SIM_POISSON) {
        report_json_put(json, "load", "%.6f", t->load);
    } else if (t->kind == SIM_INCAST) {
        report_json_count(json, "fan_in", t->fan_in);
        report_json_count(json, "to", t->to);
        report_json_count(json, "repeat", t->repeat);
        put_ns(json, "period_ns", t->period_ps);
    } else if (t->kind == SIM_TRACE) {
        report_json_count(json, "flows", t->trace_count);
    }
    put_ns(json, "start_ns", t->start_ps);
    report_json_close(json, '}');
}

/* Configured failures, restarts and faults. */
static void json_wrongs(struct report_json *json, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;

    report_json_open(json, "failures", '[');
    for (uint32_t i = 0; i < s->failure_count; i++) {
        const struct sim_failure *failure = &s->failures[i];
        report_json_open(json, NULL, '{');
        put_link(json, &s->topology, run->network.fabric.from[failure->link], run->network.links[failure->link].to);
        put_ns(json, "at_ns", failure->at_ps);
        put_ns(json, "react_ns", failure->react_ps);
        if (failure->until_ps == SIM_NEVER) {
            report_json_put(json, "until_ns", "null");
        } else {
            put_ns(json, "until_ns", failure->until_ps);
        }
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
    report_json_open(json, "restarts", '[');
    for (uint32_t i = 0; i < s->restart_count; i++) {
        report_json_open(json, NULL, '{');
        put_node(json, "switch", &s->topology, s->restarts[i].node);
        put_ns(json, "at_ns", s->restarts[i].at_ps);
        put_ns(json, "away_ns", s->restarts[i].away_ps);
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
    report_json_open(json, "faults", '{');
    report_json_put(json, "loss", "%g", s->faults.loss);
    report_json_put(json, "duplicate", "%g", s->faults.duplicate);
    report_json_put(json, "reorder", "%g", s->faults.reorder);
    put_ns(json, "late_ns", s->faults.late_ps);
    report_json_close(json, '}');
}

/* Switches that add, and the cost of adding. */
static void json_accelerators(struct report_json *json, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    uint32_t adds = 0;

    for (uint32_t i = run->network.hosts; i < run->network.nodes; i++) {
        adds += run->adds == NULL || run->adds[i] != 0;
    }
    report_json_count(json, "switches_that_add", adds);
    report_json_open(json, "adding", '{');
    put_ns(json, "latency_ns", s->topology.add_ps);
    put_ns(json, "bypass_ns", s->accelerators.bypass_ps);
    report_json_flag(json, "multicast", s->is_multicast);
    put_amount(json, "memory_bytes", run->jobs.memory_bytes);
    report_json_count(json, "memory_most_bytes", sim_jobs_memory(&run->jobs));
    report_json_close(json, '}');
}

static void json_flows(struct report_json *json, const struct sim_flows_config *flows)
{
    report_json_open(json, "flows", '{');
    report_json_count(json, "packet_bytes", flows->packet);
    report_json_count(json, "header_bytes", flows->header);
    report_json_count(json, "ack_bytes", flows->ack);
    report_json_count(json, "window", flows->window);
    report_json_say(json, "congestion", trib_congestion_name(flows->policy));
    put_ns(json, "rto_first_ns", flows->rto_first_ps);
    put_ns(json, "rto_min_ns", flows->rto_min_ps);
    report_json_close(json, '}');
}

static void json_scenario(struct report_json *json, const struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;

    report_json_open(json, "scenario", '{');
    report_json_say(json, "name", s->name);
    report_json_count(json, "seed", s->seed);
    put_ns(json, "duration_ns", s->duration_ps);
    put_ns(json, "warmup_ns", s->warmup_ps);
    put_ns(json, "window_ns", s->window_ps);
    report_json_count(json, "mtu_bytes", s->mtu);
    report_json_count(json, "scale", s->scale > 1 ? s->scale : 1);
    json_topology(json, &s->topology);
    json_flows(json, &s->flows);
    report_json_open(json, "traffic", '[');
    for (uint32_t i = 0; i < s->traffic_count; i++) {
        json_traffic(json, &s->traffic[i]);
    }
    report_json_close(json, ']');
    json_accelerators(json, run);
    json_wrongs(json, run);
    report_json_close(json, '}');
}

static void put_time_of_job(struct report_json *json, const char *name, const struct sim_job_times *t, double ps)
{
    if (t->count == 0) {
        report_json_put(json, name, "null");
    } else {
        report_json_put(json, name, "%.3f", ps / NS);
    }
}

static void json_job_times(struct report_json *json, const struct sim_job_times *t)
{
    report_json_count(json, "iterations_measured", t->count);
    report_json_count(json, "iterations_not_done", t->not_done);
    put_time_of_job(json, "iteration_mean_ns", t, t->iteration_ps);
    put_time_of_job(json, "iteration_max_ns", t, t->iteration_most_ps);
    put_time_of_job(json, "summing_mean_ns", t, t->summing_ps);
}

/* The adding switches of each tree, root first. */
static void json_trees(struct report_json *json, const struct sim_run *run, const struct sim_job *job)
{
    const struct sim_topology *t = &run->scenario->topology;

    report_json_open(json, "trees", '[');
    for (uint32_t tree = 0; sim_job_adds(job) && tree < job->trees; tree++) {
        report_json_open(json, NULL, '[');
        put_node(json, NULL, t, job->roots[tree]);
        for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
            const struct sim_endpoint *e = &run->jobs.endpoints[i];
            if (e->tree == tree && e->is_branch) {
                put_node(json, NULL, t, e->place);
            }
        }
        report_json_close(json, ']');
    }
    report_json_close(json, ']');
}

static void json_node_counters(struct report_json *json, const char *name, const struct trib_counters *counters)
{
    report_json_open(json, name, '{');
#define X(name, help) report_json_count(json, #name, counters->name);
    TRIB_COUNTER_MAP(X)
#undef X
    report_json_count(json, "dropped_lane", counters->dropped[TRIB_DROP_LANE]);
    report_json_close(json, '}');
}

static void put_flow_counters(struct report_json *json, const struct trib_flow_counters *counters)
{
#define X(name, help) report_json_count(json, #name, counters->name);
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
}

/* Simulated numbers beside the plan's. */
static void json_plan(struct report_json *json, const struct sim_run *run, uint32_t number)
{
    const struct sim_job_config *c = &run->jobs.jobs[number].config;

    if (c->planned != NULL) {
        report_json_count(json, "planned_bps", c->planned->rate_bps);
        double rate = sim_results_rate(run, number);
        if (rate != 0) {
            report_json_put(json, "simulated_bps", "%.0f", rate);
        } else {
            report_json_put(json, "simulated_bps", "null");
        }
    }
    if (c->placed != NULL) {
        report_json_put(json, "planned_saved", "%.6f", c->placed->saved);
        report_json_put(json, "simulated_saved", "%.6f", sim_results_saved(run, number));
    }
}

static void json_job(struct report_json *json, const struct sim_run *run, uint32_t number)
{
    const struct sim_job *job = &run->jobs.jobs[number];
    const struct sim_job_config *c = &job->config;
    struct sim_job_counters counters = sim_jobs_counters(&run->jobs, number);
    struct sim_job_times t = sim_results_job(run, number);

    report_json_open(json, NULL, '{');
    if (c->name[0] != '\0') {
        report_json_say(json, "name", c->name);
    }
    json_plan(json, run, number);
    report_json_say(json, "scheme", c->scheme);
    report_json_count(json, "workers", c->workers);
    report_json_count(json, "switches", sim_job_nodes(job));
    report_json_count(json, "bytes", c->bytes);
    report_json_count(json, "payload_bytes", c->payload);
    report_json_count(json, "window", c->window);
    json_trees(json, run, job);
    report_json_count(json, "threshold_bytes", c->threshold);
    report_json_flag(json, "is_below_threshold", c->bytes < c->threshold);
    if (c->model != NULL) {
        bool is_models = c->compute_ps == sim_job_scaled((uint64_t)(c->model->compute_ms * 1e9), run->scenario->scale);
        report_json_say(json, "model", c->model->name);
        report_json_say(json, "model_compute", is_models ? c->model->source : "the scenario's");
    }
    report_json_put(json, "jitter", "%g", c->jitter);
    report_json_count(json, "stragglers", c->stragglers);
    report_json_put(json, "slower", "%g", c->slower);
    report_json_say(json, "placement", c->hosts != NULL ? "listed" : sim_placement_name(c->placement));
    put_ns(json, "compute_ns", c->compute_ps);
    put_ns(json, "start_ns", c->start_ps);
    report_json_count(json, "iterations", c->iterations);
    report_json_count(json, "iterations_ended", job->iterations);
    put_ns(json, "end_ns", job->end_ps);
    json_job_times(json, &t);
    report_json_count(json, "ranks_per_host", c->ranks);
    report_json_count(json, "buckets", c->buckets);
    report_json_put(json, "backward", "%g", c->backward);
    report_json_count(json, "slots", job->session.slots);
    report_json_count(json, "slots_most", t.slots_most);
    report_json_put(json, "slots_mean", "%.3f", t.slots_mean);
    if (t.cap_most != 0) {
        report_json_count(json, "cap_first", job->session.cap);
        report_json_count(json, "cap_most", t.cap_most);
    }
    report_json_count(json, "packets_marked", job->marked);
    report_json_count(json, "results_marked", job->told);
    if (sim_job_has_quorum(job)) {
        report_json_count(json, "sums", job->sums);
        report_json_count(json, "sums_lacking", job->lacking);
        report_json_count(json, "parts_late", t.late);
    }
    report_json_count(json, "numbers_compared", job->compared);
    report_json_count(json, "numbers_wrong", job->wrong);
    json_node_counters(json, "worker", &counters.workers);
    json_node_counters(json, "switch", &counters.switches);
    report_json_open(json, "flow", '{');
    put_flow_counters(json, &counters.flows);
    report_json_close(json, '}');
    report_json_close(json, '}');
}

/* Counters of all combiners' pools; nothing if no job has combiners. */
static void json_pools(struct report_json *json, const struct sim_run *run)
{
    struct trib_combiner_counters sum;

    if (run->jobs.pools == NULL) {
        return;
    }
    sim_jobs_pools(&run->jobs, &sum);
    report_json_open(json, "pool", '{');
    report_json_say(json, "allocation", run->jobs.is_pool_static ? "static" : "dynamic");
#define X(name, help) report_json_count(json, #name, sum.name);
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
    report_json_close(json, '}');
}

static void json_times(struct report_json *json, const char *name, const struct sim_times *t)
{
    report_json_open(json, name, '{');
    report_json_count(json, "from_bytes", t->least_bytes);
    report_json_count(json, "count", t->count);
    report_json_count(json, "bytes", t->bytes);
    if (t->count != 0) {
        report_json_put(json, "mean_ns", "%.3f", t->mean_ps / NS);
        put_ns(json, "p50_ns", t->median_ps);
        put_ns(json, "p99_ns", t->p99_ps);
        put_ns(json, "max_ns", t->most_ps);
        report_json_put(json, "slowdown_mean", "%.4f", t->slowdown_mean);
        report_json_put(json, "slowdown_p99", "%.4f", t->slowdown_p99);
    }
    report_json_close(json, '}');
}

static void json_all_times(struct report_json *json, const struct sim_times *all, const struct sim_times *classes)
{
    json_times(json, "completion_times", all);
    report_json_open(json, "completion_times_by_size", '[');
    for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
        json_times(json, NULL, &classes[i]);
    }
    report_json_close(json, ']');
}

/* Results of each kind of traffic alone. */
static void json_ideal(struct report_json *json, const struct sim_ideal *ideal)
{
    if (ideal == NULL) {
        report_json_put(json, "ideal", "null");
        return;
    }
    report_json_open(json, "ideal", '{');
    report_json_count(json, "flows_ended", ideal->flows.ended);
    json_all_times(json, &ideal->flows.all, ideal->flows.classes);
    report_json_open(json, "jobs", '[');
    for (uint32_t i = 0; i < ideal->job_count; i++) {
        report_json_open(json, NULL, '{');
        json_job_times(json, &ideal->jobs[i]);
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
    report_json_open(json, "trace_hashes", '[');
    report_json_put(json, NULL, "\"%016" PRIx64 "\"", ideal->hashes[0]);
    report_json_put(json, NULL, "\"%016" PRIx64 "\"", ideal->hashes[1]);
    report_json_close(json, ']');
    report_json_close(json, '}');
}

static void json_network(struct report_json *json, const struct sim_run *run, const struct sim_results *r)
{
    const struct sim_network *n = &run->network;

    report_json_open(json, "packets", '{');
    report_json_count(json, "sent", n->sent);
    report_json_count(json, "arrived", n->arrived);
    report_json_count(json, "dropped", n->dropped);
    report_json_count(json, "held", run->faults.count);
    report_json_count(json, "lost_by_failures", n->cut_off);
    report_json_count(json, "lost_by_faults", run->faults.lost);
    report_json_count(json, "duplicated", run->faults.duplicated);
    report_json_count(json, "reordered", run->faults.reordered);
    report_json_count(json, "on_links", sim_network_count(n));
    report_json_count(json, "marked", r->marked);
    put_ns(json, "longest_wait_ns", r->waited_ps);
    report_json_close(json, '}');
    report_json_open(json, "counters", '{');
    put_flow_counters(json, &r->counters);
    report_json_count(json, "hops", n->hops);
    report_json_count(json, "events", n->events.count);
    report_json_close(json, '}');
    report_json_put(json, "trace_hash", "\"%016" PRIx64 "\"", n->hash);
}

void sim_results_json(FILE *out, const struct sim_run *run, const struct sim_results *r, const struct sim_story *story)
{
    const char *fault = sim_run_check(run);
    struct report_json json = {.out = out};

    report_json_open(&json, NULL, '{');
    report_json_say(&json, "version", story->version);
    json_scenario(&json, run);
    if (run->scenario->text != NULL) {
        report_json_say(&json, "scenario_toml", run->scenario->text);
    }
    report_json_flag(&json, "interrupted", story->was_interrupted);
    report_json_flag(&json, "stalled", story->was_stalled);
    put_ns(&json, "simulated_ns", r->simulated_ps);
    put_ns(&json, "measured_ns", r->measured_ps);
    report_json_put(&json, "cpu_s", "%.3f", story->cpu_s);
    report_json_put(&json, "goodput_bps_per_host", "%.1f", r->goodput_bps);
    report_json_count(&json, "flows_begun", r->begun);
    report_json_count(&json, "flows_ended", r->ended);
    json_all_times(&json, &r->all, r->classes);
    report_json_open(&json, "jobs", '[');
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        json_job(&json, run, i);
    }
    report_json_close(&json, ']');
    json_pools(&json, run);
    json_ideal(&json, story->ideal);
    json_network(&json, run, r);
    sim__json_buffers(&json, run);
    report_json_say(&json, "check", fault != NULL ? fault : "ok");
    report_json_close(&json, '}');
    (void)fputc('\n', out);
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

/* Prints the scenario's failures, restarts and faults so far. */
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

/* Scale of the run, and the measured part. */
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
        (void)fprintf(out, "  results are of flows and iterations that began after %.3f ms",
                      (double)s->warmup_ps / 1e9);
        (void)fprintf(out, s->window_ps != 0 ? " and before %.3f ms\n" : "\n", end_ms);
    }
}

static void summary_fact(FILE *out, const char *what, const char *text)
{
    (void)fprintf(out, "  %s: %s\n", what, text);
}

/* Prints a mean in ms, or "none". */
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

static void summary_rates(FILE *out, const struct sim_run *run)
{
    bool is_first = true;

    for (uint32_t i = 0; i < run->jobs.count && i < JOBS_SHOWN; i++) {
        const struct sim_job_config *c = &run->jobs.jobs[i].config;
        if (c->planned == NULL) {
            continue;
        }
        if (is_first) {
            (void)fprintf(out, "  %-16s %9s %14s %14s %9s\n", "planned jobs", "trees", "planned Gbps", "simulated Gbps",
                          "off by");
        }
        is_first = false;
        double planned = (double)c->planned->rate_bps, rate = sim_results_rate(run, i);
        (void)fprintf(out, "  %-16s %9u %14.4f", c->name, c->planned->count, planned / 1e9);
        if (rate != 0) {
            (void)fprintf(out, " %14.4f %8.2f%%\n", rate / 1e9, 100 * (rate / planned - 1));
        } else {
            (void)fprintf(out, " %14s\n", "none");
        }
    }
}

/* Contributions that the server of a job with pieces does not receive. */
static void summary_pieces(FILE *out, const struct sim_run *run)
{
    for (uint32_t i = 0; i < run->jobs.count && i < JOBS_SHOWN; i++) {
        const struct sim_job_config *c = &run->jobs.jobs[i].config;
        if (c->placed != NULL) {
            (void)fprintf(out, "  %s: of the workers' packets the server is saved %.2f %%; planned %.2f %%\n", c->name,
                          100 * sim_results_saved(run, i), 100 * c->placed->saved);
        }
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
    summary_rates(out, run);
    summary_pieces(out, run);
    summary_pools(out, run);
    trib_format_count(n->hops, counts[0]);
    (void)fprintf(out, "  %s packet-hops in %.2f s of CPU time: %.2f million a second; trace %016" PRIx64 "\n",
                  counts[0], story->cpu_s, rate, n->hash);
}
