/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h: simulated experiments: scenarios from texts in the file format, and runs that can be interrupted. Read
 * next: sim/run.h, docs/SIMULATOR.md (keys of the text). */
#ifndef TRIB_REPRODUCE_SIMULATE_H
#define TRIB_REPRODUCE_SIMULATE_H

#include "reproduce/reproduce.h"
#include "sim/scenario/scenario.h"

/* For a job's table: the paper's PANAMA rule for ECN marks. Our rule differs (docs/DECISIONS.md). */
#define REPRODUCE_MARKS_OF_ALL "marks_of_all = true\n"

/* A simulation, as part `number` of `count` of its experiment. */
struct reproduce_cell {
    struct sim_scenario scenario;
    struct sim_run sim;
    const char *what; /* for progress */
    uint32_t number;  /* of `count` */
    uint32_t count;
};

/* Parses the text and creates the run. False: run->error has the cause. Call reproduce_close in either case. */
__attribute__((format(printf, 3, 4))) bool reproduce_open(struct reproduce_run *run, struct reproduce_cell *cell,
                                                          const char *format, ...);
/* reproduce_open in two steps, so that the scenario can be changed between: parses the text; creates the run. */
__attribute__((format(printf, 3, 4))) bool reproduce_parse(struct reproduce_run *run, struct reproduce_cell *cell,
                                                           const char *format, ...);
bool reproduce_begin(struct reproduce_run *run, struct reproduce_cell *cell);
/* Starts an endless flow from host to host. Call before the first event. hash: chooses the path. */
void reproduce_flow(struct reproduce_cell *cell, uint32_t from, uint32_t to, uint32_t hash);
/* Simulates up to until_ps, the run's end, or a set `stop` of the network. False: interrupted, or an invariant of the
 * simulator failed. */
bool reproduce_advance(struct reproduce_run *run, struct reproduce_cell *cell, uint64_t until_ps);
void reproduce_close(struct reproduce_cell *cell);

#endif
