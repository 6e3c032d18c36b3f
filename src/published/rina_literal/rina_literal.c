/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal.c: rina-literal's row of the table of schemes. */
#include "published/rina_literal/rina_literal.h"

const struct trib_scheme trib_rina_literal = {
    .name = "rina-literal",
    .guarantee =
        "as rina; a rank of each rack carries the sums of other racks, as published, so its link carries almost "
        "twice the bytes, and tells its switch when to pull them",
    .refusal = "it shows the published agents, in the simulator alone; jobs use rina",
    .can_be_simulated = true,
    .follows_congestion = true,
    .is_chain = true,
    .has_agents = true,
    .worker = &trib_rina_literal_worker,
    .switch_node = &trib_rina_literal_switch,
};
