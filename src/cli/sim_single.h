/* SPDX-License-Identifier: Apache-2.0 */
/* sim_single.h: runs one scenario, with progress, and writes its results; also when it is interrupted.
 * Read next: sim_single.c. */
#ifndef TRIB_CLI_SIM_SINGLE_H
#define TRIB_CLI_SIM_SINGLE_H

#include <stdbool.h>

#include "sim/scenario/scenario.h"

#define SIM_EXIT_DEADLOCK 3 /* a run that has ended with ports that are stopped for ever: that is a result */
#define SIM_EXIT_STALLED 4  /* one that was given up, as nothing has arrived for long: so is that */

struct sim_single {
    const char *out;  /* folder; NULL: none */
    const char *html; /* page; NULL: none */
    const char *plan; /* of its jobs; NULL: none */
    bool json;        /* one object instead of a summary */
    bool quiet;       /* no progress */
    bool check;       /* reads the scenario and stops */
    bool silent;      /* no summary */
};

/* Returns the exit status; of an interrupted run that of interrupt.h. */
int sim_single(const char *path, const struct sim_overrides *overrides, const struct sim_single *options);

#endif
