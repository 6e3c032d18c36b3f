/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: see page.h. Hosts are not drawn: one line below each switch stands for the cables of its hosts. */
#include "plan/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "io/explain.h"
#include "plan/round.h"
#include "report/graph.h"
#include "report/html.h"

#define DRAWN_MAX 24U     /* jobs with a drawing of their own */
#define ADDERS_MAX 12U    /* names of switches in a row of a table */
#define SWITCHES_MAX 512U /* of a drawing */

struct page {
    FILE *out;
    const struct plan_view *view;
    struct report_node *nodes; /* switches, from 0 on */
    struct report_edge *edges; /* cables between switches */
    uint32_t *links;           /* by edge: its first link */
    uint32_t edge_count;
    uint64_t *loads; /* by row */
};

static double gbps(uint64_t bps)
{
    return (double)bps / 1e9;
}

/* ---- the network ---- */

/* A switch with hosts is in the lowest tier; each other switch is one tier above its lowest neighbour. False: out of
 * memory. */
static bool find_tiers(struct page *p)
{
    const struct trib_fabric *f = &p->view->net->fabric;
    uint32_t hosts = p->view->net->hosts, count = 0;
    uint32_t *order = calloc(f->places + 1U, sizeof *order);
    bool *is_found = calloc(f->places + 1U, sizeof *is_found);
    for (uint32_t k = 0; order != NULL && is_found != NULL && k < f->link_count; k++) {
        if (f->from[k] < hosts && f->to[k] >= hosts && !is_found[f->to[k]]) {
            is_found[f->to[k]] = true;
            order[count++] = f->to[k];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = f->first[order[i]]; k < f->first[order[i] + 1]; k++) {
            uint32_t next = f->to[f->out[k]];
            if (next >= hosts && !is_found[next]) {
                is_found[next] = true;
                p->nodes[next - hosts].tier = p->nodes[order[i] - hosts].tier + 1;
                order[count++] = next;
            }
        }
    }
    bool is_good = order != NULL && is_found != NULL;
    free(order);
    free(is_found);
    return is_good;
}

static bool make_network(struct page *p)
{
    const struct plan_network *net = p->view->net;
    const struct trib_fabric *f = &net->fabric;
    p->nodes = calloc(net->switches + 1U, sizeof *p->nodes);
    p->edges = calloc(f->link_count + 1U, sizeof *p->edges);
    p->links = calloc(f->link_count + 1U, sizeof *p->links);
    p->loads = calloc(plan_rows(net) + 1U, sizeof *p->loads);
    if (p->nodes == NULL || p->edges == NULL || p->links == NULL || p->loads == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < net->switches; i++) {
        p->nodes[i].name = net->names.list[net->hosts + i];
    }
    for (uint32_t k = 0; k < f->link_count; k++) {
        if (f->from[k] >= net->hosts && f->to[k] >= net->hosts && k < f->opposite[k]) {
            p->links[p->edge_count] = k;
            p->edges[p->edge_count++].ends[0] = f->from[k] - net->hosts;
            p->edges[p->edge_count - 1].ends[1] = f->to[k] - net->hosts;
        }
    }
    return find_tiers(p);
}

static double fill(const struct page *p, uint32_t row)
{
    uint64_t capacity = plan_capacity(p->view->net, row);
    return capacity != 0 && capacity != UINT64_MAX ? (double)p->loads[row] / (double)capacity : 0;
}

/* Sets the loads of nodes and edges to those of these jobs. */
static bool load(struct page *p, uint32_t first, uint32_t count)
{
    const struct plan_network *net = p->view->net;
    struct plan some = *p->view->plan;
    const struct plan_jobs jobs = {.count = count, .list = &p->view->jobs->list[first]};
    some.job_count = count;
    some.grants = &p->view->plan->grants[first];
    if (!plan_loads(&some, net, &jobs, p->loads)) {
        return false;
    }
    for (uint32_t i = 0; i < p->edge_count; i++) {
        p->edges[i].loads[0] = fill(p, p->links[i]);
        p->edges[i].loads[1] = fill(p, net->fabric.opposite[p->links[i]]);
    }
    for (uint32_t i = 0; i < net->switches; i++) {
        p->nodes[i].foot = -1;
    }
    for (uint32_t host = 0; host < net->hosts; host++) {
        uint32_t link = net->fabric.out[net->fabric.first[host]];
        struct report_node *node = &p->nodes[net->fabric.to[link] - net->hosts];
        node->foot = fmax(node->foot, fill(p, plan_row_of_host(net, host)));
    }
    return true;
}

/* Marks switches that add in trees of these jobs, and roots. */
static void mark(struct page *p, uint32_t first, uint32_t count)
{
    uint32_t hosts = p->view->net->hosts;
    for (uint32_t i = 0; i < p->view->net->switches; i++) {
        p->nodes[i].is_full = p->nodes[i].is_root = false;
    }
    for (uint32_t j = first; j < first + count; j++) {
        const struct plan_grant *grant = &p->view->plan->grants[j];
        for (uint32_t t = 0; t < grant->count; t++) {
            const struct plan_tree *tree = &grant->shares[t].tree;
            p->nodes[tree->root - hosts].is_full = p->nodes[tree->root - hosts].is_root = true;
            for (uint32_t h = 0; h < tree->hop_count; h++) {
                struct report_node *from = &p->nodes[tree->hops[h].from - hosts];
                from->is_full = from->is_full || tree->hops[h].adds;
            }
        }
    }
}

