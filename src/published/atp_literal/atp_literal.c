/* SPDX-License-Identifier: Apache-2.0 */
/* atp_literal.c: atp-literal's row of the table of schemes. */
#include "published/atp_literal/atp_literal.h"

static const char *literal_unfit(const struct trib_session_config *session)
{
    return session->ranks < TRIB_CHILDREN_MAX / 2 ? NULL
                                                  : "the published header counts up to 31 workers in 5 bits, and this "
                                                    "communicator has more";
}

const struct trib_scheme trib_atp_literal = {
    .name = "atp-literal",
    .guarantee = "none: the published rules, which give wrong sums after a late copy of a packet or a lost answer, and "
                 "lose rows of the switch for ever; workers do not notice all of it",
    .refusal = "it shows published rules that give wrong sums (`tributary demo --literal`); jobs use switchml",
    .has_servers = true,
    .has_combiners = true,
    .unfit = literal_unfit,
    .worker = &trib_atp_literal_worker_verbs,
    .switch_node = &trib_atp_literal_server_verbs,
};
