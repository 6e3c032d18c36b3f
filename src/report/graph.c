/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c: see graph.h. Colours of loads: dark where links are full, for colour-blind readers too. */
#include "report/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

#define WIDTH_MIN 420.0
#define WIDTH_MAX 1120.0
#define NODE_WIDTH 60.0
#define MARGIN 40.0
#define TOP 40.0
#define TIER_HEIGHT 110.0
#define FOOT 26.0
#define BOTTOM 30.0
#define LETTER 6.2 /* mean width */

static const struct {
    double most;
    const char *colour;
    const char *name;
} classes[] = {{0, "#dddddd", "unused"},       {.25, "#9ecae1", "up to 25 %"}, {.5, "#4292c6", "up to 50 %"},
               {.75, "#084594", "up to 75 %"}, {.95, "#e69f00", "up to 95 %"}, {HUGE_VAL, "#c4390a", "more"}};

#define CLASSES (sizeof classes / sizeof classes[0])

/* Place of a node, and direction of the foot. */
struct spot {
    double x, y, right, down;
};

struct canvas {
    FILE *out;
    const struct report_graph *graph;
    double width;
    double height;
    struct spot *spots; /* by node */
    double gap;         /* between neighbours */
};

static unsigned level_of(double load)
{
    unsigned i = 0;
    while (i + 1 < CLASSES && load > classes[i].most) {
        i++;
    }
    return i;
}

static uint32_t count_tiers(const struct report_graph *g)
{
    uint32_t tiers = 1;
    for (uint32_t i = 0; i < g->node_count; i++) {
        tiers = g->nodes[i].tier >= tiers ? g->nodes[i].tier + 1 : tiers;
    }
    return tiers;
}

/* A row for each tier. counts: two zeroed numbers of each tier. */
static void place_in_rows(struct canvas *c, uint32_t tiers, uint32_t *counts)
{
    const struct report_graph *g = c->graph;
    uint32_t *seen = counts + tiers, widest = 1;
    for (uint32_t i = 0; i < g->node_count; i++) {
        uint32_t count = ++counts[g->nodes[i].tier];
        widest = count > widest ? count : widest;
    }
    c->width = fmin(fmax(WIDTH_MIN, 2 * MARGIN + widest * NODE_WIDTH), WIDTH_MAX);
    c->height = TOP + (tiers - 1) * TIER_HEIGHT + FOOT + BOTTOM;
    c->gap = (c->width - 2 * MARGIN) / widest;
    for (uint32_t i = 0; i < g->node_count; i++) {
        uint32_t tier = g->nodes[i].tier;
        c->spots[i].x = MARGIN + (c->width - 2 * MARGIN) * (seen[tier]++ + 0.5) / counts[tier];
        c->spots[i].y = TOP + (tiers - 1 - tier) * TIER_HEIGHT;
        c->spots[i].down = 1;
    }
}

/* If all nodes are of one tier, such as routers of a dragonfly. */
static void place_in_circle(struct canvas *c)
{
    uint32_t count = c->graph->node_count;
    double radius = fmin(fmax(100, count * NODE_WIDTH / 7), (WIDTH_MAX - 6 * MARGIN) / 2);
    c->width = fmax(WIDTH_MIN, 2 * radius + 6 * MARGIN);
    c->height = TOP + 2 * (radius + FOOT + BOTTOM);
    c->gap = 2 * M_PI * radius / count;
    for (uint32_t i = 0; i < count; i++) {
        struct spot *spot = &c->spots[i];
        spot->right = sin(2 * M_PI * i / count);
        spot->down = -cos(2 * M_PI * i / count);
        spot->x = c->width / 2 + radius * spot->right;
        spot->y = TOP + FOOT + BOTTOM + radius * (1 + spot->down);
    }
}

/* False: out of memory. */
static bool place(struct canvas *c)
{
    uint32_t tiers = count_tiers(c->graph);
    uint32_t *counts = calloc(2 * (size_t)tiers, sizeof *counts);
    c->spots = calloc(c->graph->node_count + 1U, sizeof *c->spots);
    bool is_good = counts != NULL && c->spots != NULL;
    if (is_good && tiers == 1 && c->graph->node_count > 2) {
        place_in_circle(c);
    } else if (is_good) {
        place_in_rows(c, tiers, counts);
    }
    free(counts);
    return is_good;
}

/* Begins a line with the colour of a load. */
static void begin_line(const struct canvas *c, double load, const struct spot *from)
{
    unsigned level = level_of(load);
    (void)fprintf(c->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"%.1f,%.1f ",
                  classes[level].colour, level == 0 ? "1" : "2.5", from->x, from->y);
}

