/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: results of a run as a self-contained HTML page: facts, completion times, jobs, links. Read next: plot.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/units.h"
#include "report/html.h"
#include "report/plot.h"
#include "sim/network/gates.h"
#include "sim/results/ideal.h"

#define POINTS_MAX 400U /* of a line; more are not visible */

static const char *const class_names[SIM_SIZE_CLASSES] = {"below 10 KB", "10 to 100 KB", "100 KB to 10 MB",
                                                          "10 MB and more"};

/* Points of a cumulative distribution. */
struct shares {
    double x[POINTS_MAX + 1];
    double y[POINTS_MAX + 1];
    uint32_t count;
};

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

static void make_shares(struct shares *s, double *values, uint64_t count)
{
    uint64_t points = count < POINTS_MAX ? count : POINTS_MAX;

    qsort(values, count, sizeof *values, compare);
    s->count = 0;
    for (uint64_t i = 0; i < points; i++) {
        uint64_t rank = points == 1 ? 0 : i * (count - 1) / (points - 1);
        s->x[s->count] = values[rank];
        s->y[s->count++] = (double)(rank + 1) / (double)count;
    }
}

/* ---- flows ---- */

enum flow_value { FLOW_TIME_US, FLOW_SLOWDOWN };

static double value_of(const struct sim_flow_end *end, enum flow_value what)
{
    double time_ps = (double)(end->end_ps - end->start_ps);

    return what == FLOW_TIME_US ? time_ps / 1e6 : time_ps / (double)end->ideal_ps;
}

static void plot_flows(FILE *out, const struct sim_run *run, const struct sim_results *r, enum flow_value what)
{
    static struct shares shares[SIM_SIZE_CLASSES];
    double *values = malloc((run->end_count + 1) * sizeof *values);
    struct report_plot plot = {
        .title = what == FLOW_TIME_US ? "Completion times" : "Slowdown: time / time in an empty network",
        .x_label = what == FLOW_TIME_US ? "us" : "slowdown",
        .y_label = "share of flows",
        .is_log = true,
    };

    for (uint32_t c = 0; values != NULL && c < SIM_SIZE_CLASSES; c++) {
        uint64_t below = c + 1 < SIM_SIZE_CLASSES ? r->classes[c + 1].least_bytes : SIM_NEVER;
        uint64_t count = 0;
        for (uint64_t i = 0; i < run->end_count; i++) {
            if (run->ends[i].plan.bytes >= r->classes[c].least_bytes && run->ends[i].plan.bytes < below) {
                values[count++] = value_of(&run->ends[i], what);
            }
        }
        make_shares(&shares[c], values, count);
        if (count != 0) {
            plot.lines[plot.count++] = (struct report_line){
                .name = class_names[c], .x = shares[c].x, .y = shares[c].y, .count = shares[c].count};
        }
    }
    report_plot_draw(out, &plot);
    free(values);
}

static void table_row(FILE *out, const char *what, const struct sim_times *t)
{
    if (t->count != 0) {
        (void)fprintf(out,
                      "<tr><td>%s</td><td>%" PRIu64 "</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.2f</td><td>%.2f"
                      "</td></tr>\n",
                      what, t->count, t->mean_ps / 1e6, (double)t->median_ps / 1e6, (double)t->p99_ps / 1e6,
                      t->slowdown_mean, t->slowdown_p99);
    }
}

static void page_flows(FILE *out, const struct sim_run *run, const struct sim_results *r, const struct sim_ideal *ideal)
{
    if (run->scenario->traffic_count == 0) {
        return;
    }
    (void)fprintf(out, "<h2>Flows</h2>\n<p>%" PRIu64 " begun, of which %" PRIu64 " ended.</p>\n<table>\n", r->begun,
                  r->ended);
    (void)fputs("<tr><th>size</th><th>flows</th><th>mean us</th><th>p50 us</th><th>p99 us</th><th>slowdown</th>"
                "<th>p99</th></tr>\n",
                out);
    for (uint32_t i = 0; i < SIM_SIZE_CLASSES; i++) {
        table_row(out, class_names[i], &r->classes[i]);
    }
    table_row(out, "all", &r->all);
    if (ideal != NULL) {
        table_row(out, "all, without jobs", &ideal->flows.all);
    }
    (void)fputs("</table>\n", out);
    plot_flows(out, run, r, FLOW_TIME_US);
    plot_flows(out, run, r, FLOW_SLOWDOWN);
}

