/* SPDX-License-Identifier: Apache-2.0 */
/* demo_svg.c: the pictures of demo.html as inline SVG. Colours are CSS variables of the page, so that they follow light
 * and dark.
 * Read next: demo_html.c (the page around them). */
#include <math.h>

#include "demo.h"

#define MEGA 1e-6

/* ---- topology: workers below, the switch above, a stream each way ---- */

#define WORKER_WIDTH 200.0
#define WORKER_TOP 262.0
#define SWITCH_BOTTOM 96.0

static void topology_worker(FILE *out, const struct demo *demo, uint32_t rank)
{
    const struct trib_comm_stats *stats = &demo->clean.rank[rank].stats;
    double center = 120.0 + 240.0 * rank;
    double port = 480.0 + (rank - 1.5) * 62.0;
    double middle = (WORKER_TOP + SWITCH_BOTTOM) / 2.0;
    fprintf(out, "<path class=\"up\" d=\"M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", center - 12.0,
            WORKER_TOP - 2.0, center - 12.0, middle, port - 9.0, middle, port - 9.0, SWITCH_BOTTOM + 8.0);
    fprintf(out, "<path class=\"down\" d=\"M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", port + 9.0,
            SWITCH_BOTTOM + 2.0, port + 9.0, middle, center + 12.0, middle, center + 12.0, WORKER_TOP - 8.0);
    fprintf(out, "<text class=\"upt\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.0f MB &#8593;</text>\n",
            center - 24.0, WORKER_TOP - 14.0, MEGA * (double)stats->bytes_sent);
    fprintf(out, "<text class=\"downt\" x=\"%.0f\" y=\"%.0f\">&#8595; %.0f MB</text>\n", center + 22.0,
            WORKER_TOP - 14.0, MEGA * (double)stats->bytes_received);
    fprintf(out, "<rect class=\"box\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"58\" rx=\"10\"/>\n",
            center - WORKER_WIDTH / 2.0, WORKER_TOP, WORKER_WIDTH);
    fprintf(out, "<text class=\"name\" x=\"%.0f\" y=\"%.0f\">worker %u</text>\n", center, WORKER_TOP + 25.0, rank);
    fprintf(out, "<text class=\"small\" x=\"%.0f\" y=\"%.0f\">%u images of each %u</text>\n", center, WORKER_TOP + 44.0,
            DEMO_BATCH / DEMO_WORKERS, DEMO_BATCH);
}

void demo_svg_topology(FILE *out, const struct demo *demo)
{
    fputs("<svg viewBox=\"0 0 960 330\" role=\"img\" aria-label=\"four workers below a switch, with the bytes on each "
          "link\">\n"
          "<defs><marker id=\"mu\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"4\" markerHeight=\"4\" "
          "orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"var(--up)\"/></marker>"
          "<marker id=\"md\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"4\" markerHeight=\"4\" "
          "orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"var(--down)\"/></marker></defs>\n",
          out);
    for (uint32_t rank = 0; rank < DEMO_WORKERS; rank++) {
        topology_worker(out, demo, rank);
    }
    fprintf(
        out,
        "<rect class=\"switch\" x=\"310\" y=\"18\" width=\"340\" height=\"78\" rx=\"14\"/>\n"
        "<text class=\"name onswitch\" x=\"480\" y=\"50\">tributary switch</text>\n"
        "<text class=\"small onswitch\" x=\"480\" y=\"74\">added up %.2f million parts; sums by %s</text>\n</svg>\n",
        MEGA * (double)DEMO_SUM(&demo->clean, fragments),
        demo->clean.rank[0].stats.multicast ? "multicast" : "unicast");
}

/* ---- bars: bytes of one worker for one step ---- */

struct bar {
    const char *name;
    const char *kind; /* CSS class */
    double sent;
    double received;
};

static struct bar bar_measured(const char *name, const struct demo_run *run)
{
    double steps = DEMO_WORKERS * demo_gradient_bytes(run) / (sizeof(float) * (double)NET_PARAMETERS);
    return (struct bar){name, "measured", (double)DEMO_SUM(run, bytes_sent) / steps,
                        (double)DEMO_SUM(run, bytes_received) / steps};
}

static void bar_draw(FILE *out, const struct bar *bar, double top, double scale)
{
    fprintf(out, "<text class=\"label\" x=\"250\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", top + 22.0, bar->name);
    fprintf(out, "<rect class=\"sent %s\" x=\"264\" y=\"%.0f\" width=\"%.1f\" height=\"15\" rx=\"3\"/>\n", bar->kind,
            top, bar->sent * scale);
    fprintf(out, "<rect class=\"received %s\" x=\"264\" y=\"%.0f\" width=\"%.1f\" height=\"15\" rx=\"3\"/>\n",
            bar->kind, top + 18.0, bar->received * scale);
    fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%.0f\">%.2f MB sent</text>\n", 272.0 + bar->sent * scale,
            top + 12.0, MEGA * bar->sent);
    fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%.0f\">%.2f MB received</text>\n", 272.0 + bar->received * scale,
            top + 30.0, MEGA * bar->received);
}

void demo_svg_bars(FILE *out, const struct demo *demo)
{
    double gradient = sizeof(float) * (double)NET_PARAMETERS;
    double ring = demo_ring_factor() * gradient;
    const struct bar bars[] = {
        bar_measured("tributary, clean", &demo->clean),
        bar_measured("tributary, with faults", &demo->faults),
        {"ring", "computed", ring, ring},
        {"parameter server: a worker", "computed", gradient, gradient},
        {"parameter server: the server", "computed", DEMO_WORKERS * gradient, DEMO_WORKERS * gradient},
    };
    double most = 0.0;
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
        most = fmax(most, fmax(bars[i].sent, bars[i].received));
    }
    fputs("<svg viewBox=\"0 0 960 262\" role=\"img\" aria-label=\"bytes for one training step\">\n", out);
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
        bar_draw(out, &bars[i], 4.0 + 52.0 * (double)i, 560.0 / most);
    }
    fputs("</svg>\n", out);
}

