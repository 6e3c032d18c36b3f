/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.h: numbers of papers beside ours. An experiment computes, simulates or measures one figure or table of a
 * paper, and draws it. A claim is one number of the paper, with the experiment's result.
 *
 * A printed number stands for every number with the same printed form, rounded or truncated: 5.94 for 5.935 to just
 * below 5.95. If our number is outside this range, the claim gives the reason. No constant is chosen to reach a number.
 * A choice that the paper leaves open is an assumption of the experiment, and is printed with the result.
 *
 * Use: reproduce_init, the experiment's run, then any of the writers; reproduce_deinit.
 *
 * Read next: claims.c (all claims), experiments.c (all experiments), write.h. */
#ifndef TRIB_REPRODUCE_H
#define TRIB_REPRODUCE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "report/plot.h"

#define REPRODUCE_PANELS_MAX 8U
#define REPRODUCE_VALUES_MAX 32U
#define REPRODUCE_NAME_MAX 48U
#define REPRODUCE_PATH_MAX 4096U
#define REPRODUCE_TRACE_LOOKS 128U /* parts of a run included in its trace: one or two seconds */

/* Relation of a claim to its number. */
enum reproduce_relation { REPRODUCE_PRINTED = 0, REPRODUCE_AT_MOST, REPRODUCE_AT_LEAST };

struct reproduce_claim {
    const char *experiment;
    const char *name; /* unique within the experiment */
    const char *where;
    const char *statement; /* in our words, up to the number */
    enum reproduce_relation relation;
    double paper;
    double step; /* PRINTED: one unit of the last digit */
    const char *unit;
    /* Reason for a difference, or a remark about equality. NULL: none. */
    const char *reason;
};

struct reproduce_run;

/* An experiment with a full size of hours: `tributary sim sweep` runs it, so it can be interrupted and distributed over
 * machines. */
struct reproduce_sweep {
    const char *size; /* in words */
    /* Writes grids and scenarios into the folder; existing files must be equal. False: run->error. */
    bool (*write)(struct reproduce_run *run, const char *folder);
    /* Gets the index-th grid and the folder of its results. False: no more. */
    bool (*part)(uint32_t index, const char *folder, char grid[REPRODUCE_PATH_MAX], char out[REPRODUCE_PATH_MAX]);
    /* Same as the experiment's run, from results. */
    bool (*read)(struct reproduce_run *run, const char *folder);
};

struct reproduce_experiment {
    const char *name;  /* "panama-fig1" */
    const char *paper; /* "PANAMA" */
    const char *title;
    bool is_simulated; /* true: simulated; false: computed from formulas, or measured */
    /* Assumptions for choices that the paper leaves open, ended by NULL. */
    const char *const *assumptions;
    /* False: interrupted, or run->error has the cause. NULL: measured on this machine, by cli/measure.h. */
    bool (*run)(struct reproduce_run *run);
    const struct reproduce_sweep *sweep; /* NULL: no sweep */
};

/* Points of a plot's line, owned. */
struct reproduce_series {
    char name[REPRODUCE_NAME_MAX];
    double *x;
    double *y;
    uint32_t room;
};

struct reproduce_value {
    const char *name; /* name of the claim */
    double ours;
};

struct reproduce_run {
    const struct reproduce_experiment *experiment;
    bool is_quick; /* smaller simulations */
    /* Called during the run; share: completed part. False: the run must end. NULL: the run is never interrupted. */
    bool (*go_on)(void *user, const char *what, double share);
    void *user;
    char error[TRIB_ERROR_TEXT_MAX]; /* "": none */
    struct report_plot panels[REPRODUCE_PANELS_MAX];
    struct reproduce_series series[REPRODUCE_PANELS_MAX][REPORT_PLOT_LINES_MAX];
    uint32_t panel_count;
    struct reproduce_value values[REPRODUCE_VALUES_MAX];
    uint32_t value_count;
    uint32_t looks; /* parts of simulations so far */
    /* Hash of all arrivals up to part REPRODUCE_TRACE_LOOKS. Equal sources give equal traces. */
    uint64_t trace;
    bool is_out_of_memory;
};

/* Returns the index-th item; NULL after the last. */
const struct reproduce_claim *reproduce_claim_at(uint32_t index);
const struct reproduce_experiment *reproduce_experiment_at(uint32_t index);
/* Returns the experiment of this name; NULL: none. */
const struct reproduce_experiment *reproduce_experiment_find(const char *name);

/* Return the range of numbers that a claim allows: from least, to below most. A bound includes most. */
double reproduce_claim_least(const struct reproduce_claim *claim);
double reproduce_claim_most(const struct reproduce_claim *claim);
bool reproduce_claim_holds(const struct reproduce_claim *claim, double ours);
/* Gets a claim's value from a finished run. False: the run has none. */
bool reproduce_claim_value(const struct reproduce_run *run, const struct reproduce_claim *claim, double *ours);

/* Results of measured experiments differ from run to run, so docs/REPRODUCTION.md only says how to run them. */
static inline bool reproduce_is_measured(const struct reproduce_experiment *experiment)
{
    return experiment->run == NULL;
}

/* True if this build lacks the solver that the experiment needs; `run` would fail. */
bool reproduce_lacks_solver(const struct reproduce_experiment *experiment);

void reproduce_init(struct reproduce_run *run, const struct reproduce_experiment *experiment);
void reproduce_deinit(struct reproduce_run *run);

/* For experiments: records a claim's value. Each claim of an experiment gets one value. */
void reproduce_got(struct reproduce_run *run, const char *claim, double ours);
/* Starts a new panel, the current one from now on. Texts must live as long as the program. */
struct report_plot *reproduce_panel(struct reproduce_run *run, const char *title, const char *x_label,
                                    const char *y_label);
/* Adds a point to the line of this name in the current panel. The first point creates the line. */
void reproduce_point(struct reproduce_run *run, const char *series, double x, double y);
/* Returns false if the run is to end. Call a few times a second. */
bool reproduce_goes_on(struct reproduce_run *run, const char *what, double share);

#endif