/* ---- jobs ---- */

/* Prints a mean in ms, or "none". */
static void mean_cell(FILE *out, uint64_t count, double mean_ps)
{
    if (count != 0) {
        (void)fprintf(out, "<td>%.3f</td>", mean_ps / 1e9);
    } else {
        (void)fputs("<td>none</td>", out);
    }
}

static void page_jobs(FILE *out, const struct sim_run *run, const struct sim_ideal *ideal)
{
    if (run->jobs.count == 0) {
        return;
    }
    (void)fputs("<h2>Jobs</h2>\n<table>\n<tr><th>scheme</th><th>model</th><th>workers</th><th>switches</th>"
                "<th>start ms</th><th>end ms</th><th>iterations</th><th>compute ms</th><th>iteration ms</th>"
                "<th>summing ms</th>",
                out);
    (void)fprintf(out, "%s</tr>\n", ideal != NULL ? "<th>iteration without flows ms</th>" : "");
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        const struct sim_job *job = &run->jobs.jobs[i];
        const struct sim_job_config *c = &job->config;
        (void)fputs("<tr>", out);
        report_html_cell(out, c->scheme);
        (void)fprintf(out, "<td>%s</td><td>%u</td><td>%u</td><td>%.3f</td><td>%.3f</td>",
                      c->model != NULL ? c->model->name : "-", c->workers, sim_job_nodes(job),
                      (double)c->start_ps / 1e9, (double)job->end_ps / 1e9);
        struct sim_job_times t = sim_results_job(run, i);
        (void)fprintf(out, "<td>%u of %u</td><td>%.3f</td>", job->iterations, c->iterations,
                      (double)c->compute_ps / 1e9);
        mean_cell(out, t.count, t.iteration_ps);
        mean_cell(out, t.count, t.summing_ps);
        if (ideal != NULL) {
            mean_cell(out, ideal->jobs[i].count, ideal->jobs[i].iteration_ps);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table>\n", out);
    uint32_t jobs = 0;
    uint64_t not_done = sim_results_not_done(run, &jobs);
    if (not_done != 0) {
        (void)fprintf(out, "<p>%" PRIu64 " iterations of %u jobs were not done: means are of the others.</p>\n",
                      not_done, jobs);
    }
}

/* ---- links ---- */

enum link_value { LINK_USE, LINK_WAIT_US, LINK_STOPPED };

static const char *const link_titles[] = {"Use of links, by sender", "Longest wait at a port, by the port's node",
                                          "Time that ports were stopped, by the port's node"};

static double value_of_link(const struct sim_run *run, const struct sim_results *r, uint32_t link, enum link_value what)
{
    double now_ps = (double)sim_run_now(run);

    if (what == LINK_WAIT_US) {
        return (double)run->network.links[link].most_ps / 1e6;
    }
    if (what == LINK_STOPPED) {
        return now_ps > 0 ? (double)sim_gate_stopped_ps(&run->network, link) / now_ps : 0;
    }
    return sim_results_use(run, r, link);
}

static uint32_t tier_of(const struct sim_tier *tiers, uint32_t count, uint32_t node)
{
    uint32_t tier = count - 1;

    while (node < tiers[tier].first) {
        tier--;
    }
    return tier;
}

/* Plots a line for each tier, over the links that its nodes send into. */
static void plot_links(FILE *out, const struct sim_run *run, const struct sim_results *r, enum link_value what)
{
    static struct shares shares[SIM_TIERS_MAX];
    struct sim_tier tiers[SIM_TIERS_MAX];
    char names[SIM_TIERS_MAX][SIM_NODE_NAME_MAX];
    const struct sim_network *n = &run->network;
    uint32_t count = sim_topology_tiers(&run->scenario->topology, tiers);
    double *values = malloc(n->link_count * sizeof *values);
    struct report_plot plot = {
        .title = link_titles[what],
        .x_label = what == LINK_USE       ? "share of the rate"
                   : what == LINK_WAIT_US ? "us"
                                          : "share of the time",
        .y_label = "share of links",
    };

    for (uint32_t tier = 0; values != NULL && tier < count; tier++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < n->link_count; i++) {
            if (tier_of(tiers, count, n->fabric.from[i]) == tier && n->fabric.from[i] != n->links[i].to) {
                values[found++] = value_of_link(run, r, i, what);
            }
        }
        make_shares(&shares[tier], values, found);
        (void)snprintf(names[tier], sizeof names[tier], "%s", tiers[tier].name);
        if (found != 0 && (what != LINK_WAIT_US || tier != 0)) {
            plot.lines[plot.count++] = (struct report_line){
                .name = names[tier], .x = shares[tier].x, .y = shares[tier].y, .count = shares[tier].count};
        }
    }
    report_plot_draw(out, &plot);
    free(values);
}

