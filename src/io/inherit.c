/* SPDX-License-Identifier: Apache-2.0 */
/* inherit.c: see inherit.h. */
#include "io/inherit.h"

#include <fcntl.h>
#include <unistd.h>

void trib_inherit_drop(int fd)
{
    if (fd < 0) {
        return;
    }
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup3(nothing, fd, O_CLOEXEC) < 0) {
        (void)close(fd);
    }
    if (nothing >= 0) {
        (void)close(nothing);
    }
}
