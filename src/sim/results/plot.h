/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h: lines in a frame, as SVG inside an HTML page: what results are drawn with. No script, no font, no other file.
 * Read next: plot.c, page.c (who draws). */
#ifndef TRIB_SIM_PLOT_H
#define TRIB_SIM_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIM_PLOT_LINES_MAX 8U

struct sim_line {
    const char *name;
    const double *x; /* in any order that makes a line; with a logarithmic axis none is 0 or less */
    const double *y;
    uint32_t count;
    uint32_t none_count;
    const double *none;     /* where on the x axis a cross says that there is no value */
    const bool *is_partial; /* by point: drawn hollow; NULL: none is */
};

struct sim_plot {
    const char *title;
    const char *x_label;
    const char *y_label;
    const char *const *ticks; /* names for x = 0, 1 ...; NULL: x is a number */
    uint32_t tick_count;
    bool is_log;   /* the x axis */
    bool has_dots; /* at each point */
    struct sim_line lines[SIM_PLOT_LINES_MAX];
    uint32_t count;
};

/* The text with what HTML would take for its own replaced. */
void sim_html_text(FILE *out, const char *text);
/* Head of a page, up to its first heading, and its end. */
void sim_html_begin(FILE *out, const char *title);
void sim_html_end(FILE *out);
/* A frame with axes, a line for each series, and what they are called. A plot without points says so. */
void sim_plot_draw(FILE *out, const struct sim_plot *plot);

#endif
