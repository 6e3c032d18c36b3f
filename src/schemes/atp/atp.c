/* SPDX-License-Identifier: Apache-2.0 */
/* atp.c: ATP's rows of the table of schemes. */
#include "schemes/atp/atp.h"

#include "protocol/protocol.h"

static const char *atp_unfit(const struct trib_session_config *session)
{
    return session->ranks <= TRIB_CHILDREN_MAX ? NULL
                                               : "a sum on its way to a server names up to 64 ranks, and this "
                                                 "communicator has more";
}

#define ATP_GUARANTEE                                                                                     \
    "every contribution exactly once or an error, whatever the switches on the way add, forget or lose; " \
    "integers with the same bits in every run, sums of floats in the order of arrival"

const struct trib_scheme trib_atp = {
    .name = "atp",
    .guarantee = ATP_GUARANTEE,
    .follows_congestion = true,
    .has_servers = true,
    .has_combiners = true,
    .unfit = atp_unfit,
    .worker = &trib_protocol_paced_worker,
    .switch_node = &trib_protocol_paced_switch,
};

const struct trib_scheme trib_atp_aimd = {
    .name = "atp-aimd",
    .guarantee = ATP_GUARANTEE,
    .follows_congestion = true,
    .has_servers = true,
    .has_combiners = true,
    .unfit = atp_unfit,
    .worker = &trib_protocol_aimd_worker,
    .switch_node = &trib_protocol_paced_switch,
};
