/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: results of a sweep: figures.csv, with a line of keys and figures per cell, and sweep.html. The page plots
 * every figure over the first varied key. Values of the second key are lines; each combination of other keys has its
 * own plots. Seeds are averaged. The page is self-contained. Read next: report/plot.h, grid.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/explain.h"
#include "io/file.h"
#include "io/units.h"
#include "report/html.h"
#include "report/plot.h"
#include "sim/results/results.h"
#include "sim/sweep/grid.h"

#define FIGURES_MAX 24U
#define NAME_LEN 64U
#define PLOTS_MAX 400U
#define ROWS_MAX 400U
#define JOBS "jobs" /* prefix of the figures of jobs */

struct table {
    const struct sim_grid *grid;
    char names[FIGURES_MAX][NAME_LEN];
    uint32_t count;
    double *values;    /* by cell and figure; NAN: no value */
    uint32_t not_done; /* index of the figure for incomplete iterations; FIGURES_MAX: none */
    uint32_t axis;     /* key on the x axis */
    uint32_t line;     /* key of the lines; SIM_VARY_MAX: one line only */
};

/* Points of a line. */
struct points {
    double x[SIM_VALUES_MAX];
    double y[SIM_VALUES_MAX];
    double none[SIM_VALUES_MAX];
    bool is_partial[SIM_VALUES_MAX];
};

/* Selects a line. */
struct fill {
    uint32_t figure;
    uint32_t line;
    uint64_t like;        /* a cell with the other keys' values */
    const double *places; /* x positions; NULL: by index */
};

/* ---- reading ---- */

/* Returns the index of a figure, added if new; FIGURES_MAX: too many. */
static uint32_t find_figure(struct table *t, const char *name, size_t len)
{
    for (uint32_t i = 0; i < t->count; i++) {
        if (strlen(t->names[i]) == len && memcmp(t->names[i], name, len) == 0) {
            return i;
        }
    }
    if (t->count == FIGURES_MAX || len >= NAME_LEN) {
        return FIGURES_MAX;
    }
    memcpy(t->names[t->count], name, len);
    t->names[t->count][len] = '\0';
    return t->count++;
}

static uint32_t find_known(const struct table *t, const char *name)
{
    uint32_t figure = 0;

    while (figure < t->count && strcmp(t->names[figure], name) != 0) {
        figure++;
    }
    return figure < t->count ? figure : FIGURES_MAX;
}

/* Reads a cell's figures: a quoted name, a comma, and a number or nothing. Other lines are the file's origin and
 * columns. */
static void read_cell(struct table *t, uint64_t cell, char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *end = line[0] == '"' ? strchr(line + 1, '"') : NULL;
        uint32_t figure = end != NULL ? find_figure(t, line + 1, (size_t)(end - line - 1)) : FIGURES_MAX;
        if (figure != FIGURES_MAX && end[1] == ',') {
            char *behind = NULL;
            double value = strtod(end + 2, &behind);
            t->values[cell * FIGURES_MAX + figure] = behind != end + 2 ? value : (double)NAN;
        }
    }
}

