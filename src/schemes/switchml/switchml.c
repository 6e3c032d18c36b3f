/* SPDX-License-Identifier: Apache-2.0 */
/* switchml.c: SwitchML's row of the table of schemes. */
#include "schemes/switchml/switchml.h"

const struct trib_scheme trib_switchml = {
    .name = "switchml",
    .guarantee = "every contribution exactly once or an error; float32 sums with the same bits in every run; "
                 "memory refused at set-up, never taken from others",
    .worker = &trib_switchml_worker_verbs,
    .switch_node = &trib_switchml_switch_verbs,
};
