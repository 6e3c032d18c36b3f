/* SPDX-License-Identifier: Apache-2.0 */
/* sim_progress.h: how far a simulation is. Read next: progress.h, sim_progress.c, sim_single.c. */
#ifndef TRIB_CLI_SIM_PROGRESS_H
#define TRIB_CLI_SIM_PROGRESS_H

#include "cli/progress.h"
#include "sim/run.h"

#define SIM_PROGRESS_TEXT_MAX 256U

/* If it is time. part: of the run, with a colon, or "". */
void sim_progress_show(struct progress *p, const char *part, const struct sim_run *run);
/* The text for a run that has taken so long: simulated time, packet-hops and how many a second, flows and jobs that
 * have ended, and how long it will take if it goes on as it did. */
void sim_progress_text(const struct sim_run *run, uint64_t elapsed_ns, char text[SIM_PROGRESS_TEXT_MAX]);

#endif
