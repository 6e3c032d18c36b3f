/* SPDX-License-Identifier: Apache-2.0 */
/* command_jobs_none.c: `tributary jobs` in a build without libcurl or jansson: names the missing libraries. */
#include <stddef.h>

#include "cli/commands.h"

static const struct option_row rows[] = {{.name = NULL}};

const struct option_command options_of_jobs = {
    .usage = "tributary jobs [options] [JOB]",
    .summary = "This build has no HTTP client.",
    .rows = rows,
};

int command_jobs(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return complain(
        "jobs: this build has no HTTP client: install libcurl4-openssl-dev and libjansson-dev, and build again");
}
