/* SPDX-License-Identifier: Apache-2.0 */
/* atp.c: ATP's rows of the table of schemes. */
#include "schemes/atp/atp.h"

#include "protocol/protocol.h"

#define ATP_GUARANTEE                                                                                     \
    "every contribution exactly once or an error, whatever the switches on the way add, forget or lose; " \
    "integers with the same bits in every run, sums of floats in the order of arrival"

const struct trib_scheme trib_atp = {
    .name = "atp",
    .guarantee = ATP_GUARANTEE,
    .follows_congestion = true,
    .has_servers = true,
    .has_combiners = true,
    .sums_by_luck = true,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};

const struct trib_scheme trib_atp_aimd = {
    .name = "atp-aimd",
    .guarantee = ATP_GUARANTEE,
    .follows_congestion = true,
    .has_servers = true,
    .has_combiners = true,
    .sums_by_luck = true,
    .worker = &trib_protocol_aimd_worker,
    .switch_node = &trib_protocol_paced_switch,
};
