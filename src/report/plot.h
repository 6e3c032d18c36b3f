/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h: lines in a frame, as SVG inside a page of HTML. No script, no font, no other file. Read next: plot.c. */
#ifndef TRIB_REPORT_PLOT_H
#define TRIB_REPORT_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_PLOT_LINES_MAX 8U

struct report_line {
    const char *name;
    const double *x; /* in any order that makes a line; with a logarithmic axis none is 0 or less */
    const double *y;
    uint32_t count;
    uint32_t none_count;
    const double *none;     /* crosses on the x axis: points without a value */
    const bool *is_partial; /* by point: drawn hollow; NULL: none is */
};

struct report_plot {
    const char *title;
    const char *x_label;
    const char *y_label;
    const char *const *ticks; /* names for x = 0, 1 ...; NULL: x is a number */
    uint32_t tick_count;
    bool is_log;   /* the x axis */
    bool has_dots; /* at each point */
    struct report_line lines[REPORT_PLOT_LINES_MAX];
    uint32_t count;
};

/* Draws a frame with axes, a line for each series, and their names. A plot without points says so. */
void report_plot_draw(FILE *out, const struct report_plot *plot);

#endif
