/* SPDX-License-Identifier: Apache-2.0 */
/* plan_deploy.h: `tributary plan --deploy`: which switches to replace next by switches that add. Read next:
 * plan/deploy.h. */
#ifndef TRIB_CLI_PLAN_DEPLOY_H
#define TRIB_CLI_PLAN_DEPLOY_H

#include "plan/jobs.h"

struct plan_deploy_arguments {
    uint32_t count;     /* switches; 0: not asked for */
    const char *server; /* host; NULL: the first worker's */
    bool json;
};

/* Prints the advice for one job, or, without one, for all hosts. Returns the exit status. */
int plan_deploy_advise(const struct plan_deploy_arguments *arguments, const struct plan_network *net,
                       const struct plan_jobs *jobs);

#endif
