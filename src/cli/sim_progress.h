/* SPDX-License-Identifier: Apache-2.0 */
/* sim_progress.h: how far a run is, on standard error: on a terminal one line that is written anew four times a second,
 * elsewhere a line every ten seconds. A run of less than a second shows nothing.
 * Read next: sim_progress.c, sim_single.c. */
#ifndef TRIB_CLI_SIM_PROGRESS_H
#define TRIB_CLI_SIM_PROGRESS_H

#include "sim/run.h"

#define SIM_PROGRESS_TEXT_MAX 256U

struct sim_progress {
    const char *what; /* is simulated: "", or a part of it with a colon */
    uint64_t begin_ns;
    uint64_t next_ns;
    bool is_quiet;
    bool is_terminal;
    bool is_shown;
};

struct sim_progress sim_progress_begin(const char *what, bool is_quiet);
/* If it is time. */
void sim_progress_show(struct sim_progress *p, const struct sim_run *run);
/* Clears the line on a terminal. */
void sim_progress_end(const struct sim_progress *p);
/* The text for a run that has taken so long: simulated time, packet-hops and how many a second, flows and jobs that
 * have ended, and how long it will take if it goes on as it did. */
void sim_progress_text(const struct sim_run *run, uint64_t elapsed_ns, char text[SIM_PROGRESS_TEXT_MAX]);

#endif
