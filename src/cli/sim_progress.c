/* SPDX-License-Identifier: Apache-2.0 */
/* sim_progress.c: see sim_progress.h. */
#include "cli/sim_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "io/clock.h"
#include "io/units.h"

/* Of all iterations, those that have ended: when the last one has, the run is over. */
static double share_of_jobs(const struct sim_run *run)
{
    double ended = 0;
    double all = 0;

    for (uint32_t i = 0; i < run->jobs.count; i++) {
        ended += run->jobs.jobs[i].iterations;
        all += run->jobs.jobs[i].config.iterations;
    }
    return all > 0 ? ended / all : 0;
}

void sim_progress_text(const struct sim_run *run, uint64_t elapsed_ns, char text[SIM_PROGRESS_TEXT_MAX])
{
    double elapsed = (double)elapsed_ns;
    double now_ms = (double)sim_run_now(run) / 1e9;
    double all_ms = (double)run->scenario->duration_ps / 1e9;
    double share = fmax(now_ms / all_ms, share_of_jobs(run));
    char jobs[TRIB_UNITS_TEXT_MAX] = "";
    char left[TRIB_UNITS_TEXT_MAX];

    trib_format_duration(share > 0 ? (uint64_t)(elapsed / share * (1 - share)) : 0, left);
    if (run->jobs.count != 0) {
        (void)snprintf(jobs, sizeof jobs, ", %" PRIu64 " of %u jobs done", run->jobs.done_jobs, run->jobs.count);
    }
    (void)snprintf(text, SIM_PROGRESS_TEXT_MAX,
                   "simulated %.3f of %.3f ms, %.1f M packet-hops, %.1f M/s, %" PRIu64 " flows ended%s, %s left",
                   now_ms, all_ms, (double)run->network.hops / 1e6, (double)run->network.hops / elapsed * 1e3,
                   run->end_count, jobs, share > 0 ? left : "?");
}

void sim_progress_show(struct progress *p, const char *part, const struct sim_run *run)
{
    char text[SIM_PROGRESS_TEXT_MAX];

    if (progress_is_due(p)) {
        sim_progress_text(run, trib_clock_ns() - p->begin_ns, text);
        progress_show(p, "%s%s", part, text);
    }
}
