/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h: a sweep: keys of a scenario with several values each. Every combination is a cell with its own folder: cell 7
 * is DIR/0007. Read next: grid.c, page.c (figures of all cells). */
#ifndef TRIB_SIM_GRID_H
#define TRIB_SIM_GRID_H

#include "io/toml.h"
#include "sim/scenario/scenario.h"

#define SIM_VARY_MAX 16U
#define SIM_VALUES_MAX 256U
#define SIM_PATH_LEN 4096
#define SIM_CELLS_MAX UINT64_C(100000)

struct sim_vary {
    const char *key;
    char *texts; /* values, each terminated by a zero */
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

/* Reads a grid and checks the scenario of every cell. False: error has the place and cause. Call sim_grid_free in
 * either case. */
bool sim_grid_read(struct sim_grid *g, const char *path, char *error);
void sim_grid_free(struct sim_grid *g);
/* Returns the value of each key in a cell. The first key varies slowest. */
void sim_grid_choose(const struct sim_grid *g, uint64_t cell, struct sim_override list[SIM_VARY_MAX]);
/* Writes cells.csv with the values of each cell, and scenario.toml, a copy of the scenario. False: the folder has those
 * of another grid or scenario, or cannot be written. */
bool sim_grid_index(const struct sim_grid *g, const char *folder, char *error);
/* Writes figures.csv and, if keys vary, sweep.html into the folder. All cells must have results there. *partial: number
 * of cells with incomplete iterations of jobs. False: error has the cause. */
bool sim_grid_page(const struct sim_grid *g, const char *folder, uint64_t *partial, char *error);

#endif
