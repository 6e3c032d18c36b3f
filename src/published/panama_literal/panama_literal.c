/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal.c: panama-literal's row of the table of schemes. Read next: panama_window.c. */
#include "published/panama_literal/panama_literal.h"

#include "core/quorum.h"

static const char *literal_unfit(const struct trib_session_config *session)
{
    return trib_session_has_quorum(session) && session->ranks > TRIB_CHILDREN_MAX
               ? "where sums may lack ranks a packet lists up to 64 of them, and this communicator has more"
               : NULL;
}

const struct trib_scheme trib_panama_literal = {
    .name = "panama-literal",
    .guarantee =
        "none: the published rule, which waits for ever when a packet is lost, doubled or late, and then gives wrong "
        "sums; every worker notices those, and none can mend it",
    .refusal = "it shows a published rule that hangs and gives wrong sums (docs/DECISIONS.md); jobs use panama",
    .can_be_simulated = true,
    .has_quorum = true,
    .unfit = literal_unfit,
    .listed = trib_panama_ranks,
    .worker = &trib_panama_literal_worker_verbs,
    .switch_node = &trib_panama_literal_switch_verbs,
};
