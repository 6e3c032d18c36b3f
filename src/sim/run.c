/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: see run.h. Timers: the sources' by their numbers, one for the end of the warm-up, then the flows'.
 * Read next: results.c. */
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

#define TIMER_WARM SIM_SOURCES_MAX
#define TIMER_FLOWS (TIMER_WARM + 1)

static void on_arrived(void *user, uint32_t packet)
{
    struct sim_run *run = user;

    sim_flows_arrived(&run->flows, packet);
}

static void on_dropped(void *user, uint32_t packet)
{
    struct sim_run *run = user;

    sim_flows_dropped(&run->flows, packet);
}

static void on_soon(void *user, uint32_t packet)
{
    const struct sim_run *run = user;

    sim_flows_soon(&run->flows, packet);
}

static void on_sooner(void *user, uint32_t packet)
{
    const struct sim_run *run = user;

    sim_flows_sooner(&run->flows, packet);
}

static void on_timer(void *user, uint32_t timer)
{
    struct sim_run *run = user;

    if (timer >= TIMER_FLOWS) {
        sim_flows_timer(&run->flows, timer);
    } else if (timer == TIMER_WARM) {
        run->is_warm = true;
        run->warm_bytes = run->flows.bytes;
        run->begun = 0;
    } else {
        uint64_t before = run->flows.started;
        sim_source_timer(&run->sources[timer]);
        run->begun += run->flows.started - before;
    }
}

static void on_ended(void *user, const struct sim_flow_end *end)
{
    struct sim_run *run = user;

    if (end->start_ps < run->scenario->warmup_ps) {
        return;
    }
    if (run->end_count == run->end_room) {
        run->end_room = run->end_room == 0 ? 1024 : 2 * run->end_room;
        run->ends = realloc(run->ends, run->end_room * sizeof *run->ends);
        TRIB_ASSERT(run->ends != NULL);
    }
    run->ends[run->end_count++] = *end;
}

bool sim_run_init(struct sim_run *run, const struct sim_scenario *scenario)
{
    memset(run, 0, sizeof *run);
    run->scenario = scenario;
    if (!sim_topology_build(&scenario->topology, &run->network)) {
        return false;
    }
    run->network.receiver = (struct sim_receiver){
        .arrived = on_arrived,
        .timer = on_timer,
        .dropped = on_dropped,
        .soon = on_soon,
        .sooner = on_sooner,
        .user = run,
    };
    sim_flows_init(&run->flows, &run->network, &scenario->flows, TIMER_FLOWS);
    run->flows.ended = on_ended;
    run->flows.user = run;
    for (uint32_t i = 0; i < scenario->traffic_count; i++) {
        sim_source_init(&run->sources[i], &scenario->traffic[i], &run->flows, scenario->seed, i);
    }
    if (scenario->warmup_ps != 0) {
        sim_timer_set(&run->network.events, TIMER_WARM, scenario->warmup_ps);
    } else {
        run->is_warm = true;
    }
    return true;
}

void sim_run_deinit(struct sim_run *run)
{
    sim_flows_deinit(&run->flows);
    sim_network_deinit(&run->network);
    free(run->ends);
    memset(run, 0, sizeof *run);
}

bool sim_run_advance(struct sim_run *run, uint64_t hops)
{
    if (!run->is_over) {
        run->is_over = !sim_network_run(&run->network, run->scenario->duration_ps, hops);
    }
    if (run->flows.bytes != run->quiet_bytes || run->flows.started == run->flows.over) {
        run->quiet_bytes = run->flows.bytes;
        run->quiet_ps = sim_run_now(run);
    }
    return !run->is_over;
}

uint64_t sim_run_stalled(const struct sim_run *run, uint64_t for_ps)
{
    bool is_quiet = sim_run_now(run) - run->quiet_ps >= for_ps;

    return is_quiet ? run->flows.started - run->flows.over : 0;
}

const char *sim_run_check(const struct sim_run *run)
{
    const struct sim_network *n = &run->network;
    uint64_t in_network = 0;

    if (n->sent != n->arrived + n->dropped + sim_network_count(n)) {
        return "packets sent are not those that arrived, were dropped, or are on links";
    }
    for (uint32_t i = 0; i < run->flows.high; i++) {
        in_network += run->flows.flows[i].memory != NULL ? run->flows.flows[i].in_network : 0;
    }
    if (in_network != sim_network_count(n)) {
        return "packets on links are not those that flows have under way";
    }
    return NULL;
}
