/* SPDX-License-Identifier: Apache-2.0 */
/* rina.c: Rina's row of the table of schemes. */
#include "schemes/rina/rina.h"

#include "protocol/protocol.h"

const struct trib_scheme trib_rina = {
    .name = "rina",
    .guarantee =
        "as panama, without a quorum; the switches of racks form chains, in which each sends its sum on to the "
        "next, so no switch between racks needs to add",
    .follows_congestion = true,
    .is_chain = true,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};
