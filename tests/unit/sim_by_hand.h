/* SPDX-License-Identifier: Apache-2.0 */
/* sim_by_hand.h: small networks and scenarios of the simulator that tests write as structures, and packets that they
 * send by hand. Included after cmocka.h. Read next: test_sim_network.c (who uses it). */
#ifndef TRIB_TEST_SIM_BY_HAND_H
#define TRIB_TEST_SIM_BY_HAND_H

#include <string.h>

#include "sim/run.h"

#define GBPS UINT64_C(1000000000)
#define US_PS UINT64_C(1000000)
#define MS_PS UINT64_C(1000000000)

/* 10 Gbps and 1 us everywhere, ports of 200 packets that mark from 20 on; in every tier there are a few. */
static inline struct sim_topology small_network(enum sim_topology_kind kind, uint32_t hosts)
{
    return (struct sim_topology){
        .kind = kind,
        .hosts = hosts,
        .leaves = 4,
        .spines = 4,
        .k = 4,
        .routers = 3,
        .globals = 1,
        .edge = {10 * GBPS, US_PS},
        .fabric = {10 * GBPS, US_PS},
        .buffer_bytes = 200 * 1500,
        .mark_bytes = 20 * 1500,
        .smallest = 41,
        .largest = 1500,
    };
}

/* Nothing happens in it yet. */
static inline struct sim_scenario small_scenario(enum sim_topology_kind kind, uint32_t hosts)
{
    return (struct sim_scenario){
        .seed = 1,
        .duration_ps = 10000 * MS_PS,
        .topology = small_network(kind, hosts),
        .flows = {.packet = 1500, .header = 40, .ack = 64, .window = 256, .policy = TRIB_CONGESTION_DCTCP},
    };
}

/* A scenario's run to its end; what must hold at any time does. */
static inline void finish_run(struct sim_run *run)
{
    while (sim_run_advance(run, 10000)) {
        assert_null(sim_run_check(run));
    }
    assert_null(sim_run_check(run));
}

/* ---- packets by hand ---- */

/* A network alone, and what came. The first member of a test's own, where its timer wants more. */
struct hand_world {
    struct sim_network n;
    uint64_t arrived;
    uint64_t dropped;
    uint64_t marked;
    uint64_t last_ps;
    double sum_ps; /* of times from being sent, which stands in the packet's owner and sequence */
};

static inline void hand_arrived(void *user, uint32_t packet)
{
    struct hand_world *w = user;
    const struct sim_packet *p = &w->n.packets[packet];

    w->arrived++;
    w->last_ps = sim_network_now(&w->n);
    w->marked += (p->flags & SIM_ECN_MARKED) != 0;
    w->sum_ps += (double)(w->last_ps - ((uint64_t)p->owner << 32 | p->sequence));
    sim_packet_free(&w->n, packet);
}

static inline void hand_dropped(void *user, uint32_t packet)
{
    struct hand_world *w = user;

    (void)packet;
    w->dropped++;
}

/* Ports of unlimited buffers, which do not mark, unless the topology says so; timer: or NULL. */
static inline void hand_open(struct hand_world *w, const struct sim_topology *t, void (*timer)(void *, uint32_t))
{
    memset(w, 0, sizeof *w);
    assert_true(sim_topology_build(t, &w->n));
    w->n.receiver = (struct sim_receiver){.arrived = hand_arrived, .timer = timer, .dropped = hand_dropped, .user = w};
}

static inline void hand_send(struct hand_world *w, uint32_t from, uint32_t to, uint16_t size, uint32_t hash)
{
    uint32_t packet = sim_packet_take(&w->n);
    uint64_t now_ps = sim_network_now(&w->n);

    w->n.packets[packet] = (struct sim_packet){
        .to = (uint16_t)to,
        .size = size,
        .hash = hash,
        .flags = SIM_ECN_CAPABLE,
        .owner = (uint32_t)(now_ps >> 32),
        .sequence = (uint32_t)now_ps,
    };
    sim_network_send(&w->n, from, packet);
}

/* Until nothing is left: every packet is accounted for. */
static inline void hand_run(struct hand_world *w)
{
    assert_false(sim_network_run(&w->n, SIM_NEVER - 1, SIM_NEVER));
    assert_int_equal(sim_network_count(&w->n), 0);
    assert_int_equal(w->n.sent, w->n.arrived + w->n.dropped);
    assert_int_equal(w->arrived, w->n.arrived);
    assert_int_equal(w->dropped, w->n.dropped);
}

#endif
