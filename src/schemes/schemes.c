/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.c: the table. */
#include "schemes/schemes.h"

#include "schemes/literal/literal.h"
#include "schemes/panama/panama.h"
#include "schemes/panama_literal/panama_literal.h"
#include "schemes/ring/ring.h"
#include "schemes/switchml/switchml.h"

static const struct trib_scheme *const table[] = {&trib_switchml,       &trib_literal, &trib_panama,
                                                  &trib_panama_literal, &trib_ring,    &trib_hybrid};

const struct trib_scheme *trib_scheme_at(unsigned index)
{
    return index < sizeof table / sizeof table[0] ? table[index] : NULL;
}

/* Characters of the row's name, if `name` begins with it; else 0. Core and schemes need no more of libc than mem*. */
static size_t matched(const struct trib_scheme *scheme, const char *name)
{
    size_t at = 0;

    while (scheme->name[at] != '\0' && scheme->name[at] == name[at]) {
        at++;
    }
    return scheme->name[at] == '\0' ? at : 0;
}

uint16_t trib_scheme_group(const char *name)
{
    uint32_t group = 0;

    while (*name != '\0' && *name != ':') {
        name++;
    }
    if (*name == '\0' || name[1] == '0') {
        return 0;
    }
    while (*++name >= '0' && *name <= '9' && group <= TRIB_SESSION_RANKS_MAX) {
        group = 10 * group + (uint32_t)(*name - '0');
    }
    return *name == '\0' && group <= TRIB_SESSION_RANKS_MAX ? (uint16_t)group : 0;
}

const struct trib_scheme *trib_scheme_find(const char *name)
{
    const struct trib_scheme *scheme;

    for (unsigned i = 0; (scheme = trib_scheme_at(i)) != NULL; i++) {
        size_t at = matched(scheme, name);
        if (at != 0 && (name[at] == '\0' || (name[at] == ':' && scheme->has_groups && trib_scheme_group(name) != 0))) {
            return scheme;
        }
    }
    return NULL;
}
