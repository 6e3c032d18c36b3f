/* SPDX-License-Identifier: Apache-2.0 */
/* goat_draw.c: random jobs on the networks of GOAT's simulations. See goat.h. */
#include <stdlib.h>

#include "core/prng.h"
#include "reproduce/goat.h"

/* Rates and delays have no effect on hops. */
#define WIRE            \
    {                   \
        100000000000, 1 \
    }

const struct sim_topology goat_leaf_spine = {
    .kind = SIM_LEAF_SPINE, .hosts = 5, .leaves = 10, .spines = 10, .edge = WIRE, .fabric = WIRE};
const struct sim_topology goat_fat_tree_4 = {.kind = SIM_FAT_TREE, .k = 4, .edge = WIRE, .fabric = WIRE};
const struct sim_topology goat_fat_tree_8 = {.kind = SIM_FAT_TREE, .k = 8, .edge = WIRE, .fabric = WIRE};

/* Returns `count` numbers from `first` on, in random order. NULL: out of memory. */
static uint32_t *shuffle(uint32_t first, uint32_t count, struct trib_prng *prng)
{
    uint32_t *list = calloc(count + 1U, sizeof *list);

    for (uint32_t i = 0; list != NULL && i < count; i++) {
        uint32_t place = (uint32_t)trib_prng_below(prng, i + 1);
        list[i] = list[place];
        list[place] = first + i;
    }
    return list;
}

static uint64_t *repeat(uint64_t value, uint32_t count)
{
    uint64_t *list = calloc(count + 1U, sizeof *list);

    for (uint32_t i = 0; list != NULL && i < count; i++) {
        list[i] = value;
    }
    return list;
}

static void shorten(struct trib_goat *p, uint32_t less)
{
    for (uint32_t w = 0; w < p->workers; w++) {
        p->to_server[w] -= less;
    }
    for (uint32_t s = 0; s < p->switches; s++) {
        p->from_switch[s] -= less;
    }
    for (uint32_t i = 0; i < p->workers * p->switches; i++) {
        p->to_switch[i] -= less;
    }
}

bool goat_draw(const struct goat_case *c, uint64_t seed, struct trib_goat *p)
{
    struct sim_topology_size size = sim_topology_size(c->network);
    struct sim_network n;
    struct trib_prng prng = {seed};

    if (!sim_topology_build(c->network, &n)) {
        return false;
    }
    uint32_t switches = c->switches != 0 ? c->switches : size.switches;
    uint32_t *hosts = shuffle(0, size.hosts, &prng);
    uint32_t *adders = shuffle(size.hosts, size.switches, &prng);
    uint64_t *memory = repeat(c->memory, switches);
    uint64_t *bytes = repeat(c->gradient_bytes, c->gradients);
    bool is_good = hosts != NULL && adders != NULL && memory != NULL && bytes != NULL;
    if (is_good) {
        struct trib_goat_job job = {.fabric = &n.fabric,
                                    .server = hosts[0],
                                    .workers = c->workers,
                                    .switches = switches,
                                    .gradients = c->gradients,
                                    .worker_places = hosts + 1,
                                    .switch_places = adders,
                                    .memory = memory,
                                    .bytes = bytes};
        is_good = trib_goat_create(p, &job, NULL) == TRIB_OK;
    }
    if (is_good) {
        shorten(p, c->hops_less);
    }
    free(hosts);
    free(adders);
    free(memory);
    free(bytes);
    sim_network_deinit(&n);
    return is_good;
}

bool goat_plan(struct reproduce_run *run, const struct trib_goat *p, const char *rule,
               const struct trib_goat_options *options, struct goat_result *result)
{
    struct trib_goat_plan plan;
    enum trib_status status = trib_goat_plan_create(&plan, p);

    if (status == TRIB_OK) {
        status = trib_goat_rule_find(rule)->make(p, options, &plan);
        *result = (struct goat_result){.cost = (double)plan.cost,
                                       .server_bytes = (double)plan.server_bytes,
                                       .excess_bytes = (double)plan.excess_bytes};
        for (uint32_t i = 0; i < p->gradients * p->switches; i++) {
            uint32_t g = i / p->switches;
            result->placed_bytes += plan.is_open[i] ? (double)p->bytes[g] : 0;
        }
        trib_goat_plan_destroy(&plan);
    }
    run->is_out_of_memory |= status == TRIB_ERR_MEMORY;
    return status == TRIB_OK;
}

bool goat_mean(struct reproduce_run *run, const struct goat_case *c, const char *rule, double late,
               struct goat_result *mean)
{
    bool is_good = true;

    *mean = (struct goat_result){.cost = 0};
    for (uint64_t seed = 1; seed <= GOAT_SEEDS && is_good; seed++) {
        struct trib_goat_options options = {.seed = seed, .late = (uint32_t)(late * c->workers), .error = run->error};
        struct goat_result result = {.cost = 0};
        struct trib_goat p;
        if (!goat_draw(c, seed, &p)) {
            run->is_out_of_memory = true;
            return false;
        }
        is_good = goat_plan(run, &p, rule, &options, &result);
        mean->cost += result.cost / GOAT_SEEDS;
        mean->server_bytes += result.server_bytes / GOAT_SEEDS;
        mean->placed_bytes += result.placed_bytes / GOAT_SEEDS;
        mean->excess_bytes += result.excess_bytes / GOAT_SEEDS;
        trib_goat_destroy(&p);
    }
    return is_good;
}
