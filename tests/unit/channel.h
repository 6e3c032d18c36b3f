/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h: what CHANNEL says of a rank, for harnesses whose sessions have no channels: it is not in the JOIN's bytes. */
#ifndef TRIB_TESTS_CHANNEL_H
#define TRIB_TESTS_CHANNEL_H

#include <string.h>

#include "control/words/words.h"

static inline void channel_carry(const struct trib_message *sent, struct trib_message *taken)
{
    if (sent->kind == TRIB_MESSAGE_JOIN && taken->kind == TRIB_MESSAGE_JOIN) {
        taken->join.via = sent->join.via;
        taken->join.hops = sent->join.hops;
        memcpy(taken->join.origin, sent->join.origin, sizeof taken->join.origin);
    }
}

#endif
