/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c: see scope.h. */
#include "net/scope.h"

#include <net/if.h>
#include <stdio.h>

_Static_assert(TRIB_SCOPE_TEXT_MAX == 1 + IF_NAMESIZE, "a scope's text holds every interface name");

void trib_scope_format(uint32_t index, char text[TRIB_SCOPE_TEXT_MAX])
{
    char name[IF_NAMESIZE];
    if (if_indextoname(index, name) != NULL) {
        (void)snprintf(text, TRIB_SCOPE_TEXT_MAX, "%%%s", name);
    } else {
        (void)snprintf(text, TRIB_SCOPE_TEXT_MAX, "%%%u", index);
    }
}
