/* SPDX-License-Identifier: Apache-2.0 */
/* restarts.c: see restarts.h. Read next: open.c. */
#include "sim/jobs/restarts.h"

#include "sim/jobs/open.h"

static uint64_t next_change(const struct sim_restarts *r, uint64_t from_ps)
{
    uint64_t next_ps = SIM_NEVER;

    for (uint32_t i = 0; i < r->count; i++) {
        const uint64_t times[2] = {r->list[i].at_ps, r->list[i].at_ps + r->list[i].away_ps};
        for (uint32_t t = 0; t < 2; t++) {
            next_ps = times[t] >= from_ps && times[t] < next_ps ? times[t] : next_ps;
        }
    }
    return next_ps;
}

void sim_restarts_init(struct sim_restarts *r, struct sim_jobs *jobs, const struct sim_restart *list, uint32_t count,
                       uint32_t timer)
{
    *r = (struct sim_restarts){.jobs = jobs, .list = list, .count = count, .timer = timer};
    sim_timer_set(&jobs->network->events, timer, next_change(r, 0));
}

/* Handles restarts that begin now before restarts that end now. */
void sim_restarts_timer(struct sim_restarts *r)
{
    uint64_t now_ps = sim_network_now(r->jobs->network);

    for (uint32_t i = 0; i < r->count; i++) {
        if (r->list[i].at_ps == now_ps) {
            sim_jobs_leave(r->jobs, r->list[i].node);
        }
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->list[i].at_ps + r->list[i].away_ps == now_ps) {
            sim_jobs_return(r->jobs, r->list[i].node);
        }
    }
    sim_timer_set(&r->jobs->network->events, r->timer, next_change(r, now_ps + 1));
}
