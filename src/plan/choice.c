/* SPDX-License-Identifier: Apache-2.0 */
/* choice.c: see choice.h. Which jobs get which switches is a packing of whole pieces, hence no linear program: trees
 * are taken in order, and a job for which nothing is left goes first in another try. */
#include "plan/choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/memory.h"

#define FULL_SHIFT 8 /* prices of loads are so many bits below that of a switch without room */

struct choice {
    struct plan_pack *pack;
    uint32_t most;
    uint32_t *lists;      /* of trees by rate, those of all jobs one after another */
    uint32_t *first;      /* by job: in lists */
    uint32_t *next, *end; /* likewise */
    uint32_t *count;      /* by job: trees that are kept */
    double *load;         /* by row, of the first trees */
    int64_t *prices;
};

static bool init(struct choice *c, struct plan_pack *pack, uint32_t most)
{
    uint32_t jobs = pack->jobs->count, at = 0;
    c->pack = pack;
    c->most = most;
    c->first = calloc(4 * (size_t)jobs + 1, sizeof *c->first);
    c->lists = calloc(pack->tree_count + 1U, sizeof *c->lists);
    c->load = calloc(plan_rows(pack->net) + 1U, sizeof *c->load);
    c->prices = calloc(plan_rows(pack->net) + 1U, sizeof *c->prices);
    if (c->first == NULL || c->lists == NULL || c->load == NULL || c->prices == NULL) {
        return false;
    }
    c->next = c->first + jobs;
    c->end = c->next + jobs;
    c->count = c->end + jobs;
    for (uint32_t j = 0; j < jobs; j++) {
        c->first[j] = at;
        at += plan_pack_list(pack, j, c->lists + at);
        c->end[j] = at;
    }
    return true;
}

static void deinit(struct choice *c)
{
    free(c->first);
    free(c->lists);
    free(c->load);
    free(c->prices);
}

/* Keeps a tree, if there is memory for it. */
static bool keep(struct choice *c, uint32_t number)
{
    struct plan_pack *pack = c->pack;
    const struct plan_tree *tree = &pack->trees[number];
    if (plan_memory_take(&c->pack->memory, tree) != TRIB_NO_PLACE) {
        return false;
    }
    pack->kept[number] = true;
    if (c->count[tree->job]++ == 0) {
        plan_pack_load(pack, tree, pack->jobs->list[tree->job].weight, c->load);
    }
    return true;
}

/* Keeps the job's fastest tree of those left for which there is memory. */
static bool keep_fastest(struct choice *c, uint32_t job)
{
    while (c->next[job] < c->end[job]) {
        if (keep(c, c->lists[c->next[job]++])) {
            return true;
        }
    }
    return false;
}

/* Keeps a new tree, which is cheap by the loads of the trees so far, and shuns switches without room. */
static enum trib_status keep_new(struct choice *c, uint32_t job, bool *is_kept)
{
    const struct plan_network *net = c->pack->net;
    struct plan_pricer *pricer = c->pack->pricer;
    struct plan_offer offers[PLAN_OFFERS];
    *is_kept = false;
    plan_pack_price(c->pack, c->load, 0, c->prices);
    for (uint32_t row = 0; row < plan_rows(net); row++) {
        c->prices[row] >>= FULL_SHIFT;
    }
    for (uint32_t place = net->hosts; place < net->hosts + net->switches; place++) {
        int64_t *price = &c->prices[plan_row_of_adder(net, place)];
        if (!plan_memory_has_room(&c->pack->memory, job, place)) {
            *price = PLAN_PRICE_MAX;
        } else if (net->memory[place - net->hosts] != PLAN_MEMORY_ALL) {
            *price += c->pack->thrift;
        }
    }
    plan_pricer_set(pricer, c->prices);
    uint32_t count = plan_price(pricer, job, offers);
    for (uint32_t i = 0; i < count && !*is_kept; i++) {
        struct plan_tree tree;
        uint32_t number = 0;
        if (!plan_price_tree(pricer, job, &offers[i], &tree)) {
            return TRIB_ERR_MEMORY;
        }
        enum trib_status status = plan_pack_keep(c->pack, &tree, &number);
        if (status != TRIB_OK) {
            return status;
        }
        *is_kept = keep(c, number);
    }
    return TRIB_OK;
}

