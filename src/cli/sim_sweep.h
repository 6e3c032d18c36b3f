/* SPDX-License-Identifier: Apache-2.0 */
/* sim_sweep.h: `tributary sim sweep`: a scenario with every combination of some values, each in a process and a folder
 * of its own. Cells with results are not run again: so a sweep goes on where it was interrupted, and its parts may
 * run on several machines that share the folder.
 * Read next: sim_sweep.c. */
#ifndef TRIB_CLI_SIM_SWEEP_H
#define TRIB_CLI_SIM_SWEEP_H

#define SIM_CORES_MAX 4096U /* runs at a time */

#include <stdbool.h>
#include <stdint.h>

struct sim_sweep {
    const char *grid;  /* file */
    const char *out;   /* folder */
    const char *shard; /* "0/4"; NULL: all */
    uint32_t cores;    /* 0: all that there are */
    bool is_part;      /* of a larger task, which reports the progress */
};

/* Returns the exit status. */
int sim_sweep(const struct sim_sweep *sweep);

#endif
