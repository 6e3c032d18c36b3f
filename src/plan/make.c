/* SPDX-License-Identifier: Apache-2.0 */
/* make.c: see make.h. */
#include "plan/make.h"

#include <stdlib.h>

#include "io/explain.h"
#include "plan/round.h"

/* The stages move from the pack to the plan. */
static void take_stages(struct plan *plan, struct plan_pack *pack)
{
    plan->stages = pack->stages;
    plan->stage_count = pack->stage_count;
    plan->tree_count = pack->tree_count;
    plan->solved = pack->step.solved;
    plan->is_early = pack->is_early;
    pack->stages = NULL;
    pack->stage_count = 0;
}

enum trib_status plan_make(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs,
                           const struct plan_options *options, char *error)
{
    struct plan_pricer pricer = {.net = NULL};
    struct plan_pack pack = {.pricer = NULL};
    *plan = (struct plan){.family = options->family,
                          .most = options->most > 0 ? options->most : PLAN_TREES_MAX,
                          .paths = net->paths,
                          .headroom = net->headroom,
                          .has_multicast = net->has_multicast,
                          .network_digest = plan_network_digest(net),
                          .jobs_digest = plan_jobs_digest(jobs),
                          .job_count = jobs->count,
                          .grants = calloc(jobs->count + 1U, sizeof *plan->grants)};
    enum trib_status status = plan_pricer_init(&pricer, net, jobs, options->family, error);
    if (status == TRIB_OK && (plan->grants == NULL || !plan_pack_init(&pack, &pricer))) {
        trib_explain(error, "out of memory");
        status = TRIB_ERR_MEMORY;
    }
    if (status == TRIB_OK) {
        pack.is_over = options->is_over;
        pack.is_late = options->is_late;
        pack.user = options->user;
        status = plan_pack_solve(&pack, error);
    }
    status = status == TRIB_OK ? plan_round(plan, &pack, error) : status;
    if (status == TRIB_OK) {
        take_stages(plan, &pack);
    }
    plan_pack_free(&pack);
    plan_pricer_free(&pricer);
    return status;
}
