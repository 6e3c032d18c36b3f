/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c: the verbs of worker and switch, with fixed windows and paced. */
#include "protocol/protocol.h"

#include "protocol/switch_memory.h"
#include "protocol/worker_memory.h"

#define WORKER_VERBS(how)                                                                                           \
    .node = {.state_size = trib__worker_state_size,                                                                 \
             .receive = trib__worker_receive,                                                                       \
             .soon = trib__worker_soon,                                                                             \
             .next_packet = trib__worker_next_packet,                                                               \
             .next_event = trib__worker_next_event,                                                                 \
             .next_timeout = trib__worker_next_timeout,                                                             \
             .on_timeout = trib__worker_on_timeout,                                                                 \
             .communicator_mark = trib__worker_communicator_mark,                                                   \
             .idle = trib__worker_idle,                                                                             \
             .counters = trib__worker_counters},                                                                    \
    .size = trib__worker_size, .init = (how), .submit = trib__worker_submit, .registered = trib__worker_registered, \
    .suspend = trib__worker_suspend, .learn_mark = trib__worker_session_mark, .mark = trib__worker_mark,            \
    .end = trib__worker_end, .describe = trib__worker_describe, .limit = trib__worker_limit,                        \
    .in_flight = trib__worker_in_flight

#define SWITCH_VERBS(how)                                                                                       \
    .node = {.state_size = trib__switch_state_size,                                                             \
             .receive = trib__switch_receive,                                                                   \
             .soon = trib__switch_soon,                                                                         \
             .next_packet = trib__switch_next_packet,                                                           \
             .next_event = trib__switch_next_event,                                                             \
             .next_timeout = trib__switch_next_timeout,                                                         \
             .on_timeout = trib__switch_on_timeout,                                                             \
             .communicator_mark = trib__switch_communicator_mark,                                               \
             .idle = trib__switch_idle,                                                                         \
             .counters = trib__switch_counters},                                                                \
    .size = trib__switch_size, .init = (how), .join = trib__switch_join, .learn_mark = trib__switch_learn_mark, \
    .slots_held = trib__switch_slots_held, .missing = trib__switch_missing, .missing_on = trib__switch_missing_on

static void paced_worker_init(void *node, const struct trib_worker_config *config)
{
    trib__worker_init(node, config);
    trib__worker_pace(node);
}

static void aimd_worker_init(void *node, const struct trib_worker_config *config)
{
    paced_worker_init(node, config);
    ((struct worker *)node)->is_aimd = 1;
}

static void paced_switch_init(void *node, const struct trib_switch_config *config)
{
    trib__switch_init(node, config);
    trib__switch_pace(node);
}

const struct trib_worker_verbs trib_protocol_worker = {WORKER_VERBS(trib__worker_init)};
const struct trib_worker_verbs trib_protocol_paced_worker = {WORKER_VERBS(paced_worker_init),
                                                             .set_child = trib__worker_set_child};
const struct trib_worker_verbs trib_protocol_aimd_worker = {WORKER_VERBS(aimd_worker_init)};
const struct trib_switch_verbs trib_protocol_switch = {SWITCH_VERBS(trib__switch_init)};
const struct trib_switch_verbs trib_protocol_paced_switch = {
    SWITCH_VERBS(paced_switch_init),     .set_cap = trib__switch_set_cap,     .room = trib__switch_room,
    .is_active = trib__switch_is_active, .set_child = trib__switch_set_child,
};
