/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: see jobs.h. */
#include "plan/jobs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/units.h"
#include "plan/input.h"

/* A [[job]]. */
struct job_table {
    const char *name;
    const char *hosts;
    uint32_t weight;
    uint64_t bytes;
    uint64_t memory;
};

static bool read_weight(struct plan_input *in, const struct trib_toml_value *value, void *field)
{
    uint64_t weight = 0;

    if (value->kind != TRIB_TOML_INTEGER) {
        return false;
    }
    if (trib_parse_number(value->text, 1, PLAN_WEIGHT_MAX, &weight, NULL) != TRIB_OK) {
        return plan_refuse(in, value->place, "weight: %s is not from 1 to %u", value->text, PLAN_WEIGHT_MAX);
    }
    *(uint32_t *)field = (uint32_t)weight;
    return true;
}

static const struct plan_key keys[] = {
    {"job", "name", "a name in quotes", plan_read_text, offsetof(struct job_table, name), true},
    {"job", "hosts", "names in quotes: \"host0-15 host20\"", plan_read_text, offsetof(struct job_table, hosts), true},
    {"job", "weight", "a whole number", read_weight, offsetof(struct job_table, weight), false},
    {"job", "bytes", "a size in quotes: \"98MB\"", plan_read_size, offsetof(struct job_table, bytes), false},
    {"job", "memory", "a size in quotes: \"24MB\"", plan_read_size, offsetof(struct job_table, memory), false},
    {.name = NULL},
};

static const struct trib_file_place whole_file = {1, 1};

/* ---- hosts ---- */

static bool add_host(struct plan_input *in, const struct plan_network *net, struct plan_job *job, const char *name,
                     size_t len, struct trib_file_place place)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t host = plan_names_find(&net->names, name, len);
    if (host == PLAN_NO_NAME) {
        plan_names_explain(&net->names, name, len, cause);
        return plan_refuse(in, place, "job %s: in the network %s", job->name, cause);
    }
    if (host >= net->hosts) {
        return plan_refuse(in, place, "job %s: %.*s is a switch: a host has one cable", job->name, (int)len, name);
    }
    for (uint32_t i = 0; i < job->host_count; i++) {
        if (job->hosts[i] == host) {
            return plan_refuse(in, place, "job %s: %.*s is named twice; ranks of one host are summed in its memory",
                               job->name, (int)len, name);
        }
    }
    job->hosts[job->host_count++] = host;
    return true;
}

/* "host4-9": the numbers at the end of the word. False: it is a plain name. */
static bool cut_range(const char *word, size_t len, size_t *stem, uint64_t ends[2])
{
    char text[PLAN_NAME_MAX + 1] = "";
    if (len >= sizeof text) {
        return false;
    }
    memcpy(text, word, len);
    char *dash = strrchr(text, '-');
    if (dash == NULL || trib_parse_number(dash + 1, 0, UINT32_MAX, &ends[1], NULL) != TRIB_OK) {
        return false;
    }
    *stem = (size_t)(dash - text);
    *dash = '\0';
    while (*stem > 0 && text[*stem - 1] >= '0' && text[*stem - 1] <= '9') {
        (*stem)--;
    }
    return trib_parse_number(text + *stem, 0, ends[1], &ends[0], NULL) == TRIB_OK && ends[1] - ends[0] < PLAN_HOSTS_MAX;
}

static bool add_word(struct plan_input *in, const struct plan_network *net, struct plan_job *job, const char *word,
                     size_t len, struct trib_file_place place)
{
    char name[2 * PLAN_NAME_MAX];
    size_t stem = 0;
    uint64_t ends[2] = {0, 0};
    if (plan_names_find(&net->names, word, len) != PLAN_NO_NAME || !cut_range(word, len, &stem, ends)) {
        return add_host(in, net, job, word, len, place);
    }
    for (uint64_t i = ends[0]; i <= ends[1]; i++) {
        int got = snprintf(name, sizeof name, "%.*s%" PRIu64, (int)stem, word, i);
        if (!add_host(in, net, job, name, (size_t)got, place)) {
            return false;
        }
    }
    return true;
}

