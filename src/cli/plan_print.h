/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.h: a plan, its proof, and a comparison of two plans, for people and as JSON. Read next: command_plan.c. */
#ifndef TRIB_CLI_PLAN_PRINT_H
#define TRIB_CLI_PLAN_PRINT_H

#include "plan/page.h"

void plan_print(const struct plan_view *view);
/* Trees, stages, and how full links and adders are. */
void plan_print_explain(const struct plan_view *view);
void plan_print_json(const struct plan_view *view);
/* Rates of the same jobs before and after a change. */
void plan_print_change(const struct plan_view *before, const struct plan_view *after, const char *change);

#endif
