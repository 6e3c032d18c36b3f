/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: a plan as a page of HTML that needs no other file: the network with the loads of its links, and the trees of
 * each job. Read next: page.c, report/graph.h. */
#ifndef TRIB_PLAN_PAGE_H
#define TRIB_PLAN_PAGE_H

#include "plan/check.h"

/* A plan, and its input and proof. */
struct plan_view {
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    const struct plan *plan;
    const struct plan_proof *proof;
};

/* Writes the page to a file. False: error has the cause. */
bool plan_page_write(const struct plan_view *view, const char *path, char *error);

#endif
