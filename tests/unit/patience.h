/* SPDX-License-Identifier: Apache-2.0 */
/* patience.h: bounds of time on machines that are slow or busy. Every bound by the clock that another process could
 * break is multiplied by TRIB_PATIENCE, which slow builds set (tools/test_all.sh). What comes first, and how often, is
 * counted, never timed. */
#ifndef TRIB_TESTS_PATIENCE_H
#define TRIB_TESTS_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>

/* 1 or more. */
static inline uint32_t patience(void)
{
    const char *text = getenv("TRIB_PATIENCE");
    int factor = text != NULL ? atoi(text) : 1;
    return factor > 1 ? (uint32_t)factor : 1;
}

#endif
