/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c: see plot.h. The y axis begins at 0. The names of the lines are below the frame. Colours: Okabe and Ito, for
 * colour-blind readers. */
#include "report/plot.h"

#include <math.h>

#include "report/html.h"

#define WIDTH 560.0
#define HEIGHT 300.0
#define LEFT 64.0
#define RIGHT 26.0
#define TOP 30.0
#define BOTTOM 46.0
#define TICKS 6
#define NAME_HEIGHT 15.0

struct frame {
    double x0, x1, y1; /* of the data; y begins at 0 */
    bool is_log;
};

static const char *const colours[REPORT_PLOT_LINES_MAX] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                           "#e69f00", "#56b4e9", "#8a6d00", "#888888"};

/* ---- axes ---- */

static double at_x(const struct frame *f, double x)
{
    double share = f->is_log ? log10(x / f->x0) / log10(f->x1 / f->x0) : (x - f->x0) / (f->x1 - f->x0);

    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct frame *f, double y)
{
    return HEIGHT - BOTTOM - y / f->y1 * (HEIGHT - TOP - BOTTOM);
}

/* A step of 1, 2 or 5 times a power of 10, so that there are about TICKS of them. */
static double step_of(double span)
{
    double power = pow(10, floor(log10(span / TICKS)));
    double share = span / TICKS / power;

    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/* False: there is nothing to draw. */
static bool make_frame(const struct report_plot *plot, struct frame *f)
{
    *f = (struct frame){.x0 = HUGE_VAL, .x1 = -HUGE_VAL, .is_log = plot->is_log};
    for (uint32_t i = 0; i < plot->count; i++) {
        for (uint32_t p = 0; p < plot->lines[i].count; p++) {
            f->x0 = fmin(f->x0, plot->lines[i].x[p]);
            f->x1 = fmax(f->x1, plot->lines[i].x[p]);
            f->y1 = fmax(f->y1, plot->lines[i].y[p]);
        }
        for (uint32_t p = 0; p < plot->lines[i].none_count; p++) {
            f->x0 = fmin(f->x0, plot->lines[i].none[p]);
            f->x1 = fmax(f->x1, plot->lines[i].none[p]);
        }
    }
    if (f->x1 < f->x0) {
        return false;
    }
    if (plot->ticks != NULL) {
        f->x0 = -0.5;
        f->x1 = plot->tick_count - 0.5;
    } else if (f->is_log) {
        f->x0 = pow(10, floor(log10(f->x0)));
        f->x1 = fmax(pow(10, ceil(log10(f->x1))), 10 * f->x0);
    } else if (f->x1 == f->x0) {
        f->x0 -= f->x0 == 0 ? 1 : fabs(f->x0) / 2;
        f->x1 += f->x1 == 0 ? 1 : fabs(f->x1) / 2;
    }
    f->y1 = f->y1 > 0 ? f->y1 * 1.02 : 1;
    return true;
}

static void draw_x_tick(FILE *out, const struct frame *f, double x, const char *name)
{
    (void)fprintf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", at_x(f, x), TOP,
                  at_x(f, x), HEIGHT - BOTTOM);
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at_x(f, x), HEIGHT - BOTTOM + 15);
    if (name != NULL) {
        report_html_text(out, name);
    } else {
        (void)fprintf(out, "%g", x);
    }
    (void)fputs("</text>\n", out);
}

static void draw_x_ticks(FILE *out, const struct report_plot *plot, const struct frame *f)
{
    double step = f->is_log ? 10 : step_of(f->x1 - f->x0);

    for (uint32_t i = 0; plot->ticks != NULL && i < plot->tick_count; i++) {
        draw_x_tick(out, f, i, plot->ticks[i]);
    }
    for (double x = f->x0; plot->ticks == NULL && f->is_log && x <= f->x1 * 1.001; x *= 10) {
        draw_x_tick(out, f, x, NULL);
    }
    for (double i = ceil(f->x0 / step); plot->ticks == NULL && !f->is_log && i * step <= f->x1; i++) {
        draw_x_tick(out, f, i * step, NULL);
    }
}

