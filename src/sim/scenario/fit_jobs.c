/* SPDX-License-Identifier: Apache-2.0 */
/* fit_jobs.c: checks that a scenario's jobs fit its network, and that values of a job are consistent. See draft.h. Read
 * next: fit.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/units.h"
#include "published/published.h"
#include "schemes/schemes.h"
#include "sim/scenario/draft.h"

#define JOB_WINDOW_MAX 2000U

/* ---- hosts ---- */

/* Appends the hosts of a word such as "8-11" or "8" to the job's list. */
static bool add_hosts(struct draft *d, uint32_t number, const char *word, size_t len, uint32_t *count)
{
    struct sim_job_config *job = &d->scenario->jobs[number];
    struct trib_file_place place = d->hosts[number].place;
    uint32_t hosts = sim_topology_size(&d->scenario->topology).hosts;
    char text[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t ends[2] = {0, 0};

    if (len < sizeof text) {
        memcpy(text, word, len);
    }
    char *dash = strchr(text, '-');
    if (dash != NULL) {
        *dash = '\0';
    }
    if (trib_parse_number(text, 0, hosts - 1, &ends[0], cause) != TRIB_OK ||
        trib_parse_number(dash != NULL ? dash + 1 : text, ends[0], hosts - 1, &ends[1], cause) != TRIB_OK) {
        return sim__refuse(d, place, "hosts: %s", cause);
    }
    for (uint64_t host = ends[0]; host <= ends[1]; host++) {
        if (*count == sim_job_hosts(job)) {
            return sim__refuse(d, place, "hosts names more than the job's %u workers%s", sim_job_hosts(job),
                               sim_job_hosts(job) != job->workers ? " and servers" : "");
        }
        job->hosts[(*count)++] = (uint32_t)host;
    }
    return true;
}

/* Refuses a host that this job or an earlier one already names. */
static bool are_distinct(struct draft *d, uint32_t number)
{
    const struct sim_scenario *s = d->scenario;

    for (uint32_t rank = 0; rank < sim_job_hosts(&s->jobs[number]); rank++) {
        for (uint32_t i = 0; i <= number; i++) {
            uint32_t end = i == number ? rank : sim_job_hosts(&s->jobs[i]);
            for (uint32_t other = 0; s->jobs[i].hosts != NULL && other < end; other++) {
                if (s->jobs[i].hosts[other] == s->jobs[number].hosts[rank]) {
                    return sim__refuse(d, d->hosts[number].place, "hosts: host %u belongs to another worker",
                                       s->jobs[number].hosts[rank]);
                }
            }
        }
    }
    return true;
}

static bool finish_hosts(struct draft *d, uint32_t number)
{
    struct sim_job_config *job = &d->scenario->jobs[number];
    const char *at = d->hosts[number].text;
    uint32_t count = 0;

    if (at == NULL) {
        return true;
    }
    job->hosts = calloc(sim_job_hosts(job), sizeof *job->hosts);
    if (job->hosts == NULL) {
        return sim__refuse(d, d->hosts[number].place, "out of memory");
    }
    for (size_t len; (len = sim__next_word(&at)) != 0; at += len) {
        if (!add_hosts(d, number, at, len, &count)) {
            return false;
        }
    }
    if (count != sim_job_hosts(job)) {
        return sim__refuse(d, d->hosts[number].place, "hosts names %u, but the job has %u workers%s", count,
                           sim_job_hosts(job), sim_job_hosts(job) != job->workers ? " and servers" : "");
    }
    return are_distinct(d, number);
}

/* Completes size and compute time from the job's model. */
static bool finish_model(struct draft *d, struct sim_job_config *job, uint32_t table)
{
    const struct sim_model *model = job->model;

    if (model == NULL && job->bytes == 0) {
        return sim__refuse(d, sim__place(d, table, "size"),
                           "size is missing in table job: bytes of gradients, or the name of a model");
    }
    if (model != NULL && model->compute_ms == 0 && job->compute_ps == SIM_NEVER) {
        return sim__refuse(d, sim__place(d, table, "model"), "compute is missing: no published time of %s is known",
                           model->name);
    }
    if (job->compute_ps == SIM_NEVER) {
        job->compute_ps = model != NULL ? (uint64_t)(model->compute_ms * 1e9) : 0;
    }
    job->bytes = job->bytes != 0 ? job->bytes : sim_model_bytes(model);
    return true;
}

/* Checks keys of servers; a scheme with servers has one by default. */
static bool fit_servers(struct draft *d, struct sim_job_config *job, uint32_t table)
{
    static const char *const keys[] = {"servers", "servers_at_workers", "priority", "by_bucket", "combines_everywhere"};

    if (!sim__has_servers(job)) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            const struct trib_toml_value *value = sim__find(d, table, keys[i]);
            if (value != NULL && !d->varies_scheme) {
                return sim__refuse(d, value->key_place, "%s does not apply to scheme %s: it has no servers", keys[i],
                                   job->scheme);
            }
        }
        job->servers = 0;
        return true;
    }
    job->servers = job->servers != 0 ? job->servers : 1;
    for (size_t i = 2; i < sizeof keys / sizeof keys[0]; i++) {
        const struct trib_toml_value *value = sim__find(d, table, keys[i]);
        if (value != NULL && !trib_published_find(job->scheme)->has_combiners && !d->varies_scheme) {
            return sim__refuse(d, value->key_place, "%s does not apply to scheme %s: it has no combiners", keys[i],
                               job->scheme);
        }
    }
    const struct trib_toml_value *trees = sim__find(d, table, "trees");
    if (trees != NULL && !d->varies_scheme) {
        return sim__refuse(d, trees->key_place, "trees does not apply to scheme %s: its roots are its servers",
                           job->scheme);
    }
    if (!sim__at_most(d, table, "priority", job->priority, UINT8_MAX)) {
        return false;
    }
    return !job->are_servers_at_workers || job->servers <= job->workers ||
           sim__refuse(d, sim__place(d, table, "servers"), "%u servers at %u workers: a host has one of each",
                       job->servers, job->workers);
}

