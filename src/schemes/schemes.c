/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.c: the table. */
#include "schemes/schemes.h"

#include "schemes/literal/literal.h"
#include "schemes/ring/ring.h"
#include "schemes/switchml/switchml.h"

static const struct trib_scheme *const table[] = {&trib_switchml, &trib_literal, &trib_ring, &trib_hybrid};

const struct trib_scheme *trib_scheme_at(unsigned index)
{
    return index < sizeof table / sizeof table[0] ? table[index] : NULL;
}

/* Core and schemes need no more of libc than mem*. */
static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const struct trib_scheme *trib_scheme_find(const char *name)
{
    for (unsigned i = 0; trib_scheme_at(i) != NULL; i++) {
        if (is_same(trib_scheme_at(i)->name, name)) {
            return trib_scheme_at(i);
        }
    }
    return NULL;
}
