/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: see explain.h. */
#include "io/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include <tributary/comm.h>

void trib_explain(char *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TRIB_ERROR_TEXT_MAX, format, arguments);
    va_end(arguments);
}

static const char *name_of(const char *run)
{
    return run[0] != '\0' ? run : "a run without a name";
}

void trib_explain_runs(char *error, const char *job, const char *first_run, uint32_t first, const char *run,
                       uint32_t rank)
{
    trib_explain(error,
                 "two runs of job %s: rank %u is of %s, rank %u of %s: give each run a job name of its own (TRIB_JOB); "
                 "if they are one run, give all its ranks the same TRIB_RUN",
                 job, first, name_of(first_run), rank, name_of(run));
}
