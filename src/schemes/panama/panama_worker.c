/* SPDX-License-Identifier: Apache-2.0 */
/* panama_worker.c: switchml's worker, paced. Read next: schemes/switchml/switchml_worker_pace.c. */
#include "schemes/panama/panama.h"
#include "schemes/switchml/switchml_worker.h"

static void panama_init(void *node, const struct trib_worker_config *config)
{
    trib__worker_init(node, config);
    trib__worker_pace(node);
}

const struct trib_worker_verbs trib_panama_worker_verbs = {
    .size = trib__worker_size,
    .init = panama_init,
    .state_size = trib__worker_state_size,
    .receive = trib__worker_receive,
    .soon = trib__worker_soon,
    .next_packet = trib__worker_next_packet,
    .next_event = trib__worker_next_event,
    .next_timeout = trib__worker_next_timeout,
    .on_timeout = trib__worker_on_timeout,
    .submit = trib__worker_submit,
    .registered = trib__worker_registered,
    .suspend = trib__worker_suspend,
    .learn_mark = trib__worker_session_mark,
    .mark = trib__worker_mark,
    .communicator_mark = trib__worker_communicator_mark,
    .end = trib__worker_end,
    .describe = trib__worker_describe,
    .idle = trib__worker_idle,
    .limit = trib__worker_limit,
    .in_flight = trib__worker_in_flight,
    .counters = trib__worker_counters,
};
