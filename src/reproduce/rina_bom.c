/* SPDX-License-Identifier: Apache-2.0 */
/* rina_bom.c: Rina's section III: rates of trees as switches are replaced (Fig. 4 and 5), and the paper's accounts of
 * steps and bytes. Read next: plan/deploy.h. */
#include <math.h>
#include <stdlib.h>

#include "reproduce/rina.h"

#define NETWORK_OF(kind_)                                                                                         \
    {                                                                                                             \
        .kind = (kind_), .k = 4, .routers = 4, .globals = 2, .hosts = 2, .edge = {UINT64_C(25000000000), 1},      \
        .fabric = {UINT64_C(25000000000), 1}, .buffer_bytes = SIM_NEVER, .mark_bytes = SIM_NEVER, .smallest = 64, \
        .largest = 1500                                                                                           \
    }

const struct rina_network rina_fat_tree = {"fat tree", NETWORK_OF(SIM_FAT_TREE), "kind = \"fat-tree\"\nk = 4\n", 16, 8};
const struct rina_network rina_dragonfly = {"dragonfly", NETWORK_OF(SIM_DRAGONFLY),
                                            "kind = \"dragonfly\"\nrouters = 4\nglobals = 2\nhosts = 2\n", 64, 32};

bool rina_tree(struct reproduce_run *run, const struct rina_network *network, uint32_t hosts,
               struct plan_deploy *deploy)
{
    struct sim_network n;
    uint32_t *list = calloc(hosts, sizeof *list);
    bool is_built = sim_topology_build(&network->topology, &n);

    *deploy = (struct plan_deploy){.count = 0};
    for (uint32_t i = 0; list != NULL && i < hosts; i++) {
        list[i] = i;
    }
    bool is_good = list != NULL && is_built && plan_deploy_init(deploy, &n.fabric, list, hosts, 0);
    run->is_out_of_memory |= !is_good;
    if (is_built) {
        sim_network_deinit(&n);
    }
    free(list);
    return is_good;
}

/* ---- accounts ---- */

double rina_model_ring(const struct rina_model *m, uint32_t workers)
{
    double steps = 2.0 * (workers - 1);

    return steps * m->overhead_s + steps / workers * m->bytes * 8 / m->rate_bps;
}

double rina_model_hybrid(const struct rina_model *m, uint32_t workers, uint32_t rack)
{
    struct rina_model part = {.bytes = m->bytes / rack, .rate_bps = m->rate_bps, .overhead_s = m->overhead_s};

    return rina_model_ring(m, rack) + rina_model_ring(&part, workers / rack);
}

double rina_model_chain(const struct rina_model *m, uint32_t links, uint32_t workers)
{
    return plan_deploy_steps(links, workers) * m->overhead_s +
           2 * m->bytes * 8 / (plan_deploy_chain(links, workers) * m->rate_bps);
}

double rina_model_tree(const struct rina_model *m, double share)
{
    return 2 * (m->overhead_s + m->bytes * 8 / (share * m->rate_bps));
}

/* ---- Fig. 4 and 5 ---- */

/* Switch 3, which adds, has workers 1 and 2 and plain switch 2 with four workers. Plain switch 4 has switch 3 and a
 * worker. */
static double rate_of_fig4(void)
{
    struct plan_deploy_switch switches[] = {
        {.parent = PLAN_DEPLOY_NONE, .workers = 1}, {.parent = 0, .workers = 2}, {.parent = 1, .workers = 4}};
    const struct plan_deploy deploy = {.switches = switches, .count = 3, .workers = 7};

    return plan_deploy_rate(&deploy, (const bool[]){false, true, false});
}

static const struct {
    enum plan_deploy_order order;
    const char *name;
} orders[] = {{PLAN_DEPLOY_BEST, "best order"},
              {PLAN_DEPLOY_BY_WORKERS, "switches of racks first"},
              {PLAN_DEPLOY_RANDOM, "mean of all orders"}};

#define ORDERS (sizeof orders / sizeof orders[0])
#define SWITCHES_MAX 40U

static bool draw_network(struct reproduce_run *run, const struct rina_network *network,
                         double rates[ORDERS][SWITCHES_MAX + 1])
{
    struct plan_deploy deploy;
    uint32_t hosts = sim_topology_size(&network->topology).hosts;
    bool adds[SWITCHES_MAX] = {false};
    uint32_t list[SWITCHES_MAX];

    if (!rina_tree(run, network, hosts, &deploy)) {
        return true;
    }
    (void)reproduce_panel(run,
                          network == &rina_fat_tree ? "Rate of all workers, fat tree (Fig. 5a)"
                                                    : "Rate of all workers, dragonfly (Fig. 5b)",
                          "switches that add", "of a host's rate");
    for (uint32_t i = 0; i < ORDERS; i++) {
        run->is_out_of_memory |= !plan_deploy_curve(&deploy, orders[i].order, deploy.count, rates[i]);
        for (uint32_t k = 0; k <= deploy.count; k++) {
            reproduce_point(run, orders[i].name, k, rates[i][k]);
        }
    }
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_BY_WORKERS, deploy.count, list);
    (void)reproduce_panel(run, network == &rina_fat_tree ? "Steps of a chain, fat tree" : "Steps of a chain, dragonfly",
                          "switches that add", "steps");
    for (uint32_t k = 0; k <= deploy.count; k++) {
        uint32_t links = plan_deploy_links(&deploy, adds, PLAN_DEPLOY_RACK);
        reproduce_point(run, "Rina", k, plan_deploy_steps(links, hosts));
        reproduce_point(run, "ring", k, 2.0 * (hosts - 1));
        adds[k < deploy.count ? list[k] : 0] = true;
    }
    plan_deploy_free(&deploy);
    return reproduce_goes_on(run, network->name, network == &rina_fat_tree ? 0.5 : 1);
}

bool rina_bom(struct reproduce_run *run)
{
    double tree[ORDERS][SWITCHES_MAX + 1] = {{0}};
    double dragonfly[ORDERS][SWITCHES_MAX + 1] = {{0}};

    if (!draw_network(run, &rina_fat_tree, tree) || !draw_network(run, &rina_dragonfly, dragonfly)) {
        return false;
    }
    reproduce_got(run, "fig4", rate_of_fig4());
    reproduce_got(run, "tree-racks", 100 * tree[1][10]); /* of 13 */
    reproduce_got(run, "tree-best", 100 * tree[0][10]);
    reproduce_got(run, "tree-mean", 100 * tree[2][10]);
    reproduce_got(run, "tree-before", 100 * tree[1][9]);
    reproduce_got(run, "tree-least", 100 * tree[0][6]);
    reproduce_got(run, "dragonfly-best", 100 * dragonfly[0][29]); /* of 36 */
    reproduce_got(run, "dragonfly-racks", 100 * dragonfly[1][29]);
    reproduce_got(run, "dragonfly-mean", 100 * dragonfly[2][29]);
    reproduce_got(run, "all-but-one", 100 * fmax(tree[0][12], dragonfly[0][35]));
    return true;
}
