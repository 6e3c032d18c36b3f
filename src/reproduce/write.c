/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: an experiment as text, JSON, CSV and a page of HTML. Read next: write.h, write_markdown.c. */
#include "reproduce/write.h"

#include "report/html.h"
#include "report/json.h"
#include "reproduce/texts.h"

/* Calls with every claim of the experiment that has a value. */
static void each_claim(FILE *out, const struct reproduce_run *run,
                       void (*write)(FILE *out, const struct reproduce_claim *claim, double ours))
{
    double ours = 0;

    for (uint32_t i = 0; reproduce_claim_at(i) != NULL; i++) {
        if (reproduce_claim_value(run, reproduce_claim_at(i), &ours)) {
            write(out, reproduce_claim_at(i), ours);
        }
    }
}

/* ---- text ---- */

static void text_claim(FILE *out, const struct reproduce_claim *claim, double ours)
{
    char paper[REPRODUCE_TEXT_MAX];
    char mine[REPRODUCE_TEXT_MAX];

    (void)fprintf(out, "  %s: %s %s\n", claim->where, claim->statement, reproduce_text_paper(claim, paper));
    (void)fprintf(out, "    ours: %s: %s\n", reproduce_text_ours(claim, ours, mine),
                  reproduce_text_verdict(claim, ours));
    if (claim->reason != NULL) {
        (void)fprintf(out, "    %s\n", claim->reason);
    }
}

void reproduce_write_text(FILE *out, const struct reproduce_run *run)
{
    const struct reproduce_experiment *e = run->experiment;

    (void)fprintf(out, "%s: %s (%s)%s\n", e->name, e->title, e->paper,
                  e->is_simulated && run->is_quick ? ", small simulations" : "");
    each_claim(out, run, text_claim);
    (void)fprintf(out, "  Left open by the paper, and read so here:\n");
    for (uint32_t i = 0; e->assumptions[i] != NULL; i++) {
        (void)fprintf(out, "    - %s\n", e->assumptions[i]);
    }
}

/* ---- JSON ---- */

static void json_claim(FILE *out, const struct reproduce_claim *claim, double ours)
{
    (void)fputc('{', out);
    report_json_member(out, "claim", claim->name);
    report_json_member(out, "where", claim->where);
    report_json_member(out, "statement", claim->statement);
    report_json_member(out, "unit", claim->unit);
    report_json_member(out, "verdict", reproduce_text_verdict(claim, ours));
    report_json_member(out, "reason", claim->reason != NULL ? claim->reason : "");
    (void)fputs("\"paper\":", out);
    report_json_number(out, claim->paper);
    (void)fputs(",\"least\":", out);
    report_json_number(out, reproduce_claim_least(claim));
    (void)fputs(",\"most\":", out);
    report_json_number(out, reproduce_claim_most(claim));
    (void)fputs(",\"ours\":", out);
    report_json_number(out, ours);
    (void)fputc('}', out);
}

static void json_panel(FILE *out, const struct reproduce_panel *panel)
{
    (void)fputc('{', out);
    report_json_member(out, "title", panel->title);
    report_json_member(out, "x", panel->x_label);
    report_json_member(out, "y", panel->y_label);
    (void)fputs("\"series\":[", out);
    for (uint32_t s = 0; s < panel->count; s++) {
        (void)fputs(s != 0 ? ",{" : "{", out);
        report_json_member(out, "name", panel->series[s].name);
        (void)fputs("\"points\":[", out);
        for (uint32_t i = 0; i < panel->series[s].count; i++) {
            (void)fputs(i != 0 ? ",[" : "[", out);
            if (panel->ticks != NULL) {
                report_json_text(out, panel->ticks[(uint32_t)panel->series[s].x[i]]);
            } else {
                report_json_number(out, panel->series[s].x[i]);
            }
            (void)fputc(',', out);
            report_json_number(out, panel->series[s].y[i]);
            (void)fputc(']', out);
        }
        (void)fputs("]}", out);
    }
    (void)fputs("]}", out);
}

