/* SPDX-License-Identifier: Apache-2.0 */
/* sim_grid.h: what `tributary sim sweep` runs: keys of a scenario, and the values that each takes. For sim_sweep.c,
 * which reads and runs it, and sim_sweep_page.c, which shows what came out. */
#ifndef TRIB_CLI_SIM_GRID_H
#define TRIB_CLI_SIM_GRID_H

#include "io/toml.h"
#include "sim/scenario/scenario.h"

#define SIM_VARY_MAX 16U
#define SIM_VALUES_MAX 256U
#define SIM_PATH_LEN 4096

struct sim_vary {
    const char *key;
    char *texts; /* each ended by a zero */
    const char *values[SIM_VALUES_MAX];
    uint32_t count;
};

struct sim_grid {
    struct trib_toml toml;
    char scenario[SIM_PATH_LEN];
    struct sim_vary vary[SIM_VARY_MAX];
    uint32_t vary_count;
    uint64_t cells;
};

/* Which value each key has in a cell: the first key varies slowest. */
void sim_grid_choose(const struct sim_grid *g, uint64_t cell, struct sim_override list[SIM_VARY_MAX]);
/* All cells have results in the folder: writes figures.csv and sweep.html there. False: it has complained. */
bool sim_sweep_page(const struct sim_grid *g, const char *folder);

#endif
