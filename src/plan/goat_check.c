/* SPDX-License-Identifier: Apache-2.0 */
/* goat_check.c: checks a plan of GOAT's problem that is read from its file. See goat_file.h. Read next: goat_bound.c
 * (why prices prove a bound). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/units.h"
#include "plan/goat_file.h"
#include "plan/input.h"

#define REFUSE(in, ...) (trib_explain((in)->error, __VA_ARGS__), false)

/* ---- the network and the job of the plan ---- */

static bool check_owner(const struct plan_goat_file *file, const struct plan_goat_proof *proof, char *error)
{
    const struct trib_placed *placed = proof->placed;
    const struct trib_placed_model *model = &placed->models[proof->number];
    const struct plan_job *job = file->job;
    uint64_t digest = plan_network_digest(file->net);

    if (placed->network != digest) {
        trib_explain(error,
                     "the plan is for another network (digest %016" PRIx64 ", this one's is %016" PRIx64
                     "): plan again, or name the topology that it was made for",
                     placed->network, digest);
        return false;
    }
    if (model->hosts != plan_goat_hosts_digest(job->hosts, job->host_count, file->server)) {
        trib_explain(error, "the plan is for other hosts of job %s: plan again, or name the jobs that it was made for",
                     job->name);
        return false;
    }
    if (model->parts_bytes != file->problem->total * file->problem->workers) {
        trib_explain(error, "the plan is for a model of %" PRIu64 " bytes, but job %s has %" PRIu64 ": plan again",
                     model->parts_bytes / file->problem->workers, job->name, file->problem->total);
        return false;
    }
    return true;
}

/* ---- pieces ---- */

/* The number of the switch at this place; TRIB_GOAT_SERVER: it does not add. */
static uint32_t find_switch(const struct plan_goat_file *file, uint32_t place)
{
    uint32_t s = 0;

    while (s < file->problem->switches && file->switches[s] != place) {
        s++;
    }
    return s < file->problem->switches ? s : TRIB_GOAT_SERVER;
}

static bool open_pieces(const struct plan_goat_file *file, const struct trib_placed_switch *at, uint64_t *left,
                        struct trib_goat_plan *plan, char *error)
{
    const struct trib_goat *p = file->problem;
    uint32_t place = plan_names_find(&file->net->names, at->name, strlen(at->name));
    uint32_t s = place != PLAN_NO_NAME ? find_switch(file, place) : TRIB_GOAT_SERVER;
    uint64_t held = 0;

    if (s == TRIB_GOAT_SERVER) {
        trib_explain(error, "the plan has pieces at %s, which is no switch that adds in this network", at->name);
        return false;
    }
    for (uint32_t g = 0; g < p->gradients; g++) {
        bool is_own = (at->pieces >> g & 1) != 0;
        plan->is_open[(size_t)g * p->switches + s] = is_own;
        held += is_own ? p->bytes[g] : 0;
    }
    if (held > p->memory[s]) {
        trib_explain(error, "%s has %.4g MB of pieces of job %s, of %.4g MB memory that the plan has for it", at->name,
                     (double)held / 1e6, file->job->name, (double)p->memory[s] / 1e6);
        return false;
    }
    if (held > left[s]) {
        trib_explain(error, "%s has %.4g MB of pieces of job %s, of %.4g MB memory that is left for it (--memory)",
                     at->name, (double)held / 1e6, file->job->name, (double)left[s] / 1e6);
        return false;
    }
    left[s] -= held;
    return true;
}

/* ---- cost and bound ---- */

/* A number of the model; *is_there false: the key does not stand there. */
static bool read_number(struct plan_input *in, uint32_t table, const char *key, uint64_t *number, bool *is_there)
{
    const struct trib_toml_value *value = plan_input_find(in, table, key);

    *is_there = value != NULL;
    return value == NULL || trib_parse_number(value->text, 0, UINT64_MAX, number, NULL) == TRIB_OK ||
           REFUSE(in, "%s is no number of bytes x hops", key);
}

