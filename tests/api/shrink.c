/* SPDX-License-Identifier: Apache-2.0 */
/* shrink.c: a failing case is made small: steps are left out, settings and fields set back to their defaults or halved,
 * as long as the case still fails in the same way (kind.h). Read next: main.c. */
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/kind.h"

#define TRIES 3 /* what depends on time need not fail each time */
#define LIMIT_S 12

static bool still_fails(const struct api_case *c, struct api_result *result, uint64_t patience)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct api_result one;
        api_pool_run(c, LIMIT_S * (uint32_t)patience, &one);
        if (one.verdict == API_BAD && is_same_kind(one.text, result->text)) {
            *result = one;
            return true;
        }
    }
    return false;
}

struct shrinking {
    struct api_case *c;
    struct api_result *result;
    time_t until;
    uint64_t patience;
};

static bool try_case(struct shrinking *s, struct api_case *candidate)
{
    api_settle(candidate);
    if (memcmp(candidate, s->c, sizeof *candidate) == 0 || time(NULL) >= s->until ||
        !still_fails(candidate, s->result, s->patience)) {
        return false;
    }
    *s->c = *candidate;
    return true;
}

static bool drop_steps(struct shrinking *s)
{
    bool any = false;
    for (uint32_t size = s->c->steps; size > 0; size /= 2) {
        for (uint32_t at = s->c->steps; at-- > 0;) {
            struct api_case candidate = *s->c;
            if (at + size > candidate.steps) {
                continue;
            }
            memmove(&candidate.step[at], &candidate.step[at + size],
                    (candidate.steps - at - size) * sizeof candidate.step[0]);
            candidate.steps -= size;
            memset(&candidate.step[candidate.steps], 0, size * sizeof candidate.step[0]);
            any = try_case(s, &candidate) || any;
        }
    }
    return any;
}

/* The default, else half of the way to it. */
static bool lower(struct shrinking *s, size_t offset, int64_t value)
{
    for (int64_t part = 1; part <= 2; part++) {
        struct api_case candidate = *s->c;
        int64_t *at = (int64_t *)(void *)((char *)&candidate + offset);
        int64_t to = part == 1 ? value : value + (*at - value) / 2;
        if (*at != to) {
            *at = to;
            if (try_case(s, &candidate)) {
                return true;
            }
        }
    }
    return false;
}

static bool lower_values(struct shrinking *s)
{
    bool any = false;
    for (int i = 0; i < API_SETTINGS; i++) {
        any = lower(s, offsetof(struct api_case, setting) + (size_t)i * sizeof(int64_t),
                    api_setting_default((enum api_setting)i)) ||
              any;
    }
    for (uint32_t k = 0; k < s->c->steps; k++) {
        for (int i = 0; i < API_FIELDS; i++) {
            size_t offset = offsetof(struct api_case, step) + k * sizeof(struct api_step) +
                            offsetof(struct api_step, field) + (size_t)i * sizeof(int64_t);
            any = lower(s, offset, api_field_default((enum api_field)i)) || any;
        }
    }
    return any;
}

void api_shrink(struct api_case *c, struct api_result *result, uint32_t seconds, uint64_t patience)
{
    struct shrinking s = {c, result, time(NULL) + (time_t)seconds, patience};
    while (time(NULL) < s.until && (drop_steps(&s) || lower_values(&s))) {
    }
}
