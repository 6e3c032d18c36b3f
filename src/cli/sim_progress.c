/* SPDX-License-Identifier: Apache-2.0 */
/* sim_progress.c: see sim_progress.h. */
#include "cli/sim_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/units.h"

struct sim_progress sim_progress_begin(const char *what, bool is_quiet)
{
    uint64_t now_ns = trib_clock_ns();

    return (struct sim_progress){.what = what,
                                 .begin_ns = now_ns,
                                 .next_ns = now_ns + TRIB_SECOND_NS,
                                 .is_quiet = is_quiet,
                                 .is_terminal = isatty(STDERR_FILENO) == 1};
}

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

void sim_progress_show(struct sim_progress *p, const struct sim_run *run)
{
    uint64_t now_ns = trib_clock_ns();
    char text[SIM_PROGRESS_TEXT_MAX];

    if (p->is_quiet || now_ns < p->next_ns) {
        return;
    }
    p->next_ns = now_ns + (p->is_terminal ? TRIB_SECOND_NS / 4 : 10 * TRIB_SECOND_NS);
    p->is_shown = true;
    sim_progress_text(run, now_ns - p->begin_ns, text);
    fprintf(stderr, p->is_terminal ? "\r%s%s\033[K" : "%s%s\n", p->what, text);
}

void sim_progress_end(const struct sim_progress *p)
{
    if (p->is_terminal && p->is_shown) {
        fprintf(stderr, "\r\033[K");
    }
}
