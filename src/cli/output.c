/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/options.h"
#include "io/explain.h"

bool output_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) {
            return false;
        }
    }
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

int output_end(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return status;
    }
    complain("results are lost: standard output cannot be written%s%s", errno != 0 ? ": " : "",
             errno != 0 ? trib_explain_errno(errno) : "");
    return status != 0 ? status : 1;
}
