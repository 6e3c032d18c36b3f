/* SPDX-License-Identifier: Apache-2.0 */
/* panama_switch.c: switchml's switch, paced: it tells a cap, and takes no more than its room. Read next:
 * protocol/switch_pace.c. */
#include "protocol/switch.h"
#include "schemes/panama/panama.h"

static void panama_init(void *node, const struct trib_switch_config *config)
{
    trib__switch_init(node, config);
    trib__switch_pace(node);
}

const struct trib_switch_verbs trib_panama_switch_verbs = {
    TRIB_PROTOCOL_SWITCH_VERBS(panama_init), .set_cap = trib__switch_set_cap,     .room = trib__switch_room,
    .is_active = trib__switch_is_active,     .set_child = trib__switch_set_child,
};
