/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h: experiments of papers that are measured, with processes, sockets and clocks, instead of computed or
 * simulated: the number differs each time. Each looks at every element of the results that it times.
 * Read next: reproduce/reproduce.h, measure_paths.c. */
#ifndef TRIB_CLI_MEASURE_H
#define TRIB_CLI_MEASURE_H

#include "reproduce/reproduce.h"

/* Runs an experiment that reproduce_is_measured. False: interrupted, or run->error names the fault. */
bool measure_experiment(struct reproduce_run *run);

#endif
