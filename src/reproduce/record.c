/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: records results of experiments: values of claims, and points of plots. Read next: reproduce.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "reproduce/reproduce.h"

#define ROOM_FIRST 16U

void reproduce_init(struct reproduce_run *run, const struct reproduce_experiment *experiment)
{
    *run = (struct reproduce_run){.experiment = experiment};
}

void reproduce_deinit(struct reproduce_run *run)
{
    for (uint32_t p = 0; p < run->panel_count; p++) {
        for (uint32_t s = 0; s < run->panels[p].count; s++) {
            free(run->series[p][s].x);
            free(run->series[p][s].y);
        }
    }
    run->panel_count = 0;
}

/* ---- claims ---- */

double reproduce_claim_least(const struct reproduce_claim *claim)
{
    return claim->relation == REPRODUCE_AT_MOST    ? -HUGE_VAL
           : claim->relation == REPRODUCE_AT_LEAST ? claim->paper
                                                   : claim->paper - claim->step / 2;
}

double reproduce_claim_most(const struct reproduce_claim *claim)
{
    return claim->relation == REPRODUCE_AT_LEAST  ? HUGE_VAL
           : claim->relation == REPRODUCE_AT_MOST ? claim->paper
                                                  : claim->paper + claim->step;
}

bool reproduce_claim_holds(const struct reproduce_claim *claim, double ours)
{
    double most = reproduce_claim_most(claim);

    return ours >= reproduce_claim_least(claim) && (claim->relation == REPRODUCE_PRINTED ? ours < most : ours <= most);
}

bool reproduce_claim_value(const struct reproduce_run *run, const struct reproduce_claim *claim, double *ours)
{
    for (uint32_t i = 0; strcmp(run->experiment->name, claim->experiment) == 0 && i < run->value_count; i++) {
        if (strcmp(run->values[i].name, claim->name) == 0) {
            *ours = run->values[i].ours;
            return true;
        }
    }
    return false;
}

/* ---- for experiments ---- */

void reproduce_got(struct reproduce_run *run, const char *claim, double ours)
{
    TRIB_ASSERT(run->value_count < REPRODUCE_VALUES_MAX);
    run->values[run->value_count++] = (struct reproduce_value){claim, ours};
}

struct report_plot *reproduce_panel(struct reproduce_run *run, const char *title, const char *x_label,
                                    const char *y_label)
{
    TRIB_ASSERT(run->panel_count < REPRODUCE_PANELS_MAX);
    run->panels[run->panel_count] =
        (struct report_plot){.title = title, .x_label = x_label, .y_label = y_label, .has_dots = true};
    return &run->panels[run->panel_count++];
}

/* Returns the index of the panel's line of this name, added if new. */
static uint32_t find_line(struct report_plot *panel, struct reproduce_series *all, const char *name)
{
    for (uint32_t i = 0; i < panel->count; i++) {
        if (strcmp(panel->lines[i].name, name) == 0) {
            return i;
        }
    }
    TRIB_ASSERT(panel->count < REPORT_PLOT_LINES_MAX);
    struct reproduce_series *series = &all[panel->count];
    *series = (struct reproduce_series){.room = 0};
    (void)snprintf(series->name, sizeof series->name, "%s", name);
    panel->lines[panel->count] = (struct report_line){.name = series->name};
    return panel->count++;
}

static bool grow(struct reproduce_series *series)
{
    uint32_t room = series->room == 0 ? ROOM_FIRST : series->room * 2;
    double *x = realloc(series->x, room * sizeof *x);

    if (x == NULL) {
        return false;
    }
    series->x = x;
    double *y = realloc(series->y, room * sizeof *y);
    if (y == NULL) {
        return false;
    }
    series->y = y;
    series->room = room;
    return true;
}

void reproduce_point(struct reproduce_run *run, const char *name, double x, double y)
{
    struct report_plot *panel = &run->panels[run->panel_count - 1];
    struct reproduce_series *all = run->series[run->panel_count - 1];
    uint32_t number = find_line(panel, all, name);
    struct reproduce_series *series = &all[number];
    struct report_line *line = &panel->lines[number];

    if (line->count == series->room && !grow(series)) {
        run->is_out_of_memory = true;
        return;
    }
    series->x[line->count] = x;
    series->y[line->count++] = y;
    line->x = series->x;
    line->y = series->y;
}

bool reproduce_goes_on(struct reproduce_run *run, const char *what, double share)
{
    return run->go_on == NULL || run->go_on(run->user, what, share);
}
