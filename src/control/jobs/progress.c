/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. */
#include "control/jobs/progress.h"

#include "control/roots/trees.h"

uint64_t trib_job_planned_rate(const struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_planned_job *planned = trib_trees_planned(jobs, job);
    return planned ? planned->rate_bps / 8 : 0;
}

uint64_t trib_job_achieved_rate(const struct trib_job *job)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        uint64_t achieved = job->ranks[i].achieved;
        if (trib_job_leads(job, i) && achieved == 0) {
            return 0;
        }
        best = achieved > best ? achieved : best;
    }
    return best;
}

bool trib_job_misses_plan(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint64_t planned = trib_job_planned_rate(jobs, job);
    uint64_t achieved = trib_job_achieved_rate(job);
    uint64_t difference = achieved > planned ? achieved - planned : planned - achieved;
    return planned != 0 && achieved != 0 && difference >= planned / 100 * TRIB_PLAN_MISSED_PERCENT;
}

void trib_job_progress(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message)
{
    double rate = (double)message->progress.bytes * 1e9 / (double)message->progress.busy_ns;
    job->ranks[index].achieved = rate >= 1 ? (uint64_t)rate : 1;
    if (job->misses_plan || !trib_job_misses_plan(jobs, job)) {
        return;
    }
    job->misses_plan = true;
    trib_jobs_say(
        jobs, TRIB_LOG_WARN,
        "job %s: its ranks reach %.1f Mbit/s, the plan has %.1f: the network or the jobs are not those of the "
        "plan; make a new one (tributary plan)",
        job->name, (double)trib_job_achieved_rate(job) * 8e-6, (double)trib_job_planned_rate(jobs, job) * 8e-6);
}