/* A straight line, with a bend between two nodes of a row. */
static void draw_edge(const struct canvas *c, const struct report_edge *edge)
{
    const struct spot *a = &c->spots[edge->ends[0]], *b = &c->spots[edge->ends[1]];
    begin_line(c, fmax(edge->loads[0], edge->loads[1]), a);
    if (a->y == b->y && a->right == 0 && b->right == 0) {
        double rise = fmin(8 + fabs(a->x - b->x) / 12, TOP - 6);
        (void)fprintf(c->out, "%.1f,%.1f ", (a->x + b->x) / 2, a->y - rise);
    }
    (void)fprintf(c->out, "%.1f,%.1f\"><title>", b->x, b->y);
    report_html_text(c->out, c->graph->nodes[edge->ends[0]].name);
    (void)fputs(" to ", c->out);
    report_html_text(c->out, c->graph->nodes[edge->ends[1]].name);
    (void)fprintf(c->out, ": %.1f %%, back %.1f %%</title></polyline>\n", 100 * edge->loads[0], 100 * edge->loads[1]);
}

static void draw_foot(const struct canvas *c, uint32_t i)
{
    const struct report_node *node = &c->graph->nodes[i];
    const struct spot *spot = &c->spots[i];
    if (node->foot < 0) {
        return;
    }
    begin_line(c, node->foot, spot);
    (void)fprintf(c->out, "%.1f,%.1f\"><title>", spot->x + FOOT * spot->right, spot->y + FOOT * spot->down);
    report_html_text(c->out, node->name);
    (void)fputs(", ", c->out);
    report_html_text(c->out, c->graph->foot);
    (void)fprintf(c->out, ": %.1f %%</title></polyline>\n", 100 * node->foot);
}

/* At the end of the foot, or above a node without a foot. Names without room are left out: titles have all names. */
static void draw_name(const struct canvas *c, uint32_t i)
{
    const struct report_node *node = &c->graph->nodes[i];
    const struct spot *spot = &c->spots[i];
    double far = FOOT + 8;
    if ((double)strlen(node->name) * LETTER > c->gap) {
        return;
    }
    (void)fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", spot->x + far * spot->right,
                  node->foot < 0 ? spot->y - 10 : spot->y + far * spot->down + 4,
                  spot->right > 0.3    ? "start"
                  : spot->right < -0.3 ? "end"
                                       : "middle");
    report_html_text(c->out, node->name);
    (void)fputs("</text>\n", c->out);
}

static void draw_node(const struct canvas *c, uint32_t i)
{
    const struct report_node *node = &c->graph->nodes[i];
    (void)fprintf(c->out, "<circle class=\"axis\" r=\"%s\" stroke-width=\"%s\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\">",
                  node->is_full ? "6" : "4", node->is_root ? "3.5" : "1", node->is_full ? "#ffd24d" : "#fff",
                  c->spots[i].x, c->spots[i].y);
    (void)fputs("<title>", c->out);
    report_html_text(c->out, node->name);
    (void)fprintf(c->out, "%s%s</title></circle>\n", node->is_full ? ", adds" : "", node->is_root ? ", a root" : "");
    draw_name(c, i);
}

bool report_graph_draw(FILE *out, const struct report_graph *graph)
{
    struct canvas c = {.out = out, .graph = graph};
    if (!place(&c)) {
        free(c.spots);
        return false;
    }
    (void)fprintf(out, "<svg width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", c.width,
                  c.height, c.width, c.height);
    (void)fputs("<text class=\"title\" x=\"8\" y=\"14\">", out);
    report_html_text(out, graph->title);
    (void)fputs("</text>\n", out);
    for (unsigned level = graph->hides_unused ? 1 : 0; level < CLASSES; level++) { /* full edges lie above the others */
        for (uint32_t i = 0; i < graph->edge_count; i++) {
            const struct report_edge *edge = &graph->edges[i];
            if (level_of(fmax(edge->loads[0], edge->loads[1])) == level) {
                draw_edge(&c, edge);
            }
        }
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        draw_foot(&c, i);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        draw_node(&c, i);
    }
    (void)fputs("</svg>\n", out);
    free(c.spots);
    return true;
}

void report_graph_legend(FILE *out)
{
    (void)fputs("<p>Links, by the fuller direction:", out);
    for (unsigned i = 0; i < CLASSES; i++) {
        (void)fprintf(out, " <b style=\"color:%s\">&#9644;</b> %s", classes[i].colour, classes[i].name);
    }
    (void)fputs(".</p>\n", out);
}
