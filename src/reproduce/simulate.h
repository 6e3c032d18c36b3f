/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h: experiments that are simulated: scenarios made of text, as files have it, and runs that can be
 * interrupted.
 * Read next: sim/run.h, docs/SIMULATOR.md (what may stand in the text). */
#ifndef TRIB_REPRODUCE_SIMULATE_H
#define TRIB_REPRODUCE_SIMULATE_H

#include "reproduce/reproduce.h"
#include "sim/scenario/scenario.h"

/* Of a job's table: PANAMA's rule for marks, as the paper has it. Ours is another one (docs/DECISIONS.md). */
#define REPRODUCE_MARKS_OF_ALL "marks_of_all = true\n"

/* What is simulated, and which part of the experiment it is. */
struct reproduce_cell {
    struct sim_scenario scenario;
    struct sim_run sim;
    const char *what; /* for progress */
    uint32_t number;  /* of `count` */
    uint32_t count;
};

/* Reads the text and makes the run. False: run->error says why. Close it in any case. */
__attribute__((format(printf, 3, 4))) bool reproduce_open(struct reproduce_run *run, struct reproduce_cell *cell,
                                                          const char *format, ...);
/* The same in two steps, for scenarios that are changed between: reads the text; makes the run. */
__attribute__((format(printf, 3, 4))) bool reproduce_parse(struct reproduce_run *run, struct reproduce_cell *cell,
                                                           const char *format, ...);
bool reproduce_begin(struct reproduce_run *run, struct reproduce_cell *cell);
/* Before time begins: a flow from one host to another, without end; hash: its way. */
void reproduce_flow(struct reproduce_cell *cell, uint32_t from, uint32_t to, uint32_t hash);
/* Simulates up to this time, its end, or where somebody has set the network's `stop`. False: interrupted, or the
 * simulator is wrong. */
bool reproduce_advance(struct reproduce_run *run, struct reproduce_cell *cell, uint64_t until_ps);
void reproduce_close(struct reproduce_cell *cell);

#endif
