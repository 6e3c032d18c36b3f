/* SPDX-License-Identifier: Apache-2.0 */
/* goat.c: GOAT's row of the table of schemes. */
#include "schemes/goat/goat.h"

#include "protocol/protocol.h"

#define GOAT_GUARANTEE                                                                                    \
    "every contribution exactly once or an error, whatever the switches on the way add, forget or lose; " \
    "integers with the same bits in every run, sums of floats in the order of arrival"

const struct trib_scheme trib_goat = {
    .name = "goat",
    .guarantee = GOAT_GUARANTEE,
    .follows_congestion = true,
    .has_servers = true,
    .has_combiners = true,
    .has_pieces = true,
    .sums_by_luck = true,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};