static bool read_hosts(struct plan_input *in, const struct plan_network *net, struct plan_job *job, const char *text,
                       struct trib_file_place place)
{
    size_t len = 0;
    job->hosts = calloc(net->hosts + 1U, sizeof *job->hosts);
    if (job->hosts == NULL) {
        return plan_refuse(in, place, "out of memory");
    }
    for (const char *word; (word = plan_next_word(&text, &len)) != NULL;) {
        if (!add_word(in, net, job, word, len, place)) {
            return false;
        }
    }
    if (job->host_count < 2) {
        return plan_refuse(in, place, "job %s has %s: there is nothing to sum over the network", job->name,
                           job->host_count == 0 ? "no host" : "one host");
    }
    return plan_job_settle(job, net) || plan_refuse(in, place, "out of memory");
}

bool plan_job_settle(struct plan_job *job, const struct plan_network *net)
{
    const struct trib_fabric *f = &net->fabric;
    uint32_t *members = calloc(f->places + 1U, sizeof *members);
    job->leaves = calloc(job->host_count + 1U, sizeof *job->leaves);
    job->leaf_count = 0;
    for (uint32_t i = 0; members != NULL && i < job->host_count; i++) {
        members[f->to[f->out[f->first[job->hosts[i]]]]]++;
    }
    for (uint32_t place = 0; members != NULL && job->leaves != NULL && place < f->places; place++) {
        if (members[place] > 0) {
            job->leaves[job->leaf_count++] = (struct plan_leaf){place, members[place]};
        }
    }
    free(members);
    return job->leaf_count > 0;
}

/* ---- all jobs ---- */

static bool read_job(struct plan_input *in, const struct plan_network *net, struct plan_jobs *jobs, uint32_t table)
{
    struct job_table read = {.weight = 1};
    struct plan_job *job = &jobs->list[jobs->count];
    if (!plan_input_table(in, table, keys, &read)) {
        return false;
    }
    struct trib_file_place place = plan_input_find(in, table, "name")->place;
    if (read.name[0] == '\0' || strlen(read.name) > PLAN_NAME_MAX || strpbrk(read.name, " \"\\") != NULL ||
        !trib_is_printable(read.name)) {
        return plan_refuse(in, place, "a job's name has 1 to %d characters, without blanks and quotes", PLAN_NAME_MAX);
    }
    for (uint32_t i = 0; i < jobs->count; i++) {
        if (strcmp(jobs->list[i].name, read.name) == 0) {
            return plan_refuse(in, place, "two jobs have the name %s", read.name);
        }
    }
    *job = (struct plan_job){.weight = read.weight, .bytes = read.bytes, .memory = read.memory};
    memcpy(job->name, read.name, strlen(read.name) + 1);
    jobs->count++;
    return read_hosts(in, net, job, read.hosts, plan_input_find(in, table, "hosts")->place);
}

static bool read_all(struct plan_input *in, const struct plan_network *net, struct plan_jobs *jobs)
{
    uint32_t count = plan_input_count(in, "job");
    if (count == 0 || count > PLAN_JOBS_MAX) {
        return plan_refuse(in, whole_file, count == 0 ? "there is no [[job]]" : "more than %u jobs", PLAN_JOBS_MAX);
    }
    jobs->list = calloc(count, sizeof *jobs->list);
    if (jobs->list == NULL) {
        return plan_refuse(in, whole_file, "out of memory");
    }
    for (uint32_t i = 0; i < in->toml.table_count; i++) {
        if (!(i == 0 ? plan_input_table(in, i, keys, NULL) : read_job(in, net, jobs, i))) {
            return false;
        }
    }
    return true;
}

bool plan_jobs_read(struct plan_jobs *jobs, const struct plan_network *net, const char *path, char *error)
{
    struct plan_input in;
    *jobs = (struct plan_jobs){.list = NULL};
    bool is_good = plan_input_open(&in, path, error) && read_all(&in, net, jobs);
    plan_input_close(&in);
    return is_good;
}

void plan_jobs_free(struct plan_jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        free(jobs->list[i].hosts);
        free(jobs->list[i].leaves);
    }
    free(jobs->list);
    *jobs = (struct plan_jobs){.list = NULL};
}

uint64_t plan_jobs_digest(const struct plan_jobs *jobs)
{
    uint64_t digest = PLAN_DIGEST_BEGIN;
    for (uint32_t i = 0; i < jobs->count; i++) {
        const struct plan_job *job = &jobs->list[i];
        digest = plan_digest(digest, job->name, strlen(job->name) + 1);
        digest = plan_digest_number(digest, job->weight);
        for (uint32_t k = 0; k < job->host_count; k++) {
            digest = plan_digest_number(digest, job->hosts[k]);
        }
    }
    return digest;
}