static void draw_axes(FILE *out, const struct report_plot *plot, const struct frame *f)
{
    double step = step_of(f->y1);

    for (uint32_t i = 0; i * step <= f->y1; i++) {
        double y = at_y(f, i * step);
        (void)fprintf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", LEFT, y,
                      WIDTH - RIGHT, y);
        (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 6, y + 4, i * step);
    }
    draw_x_ticks(out, plot, f);
    (void)fprintf(out, "<path class=\"axis\" fill=\"none\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                  WIDTH - RIGHT);
    (void)fprintf(out, "<text class=\"title\" x=\"%.1f\" y=\"16\">", LEFT);
    report_html_text(out, plot->title);
    (void)fprintf(out, "</text>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
                  HEIGHT - 12);
    report_html_text(out, plot->x_label);
    (void)fprintf(out, "</text>\n<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\">",
                  (TOP + HEIGHT - BOTTOM) / 2);
    report_html_text(out, plot->y_label);
    (void)fputs("</text>\n", out);
}

/* ---- lines ---- */

/* A point, filled, or hollow if its value is that of a part. */
static void draw_dot(FILE *out, const struct frame *f, const struct report_line *line, uint32_t p, const char *colour)
{
    bool is_partial = line->is_partial != NULL && line->is_partial[p];

    (void)fprintf(out, "<circle r=\"%s\" fill=\"%s\" stroke=\"%s\" cx=\"%.1f\" cy=\"%.1f\">",
                  is_partial ? "4.5" : "2.6", is_partial ? "#fff" : colour, colour, at_x(f, line->x[p]),
                  at_y(f, line->y[p]));
    (void)fprintf(out, "<title>%g, %g%s</title></circle>\n", line->x[p], line->y[p], is_partial ? " of a part" : "");
}

static void draw_crosses(FILE *out, const struct frame *f, const struct report_line *line, const char *colour)
{
    for (uint32_t p = 0; p < line->none_count; p++) {
        double x = at_x(f, line->none[p]);
        double y = at_y(f, 0);
        (void)fprintf(out, "<path class=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\">",
                      colour, x - 4, y - 4);
        (void)fprintf(out, "<title>%g, none</title></path>\n", line->none[p]);
    }
}

static void draw_line(FILE *out, const struct report_plot *plot, const struct frame *f, uint32_t number)
{
    const struct report_line *line = &plot->lines[number];

    (void)fprintf(out, "<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"%s\" points=\"", colours[number]);
    for (uint32_t p = 0; p < line->count; p++) {
        (void)fprintf(out, "%.1f,%.1f ", at_x(f, line->x[p]), at_y(f, line->y[p]));
    }
    (void)fputs("\"/>\n", out);
    for (uint32_t p = 0; plot->has_dots && p < line->count; p++) {
        draw_dot(out, f, line, p, colours[number]);
    }
    draw_crosses(out, f, line, colours[number]);
}

/* A row for each, below the frame, so that no name lies on a line. */
static void draw_names(FILE *out, const struct report_plot *plot)
{
    for (uint32_t i = 0; plot->count > 1 && i < plot->count; i++) {
        double y = HEIGHT + NAME_HEIGHT * i;
        (void)fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-width=\"3\" stroke=\"%s\"/>",
                      LEFT, y + 4, LEFT + 18, y + 4, colours[i]);
        (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", LEFT + 24, y + 8);
        report_html_text(out, plot->lines[i].name);
        (void)fputs("</text>\n", out);
    }
}

void report_plot_draw(FILE *out, const struct report_plot *plot)
{
    double height = HEIGHT + (plot->count > 1 ? NAME_HEIGHT * plot->count : 0);
    struct frame f;

    (void)fprintf(out, "<svg width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", WIDTH, height,
                  WIDTH, height);
    if (make_frame(plot, &f)) {
        draw_axes(out, plot, &f);
        for (uint32_t i = 0; i < plot->count; i++) {
            draw_line(out, plot, &f, i);
        }
        draw_names(out, plot);
    } else {
        (void)fprintf(out, "<text class=\"title\" x=\"%.1f\" y=\"16\">", LEFT);
        report_html_text(out, plot->title);
        (void)fprintf(out, ": nothing to show</text>\n");
    }
    (void)fputs("</svg>\n", out);
}
