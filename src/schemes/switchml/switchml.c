/* SPDX-License-Identifier: Apache-2.0 */
/* switchml.c: SwitchML's row of the table of schemes. */
#include "schemes/switchml/switchml.h"

#include "protocol/switch.h"
#include "protocol/worker.h"

const struct trib_worker_verbs trib_switchml_worker_verbs = {TRIB_PROTOCOL_WORKER_VERBS(trib__worker_init)};
const struct trib_switch_verbs trib_switchml_switch_verbs = {TRIB_PROTOCOL_SWITCH_VERBS(trib__switch_init)};

const struct trib_scheme trib_switchml = {
    .name = "switchml",
    .guarantee = "every contribution exactly once or an error; float32 sums with the same bits in every run; "
                 "memory refused at set-up, never taken from others",
    .worker = &trib_switchml_worker_verbs,
    .switch_node = &trib_switchml_switch_verbs,
};
