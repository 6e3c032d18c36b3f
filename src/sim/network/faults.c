/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c: see faults.h. A held packet does not count as arrived in the network's counters. Read next: run.c. */
#include "sim/network/faults.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"

void sim_faults_init(struct sim_faults *f, struct sim_network *network, const struct sim_faults_config *config,
                     uint64_t seed, uint32_t timer)
{
    *f = (struct sim_faults){
        .network = network,
        .config = *config,
        .prng = {.state = trib_mix64(seed + UINT64_C(0x6661756c7473))},
        .timer = timer,
    };
}

void sim_faults_deinit(struct sim_faults *f)
{
    free(f->held);
    memset(f, 0, sizeof *f);
}

static bool happens(struct sim_faults *f, double share)
{
    return share > 0 && (double)(trib_prng_next(&f->prng) >> 11) < share * 0x1p53;
}

static bool is_before(const struct sim_held *a, const struct sim_held *b)
{
    return a->due_ps != b->due_ps ? a->due_ps < b->due_ps : a->order < b->order;
}

static void set_timer(struct sim_faults *f)
{
    sim_timer_set(&f->network->events, f->timer, f->count != 0 ? f->held[0].due_ps : SIM_NEVER);
}

static void hold(struct sim_faults *f, uint32_t packet)
{
    struct sim_held held = {
        .due_ps = sim_network_now(f->network) + trib_prng_below(&f->prng, f->config.late_ps + 1),
        .order = f->duplicated + f->reordered,
        .packet = packet,
    };

    if (f->count == f->room) {
        f->room = f->room == 0 ? 256 : 2 * f->room;
        f->held = realloc(f->held, f->room * sizeof *f->held);
        TRIB_ASSERT(f->held != NULL);
    }
    uint32_t at = f->count++;
    while (at > 0 && is_before(&held, &f->held[(at - 1) / 2])) {
        f->held[at] = f->held[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    f->held[at] = held;
    set_timer(f);
}

enum sim_fate sim_faults_draw(struct sim_faults *f, uint32_t packet)
{
    if (happens(f, f->config.loss)) {
        f->lost++;
        f->network->arrived--;
        f->network->dropped++;
        return SIM_FATE_LOST;
    }
    if (happens(f, f->config.reorder)) {
        f->reordered++;
        f->network->arrived--;
        hold(f, packet);
        return SIM_FATE_HELD;
    }
    return SIM_FATE_COMES;
}

uint32_t sim_faults_copy(struct sim_faults *f, uint32_t packet)
{
    struct sim_network *n = f->network;

    if (!happens(f, f->config.duplicate)) {
        return SIM_NONE;
    }
    uint32_t copy = sim_packet_take(n);
    n->packets[copy] = n->packets[packet];
    n->details[copy] = n->details[packet];
    n->sent++;
    f->duplicated++;
    hold(f, copy);
    return copy;
}

uint32_t sim_faults_due(struct sim_faults *f)
{
    if (f->count == 0 || f->held[0].due_ps > sim_network_now(f->network)) {
        set_timer(f);
        return SIM_NONE;
    }
    uint32_t packet = f->held[0].packet;
    struct sim_held last = f->held[--f->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < f->count; child = 2 * at + 1) {
        child += child + 1 < f->count && is_before(&f->held[child + 1], &f->held[child]);
        if (is_before(&last, &f->held[child])) {
            break;
        }
        f->held[at] = f->held[child];
        at = child;
    }
    f->held[at] = last;
    f->network->arrived++;
    return packet;
}
