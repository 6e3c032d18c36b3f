/* SPDX-License-Identifier: Apache-2.0 */
/* sim_sweep.h: `tributary sim sweep`: a scenario with every combination of some values, each in a process and a folder
 * of its own. What is there already is not run again: so a sweep goes on where it was interrupted, and its parts may
 * run on several machines that share the folder.
 * Read next: sim_sweep.c. */
#ifndef TRIB_CLI_SIM_SWEEP_H
#define TRIB_CLI_SIM_SWEEP_H

#define SIM_CORES_MAX 4096U /* runs at a time */

#include <stdint.h>

#include "sim/scenario/scenario.h"

struct sim_sweep {
    const char *grid;  /* file */
    const char *out;   /* folder */
    const char *shard; /* "0/4"; NULL: all */
    uint32_t cores;    /* 0: all that there are */
    bool is_part;      /* of something larger, which says itself what is done */
};

/* Returns the exit status. */
int sim_sweep(const struct sim_sweep *sweep);

#define SIM_EXIT_DEADLOCK 3 /* a run that has ended with ports that are stopped for ever: that is a result */
#define SIM_EXIT_STALLED 4  /* one that was given up, as nothing has arrived for long: so is that */
#define SIM_EXIT_INTERRUPTED 130

/* Of command_sim.c: runs a scenario, and writes its results into the folder. Returns the exit status. */
int sim_run_cell(const char *path, const struct sim_overrides *overrides, const char *folder);

#endif
