/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: a network in tiers, as SVG inside a page of HTML: nodes, and edges coloured by load. Read next: graph.c. */
#ifndef TRIB_REPORT_GRAPH_H
#define TRIB_REPORT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report_node {
    const char *name;
    uint32_t tier; /* 0 is the lowest */
    bool is_full;  /* drawn as a filled circle */
    bool is_root;  /* with a ring */
    double foot;   /* load of cables to hosts that are not drawn; below 0: there are none */
};

struct report_edge {
    uint32_t ends[2];
    double loads[2]; /* shares of the rate: from the first end, and from the second end */
};

struct report_graph {
    const char *title;
    const char *foot; /* name of the other ends of these cables: "hosts" */
    const struct report_node *nodes;
    const struct report_edge *edges;
    uint32_t node_count;
    uint32_t edge_count;
    bool hides_unused; /* edges without a load are left out */
};

/* Draws the nodes of a tier in a row, in order; a single tier is a circle. The larger load of an edge sets the colour;
 * the title of the edge has both. False: out of memory. */
bool report_graph_draw(FILE *out, const struct report_graph *graph);
/* Writes the legend of the colours. */
void report_graph_legend(FILE *out);

#endif
