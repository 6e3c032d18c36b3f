/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the jobs of a switch, as `tributary jobs` shows them. Read next: command_jobs.c (asking),
 * jobs_print.c (showing). */
#ifndef TRIB_CLI_JOBS_H
#define TRIB_CLI_JOBS_H

#include <jansson.h>
#include <stdbool.h>

/* One answer of /v1/jobs, and the one before it: rates are the difference. */
struct jobs_view {
    const json_t *now;    /* array of jobs, each with its communicators */
    const json_t *before; /* NULL: none yet */
    double seconds;       /* between the two */
    const json_t *lends;  /* array: slots of jobs of other switches; NULL: not known */
    const char *name;     /* of the job, or communicator, to show in full; NULL: all, a line each */
};

/* False: there is no job of that name. */
bool jobs_print(const struct jobs_view *view);

#endif