/* ---- curves over the training epochs ---- */

#define PLOT_LEFT 52.0
#define PLOT_TOP 16.0
#define PLOT_WIDTH 400.0
#define PLOT_HEIGHT 220.0

struct plot {
    FILE *out;
    const struct demo *demo;
    double low; /* of the axis: log10 of the loss, or the accuracy in percent */
    double high;
    double (*value)(const struct train_epoch *epoch);
};

static double value_loss(const struct train_epoch *epoch)
{
    return log10(fmax(epoch->loss, 1e-9));
}

static double value_accuracy(const struct train_epoch *epoch)
{
    return 100.0 * epoch->accuracy;
}

static double plot_x(const struct plot *plot, double epoch)
{
    return PLOT_LEFT + PLOT_WIDTH * (epoch - 1.0) / (plot->demo->epochs - 1.0);
}

static double plot_y(const struct plot *plot, double value)
{
    return PLOT_TOP + PLOT_HEIGHT * (plot->high - value) / (plot->high - plot->low);
}

static void plot_range(struct plot *plot, double step)
{
    const struct demo_run *runs[] = {&plot->demo->clean, &plot->demo->faults, &plot->demo->single};
    plot->low = 1e9;
    plot->high = -1e9;
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j < runs[i]->epochs; j++) {
            plot->low = fmin(plot->low, plot->value(&runs[i]->epoch[j]));
            plot->high = fmax(plot->high, plot->value(&runs[i]->epoch[j]));
        }
    }
    plot->low = step * floor(plot->low / step);
    plot->high = step * ceil(plot->high / step);
}

static void plot_tick(const struct plot *plot, double value, double shown, const char *unit)
{
    double y = plot_y(plot, value);
    fprintf(plot->out, "<path class=\"grid\" d=\"M%.0f %.1fh%.0f\"/>", PLOT_LEFT, y, PLOT_WIDTH);
    fprintf(plot->out, "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g%s</text>\n", PLOT_LEFT - 8.0,
            y + 4.0, shown, unit);
}

static void plot_epochs_axis(const struct plot *plot)
{
    uint32_t epochs = plot->demo->epochs;
    uint32_t step = epochs <= 24 ? 5 : epochs / 5;
    for (uint32_t i = step; i <= epochs; i += step) {
        fprintf(plot->out, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%u</text>\n",
                plot_x(plot, i), PLOT_TOP + PLOT_HEIGHT + 20.0, i);
    }
    fprintf(plot->out, "<text class=\"tick\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">training epoch</text>\n",
            PLOT_LEFT + PLOT_WIDTH / 2.0, PLOT_TOP + PLOT_HEIGHT + 40.0);
    double x = plot_x(plot, plot->demo->faults.restart_epoch - 0.5);
    fprintf(plot->out,
            "<path class=\"kill\" d=\"M%.1f %.0fv%.0f\"/><text class=\"killt\" x=\"%.1f\" y=\"%.0f\">kill -9</text>\n",
            x, PLOT_TOP, PLOT_HEIGHT, x + 6.0, PLOT_TOP + PLOT_HEIGHT - 10.0);
}

static void plot_line(const struct plot *plot, const struct demo_run *run, const char *kind)
{
    fprintf(plot->out, "<polyline class=\"curve %s\" points=\"", kind);
    for (uint32_t i = 0; i < run->epochs; i++) {
        fprintf(plot->out, "%.1f,%.1f ", plot_x(plot, i + 1.0), plot_y(plot, plot->value(&run->epoch[i])));
    }
    fputs("\"/>\n", plot->out);
}

static void plot_dots(const struct plot *plot, const struct demo_run *run)
{
    for (uint32_t i = 0; i < run->epochs; i++) {
        fprintf(plot->out, "<circle class=\"single\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\"/>\n", plot_x(plot, i + 1.0),
                plot_y(plot, plot->value(&run->epoch[i])));
    }
}

static void plot_begin(const struct plot *plot, const char *label)
{
    fprintf(plot->out, "<svg viewBox=\"0 0 470 282\" role=\"img\" aria-label=\"%s over the training epochs\">\n",
            label);
}

static void plot_curves(const struct plot *plot)
{
    plot_epochs_axis(plot);
    plot_line(plot, &plot->demo->clean, "clean");
    plot_line(plot, &plot->demo->faults, "faulty");
    plot_dots(plot, &plot->demo->single);
    fputs("</svg>\n", plot->out);
}

void demo_svg_loss(FILE *out, const struct demo *demo)
{
    struct plot plot = {.out = out, .demo = demo, .value = value_loss};
    plot_range(&plot, 1.0);
    plot_begin(&plot, "training loss");
    for (int value = (int)plot.low; value <= (int)plot.high; value++) {
        plot_tick(&plot, value, pow(10.0, value), "");
    }
    plot_curves(&plot);
}

void demo_svg_accuracy(FILE *out, const struct demo *demo)
{
    struct plot plot = {.out = out, .demo = demo, .value = value_accuracy};
    plot_range(&plot, 5.0);
    plot.high = fmin(plot.high, 100.0);
    plot_begin(&plot, "test accuracy");
    for (int value = (int)plot.low; value <= (int)plot.high; value += 5) {
        plot_tick(&plot, value, value, " %");
    }
    plot_curves(&plot);
}
