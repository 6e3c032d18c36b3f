/* SPDX-License-Identifier: Apache-2.0 */
/* panama_switch.c: switchml's switch, paced: it tells a cap, and takes no more than its room. Read next:
 * schemes/switchml/switchml_switch_pace.c. */
#include "schemes/panama/panama.h"
#include "schemes/switchml/switchml_switch.h"

static void panama_init(void *node, const struct trib_switch_config *config)
{
    trib__switch_init(node, config);
    trib__switch_pace(node);
}

const struct trib_switch_verbs trib_panama_switch_verbs = {
    .size = trib__switch_size,
    .init = panama_init,
    .state_size = trib__switch_state_size,
    .receive = trib__switch_receive,
    .soon = trib__switch_soon,
    .next_packet = trib__switch_next_packet,
    .next_event = trib__switch_next_event,
    .next_timeout = trib__switch_next_timeout,
    .on_timeout = trib__switch_on_timeout,
    .join = trib__switch_join,
    .learn_mark = trib__switch_learn_mark,
    .communicator_mark = trib__switch_communicator_mark,
    .slots_held = trib__switch_slots_held,
    .missing = trib__switch_missing,
    .missing_on = trib__switch_missing_on,
    .idle = trib__switch_idle,
    .counters = trib__switch_counters,
    .set_cap = trib__switch_set_cap,
    .room = trib__switch_room,
    .is_active = trib__switch_is_active,
};
