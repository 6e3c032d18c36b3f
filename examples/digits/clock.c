/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: see clock.h. */
#define _GNU_SOURCE
#include "clock.h"

#include <time.h>

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void clock_wait(unsigned milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}
