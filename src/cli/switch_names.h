/* SPDX-License-Identifier: Apache-2.0 */
/* switch_names.h: the names of switches in a topology file: as --listen and --with of `tributary switch` do, or by
 * their addresses. Read next: fabric/topology.h. */
#ifndef TRIB_CLI_SWITCH_NAMES_H
#define TRIB_CLI_SWITCH_NAMES_H

#include "fabric/topology.h"
#include "switchd/switchd.h"

struct switch_names {
    const struct trib_switchd_config *config; /* with listen, also and lenders */
    const char *listen;                       /* as it was written; NULL: it was not */
    const char *with;
};

/* Borrowed. */
struct trib_switch_names switch_names_of(const struct switch_names *names);

#endif
