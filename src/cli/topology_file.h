/* SPDX-License-Identifier: Apache-2.0 */
/* topology_file.h: `tributary switch --topology FILE`: who is behind which links, as TOML:
 *   [[link]]
 *   between = "10.0.1.0/24 leaf1"   # hosts, by subnet or address, and a box: any other name
 *   rate = "25Gbps"
 *   [[link]]
 *   between = "leaf1 10.0.9.1:7470" # a switch: as --listen or --with has it, or by address and port
 *   rate = "100Gbps"
 * Read next: fabric/topology.h (what becomes of it). */
#ifndef TRIB_CLI_TOPOLOGY_FILE_H
#define TRIB_CLI_TOPOLOGY_FILE_H

#include <stdbool.h>

#include "fabric/topology.h"
#include "switchd/switchd.h"

/* How the switches are called. */
struct topology_names {
    const struct trib_switchd_config *config; /* with listen, also and lenders */
    const char *listen;                       /* as it was written; NULL: it was not */
    const char *with;
};

struct topology_file {
    struct trib_topology topology;
    struct trib_subnet *subnets; /* that it points to */
    struct trib_topology_link *links;
};

/* False: error says what is wrong, and where; nothing is to be freed. */
bool topology_file_read(struct topology_file *file, const char *path, const struct topology_names *names, char *error);
void topology_file_free(struct topology_file *file);

#endif
