/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: a scenario while it is parsed: shared by scenario.c (keys, tables), values.c (single values), and fit.c,
 * fit_jobs.c and queues.c (consistency). Read next: draft.c, scenario.c. */
#ifndef TRIB_SIM_SCENARIO_DRAFT_H
#define TRIB_SIM_SCENARIO_DRAFT_H

#include "io/toml.h"
#include "sim/run.h"

#define SIM_AMOUNT_PACKETS (UINT64_C(1) << 62) /* bit of an amount in packets, until the packet size is known */

/* Kinds of tables that can occur several times. */
enum sim_list { SIM_LIST_TRAFFIC, SIM_LIST_JOBS, SIM_LIST_FAILURES, SIM_LIST_LINKS, SIM_LIST_RESTARTS, SIM_LISTS };

#define SIM_LIST_MAX 64U /* most tables of a list; for jobs SIM_JOB_TABLES_MAX */

/* A text that can only be interpreted with other values. */
struct draft_text {
    const char *text;
    struct trib_file_place place;
};

/* State of parsing. */
struct draft {
    struct sim_scenario *scenario;
    const struct trib_toml *toml;
    const char *path;
    char *error;
    bool varies_scheme;                       /* a sweep sets the scheme of jobs */
    struct draft_text files[SIM_SOURCES_MAX]; /* trace files, by source */
    struct draft_text topology_file;
    struct draft_text adders;
    struct draft_text hosts[SIM_JOB_TABLES_MAX]; /* by job */
    struct draft_text links[SIM_FAILURES_MAX];   /* by failure */
    struct draft_text odd_links[SIM_ODD_LINKS_MAX];
    struct draft_text restarts[SIM_RESTARTS_MAX];
    uint32_t tables[SIM_LISTS][SIM_JOB_TABLES_MAX]; /* table of each list item */
};

/* Writes the cause with its place to the draft's error. Returns false. */
__attribute__((format(printf, 3, 4))) bool sim__refuse(struct draft *d, struct trib_file_place place,
                                                       const char *format, ...);

/* Returns the number of the first table of this name; SIM_NONE: none. */
uint32_t sim__table(const struct draft *d, const char *name);
/* Returns the value of a key in a table, by the table's number; NULL: the key is absent. */
const struct trib_toml_value *sim__find(const struct draft *d, uint32_t table, const char *key);
/* Returns the place of the key's value, or of its table, or of the file's beginning. */
struct trib_file_place sim__place(const struct draft *d, uint32_t table, const char *key);

/* Returns the table of a list item. */
static inline uint32_t sim__item_table(const struct draft *d, enum sim_list list, uint32_t number)
{
    return d->tables[list][number];
}

/* Refuses a value above `most`. */
bool sim__at_most(struct draft *d, uint32_t table, const char *key, uint32_t value, uint32_t most);
/* Moves to the next word between blanks and commas. Returns its length; 0: no more words. */
size_t sim__next_word(const char **text);

/* True if results name the children with marked contributions, so that marks_of_all has an effect. */
bool sim__names_marks(const struct sim_job_config *job);
bool sim__has_servers(const struct sim_job_config *job);
bool sim__has_chain(const struct sim_job_config *job);
/* True if a scheme has switches or servers that sum; switches that add; switches that are combiners. */
bool sim__has_roots(const struct trib_scheme *scheme);
bool sim__has_adders(const struct trib_scheme *scheme);
bool sim__has_combiners(const struct trib_scheme *scheme);

/* fit_jobs.c: checks and completes jobs when the network is known. */
bool sim__fit_jobs(struct draft *d);
/* queues.c: settles [queues] when packet sizes are known; checks a switch's memory when all values are settled. */
bool sim__settle_queues(struct draft *d);
bool sim__fit_queues(struct draft *d);
/* fit.c: settles values that depend on others, and reads the named files. */
bool sim__fit(struct draft *d);

/* Readers parse one value into one field. False: refused. */
bool sim__read_seed(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_count(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_index(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_name(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_duration(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_rate(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_bytes(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_threshold(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_packet(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_amount(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_alpha(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_share(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_topology(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_traffic(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_policy(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_sizes(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_file(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_scheme(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_topology_file(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_model(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_hosts(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_adders(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_ratio(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_link(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_restart(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_odd_link(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_scale(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_flag(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_part(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_trees(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_paths(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_pool(struct draft *d, const struct trib_toml_value *value, void *field);
bool sim__read_placement(struct draft *d, const struct trib_toml_value *value, void *field);

#endif
