/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h: scenarios from files (docs/SIMULATOR.md has all keys). A file that is taken can be run: what does not fit
 * together is found here, before simulated time begins, and said in one line with its place and, of a misspelt word,
 * the nearest that is known.
 * Read next: run.h, toml.h. */
#ifndef TRIB_SIM_SCENARIO_H
#define TRIB_SIM_SCENARIO_H

#include "sim/run.h"

/* What a scenario is before anything is read into it. */
void sim_scenario_init(struct sim_scenario *scenario);
/* A value that is to stand there instead: of every table of that name that has the key. */
struct sim_override {
    const char *key; /* "seed", "traffic.load" */
    const char *text;
};

struct sim_overrides {
    const struct sim_override *list;
    uint32_t count;
};

/* Reads a file and the files that it names. False: error (TRIB_ERROR_TEXT_MAX bytes) says "FILE:LINE:COLUMN: cause".
 * Free it in any case. overrides: or NULL. */
bool sim_scenario_read(struct sim_scenario *scenario, const char *path, const struct sim_overrides *overrides,
                       char *error);
/* The same for text that stands in memory; path is for errors, and where the files lie that it names. */
bool sim_scenario_parse(struct sim_scenario *scenario, const char *text, const char *path,
                        const struct sim_overrides *overrides, char *error);
void sim_scenario_free(struct sim_scenario *scenario);
/* Writes the cause with the place of a job, or, of SIM_NONE, the file. Returns false. */
__attribute__((format(printf, 4, 5))) bool sim_scenario_refuse(const struct sim_scenario *scenario, uint32_t job,
                                                               char *error, const char *format, ...);
/* As sim_run_init, of a scenario that was read: what only the whole network shows is refused with its place as well. */
bool sim_scenario_run(struct sim_run *run, const struct sim_scenario *scenario, char *error);
/* Prints every key that may stand in a file, a line each. */
void sim_scenario_keys(void (*print)(const char *table, const char *key, const char *help));

/* May there be several of this table? */
bool sim_scenario_is_list(const char *table);

#endif