/* "host0 1048576 host1 0": the price of each worker. A worker without one has the price 0. */
static bool read_prices(struct plan_input *in, uint32_t table, const struct plan_goat_file *file, uint32_t *price)
{
    const struct trib_toml_value *value = plan_input_find(in, table, "prices");
    const char *at = value != NULL ? value->text : "", *word;
    size_t len;

    while ((word = plan_next_word(&at, &len)) != NULL) {
        uint32_t host = plan_names_find(&file->net->names, word, len), w = 0;
        uint64_t its = 0;
        char text[24] = "";
        while (w < file->job->host_count && file->job->hosts[w] != host) {
            w++;
        }
        if (w == file->job->host_count) {
            return REFUSE(in, "prices name %.*s, which is no worker of job %s", (int)len, word, file->job->name);
        }
        word = plan_next_word(&at, &len);
        (void)snprintf(text, sizeof text, "%.*s", word != NULL ? (int)len : 0, word != NULL ? word : "");
        if (trib_parse_number(text, 0, TRIB_GOAT_HOPS_MAX * TRIB_GOAT_PRICE_ONE, &its, NULL) != TRIB_OK) {
            return REFUSE(in, "the price of %s is not a price", file->net->names.list[host]);
        }
        price[w] = (uint32_t)its;
    }
    return true;
}

static bool check_claims(struct plan_input *in, uint32_t table, const struct plan_goat_file *file,
                         struct trib_goat_plan *plan)
{
    uint64_t cost = 0, bound = 0;
    bool has_cost = false, has_bound = false;

    if (!read_number(in, table, "cost", &cost, &has_cost) || !read_number(in, table, "bound", &bound, &has_bound)) {
        return false;
    }
    if (!has_cost || cost != plan->cost) {
        return REFUSE(in, "the plan of job %s costs %" PRIu64 " bytes x hops, not %" PRIu64, file->job->name,
                      plan->cost, cost);
    }
    if (!has_bound) {
        return true;
    }
    plan->price = calloc(file->problem->workers + 1U, sizeof *plan->price);
    if (plan->price == NULL) {
        return REFUSE(in, "out of memory");
    }
    if (!read_prices(in, table, file, plan->price)) {
        return false;
    }
    plan->bound = trib_goat_prove(file->problem, plan->price);
    return bound <= plan->bound ||
           REFUSE(in, "the prices prove a bound of %" PRIu64 " bytes x hops for job %s, not %" PRIu64, plan->bound,
                  file->job->name, bound);
}

static bool check_file(const struct plan_goat_file *file, const struct plan_goat_proof *proof,
                       struct trib_goat_plan *plan, char *error)
{
    struct plan_input in;

    plan_input_use(&in, proof->toml, error);
    for (uint32_t table = 0, before = 0; table < in.toml.table_count; table++) {
        if (plan_input_is(&in, table, "model") && before++ == proof->number) {
            return check_claims(&in, table, file, plan);
        }
    }
    return REFUSE(&in, "there is no [[model]]");
}

bool plan_goat_check(const struct plan_goat_file *file, const struct plan_goat_proof *proof,
                     struct trib_goat_plan *plan, char *error)
{
    const struct trib_placed *placed = proof->placed;
    const struct trib_placed_model *model = &placed->models[proof->number];

    if (!check_owner(file, proof, error)) {
        return false;
    }
    for (uint32_t i = 0; i < placed->switch_count; i++) {
        bool is_own = placed->switches[i].model == proof->number;
        if (is_own && !open_pieces(file, &placed->switches[i], proof->left, plan, error)) {
            return false;
        }
    }
    trib_goat_send_to_nearest(file->problem, plan);
    trib_goat_count(file->problem, plan);
    if (model->server_bytes != plan->server_bytes) {
        trib_explain(error, "the server receives %" PRIu64 " bytes of job %s, not %" PRIu64, plan->server_bytes,
                     file->job->name, model->server_bytes);
        return false;
    }
    return check_file(file, proof, plan, error);
}
