/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c: checks [queues]: buffers of ports or switches, PFC, and sufficient memory; see draft.h and buffers.h. Read
 * next: fit.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/network/gates.h"
#include "sim/scenario/draft.h"

/* Returns the value of a key in [queues]; NULL: absent. */
static const struct trib_toml_value *find(const struct draft *d, const char *key)
{
    return sim__find(d, sim__table(d, "queues"), key);
}

static void settle(uint64_t *amount, uint32_t packet)
{
    if (*amount != SIM_NEVER && (*amount & SIM_AMOUNT_PACKETS) != 0) {
        *amount = (*amount & ~SIM_AMOUNT_PACKETS) * packet;
    }
}

/* Refuses keys that have no effect with, or without, other keys. */
static bool fit_keys(struct draft *d)
{
    static const char *const of_pfc[] = {"xoff", "xon_below", "headroom"};
    const struct sim_buffers_config *b = &d->scenario->topology.buffers;
    const struct trib_toml_value *buffer = find(d, "buffer");
    const struct trib_toml_value *alpha = find(d, "alpha");

    if (buffer != NULL && sim_buffers_are_any(b)) {
        return sim__refuse(d, buffer->key_place, "buffer is per port and does not apply with %s",
                           b->is_lossless ? "pfc" : "shared");
    }
    if (alpha != NULL && b->shared_bytes == 0) {
        return sim__refuse(d, alpha->key_place, "alpha needs shared: alpha is a share of its free bytes");
    }
    if (alpha != NULL && b->xoff_bytes != 0) {
        return sim__refuse(d, alpha->key_place, "alpha does not apply with xoff: a port has one threshold");
    }
    for (size_t i = 0; i < sizeof of_pfc / sizeof of_pfc[0]; i++) {
        if (find(d, of_pfc[i]) != NULL && !b->is_lossless) {
            return sim__refuse(d, find(d, of_pfc[i])->key_place, "%s needs pfc = true", of_pfc[i]);
        }
    }
    return !b->is_lossless || b->shared_bytes != 0 || b->xoff_bytes != 0 ||
           sim__refuse(d, find(d, "pfc")->key_place,
                       "pfc needs shared, the buffer of a switch, or xoff, a port's threshold");
}

bool sim__settle_queues(struct draft *d)
{
    struct sim_topology *t = &d->scenario->topology;
    struct sim_buffers_config *b = &t->buffers;
    uint32_t packet = d->scenario->flows.packet;

    if (!fit_keys(d)) {
        return false;
    }
    settle(&t->buffer_bytes, packet);
    settle(&t->mark_bytes, packet);
    settle(&b->xoff_bytes, packet);
    settle(&b->headroom_bytes, packet);
    settle(&b->below_bytes, packet);
    const char *large = b->shared_bytes > SIM_BUFFER_MAX     ? "shared"
                        : b->xoff_bytes > SIM_BUFFER_MAX     ? "xoff"
                        : b->headroom_bytes > SIM_BUFFER_MAX ? "headroom"
                        : b->below_bytes > SIM_BUFFER_MAX    ? "xon_below"
                                                             : NULL;
    if (large != NULL) {
        return sim__refuse(d, find(d, large)->place, "%s is %s; the limit is 1GiB", large, find(d, large)->text);
    }
    if (!sim_buffers_are_any(b)) {
        b->below_bytes = 0;
        return true;
    }
    t->buffer_bytes = SIM_NEVER;
    if (b->alpha_of == 0 && b->xoff_bytes == 0) {
        b->alpha_of = 1;
        b->alpha_by = b->is_lossless ? 8 : 1;
    }
    return b->xoff_bytes == 0 || find(d, "xon_below") == NULL || b->below_bytes < b->xoff_bytes ||
           sim__refuse(d, find(d, "xon_below")->place, "xon_below is %s; must be less than xoff, %s",
                       find(d, "xon_below")->text, find(d, "xoff")->text);
}

/* Checks each switch's memory: the headrooms of its links and one packet to share. */
static bool fit_memory(struct draft *d, const struct sim_network *n)
{
    const struct sim_topology *t = &d->scenario->topology;
    const struct sim_buffers_config *b = &t->buffers;
    const struct trib_toml_value *shared = find(d, "shared");
    const struct trib_toml_value *key = shared != NULL ? shared : find(d, "pfc");

    if (n->gates->headroom_most > SIM_BUFFER_MAX) {
        return sim__refuse(d, key->place,
                           "a link's headroom would be %" PRIu64 " bytes, for its rate and delay; 1GiB at most",
                           n->gates->headroom_most);
    }
    uint32_t node = sim_gates_unfit(n, t->largest);
    char name[SIM_NODE_NAME_MAX];
    struct sim_pool empty = {.size = b->shared_bytes};
    if (!b->is_lossless && b->shared_bytes >= t->largest &&
        !sim_buffers_fits(&n->gates->thresholds, &empty, 0, t->largest)) {
        return sim__refuse(d, find(d, "alpha") != NULL ? find(d, "alpha")->place : key->place,
                           "alpha lets a port have %" PRIu64 " bytes of shared at most: too small for a packet of %u",
                           b->shared_bytes * b->alpha_of / b->alpha_by, t->largest);
    }
    if (node == SIM_NONE) {
        return true;
    }
    if (!b->is_lossless) {
        return sim__refuse(d, key->place, "a buffer of %" PRIu64 " bytes is too small for a packet of %u",
                           b->shared_bytes, t->largest);
    }
    sim_topology_node_name(t, node, name);
    return sim__refuse(d, key->place,
                       "shared is %" PRIu64 " bytes, but the headrooms of %s take %" PRIu64 " and a packet %u",
                       b->shared_bytes, name, n->gates->pools[node].headrooms, t->largest);
}

bool sim__fit_queues(struct draft *d)
{
    static struct sim_network n;

    if (!sim_buffers_are_any(&d->scenario->topology.buffers)) {
        return true;
    }
    bool is_good = sim_topology_build(&d->scenario->topology, &n)
                       ? fit_memory(d, &n)
                       : sim__refuse(d, (struct trib_file_place){1, 1}, "%s", sim_network_lack(&n));
    sim_network_deinit(&n);
    return is_good;
}
