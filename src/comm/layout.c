/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c: see layout.h. */
#include "comm/layout.h"

#include "schemes/schemes.h"

void trib_comm_describe_session(const struct trib_comm *comm, struct trib_session_config *session)
{
    *session = (struct trib_session_config){
        .ranks = comm->config.ranks,
        .payload = comm->config.payload,
        .wire = (enum trib_type)comm->config.wire,
    };
    trib_scheme_settle(comm->config.scheme, session);
}
