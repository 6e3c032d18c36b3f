/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h: scenarios from files (docs/SIMULATOR.md lists all keys). An accepted file can be run. Inconsistent values
 * are refused before the simulation begins, with one line: the place, the cause and, for a misspelt word, the nearest
 * known word.
 *
 * Read next: run.h, io/toml.h. */
#ifndef TRIB_SIM_SCENARIO_H
#define TRIB_SIM_SCENARIO_H

#include "sim/run.h"

/* Sets the defaults of a scenario. */
void sim_scenario_init(struct sim_scenario *scenario);
/* A value that replaces a key's value in every table that has the key. */
struct sim_override {
    const char *key; /* "seed", "traffic.load" */
    const char *text;
};

struct sim_overrides {
    const struct sim_override *list;
    uint32_t count;
};

/* Reads a file and the files that it names. False: error (TRIB_ERROR_TEXT_MAX bytes) says "FILE:LINE:COLUMN: cause".
 * Call sim_scenario_free in either case. overrides: may be NULL. */
bool sim_scenario_read(struct sim_scenario *scenario, const char *path, const struct sim_overrides *overrides,
                       char *error);
/* Parses a text in memory. path is used in errors, and as the base of named files. */
bool sim_scenario_parse(struct sim_scenario *scenario, const char *text, const char *path,
                        const struct sim_overrides *overrides, char *error);
void sim_scenario_free(struct sim_scenario *scenario);
/* Writes the cause with the place of a job, or of the file if job is SIM_NONE. Returns false. */
__attribute__((format(printf, 4, 5))) bool sim_scenario_refuse(const struct sim_scenario *scenario, uint32_t job,
                                                               char *error, const char *format, ...);
/* sim_run_init for a parsed scenario: errors that only the whole network shows also have their place in the file. */
bool sim_scenario_run(struct sim_run *run, const struct sim_scenario *scenario, char *error);
/* Prints every known key, one line each. */
void sim_scenario_keys(void (*print)(const char *table, const char *key, const char *help));

/* True if this table can occur several times. */
bool sim_scenario_is_list(const char *table);

#endif