static bool read_cells(struct table *t, const char *folder, char *error)
{
    t->values = malloc(t->grid->cells * FIGURES_MAX * sizeof *t->values);
    if (t->values == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    for (uint64_t i = 0; i < t->grid->cells * FIGURES_MAX; i++) {
        t->values[i] = (double)NAN;
    }
    for (uint64_t cell = 0; cell < t->grid->cells; cell++) {
        char path[SIM_PATH_LEN];
        size_t len = 0;
        (void)snprintf(path, sizeof path, "%s/%04" PRIu64 "/figures.csv", folder, cell);
        char *text = trib_file_read(path, &len, error);
        if (text == NULL) {
            return false;
        }
        read_cell(t, cell, text);
        free(text);
    }
    return true;
}

/* ---- keys ---- */

/* Returns the n-th key with several values, except seed; SIM_VARY_MAX: none. */
static uint32_t varied(const struct sim_grid *g, uint32_t n)
{
    for (uint32_t i = 0; i < g->vary_count; i++) {
        if (strcmp(g->vary[i].key, "seed") != 0 && g->vary[i].count > 1 && n-- == 0) {
            return i;
        }
    }
    return SIM_VARY_MAX;
}

static bool number_of(const char *text, double *number)
{
    uint64_t whole = 0;

    if (trib_parse_percent(text, number, NULL) == TRIB_OK) {
        *number *= 100;
        return true;
    }
    bool is_good = trib_parse_duration(text, &whole, NULL) == TRIB_OK ||
                   trib_parse_rate(text, &whole, NULL) == TRIB_OK || trib_parse_size(text, &whole, NULL) == TRIB_OK ||
                   trib_parse_number(text, 0, UINT64_MAX, &whole, NULL) == TRIB_OK;
    *number = (double)whole;
    return is_good;
}

/* Returns the size of the unit on the axis: the unit of the key's last value. */
static double unit_of(const struct sim_vary *v, const char **unit)
{
    const char *text = v->values[v->count - 1];
    double number = 0;

    *unit = text + strspn(text, "0123456789.");
    return number_of(text, &number) && **unit != '\0' && number > 0 ? number / strtod(text, NULL) : 1;
}

/* Computes x positions. False: values are names, or not in ascending order. */
static bool place_values(const struct sim_vary *v, double x[SIM_VALUES_MAX], const char **unit)
{
    double scale = unit_of(v, unit);

    for (uint32_t i = 0; i < v->count; i++) {
        if (!number_of(v->values[i], &x[i]) || (i > 0 && x[i] / scale <= x[i - 1])) {
            return false;
        }
        x[i] /= scale;
    }
    return true;
}

static uint32_t index_of(const struct sim_grid *g, uint64_t cell, uint32_t key)
{
    for (uint32_t i = g->vary_count - 1; i > key; i--) {
        cell /= g->vary[i].count;
    }
    return (uint32_t)(cell % g->vary[key].count);
}

/* ---- plots ---- */

static uint64_t cell_of(const struct sim_grid *g, const uint32_t indices[SIM_VARY_MAX])
{
    uint64_t cell = 0;

    for (uint32_t i = 0; i < g->vary_count; i++) {
        cell = cell * g->vary[i].count + indices[i];
    }
    return cell;
}

/* Returns a figure's mean over all seeds, for these values of axis and line, and other values as in the cell `like`. */
static double mean_of(const struct table *t, uint32_t figure, uint64_t like, uint32_t at, uint32_t line)
{
    const struct sim_grid *g = t->grid;
    uint32_t indices[SIM_VARY_MAX] = {0};
    uint32_t seed = SIM_VARY_MAX;
    uint32_t seeds = 1;
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < g->vary_count; i++) {
        indices[i] = i == t->axis ? at : i == t->line ? line : index_of(g, like, i);
        if (strcmp(g->vary[i].key, "seed") == 0 && i != t->axis) {
            seed = i;
            seeds = g->vary[i].count;
        }
    }
    for (uint32_t i = 0; i < seeds; i++) {
        if (seed != SIM_VARY_MAX) {
            indices[seed] = i;
        }
        double value = t->values[cell_of(g, indices) * FIGURES_MAX + figure];
        sum += isnan(value) ? 0 : value;
        count += isnan(value) ? 0 : 1;
    }
    return count != 0 ? sum / count : (double)NAN;
}

/* Fills a line's points. In figures of jobs, points from runs with incomplete iterations are marked. */
static void fill_line(const struct table *t, struct points *points, const struct fill *fill, struct report_line *line)
{
    bool is_of_jobs = t->not_done != FIGURES_MAX && fill->figure != t->not_done &&
                      strncmp(t->names[fill->figure], JOBS, strlen(JOBS)) == 0;

    *line = (struct report_line){
        .name = t->line != SIM_VARY_MAX ? t->grid->vary[t->line].values[fill->line] : "",
        .x = points->x,
        .y = points->y,
        .none = points->none,
        .is_partial = points->is_partial,
    };
    for (uint32_t point = 0; point < t->grid->vary[t->axis].count; point++) {
        double value = mean_of(t, fill->figure, fill->like, point, fill->line);
        bool is_partial = is_of_jobs && mean_of(t, t->not_done, fill->like, point, fill->line) > 0;
        double x = fill->places != NULL ? fill->places[point] : point;
        if (!isnan(value)) {
            points->x[line->count] = x;
            points->is_partial[line->count] = is_partial;
            points->y[line->count++] = value;
        } else if (is_partial) {
            points->none[line->none_count++] = x;
        }
    }
}

