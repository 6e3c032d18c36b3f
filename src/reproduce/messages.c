/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c: see messages.h. */
#include "reproduce/messages.h"

#include "core/assert.h"
#include "core/prng.h"

#define SOURCE 255U /* what its flows say that they are of */

static uint32_t steps_of(const struct ring_messages *ring)
{
    return 2 * (ring->workers - 1);
}

/* The worker on this host; workers: there is none. */
static uint32_t find_worker(const struct ring_messages *ring, uint32_t host)
{
    uint32_t worker = 0;

    while (worker < ring->workers && ring->host[worker] != host) {
        worker++;
    }
    return worker;
}

/* The next flows begin when the network has stopped, between two events. */
static void on_ended(void *user, const struct sim_flow_end *end)
{
    struct ring_messages *ring = user;
    uint32_t from = end->plan.source == SOURCE ? find_worker(ring, end->plan.from) : ring->workers;

    if (from == ring->workers) {
        ring->ended(ring->user, end);
        return;
    }
    ring->sent[from]++;
    ring->got[(from + 1) % ring->workers]++;
    ring->done += ring->sent[from] == steps_of(ring);
    ring->end_ps = end->end_ps;
    ring->cell->sim.network.stop = true;
}

void ring_messages_init(struct ring_messages *ring, struct reproduce_cell *cell, const uint32_t *hosts,
                        uint32_t workers, uint64_t seed)
{
    struct sim_flows *flows = &cell->sim.flows;

    TRIB_ASSERT(workers >= 2 && workers <= RING_WORKERS_MAX);
    *ring = (struct ring_messages){.cell = cell, .workers = workers, .ended = flows->ended, .user = flows->user};
    for (uint32_t i = 0; i < workers; i++) {
        ring->host[i] = hosts[i];
        ring->hash[i] = (uint32_t)trib_mix64(seed * RING_WORKERS_MAX + i);
    }
    flows->ended = on_ended;
    flows->user = ring;
}

void ring_messages_begin(struct ring_messages *ring, uint64_t bytes)
{
    TRIB_ASSERT(ring->workers > 0);
    for (uint32_t i = 0; i < ring->workers; i++) {
        ring->begun[i] = ring->sent[i] = ring->got[i] = 0;
    }
    ring->done = 0;
    ring->bytes = (bytes + ring->workers - 1) / ring->workers;
    (void)ring_messages_step(ring);
}

bool ring_messages_step(struct ring_messages *ring)
{
    for (uint32_t i = 0; i < ring->workers; i++) {
        uint32_t step = ring->begun[i];
        if (step == steps_of(ring) || ring->sent[i] < step || ring->got[i] < step) {
            continue;
        }
        struct sim_flow_plan plan = {
            .bytes = ring->bytes,
            .from = ring->host[i],
            .to = ring->host[(i + 1) % ring->workers],
            .source = SOURCE,
            .hash = ring->hash[i],
        };
        (void)sim_flows_start(&ring->cell->sim.flows, &plan);
        ring->begun[i]++;
    }
    return ring->done == ring->workers;
}

bool ring_messages_sum(struct reproduce_run *run, struct ring_messages *ring, uint64_t bytes, uint64_t *took_ps)
{
    uint64_t begin_ps = sim_run_now(&ring->cell->sim);

    ring_messages_begin(ring, bytes);
    do {
        uint64_t hops = ring->cell->sim.network.hops;
        if (!reproduce_advance(run, ring->cell, SIM_NEVER)) {
            return false;
        }
        TRIB_ASSERT(ring->cell->sim.network.hops != hops); /* lossless: somebody's flow is under way */
    } while (!ring_messages_step(ring));
    *took_ps = ring->end_ps - begin_ps;
    return true;
}
