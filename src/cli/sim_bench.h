/* SPDX-License-Identifier: Apache-2.0 */
/* sim_bench.h: `tributary sim bench`: how fast the simulator is on this machine. Read next: sim_bench.c. */
#ifndef TRIB_CLI_SIM_BENCH_H
#define TRIB_CLI_SIM_BENCH_H

#include <stdbool.h>

#include "sim/run.h"

struct sim_bench_row {
    const char *name;
    const char *what;
    double goal;    /* packet-hops per second of CPU time; 0: none is set */
    uint32_t hosts; /* 128, 1,024 or 8,192 */
    void (*make)(struct sim_scenario *scenario);
};

/* The index-th row; NULL behind the last. */
const struct sim_bench_row *sim_bench_row(unsigned index);

/* Runs all rows, or that one; each in a process of its own, so that its memory is its own. Returns the exit status. */
int sim_bench(const char *only, bool is_quick, bool is_json);

#endif