/* Refuses keys that have no effect with, or without, other keys. */
static bool fit_job_keys(struct draft *d, uint32_t number)
{
    uint32_t table = sim__item_table(d, SIM_LIST_JOBS, number);
    const struct trib_toml_value *placement = sim__find(d, table, "placement");
    const struct trib_toml_value *backward = sim__find(d, table, "backward");
    const struct trib_toml_value *marks = sim__find(d, table, "marks_of_all");
    const struct trib_toml_value *least = sim__find(d, table, "at_least");
    const struct sim_job_config *job = &d->scenario->jobs[number];

    if (least != NULL && !sim__has_chain(job) && !d->varies_scheme) {
        return sim__refuse(d, least->key_place, "at_least does not apply to scheme %s: its switches form no chain",
                           job->scheme);
    }
    if (marks != NULL && !sim__names_marks(job) && !d->varies_scheme) {
        return sim__refuse(d, marks->key_place,
                           "marks_of_all does not apply to scheme %s: only results of panama name the marked paths",
                           job->scheme);
    }
    if (placement != NULL && d->hosts[number].text != NULL) {
        return sim__refuse(d, placement->key_place, "placement does not apply with hosts, which names all hosts");
    }
    return backward == NULL || sim__find(d, table, "buckets") != NULL ||
           sim__refuse(d, backward->key_place, "backward needs buckets: without buckets gradients come at the end");
}

static bool finish_copies(struct draft *d, const struct sim_job_config *job, uint32_t table)
{
    if (job->copies > 1 && job->hosts != NULL) {
        return sim__refuse(d, sim__place(d, table, "copies"), "copies need hosts of their own: remove hosts or copies");
    }
    if (!sim__at_most(d, table, "ranks", job->ranks, SIM_HOST_RANKS_MAX)) {
        return false;
    }
    if (job->stragglers > job->workers * job->ranks) {
        return sim__refuse(d, sim__place(d, table, "stragglers"), "%u stragglers of %u %s", job->stragglers,
                           job->workers * job->ranks, job->ranks == 1 ? "workers" : "ranks");
    }
    uint64_t bytes = sim_job_scaled(job->bytes, d->scenario->scale);
    uint64_t fragments = (bytes + sim_job_data(job) - 1) / sim_job_data(job);
    if (job->buckets > SIM_BUCKETS_MAX || job->buckets > fragments) {
        return sim__refuse(d, sim__place(d, table, "buckets"),
                           "%u buckets of %" PRIu64 " fragments; there can be as many, and %u at most", job->buckets,
                           fragments, SIM_BUCKETS_MAX);
    }
    return true;
}

/* Checks a job with sums that may lack ranks. */
static bool fit_quorum(struct draft *d, const struct sim_job_config *job, uint32_t table)
{
    if (!trib_scheme_names_quorum(job->scheme)) {
        return true;
    }
    if (job->ranks > 1) {
        return sim__refuse(d, sim__place(d, table, "ranks"),
                           "ranks does not apply to scheme %s: a host's sum has all of its ranks or none", job->scheme);
    }
    return job->payload > TRIB_QUORUM_LIST ||
           sim__refuse(d, sim__place(d, table, "payload"), "payload is %u, but the list of ranks of scheme %s needs %u",
                       job->payload, job->scheme, TRIB_QUORUM_LIST);
}