/* One try: the first tree of each job, in their order. *failed: the job's place in the order that has none, or the
 * number of jobs. */
static enum trib_status keep_first(struct choice *c, uint32_t *failed)
{
    uint32_t jobs = c->pack->jobs->count;
    memset(c->pack->kept, 0, c->pack->tree_count * sizeof *c->pack->kept);
    memset(c->load, 0, plan_rows(c->pack->net) * sizeof *c->load);
    memset(c->count, 0, jobs * sizeof *c->count);
    memcpy(c->next, c->first, jobs * sizeof *c->next);
    plan_memory_begin(&c->pack->memory);
    for (*failed = 0; *failed < jobs; (*failed)++) {
        uint32_t job = c->pack->order[*failed];
        bool is_kept = c->pack->thrift == 0 && keep_fastest(c, job);
        enum trib_status status = is_kept ? TRIB_OK : keep_new(c, job, &is_kept);
        if (status != TRIB_OK || !is_kept) {
            return status;
        }
    }
    return TRIB_OK;
}

static enum trib_status choose(struct choice *c, char *error)
{
    uint32_t jobs = c->pack->jobs->count, failed = 0;
    enum trib_status status = keep_first(c, &failed);
    for (uint32_t i = 0; i < jobs && status == TRIB_OK && failed > 0 && failed < jobs; i++) {
        uint32_t job = c->pack->order[failed];
        memmove(c->pack->order + 1, c->pack->order, failed * sizeof *c->pack->order);
        c->pack->order[0] = job;
        status = keep_first(c, &failed);
    }
    if (status == TRIB_OK && failed < jobs) {
        const struct plan_job *job = &c->pack->jobs->list[c->pack->order[failed]];
        trib_explain(error,
                     "job %s: no tree was found whose switches all have %" PRIu64 " bytes of memory left for it: plan "
                     "fewer jobs, or give switches more",
                     job->name, job->memory);
        return TRIB_ERR_INVALID;
    }
    for (uint32_t k = 1; k < c->most && status == TRIB_OK; k++) {
        for (uint32_t i = 0; i < jobs; i++) {
            (void)keep_fastest(c, c->pack->order[i]);
        }
    }
    for (uint32_t i = 0; i < c->pack->tree_count && status == TRIB_OK && c->pack->has_memory; i++) {
        c->pack->kept[i] = c->pack->kept[i] || plan_memory_is_open(&c->pack->memory, &c->pack->trees[i]);
    }
    return status;
}

enum trib_status plan_choose_fastest(struct plan_pack *pack, uint32_t most, bool *is_less)
{
    uint32_t *list = calloc(pack->tree_count + 1U, sizeof *list);
    *is_less = false;
    if (list == NULL) {
        return TRIB_ERR_MEMORY;
    }
    memset(pack->kept, 0, pack->tree_count * sizeof *pack->kept);
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        uint32_t count = plan_pack_list(pack, j, list);
        *is_less = *is_less || count > most;
        for (uint32_t i = 0; i < count && i < most; i++) {
            pack->kept[list[i]] = true;
        }
    }
    free(list);
    return TRIB_OK;
}

enum trib_status plan_choose(struct plan_pack *pack, uint32_t most, char *error)
{
    struct choice c = {.pack = pack};
    enum trib_status status = TRIB_OK;
    if (pack->memory.net == NULL) {
        status = plan_memory_init(&pack->memory, pack->net, pack->jobs, error);
    }
    if (status != TRIB_OK) {
        plan_memory_free(&pack->memory);
    }
    if (status == TRIB_OK) {
        status = init(&c, pack, most) ? choose(&c, error) : TRIB_ERR_MEMORY;
    }
    deinit(&c);
    return status;
}
