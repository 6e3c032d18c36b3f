/* SPDX-License-Identifier: Apache-2.0 */
/* command_jobs_none.c: `tributary jobs` in a build without libcurl or jansson: says what is missing. */
#include "cli/commands.h"
#include "cli/options.h"

int command_jobs(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return complain(
        "jobs: this build has no HTTP client: install libcurl4-openssl-dev and libjansson-dev, and build again");
}