/* ---- the page ---- */

static void fact(FILE *out, const char *what, const char *value)
{
    (void)fprintf(out, "<tr><td>%s</td>", what);
    report_html_cell(out, value);
    (void)fputs("</tr>\n", out);
}

static void count_fact(FILE *out, const char *what, uint64_t count)
{
    char text[TRIB_UNITS_TEXT_MAX];

    trib_format_count(count, text);
    fact(out, what, text);
}

/* Facts about the scale of the run and the measured part. */
static void levers(FILE *out, const struct sim_scenario *s)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%u bytes", s->mtu);
    fact(out, "MTU", text);
    if (s->scale > 1) {
        (void)snprintf(text, sizeof text, "1/%u, of sizes, times to compute and arrivals", s->scale);
        fact(out, "scale of jobs", text);
    }
    if (s->warmup_ps != 0 || s->window_ps != 0) {
        (void)snprintf(text, sizeof text, "%.3f ms", (double)s->warmup_ps / 1e9);
        fact(out, "counted if begun after", text);
    }
    if (s->window_ps != 0) {
        (void)snprintf(text, sizeof text, "%.3f ms", (double)(s->warmup_ps + s->window_ps) / 1e9);
        fact(out, "and before", text);
    }
}

static void page_facts(FILE *out, const struct sim_run *run, const struct sim_results *r, const struct sim_story *story)
{
    const char *fault = sim_run_check(run);
    struct sim_topology_size size = sim_topology_size(&run->scenario->topology);
    char text[256];

    (void)fputs("<table>\n", out);
    (void)snprintf(text, sizeof text, "%s, %u hosts, %u switches", sim_topology_name(run->scenario->topology.kind),
                   size.hosts, size.switches);
    fact(out, "network", text);
    (void)snprintf(text, sizeof text, "%.3f ms%s", (double)r->simulated_ps / 1e9,
                   story->was_interrupted ? ", interrupted"
                   : story->was_stalled   ? ", given up"
                                          : "");
    fact(out, "simulated", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, run->scenario->seed);
    fact(out, "seed", text);
    levers(out, run->scenario);
    (void)snprintf(text, sizeof text, "%.3f Gbps", r->goodput_bps / 1e9);
    fact(out, "goodput of flows per host", text);
    count_fact(out, "packets", run->network.sent);
    count_fact(out, "marked, at all ports", r->marked);
    count_fact(out, "dropped", run->network.dropped);
    count_fact(out, "of which by cut cables", run->network.cut_off);
    sim__tell_buffers(fact, out, run);
    count_fact(out, "timeouts of flows", r->counters.timeouts);
    count_fact(out, "packet-hops", run->network.hops);
    (void)snprintf(text, sizeof text, "%016" PRIx64, run->network.hash);
    fact(out, "trace", text);
    fact(out, "check", fault != NULL ? fault : "ok");
    fact(out, "version", story->version);
    (void)fputs("</table>\n", out);
}

void sim_results_html(FILE *out, const struct sim_run *run, const struct sim_results *r, const struct sim_story *story)
{
    report_html_begin(out, run->scenario->name);
    page_facts(out, run, r, story);
    page_flows(out, run, r, story->ideal);
    page_jobs(out, run, story->ideal);
    (void)fputs("<h2>Links</h2>\n", out);
    plot_links(out, run, r, LINK_USE);
    plot_links(out, run, r, LINK_WAIT_US);
    if (run->scenario->topology.buffers.is_lossless) {
        plot_links(out, run, r, LINK_STOPPED);
    }
    if (run->scenario->text != NULL) {
        (void)fputs("<h2>Scenario</h2>\n<pre>\n", out);
        report_html_text(out, run->scenario->text);
        (void)fputs("</pre>\n", out);
    }
    report_html_end(out);
}
