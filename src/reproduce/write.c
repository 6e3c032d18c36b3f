/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: an experiment as text, JSON, CSV and a page of HTML. Read next: write.h, write_markdown.c. */
#include "reproduce/write.h"

#include "report/html.h"
#include "reproduce/texts.h"

/* The experiment's next claim that has a value, from the *at-th on; NULL: no more. */
static const struct reproduce_claim *next_claim(const struct reproduce_run *run, uint32_t *at, double *ours)
{
    const struct reproduce_claim *claim;

    while ((claim = reproduce_claim_at((*at)++)) != NULL) {
        if (reproduce_claim_value(run, claim, ours)) {
            return claim;
        }
    }
    return NULL;
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
    const struct reproduce_claim *claim;
    double ours = 0;

    (void)fprintf(out, "%s: %s (%s)%s\n", e->name, e->title, e->paper,
                  e->is_simulated && run->is_quick ? ", small simulations" : "");
    for (uint32_t at = 0; (claim = next_claim(run, &at, &ours)) != NULL;) {
        text_claim(out, claim, ours);
    }
    (void)fprintf(out, "  Left open by the paper, and read so here:\n");
    for (uint32_t i = 0; e->assumptions[i] != NULL; i++) {
        (void)fprintf(out, "    - %s\n", e->assumptions[i]);
    }
}

/* ---- JSON ---- */

static void json_claim(struct report_json *json, const struct reproduce_claim *claim, double ours)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "claim", claim->name);
    report_json_say(json, "where", claim->where);
    report_json_say(json, "statement", claim->statement);
    report_json_say(json, "unit", claim->unit);
    report_json_say(json, "verdict", reproduce_text_verdict(claim, ours));
    report_json_say(json, "reason", claim->reason != NULL ? claim->reason : "");
    report_json_real(json, "paper", claim->paper);
    report_json_real(json, "least", reproduce_claim_least(claim));
    report_json_real(json, "most", reproduce_claim_most(claim));
    report_json_real(json, "ours", ours);
    report_json_close(json, '}');
}

static void json_series(struct report_json *json, const struct report_plot *panel, const struct report_line *series)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "name", series->name);
    report_json_open(json, "points", '[');
    for (uint32_t i = 0; i < series->count; i++) {
        report_json_open(json, NULL, '[');
        if (panel->ticks != NULL) {
            report_json_say(json, NULL, panel->ticks[(uint32_t)series->x[i]]);
        } else {
            report_json_real(json, NULL, series->x[i]);
        }
        report_json_real(json, NULL, series->y[i]);
        report_json_close(json, ']');
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
}

static void json_panel(struct report_json *json, const struct report_plot *panel)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "title", panel->title);
    report_json_say(json, "x", panel->x_label);
    report_json_say(json, "y", panel->y_label);
    report_json_open(json, "series", '[');
    for (uint32_t i = 0; i < panel->count; i++) {
        json_series(json, panel, &panel->lines[i]);
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
}

void reproduce_write_json(struct report_json *json, const struct reproduce_run *run)
{
    const struct reproduce_experiment *e = run->experiment;
    const struct reproduce_claim *claim;
    double ours = 0;

    report_json_open(json, NULL, '{');
    report_json_say(json, "experiment", e->name);
    report_json_say(json, "paper", e->paper);
    report_json_say(json, "title", e->title);
    report_json_flag(json, "quick", run->is_quick);
    report_json_open(json, "assumptions", '[');
    for (uint32_t i = 0; e->assumptions[i] != NULL; i++) {
        report_json_say(json, NULL, e->assumptions[i]);
    }
    report_json_close(json, ']');
    report_json_open(json, "claims", '[');
    for (uint32_t at = 0; (claim = next_claim(run, &at, &ours)) != NULL;) {
        json_claim(json, claim, ours);
    }
    report_json_close(json, ']');
    report_json_open(json, "panels", '[');
    for (uint32_t p = 0; p < run->panel_count; p++) {
        json_panel(json, &run->panels[p]);
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
}

/* ---- CSV ---- */

/* Our texts have no quotes. */
void reproduce_write_csv(FILE *out, const struct reproduce_run *run)
{
    (void)fputs("panel,series,x,y\n", out);
    for (uint32_t p = 0; p < run->panel_count; p++) {
        const struct report_plot *panel = &run->panels[p];
        for (uint32_t s = 0; s < panel->count; s++) {
            const struct report_line *series = &panel->lines[s];
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

void reproduce_write_html(FILE *out, const struct reproduce_run *run)
{
    const struct reproduce_experiment *e = run->experiment;
    const struct reproduce_claim *claim;
    double ours = 0;

    report_html_begin(out, e->name);
    (void)fputs("<p>", out);
    report_html_text(out, e->paper);
    (void)fputs(": ", out);
    report_html_text(out, e->title);
    (void)fputs(
        "</p>\n<table>\n<tr><th>where</th><th>the paper</th><th></th><th>ours</th><th>verdict</th><th></th></tr>\n",
        out);
    for (uint32_t at = 0; (claim = next_claim(run, &at, &ours)) != NULL;) {
        html_claim(out, claim, ours);
    }
    (void)fputs("</table>\n", out);
    for (uint32_t p = 0; p < run->panel_count; p++) {
        report_plot_draw(out, &run->panels[p]);
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
