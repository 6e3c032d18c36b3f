/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h: a sweep: keys of a scenario, and the values that each takes. Every combination is a cell, with a folder of
 * its own: cell 7 is DIR/0007. Read next: grid.c, page.c (figures of all cells). */
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

/* Reads a grid, and each of its scenarios. False: error says where it is wrong. To be freed in either case. */
bool sim_grid_read(struct sim_grid *g, const char *path, char *error);
void sim_grid_free(struct sim_grid *g);
/* The value of each key in a cell: the first key varies slowest. */
void sim_grid_choose(const struct sim_grid *g, uint64_t cell, struct sim_override list[SIM_VARY_MAX]);
/* Writes cells.csv, the values of each cell. False: the folder holds another grid's, or cannot be written. */
bool sim_grid_index(const struct sim_grid *g, const char *folder, char *error);
/* All cells have results in the folder: writes figures.csv and sweep.html there. *partial: cells with iterations of
 * jobs that were not done. */
bool sim_grid_page(const struct sim_grid *g, const char *folder, uint64_t *partial, char *error);

#endif