/* Returns the largest payload of a packet of mtu bytes. */
static uint32_t payload_of(uint32_t mtu)
{
    uint32_t room = mtu > SIM_JOB_HEADERS ? (mtu - SIM_JOB_HEADERS) / TRIB_PAYLOAD_ALIGN * TRIB_PAYLOAD_ALIGN : 0;

    return room < TRIB_PAYLOAD_MAX ? room : TRIB_PAYLOAD_MAX;
}

static bool finish_job(struct draft *d, uint32_t number)
{
    struct sim_scenario *s = d->scenario;
    struct sim_job_config *job = &s->jobs[number];
    uint32_t table = sim__item_table(d, SIM_LIST_JOBS, number);

    if (job->workers < 2 || job->workers > TRIB_SESSION_RANKS_MAX) {
        return sim__refuse(d, sim__place(d, table, "workers"), "a job has from 2 to %d workers",
                           TRIB_SESSION_RANKS_MAX);
    }
    job->payload = job->payload != 0 ? job->payload : payload_of(s->mtu);
    if (job->payload == 0 || job->payload % TRIB_PAYLOAD_ALIGN != 0 || job->payload > TRIB_PAYLOAD_MAX) {
        return sim__refuse(d, sim__place(d, table, "payload"), "payload is %u; it is a multiple of %d, and %d at most",
                           job->payload, TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX);
    }
    if (!fit_servers(d, job, table) || !fit_quorum(d, job, table) ||
        !sim__at_most(d, table, "window", job->window, JOB_WINDOW_MAX) || !fit_job_keys(d, number) ||
        !finish_model(d, job, table) || !finish_hosts(d, number) || !finish_copies(d, job, table)) {
        return false;
    }
    uint32_t largest = job->payload + SIM_JOB_HEADERS;
    s->topology.largest = largest > s->topology.largest ? largest : s->topology.largest;
    s->topology.has_loops = s->topology.has_loops || sim__has_chain(job);
    return s->topology.buffer_bytes >= largest ||
           sim__refuse(d, sim__place(d, table, "payload"),
                       "a buffer of %" PRIu64 " bytes is too small for a packet of %u", s->topology.buffer_bytes,
                       largest);
}

/* Checks hosts. Hosts that no job names are for the other jobs, which wait for them if necessary. */
static bool fit_hosts(struct draft *d, uint64_t workers)
{
    const struct sim_scenario *s = d->scenario;
    uint32_t hosts = sim_topology_size(&s->topology).hosts;
    uint32_t memory = sim__table(d, "switches");

    for (uint32_t i = 0; i < s->job_count; i++) {
        hosts -= s->jobs[i].hosts != NULL ? sim_job_hosts(&s->jobs[i]) : 0;
    }
    for (uint32_t i = 0; i < s->job_count; i++) {
        if (s->jobs[i].hosts == NULL && sim_job_hosts(&s->jobs[i]) > hosts) {
            return sim__refuse(d, sim__place(d, sim__item_table(d, SIM_LIST_JOBS, i), "workers"),
                               "%u workers%s, but only %u hosts are free", sim_job_hosts(&s->jobs[i]),
                               sim_job_hosts(&s->jobs[i]) != s->jobs[i].workers ? " and servers" : "", hosts);
        }
    }
    return workers <= hosts || s->accelerators.memory_bytes == SIM_NEVER ||
           sim__refuse(d, sim__place(d, memory, "memory"),
                       "memory is divided among all jobs at once: %" PRIu64
                       " workers would need %u hosts; name fewer jobs, or no memory",
                       workers, hosts);
}

bool sim__fit_jobs(struct draft *d)
{
    const struct sim_scenario *s = d->scenario;
    uint64_t workers = 0;
    uint64_t jobs = 0;

    if (s->jobs_most > s->job_count) {
        return sim__refuse(d, sim__place(d, 0, "jobs"), "jobs is %u, but there are %u tables [[job]]", s->jobs_most,
                           s->job_count);
    }
    for (uint32_t i = 0; i < s->job_count; i++) {
        uint32_t table = sim__item_table(d, SIM_LIST_JOBS, i);
        jobs += s->jobs[i].copies;
        if (jobs > SIM_JOBS_MAX) {
            return sim__refuse(d, sim__place(d, table, "copies"), "more than %u jobs, with their copies", SIM_JOBS_MAX);
        }
        if (!finish_job(d, i)) {
            return false;
        }
        workers += s->jobs[i].hosts == NULL ? (uint64_t)sim_job_hosts(&s->jobs[i]) * s->jobs[i].copies : 0;
    }
    return fit_hosts(d, workers);
}
