/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: names of nodes: a tier and a number, such as leaf0. Read next: topology.h. */
#include <stdio.h>
#include <string.h>

#include "io/explain.h"
#include "io/nearest.h"
#include "io/units.h"
#include "sim/network/topology.h"

uint32_t sim_topology_tiers(const struct sim_topology *t, struct sim_tier tiers[SIM_TIERS_MAX])
{
    struct sim_topology_size size = sim_topology_size(t);
    struct sim_pods p;
    uint32_t count = 0;

    tiers[count++] = (struct sim_tier){"host", 0, size.hosts};
    switch (t->kind) {
    case SIM_STAR:
        tiers[count++] = (struct sim_tier){"switch", size.hosts, 1};
        break;
    case SIM_LEAF_SPINE:
        tiers[count++] = (struct sim_tier){"leaf", size.hosts, t->leaves};
        tiers[count++] = (struct sim_tier){"spine", size.hosts + t->leaves, t->spines};
        break;
    case SIM_FAT_TREE:
    case SIM_CLOS:
        if (!sim_topology_pods(t, &p)) {
            break;
        }
        tiers[count++] = (struct sim_tier){"edge", size.hosts, p.pods * p.edges};
        tiers[count++] = (struct sim_tier){"aggregation", size.hosts + p.pods * p.edges, p.pods * p.aggregations};
        tiers[count++] =
            (struct sim_tier){"core", size.hosts + p.pods * (p.edges + p.aggregations), p.aggregations * p.ups};
        break;
    case SIM_DRAGONFLY:
        tiers[count++] = (struct sim_tier){"router", size.hosts, size.switches};
        break;
    case SIM_FROM_FILE:
        tiers[count++] = (struct sim_tier){"switch", size.hosts, size.switches};
        break;
    case SIM_TOPOLOGY_NONE:
    case SIM_TOPOLOGY_COUNT:
        break;
    }
    return count;
}

bool sim_topology_find(const struct sim_topology *t, const char *name, size_t len, uint32_t *node, char *error)
{
    struct sim_tier tiers[SIM_TIERS_MAX];
    uint32_t count = sim_topology_tiers(t, tiers);
    size_t letters = strcspn(name, "0123456789");
    struct trib_nearest nearest = {.word = name, .len = letters < len ? letters : len};
    char digits[SIM_NODE_NAME_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t number = 0;

    if (letters < len && len - letters < sizeof digits) {
        memcpy(digits, name + letters, len - letters);
    }
    for (uint32_t i = 0; i < count; i++) {
        trib_nearest_offer(&nearest, tiers[i].name);
        if (letters > len || strlen(tiers[i].name) != letters || memcmp(name, tiers[i].name, letters) != 0) {
            continue;
        }
        if (trib_parse_number(digits, 0, UINT32_MAX, &number, cause) == TRIB_OK && number < tiers[i].count) {
            *node = tiers[i].first + (uint32_t)number;
            return true;
        }
        trib_explain(error, "there is no %.*s; there are %s0 to %s%u", (int)len, name, tiers[i].name, tiers[i].name,
                     tiers[i].count - 1);
        return false;
    }
    const struct sim_tier *best = &tiers[count - 1];
    for (uint32_t i = 0; i < count; i++) {
        best = tiers[i].name == nearest.best ? &tiers[i] : best;
    }
    if (trib_parse_number(digits, 0, UINT32_MAX, &number, cause) != TRIB_OK || number >= best->count) {
        number = 0;
    }
    trib_explain(error, "there is no %.*s; did you mean %s%u?", (int)len, name, best->name, (uint32_t)number);
    return false;
}

void sim_topology_node_name(const struct sim_topology *t, uint32_t node, char text[SIM_NODE_NAME_MAX])
{
    struct sim_tier tiers[SIM_TIERS_MAX];
    uint32_t at = sim_topology_tiers(t, tiers) - 1;

    while (at > 0 && node < tiers[at].first) {
        at--;
    }
    (void)snprintf(text, SIM_NODE_NAME_MAX, "%s%u", tiers[at].name, node - tiers[at].first);
}
