/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.h: numbers of papers beside ours. An experiment computes one figure or table of a paper, by the paper's
 * formulas or in the simulator, or measures it, and draws it. A claim is one number of the paper, with the experiment's
 * result.
 *
 * A printed number stands for every number that is printed alike, rounded or cut: 5.94 for 5.935 to just below 5.95. If
 * ours is outside this range, the claim says why. No constant is chosen to reach a number. A choice that the paper left
 * open is an assumption of the experiment, and is printed with the result.
 *
 * Use: reproduce_init, the experiment's run, then any of the writers; reproduce_deinit.
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
#define REPRODUCE_TRACE_LOOKS 128U /* of a run's trace: a second or two */

/* What a claim says of its number. */
enum reproduce_relation { REPRODUCE_PRINTED = 0, REPRODUCE_AT_MOST, REPRODUCE_AT_LEAST };

struct reproduce_claim {
    const char *experiment;
    const char *name; /* of its own within the experiment */
    const char *where;
    const char *statement; /* in our words, up to its number */
    enum reproduce_relation relation;
    double paper;
    double step; /* PRINTED: one in its last digit */
    const char *unit;
    const char *reason; /* why ours differs, or what to know where it does not; NULL: nothing */
};

struct reproduce_run;

/* Of an experiment whose full size takes hours: `tributary sim sweep` runs it, so that it can be interrupted, and be
 * dealt to machines. */
struct reproduce_sweep {
    const char *size; /* in words */
    /* Writes grids and scenarios into the folder; those that are there must be the same. False: run->error. */
    bool (*write)(struct reproduce_run *run, const char *folder);
    /* The index-th grid, and the folder of its results; false: behind the last. */
    bool (*part)(uint32_t index, const char *folder, char grid[REPRODUCE_PATH_MAX], char out[REPRODUCE_PATH_MAX]);
    /* As the experiment's run, from results. */
    bool (*read)(struct reproduce_run *run, const char *folder);
};

struct reproduce_experiment {
    const char *name;  /* "panama-fig1" */
    const char *paper; /* "PANAMA" */
    const char *title;
    bool is_simulated;              /* else computed from formulas, at once */
    const char *const *assumptions; /* ended by NULL: what the paper left open, and how it is read here */
    /* False: interrupted, or run->error says what is wrong. NULL: it is measured, on the machine that this is, and who
     * has processes and sockets runs it (cli/measure.h). */
    bool (*run)(struct reproduce_run *run);
    const struct reproduce_sweep *sweep; /* NULL: run is all that there is */
};

/* Owns the points of a plot's line. */
struct reproduce_series {
    char name[REPRODUCE_NAME_MAX];
    double *x;
    double *y;
    uint32_t room;
};

struct reproduce_value {
    const char *name; /* of the claim */
    double ours;
};

struct reproduce_run {
    const struct reproduce_experiment *experiment;
    bool is_quick; /* smaller simulations */
    /* Is asked while it goes on; share is how much of it is done. NULL, or false: it is to end. */
    bool (*go_on)(void *user, const char *what, double share);
    void *user;
    char error[TRIB_ERROR_TEXT_MAX]; /* "": none */
    struct report_plot panels[REPRODUCE_PANELS_MAX];
    struct reproduce_series series[REPRODUCE_PANELS_MAX][REPORT_PLOT_LINES_MAX];
    uint32_t panel_count;
    struct reproduce_value values[REPRODUCE_VALUES_MAX];
    uint32_t value_count;
    uint32_t looks; /* between parts of its simulations */
    uint64_t trace; /* hash of all arrivals up to the REPRODUCE_TRACE_LOOKS-th: of the same sources always the same */
    bool is_out_of_memory;
};

/* The index-th; NULL behind the last. */
const struct reproduce_claim *reproduce_claim_at(uint32_t index);
const struct reproduce_experiment *reproduce_experiment_at(uint32_t index);
/* NULL: there is none of that name. */
const struct reproduce_experiment *reproduce_experiment_find(const char *name);

/* The numbers that a claim allows: from least on, to below most or, where it is a bound, to most. */
double reproduce_claim_least(const struct reproduce_claim *claim);
double reproduce_claim_most(const struct reproduce_claim *claim);
bool reproduce_claim_holds(const struct reproduce_claim *claim, double ours);
/* Of a run that has ended; false: it has no value for it. */
bool reproduce_claim_value(const struct reproduce_run *run, const struct reproduce_claim *claim, double *ours);

/* What it gives differs from run to run, so docs/REPRODUCTION.md says only how to run it. */
static inline bool reproduce_is_measured(const struct reproduce_experiment *experiment)
{
    return experiment->run == NULL;
}

/* True: this build lacks the solver that the experiment needs, so `run` would fail. */
bool reproduce_lacks_solver(const struct reproduce_experiment *experiment);

void reproduce_init(struct reproduce_run *run, const struct reproduce_experiment *experiment);
void reproduce_deinit(struct reproduce_run *run);

/* For experiments: what they got. Each claim of an experiment gets one value. */
void reproduce_got(struct reproduce_run *run, const char *claim, double ours);
/* The panel that is drawn from now on; texts live as long as the program. */
struct report_plot *reproduce_panel(struct reproduce_run *run, const char *title, const char *x_label,
                                    const char *y_label);
/* A point of the current panel's line of this name, which begins with its first point. */
void reproduce_point(struct reproduce_run *run, const char *series, double x, double y);
/* Is it to go on? To be asked a few times a second. */
bool reproduce_goes_on(struct reproduce_run *run, const char *what, double share);

#endif