/* Plots lines from index `first` on, at most REPORT_PLOT_LINES_MAX. */
static void plot_figure(FILE *out, const struct table *t, uint32_t figure, uint64_t like, uint32_t first)
{
    static struct points points[REPORT_PLOT_LINES_MAX];
    static double places[SIM_VALUES_MAX];
    const struct sim_vary *axis = &t->grid->vary[t->axis];
    const char *unit = "";
    bool has_numbers = place_values(axis, places, &unit);
    uint32_t lines = t->line != SIM_VARY_MAX ? t->grid->vary[t->line].count : 1;
    char label[2 * NAME_LEN];
    struct report_plot plot = {.title = t->names[figure], .x_label = label, .y_label = "", .has_dots = true};

    (void)snprintf(label, sizeof label, "%.60s%s%.30s%s", axis->key, has_numbers && *unit != '\0' ? " (" : "",
                   has_numbers ? unit : "", has_numbers && *unit != '\0' ? ")" : "");
    plot.is_log = has_numbers && places[0] > 0 && places[axis->count - 1] >= 20 * places[0];
    plot.ticks = has_numbers ? NULL : axis->values;
    plot.tick_count = axis->count;
    for (uint32_t i = first; i < lines && plot.count < REPORT_PLOT_LINES_MAX; i++) {
        struct fill fill = {.figure = figure, .like = like, .line = i, .places = has_numbers ? places : NULL};
        uint32_t at = plot.count++;
        fill_line(t, &points[at], &fill, &plot.lines[at]);
    }
    report_plot_draw(out, &plot);
}

/* True for the first cell of a combination of keys other than axis, line and seed. */
static bool is_first(const struct table *t, uint64_t cell)
{
    for (uint32_t i = 0; i < t->grid->vary_count; i++) {
        bool is_shown = i == t->axis || i == t->line || strcmp(t->grid->vary[i].key, "seed") == 0;
        if (is_shown && index_of(t->grid, cell, i) != 0) {
            return false;
        }
    }
    return true;
}

static void head_of(FILE *out, const struct table *t, uint64_t cell)
{
    const char *comma = "";

    (void)fputs("<h2>", out);
    for (uint32_t i = 0; i < t->grid->vary_count; i++) {
        if (i != t->axis && i != t->line && strcmp(t->grid->vary[i].key, "seed") != 0) {
            (void)fputs(comma, out);
            report_html_text(out, t->grid->vary[i].key);
            (void)fputs(" = ", out);
            report_html_text(out, t->grid->vary[i].values[index_of(t->grid, cell, i)]);
            comma = ", ";
        }
    }
    (void)fputs(comma[0] == '\0' ? "All runs</h2>\n" : "</h2>\n", out);
    if (t->line != SIM_VARY_MAX) {
        (void)fputs("<p>Lines: ", out);
        report_html_text(out, t->grid->vary[t->line].key);
        (void)fputs(".</p>\n", out);
    }
}

/* Counts cells with incomplete iterations. */
static uint64_t count_partial(const struct table *t)
{
    uint64_t count = 0;

    for (uint64_t cell = 0; t->not_done != FIGURES_MAX && cell < t->grid->cells; cell++) {
        count += t->values[cell * FIGURES_MAX + t->not_done] > 0;
    }
    return count;
}

static void plot_all(FILE *out, const struct table *t)
{
    uint32_t lines = t->line != SIM_VARY_MAX ? t->grid->vary[t->line].count : 1;
    uint32_t plots = 0;

    for (uint64_t cell = 0; cell < t->grid->cells && plots < PLOTS_MAX; cell++) {
        if (!is_first(t, cell)) {
            continue;
        }
        head_of(out, t, cell);
        for (uint32_t figure = 0; figure < t->count; figure++) {
            if (figure == t->not_done && count_partial(t) == 0) {
                continue; /* nothing to show */
            }
            for (uint32_t first = 0; first < lines; first += REPORT_PLOT_LINES_MAX) {
                plot_figure(out, t, figure, cell, first);
                plots++;
            }
        }
    }
    if (plots >= PLOTS_MAX) {
        (void)fprintf(out, "<p>No more than %u plots are drawn; figures.csv has all.</p>\n", PLOTS_MAX);
    }
}

/* ---- tables ---- */

static void write_csv(FILE *out, const struct table *t)
{
    struct sim_override list[SIM_VARY_MAX];
    char *text = NULL;
    size_t len = 0;
    FILE *grid = open_memstream(&text, &len);

    (void)fprintf(out, "## tributary %s, all runs of a sweep\n", TRIB_VERSION);
    if (grid != NULL) {
        trib_toml_write(grid, &t->grid->toml);
        (void)fclose(grid);
        sim_results_comment(out, text);
        free(text);
    }
    (void)fputs("cell", out);
    for (uint32_t i = 0; i < t->grid->vary_count; i++) {
        (void)fprintf(out, ",%s", t->grid->vary[i].key);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        (void)fprintf(out, ",\"%s\"", t->names[i]);
    }
    for (uint64_t cell = 0; cell < t->grid->cells; cell++) {
        sim_grid_choose(t->grid, cell, list);
        (void)fprintf(out, "\n%04" PRIu64, cell);
        for (uint32_t i = 0; i < t->grid->vary_count; i++) {
            (void)fprintf(out, ",%s", list[i].text);
        }
        for (uint32_t i = 0; i < t->count; i++) {
            double value = t->values[cell * FIGURES_MAX + i];
            (void)fprintf(out, isnan(value) ? "," : ",%.9g", value);
        }
    }
    (void)fputc('\n', out);
}

