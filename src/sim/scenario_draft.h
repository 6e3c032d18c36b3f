/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_draft.h: a scenario while it is read: what scenario.c (keys, tables, what fits together) and scenario_values.c (single values) share.
 * Read next: scenario.c. */
#ifndef TRIB_SIM_SCENARIO_DRAFT_H
#define TRIB_SIM_SCENARIO_DRAFT_H

#include "sim/scenario.h"
#include "sim/toml.h"

#define SIM_AMOUNT_PACKETS (UINT64_C(1) << 62) /* an amount of packets, until their size is known */

/* What is being read. */
struct draft {
    struct sim_scenario *scenario;
    const struct sim_toml *toml;
    const char *path;
    char *error;
    const char *files[SIM_SOURCES_MAX]; /* of traces, by source */
    struct sim_toml_place file_places[SIM_SOURCES_MAX];
    uint32_t tables[SIM_SOURCES_MAX]; /* of the sources */
    uint32_t job_tables[SIM_JOBS_MAX];
};

/* Says what is wrong, with its place, in the draft's error; false. */
__attribute__((format(printf, 3, 4))) bool sim__refuse(struct draft *d, struct sim_toml_place place, const char *format,
                                                       ...);

/* Readers: one value into one field; false: it was refused. */
bool sim__read_seed(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_count(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_index(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_name(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_duration(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_rate(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_bytes(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_packet(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_amount(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_share(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_topology(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_traffic(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_policy(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_sizes(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_file(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_scheme(struct draft *d, const struct sim_toml_value *value, void *field);
bool sim__read_placement(struct draft *d, const struct sim_toml_value *value, void *field);

#endif
