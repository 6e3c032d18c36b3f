/* SPDX-License-Identifier: Apache-2.0 */
/* switchml.c: SwitchML's row of the table of schemes. */
#include "schemes/switchml/switchml.h"

#include "protocol/protocol.h"

const struct trib_scheme trib_switchml = {
    .name = "switchml",
    .guarantee = "every contribution exactly once or an error; float32 sums with the same bits in every run; "
                 "memory refused at set-up, never taken from others",
    .worker = &trib_protocol_worker,
    .switch_node = &trib_protocol_switch,
};
