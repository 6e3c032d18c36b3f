/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: plans as files, in TOML: docs/PLAN.md describes them. The same plan gives the same bytes. */
#ifndef TRIB_PLAN_FILE_H
#define TRIB_PLAN_FILE_H

#include "io/toml.h"
#include "plan/plan.h"

/* False: error says why it could not be written. */
bool plan_write(const struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, const char *path,
                char *error);
/* Reads from an open file a plan of this network and these jobs, without further checks. is_by_name: only the names of
 * the jobs have to be those of the plan. False: error has the cause, and the place. Free the plan in any case. */
bool plan_read(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, bool is_by_name,
               const struct trib_toml *toml, char *error);

#endif