void reproduce_write_json(FILE *out, const struct reproduce_run *run)
{
    const struct reproduce_experiment *e = run->experiment;
    double ours = 0;
    bool is_first = true;

    (void)fputc('{', out);
    report_json_member(out, "experiment", e->name);
    report_json_member(out, "paper", e->paper);
    report_json_member(out, "title", e->title);
    (void)fprintf(out, "\"quick\":%s,\"assumptions\":[", run->is_quick ? "true" : "false");
    for (uint32_t i = 0; e->assumptions[i] != NULL; i++) {
        (void)fputs(i != 0 ? "," : "", out);
        report_json_text(out, e->assumptions[i]);
    }
    (void)fputs("],\"claims\":[", out);
    for (uint32_t i = 0; reproduce_claim_at(i) != NULL; i++) {
        if (reproduce_claim_value(run, reproduce_claim_at(i), &ours)) {
            (void)fputs(is_first ? "" : ",", out);
            json_claim(out, reproduce_claim_at(i), ours);
            is_first = false;
        }
    }
    (void)fputs("],\"panels\":[", out);
    for (uint32_t p = 0; p < run->panel_count; p++) {
        (void)fputs(p != 0 ? "," : "", out);
        json_panel(out, &run->panels[p]);
    }
    (void)fputs("]}", out);
}

/* ---- CSV ---- */

/* Our texts have no quotes. */
void reproduce_write_csv(FILE *out, const struct reproduce_run *run)
{
    (void)fputs("panel,series,x,y\n", out);
    for (uint32_t p = 0; p < run->panel_count; p++) {
        const struct reproduce_panel *panel = &run->panels[p];
        for (uint32_t s = 0; s < panel->count; s++) {
            const struct reproduce_series *series = &panel->series[s];
            for (uint32_t i = 0; i < series->count; i++) {
                (void)fprintf(out, "\"%s\",\"%s\",", panel->title, series->name);
                if (panel->ticks != NULL) {
                    (void)fprintf(out, "\"%s\",%.10g\n", panel->ticks[(uint32_t)series->x[i]], series->y[i]);
                } else {
                    (void)fprintf(out, "%.10g,%.10g\n", series->x[i], series->y[i]);
                }
            }
        }
    }
}

/* ---- HTML ---- */

static void html_claim(FILE *out, const struct reproduce_claim *claim, double ours)
{
    char text[REPRODUCE_TEXT_MAX];

    (void)fputs("<tr>", out);
    report_html_cell(out, claim->where);
    report_html_cell(out, claim->statement);
    report_html_cell(out, reproduce_text_paper(claim, text));
    report_html_cell(out, reproduce_text_ours(claim, ours, text));
    report_html_cell(out, reproduce_text_verdict(claim, ours));
    report_html_cell(out, claim->reason != NULL ? claim->reason : "");
    (void)fputs("</tr>\n", out);
}

static void html_panel(FILE *out, const struct reproduce_panel *panel)
{
    struct report_plot plot = {
        .title = panel->title,
        .x_label = panel->x_label,
        .y_label = panel->y_label,
        .ticks = panel->ticks,
        .tick_count = panel->tick_count,
        .is_log = panel->is_log,
        .has_dots = true,
        .count = panel->count,
    };

    for (uint32_t i = 0; i < panel->count; i++) {
        const struct reproduce_series *s = &panel->series[i];
        plot.lines[i] = (struct report_line){.name = s->name, .x = s->x, .y = s->y, .count = s->count};
    }
    report_plot_draw(out, &plot);
}

void reproduce_write_html(FILE *out, const struct reproduce_run *run)
{
    const struct reproduce_experiment *e = run->experiment;

    report_html_begin(out, e->name);
    (void)fputs("<p>", out);
    report_html_text(out, e->paper);
    (void)fputs(": ", out);
    report_html_text(out, e->title);
    (void)fputs(
        "</p>\n<table>\n<tr><th>where</th><th>the paper</th><th></th><th>ours</th><th>verdict</th><th></th></tr>\n",
        out);
    each_claim(out, run, html_claim);
    (void)fputs("</table>\n", out);
    for (uint32_t p = 0; p < run->panel_count; p++) {
        html_panel(out, &run->panels[p]);
    }
    (void)fputs("<h2>Left open by the paper, and read so here</h2>\n<ul>\n", out);
    for (uint32_t i = 0; e->assumptions[i] != NULL; i++) {
        (void)fputs("<li>", out);
        report_html_text(out, e->assumptions[i]);
        (void)fputs("</li>\n", out);
    }
    (void)fputs("</ul>\n", out);
    report_html_end(out);
}
