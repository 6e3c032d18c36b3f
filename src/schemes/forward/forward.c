/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: forward's row of the table of schemes. */
#include "schemes/forward/forward.h"

#include "protocol/protocol.h"

static const char *forward_unfit(const struct trib_session_config *session)
{
    return session->ranks == 1 ? NULL
                               : "its switch adds nothing, so a communicator has one rank; choose another scheme for "
                                 "more";
}

const struct trib_scheme trib_forward = {
    .name = "forward",
    .guarantee = "one rank alone, to which its switch returns what it sends: for measuring what adding costs",
    .unfit = forward_unfit,
    .worker = &trib_protocol_worker,
    .switch_node = &trib_forward_switch_verbs,
};
