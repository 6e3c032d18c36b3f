/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.c: the table. */
#include "schemes/schemes.h"

#include <string.h>

#include "schemes/switchml/switchml.h"

static const struct trib_scheme *const table[] = {&trib_switchml};

const struct trib_scheme *trib_scheme_at(unsigned index)
{
    return index < sizeof table / sizeof table[0] ? table[index] : NULL;
}

const struct trib_scheme *trib_scheme_find(const char *name)
{
    for (unsigned i = 0; trib_scheme_at(i) != NULL; i++) {
        if (strcmp(trib_scheme_at(i)->name, name) == 0) {
            return trib_scheme_at(i);
        }
    }
    return NULL;
}