static void page_table(FILE *out, const struct table *t)
{
    struct sim_override list[SIM_VARY_MAX];

    (void)fputs("<h2>Runs</h2>\n<table>\n<tr><th>cell</th>", out);
    for (uint32_t i = 0; i < t->grid->vary_count + t->count; i++) {
        (void)fputs("<th>", out);
        report_html_text(out, i < t->grid->vary_count ? t->grid->vary[i].key : t->names[i - t->grid->vary_count]);
        (void)fputs("</th>", out);
    }
    for (uint64_t cell = 0; cell < t->grid->cells && cell < ROWS_MAX; cell++) {
        sim_grid_choose(t->grid, cell, list);
        (void)fprintf(out, "</tr>\n<tr><td>%04" PRIu64 "</td>", cell);
        for (uint32_t i = 0; i < t->grid->vary_count; i++) {
            report_html_cell(out, list[i].text);
        }
        for (uint32_t i = 0; i < t->count; i++) {
            double value = t->values[cell * FIGURES_MAX + i];
            (void)fprintf(out, isnan(value) ? "<td>-</td>" : "<td>%.4g</td>", value);
        }
    }
    (void)fputs("</tr>\n</table>\n", out);
    if (t->grid->cells > ROWS_MAX) {
        (void)fprintf(out, "<p>The first %u of %" PRIu64 "; figures.csv has all.</p>\n", ROWS_MAX, t->grid->cells);
    }
}

static void write_page(FILE *out, const struct table *t)
{
    report_html_begin(out, t->grid->scenario);
    (void)fprintf(out, "<p>%" PRIu64 " runs, version %s.", t->grid->cells, TRIB_VERSION);
    for (uint32_t i = 0; i < t->grid->vary_count; i++) {
        if (strcmp(t->grid->vary[i].key, "seed") == 0 && i != t->axis) {
            (void)fprintf(out, " Each point is the mean of %u seeds.", t->grid->vary[i].count);
        }
    }
    (void)fputs("</p>\n", out);
    if (count_partial(t) != 0) {
        (void)fprintf(out,
                      "<p>In %" PRIu64 " of %" PRIu64 " runs some iterations of jobs were not done. Means are of those "
                      "that were: such points are hollow, or a cross on the axis where none was done.</p>\n",
                      count_partial(t), t->grid->cells);
    }
    plot_all(out, t);
    page_table(out, t);
    report_html_end(out);
}

/* Processes of a sweep may end at the same time, so each writes its own file and renames it when it is complete. */
static bool write_file(const struct table *t, const char *folder, const char *name,
                       void (*fill)(FILE *, const struct table *), char *error)
{
    char part[SIM_PATH_LEN];
    char path[SIM_PATH_LEN];

    (void)snprintf(part, sizeof part, "%s/%s.%ld", folder, name, (long)getpid());
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(part, "w");
    bool is_good = file != NULL;
    if (is_good) {
        fill(file, t);
        is_good = ferror(file) == 0;
        is_good = fclose(file) == 0 && is_good && rename(part, path) == 0;
    }
    if (!is_good) {
        trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
    }
    return is_good;
}

bool sim_grid_page(const struct sim_grid *g, const char *folder, uint64_t *partial, char *error)
{
    struct table *t = calloc(1, sizeof *t);

    if (t == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    t->grid = g;
    t->axis = varied(g, 0) != SIM_VARY_MAX ? varied(g, 0) : 0;
    t->line = varied(g, 1);
    bool is_good = read_cells(t, folder, error);
    t->not_done = is_good ? find_known(t, SIM_FIGURE_NOT_DONE) : FIGURES_MAX;
    is_good = is_good && write_file(t, folder, "figures.csv", write_csv, error) &&
              (g->vary_count == 0 || write_file(t, folder, "sweep.html", write_page, error));
    *partial = is_good ? count_partial(t) : 0;
    free(t->values);
    free(t);
    return is_good;
}
