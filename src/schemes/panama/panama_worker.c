/* SPDX-License-Identifier: Apache-2.0 */
/* panama_worker.c: switchml's worker, paced. Read next: protocol/worker_pace.c. */
#include "protocol/worker.h"
#include "schemes/panama/panama.h"

static void panama_init(void *node, const struct trib_worker_config *config)
{
    trib__worker_init(node, config);
    trib__worker_pace(node);
}

const struct trib_worker_verbs trib_panama_worker_verbs = {TRIB_PROTOCOL_WORKER_VERBS(panama_init),
                                                           .set_child = trib__worker_set_child};
