/* SPDX-License-Identifier: Apache-2.0 */
/* waited.h: the time that an error says has passed. It is measured, so a test knows the least that it can be. */
#ifndef TRIB_TESTS_WAITED_H
#define TRIB_TESTS_WAITED_H

#include "io/units.h"
#include "patience.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Is "waited 1.2 s" in the text, with these words before and after it, and a time of least_ms at least, or of 10 s more at
 * most? */
static inline bool says_waited(const char *text, const char *before, unsigned least_ms, const char *after)
{
    char words[256];
    (void)snprintf(words, sizeof words, "%swaited ", before);
    const char *at = strstr(text, words);
    double time;
    char unit[3];
    int end = 0;
    if (at == NULL || sscanf(at + strlen(words), "%lf %2[ms]%n", &time, unit, &end) != 2) {
        return false;
    }
    double ms = strcmp(unit, "ms") == 0 ? time : time * 1000;
    return ms >= least_ms && ms <= least_ms + 10000.0 * patience() &&
           strncmp(at + strlen(words) + end, after, strlen(after)) == 0;
}

/* And behind it the setting that it was: " (TRIB_TIMEOUT is 500 ms)". */
static inline bool says_waited_as_set(const char *text, const char *before, unsigned least_ms, const char *name,
                                      uint64_t setting_ns)
{
    char setting[TRIB_UNITS_TEXT_MAX];
    char after[96];
    trib_format_duration(setting_ns, setting);
    (void)snprintf(after, sizeof after, " (%s is %s)", name, setting);
    return says_waited(text, before, least_ms, after);
}

#endif
