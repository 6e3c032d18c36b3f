/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal.c: rina-literal's row of the table of schemes. */
#include "published/rina_literal/rina_literal.h"

#include "protocol/protocol.h"

const struct trib_scheme trib_rina_literal = {
    .name = "rina-literal",
    .guarantee =
        "as rina; a rank of each rack carries the sums of other racks, as published, so its link carries almost "
        "twice the bytes",
    .refusal = "it shows the published agents, in the simulator alone; jobs use rina",
    .can_be_simulated = true,
    .follows_congestion = true,
    .is_chain = true,
    .has_agents = true,
    .worker = &trib_protocol_aimd_worker,
    .switch_node = &trib_protocol_paced_switch,
};
