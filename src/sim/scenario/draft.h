/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: a scenario while it is read: what scenario.c (keys, tables), values.c (single values), fit.c, fit_jobs.c and
 * queues.c (what fits together) share.
 * Read next: draft.c, scenario.c. */
#ifndef TRIB_SIM_SCENARIO_DRAFT_H
#define TRIB_SIM_SCENARIO_DRAFT_H

#include "io/toml.h"
#include "sim/scenario/scenario.h"

#define SIM_AMOUNT_PACKETS (UINT64_C(1) << 62) /* an amount of packets, until their size is known */

/* Lists of tables. */
enum sim_list { SIM_LIST_TRAFFIC, SIM_LIST_JOBS, SIM_LIST_FAILURES, SIM_LIST_LINKS, SIM_LIST_RESTARTS, SIM_LISTS };

#define SIM_LIST_MAX 64U /* tables of a list, but of jobs: SIM_JOB_TABLES_MAX */

/* A text whose meaning depends on the rest. */
struct draft_text {
    const char *text;
    struct trib_file_place place;
};

/* What is being read. */
struct draft {
    struct sim_scenario *scenario;
    const struct trib_toml *toml;
    const char *path;
    char *error;
    bool varies_scheme;                       /* of jobs: it is one of several that a sweep makes of a file */
    struct draft_text files[SIM_SOURCES_MAX]; /* of traces, by source */
    struct draft_text topology_file;
    struct draft_text adders;
    struct draft_text hosts[SIM_JOB_TABLES_MAX]; /* of jobs */
    struct draft_text links[SIM_FAILURES_MAX];   /* of failures */
    struct draft_text odd_links[SIM_ODD_LINKS_MAX];
    struct draft_text restarts[SIM_RESTARTS_MAX];
    uint32_t tables[SIM_LISTS][SIM_JOB_TABLES_MAX]; /* of the lists' items */
};

/* Says what is wrong, with its place, in the draft's error; false. */
__attribute__((format(printf, 3, 4))) bool sim__refuse(struct draft *d, struct trib_file_place place,
                                                       const char *format, ...);

/* The number of the one table of this name; SIM_NONE: there is none. */
uint32_t sim__table(const struct draft *d, const char *name);
/* What this key of a table, by its number, is said to be; NULL: it does not stand there. */
const struct trib_toml_value *sim__find(const struct draft *d, uint32_t table, const char *key);
/* Where this key's value stands, or else its table, or else the file begins. */
struct trib_file_place sim__place(const struct draft *d, uint32_t table, const char *key);

/* The table of an item of a list. */
static inline uint32_t sim__item_table(const struct draft *d, enum sim_list list, uint32_t number)
{
    return d->tables[list][number];
}

/* Refuses more than this. */
bool sim__at_most(struct draft *d, uint32_t table, const char *key, uint32_t value, uint32_t most);
/* Goes to the next of words between blanks and commas; returns its length, 0 behind the last. */
size_t sim__next_word(const char **text);

/* True if a result names the children whose parts were marked, so that marks_of_all means something. */
bool sim__names_marks(const struct sim_job_config *job);
bool sim__has_servers(const struct sim_job_config *job);
bool sim__has_chain(const struct sim_job_config *job);
/* Does a scheme have switches or servers that sum, switches that add, or those that are combiners? */
bool sim__has_roots(const struct trib_scheme *scheme);
bool sim__has_adders(const struct trib_scheme *scheme);
bool sim__has_combiners(const struct trib_scheme *scheme);

/* Of fit_jobs.c: the jobs, when the network is known. */
bool sim__fit_jobs(struct draft *d);
/* Of queues.c: what [queues] says, when packets' sizes are known; and whether a switch's memory is enough, when all
 * is. */
bool sim__settle_queues(struct draft *d);
bool sim__fit_queues(struct draft *d);
/* Of fit.c: settles what depends on other values, and reads the files that are named. */
bool sim__fit(struct draft *d);

/* Readers: one value into one field; false: it was refused. */
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