static bool draw(struct page *p, const char *title, uint32_t first, uint32_t count)
{
    const struct report_graph graph = {.title = title,
                                       .foot = "hosts",
                                       .nodes = p->nodes,
                                       .edges = p->edges,
                                       .node_count = p->view->net->switches,
                                       .edge_count = p->edge_count,
                                       .hides_unused = count == 1 && p->view->plan->job_count > 1};
    if (p->view->net->switches > SWITCHES_MAX) {
        return true;
    }
    mark(p, first, count);
    return load(p, first, count) && report_graph_draw(p->out, &graph);
}

/* ---- tables ---- */

static void put_cell(const struct page *p, double value, const char *unit)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.5g%s", value, unit);
    report_html_cell(p->out, text);
}

static void put_jobs(const struct page *p)
{
    const struct plan_view *v = p->view;
    (void)fputs("<table><tr><th>job</th><th>hosts</th><th>weight</th><th>trees</th><th>rate, Gbit/s</th>"
                "<th>bound, Gbit/s</th></tr>\n",
                p->out);
    for (uint32_t j = 0; j < v->plan->job_count; j++) {
        const struct plan_grant *grant = &v->plan->grants[j];
        const struct plan_job *job = &v->jobs->list[j];
        (void)fputs("<tr>", p->out);
        report_html_cell(p->out, job->name);
        put_cell(p, job->host_count, "");
        put_cell(p, job->weight, "");
        put_cell(p, grant->count, "");
        put_cell(p, gbps(grant->rate_bps), "");
        put_cell(p, gbps(v->plan->stages[grant->stage].bound_bps) * job->weight, "");
        (void)fputs("</tr>\n", p->out);
    }
    (void)fputs("</table>\n", p->out);
}

/* The names of switches that add below the root. */
static void put_adders(const struct page *p, const struct plan_tree *tree)
{
    uint32_t count = 0;
    (void)fputs("<td>", p->out);
    for (uint32_t h = 0; h < tree->hop_count; h++) {
        count += tree->hops[h].adds;
        if (tree->hops[h].adds && count <= ADDERS_MAX) {
            (void)fputs(count > 1 ? " " : "", p->out);
            report_html_text(p->out, p->view->net->names.list[tree->hops[h].from]);
        }
    }
    if (count > ADDERS_MAX) {
        (void)fprintf(p->out, " and %u more", count - ADDERS_MAX);
    }
    (void)fputs("</td>", p->out);
}

static void put_trees(const struct page *p, uint32_t j)
{
    const struct plan_grant *grant = &p->view->plan->grants[j];
    double weights = 0;
    for (uint32_t t = 0; t < grant->count; t++) {
        weights += grant->shares[t].weight;
    }
    (void)fputs("<table><tr><th>root</th><th>part of the bytes</th><th>other switches that add</th></tr>\n", p->out);
    for (uint32_t t = 0; t < grant->count; t++) {
        (void)fputs("<tr>", p->out);
        report_html_cell(p->out, p->view->net->names.list[grant->shares[t].tree.root]);
        put_cell(p, round(1000 * grant->shares[t].weight / weights) / 10, " %");
        put_adders(p, &grant->shares[t].tree);
        (void)fputs("</tr>\n", p->out);
    }
    (void)fputs("</table>\n", p->out);
}

/* ---- the page ---- */

static void put_summary(const struct page *p)
{
    const struct plan_view *v = p->view;
    (void)fprintf(p->out,
                  "<p>%" PRIu32 " hosts, %" PRIu32 " switches, paths %s. Proved: no plan of the family %s gives the "
                  "slowest job %.2f %% more, for each unit of weight, before rounding.",
                  v->net->hosts, v->net->switches, plan_paths_name(v->net->paths), plan_family_name(v->plan->family),
                  100 * v->proof->first_gap);
    if (v->net->headroom > 0) {
        (void)fprintf(p->out, " Loads have a headroom of %u %% for uneven flows.", v->net->headroom);
    }
    (void)fputs("</p>\n", p->out);
    report_graph_legend(p->out);
    (void)fputs(
        "<p>Filled switches add, and a thick ring is a root. The line below a switch is the fullest cable of its "
        "hosts. Point at a link to see both directions.</p>\n",
        p->out);
    if (v->net->switches > SWITCHES_MAX) {
        (void)fprintf(p->out, "<p>A network of more than %u switches is not drawn.</p>\n", SWITCHES_MAX);
    }
}

static bool put(struct page *p)
{
    const struct plan_view *v = p->view;
    report_html_begin(p->out, "Plan");
    put_summary(p);
    bool is_good = draw(p, "All jobs", 0, v->plan->job_count);
    put_jobs(p);
    for (uint32_t j = 0; is_good && j < v->plan->job_count; j++) {
        (void)fputs("<h2>", p->out);
        report_html_text(p->out, v->jobs->list[j].name);
        (void)fputs("</h2>\n", p->out);
        is_good = j >= DRAWN_MAX || draw(p, "Load of each link by this job", j, 1);
        put_trees(p, j);
    }
    report_html_end(p->out);
    return is_good;
}

bool plan_page_write(const struct plan_view *view, const char *path, char *error)
{
    struct page p = {.view = view, .out = fopen(path, "w")};
    if (p.out == NULL) {
        trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
        return false;
    }
    bool is_good = make_network(&p) && put(&p);
    if (!is_good) {
        trib_explain(error, "out of memory");
    }
    bool is_lost = ferror(p.out) != 0;
    if (fclose(p.out) != 0 || is_lost) {
        trib_explain(error, "%s could not be written to its end: %s", path, trib_explain_errno(errno));
        is_good = false;
    }
    free(p.nodes);
    free(p.edges);
    free(p.links);
    free(p.loads);
    return is_good;
}
