/* SPDX-License-Identifier: Apache-2.0 */
/* ps.c: the row of parameter servers in the table of schemes. */
#include "schemes/ps/ps.h"

#include "protocol/protocol.h"

const struct trib_scheme trib_ps = {
    .name = "ps",
    .guarantee =
        "every contribution exactly once or an error; float32 sums with the same bits in every run; servers on "
        "hosts do all the adding",
    .follows_congestion = true,
    .has_servers = true,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};
