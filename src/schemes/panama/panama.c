/* SPDX-License-Identifier: Apache-2.0 */
/* panama.c: PANAMA's row of the table of schemes. */
#include "schemes/panama/panama.h"

#include "core/quorum.h"
#include "protocol/protocol.h"

static const char *panama_unfit(const struct trib_session_config *session)
{
    if (!trib_session_has_quorum(session)) {
        return NULL;
    }
    if (session->ranks > TRIB_QUORUM_RANKS_MAX) {
        return "a result that lacks ranks lists up to 512 of them, and this communicator has more";
    }
    if (session->wire == TRIB_INT32) {
        return "wire int32 needs exponents that all ranks have agreed on, and its sums may lack ranks";
    }
    if (session->payload <= TRIB_QUORUM_LIST) {
        return "the list of ranks takes 64 bytes of each payload, so that must be longer";
    }
    return NULL;
}

const struct trib_scheme trib_panama = {
    .name = "panama",
    .guarantee =
        "as switchml, with a congestion window for each root that shares links fairly with other traffic; float32 "
        "sums with the same bits in every run. panama:7/8 waits for 7 of 8 ranks of a switch: sums of floats may lack "
        "the others, and say so",
    .follows_congestion = true,
    .has_quorum = true,
    .unfit = panama_unfit,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};
