/* SPDX-License-Identifier: Apache-2.0 */
/* panama.c: PANAMA's row of the table of schemes. */
#include "schemes/panama/panama.h"

const struct trib_scheme trib_panama = {
    .name = "panama",
    .guarantee =
        "as switchml, with a congestion window for each root that shares links fairly with other traffic; float32 "
        "sums with the same bits in every run",
    .follows_congestion = true,
    .worker = &trib_panama_worker_verbs,
    .switch_node = &trib_panama_switch_verbs,
};
