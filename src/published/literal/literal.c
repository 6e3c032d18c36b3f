/* SPDX-License-Identifier: Apache-2.0 */
/* literal.c: switchml-literal's row of the table of schemes. */
#include "published/literal/literal.h"

const struct trib_scheme trib_literal = {
    .name = "switchml-literal",
    .guarantee =
        "none: the published rule, which gives wrong sums when packets overtake each other or the switch restarts; "
        "every worker notices, and none can mend it",
    .refusal = "it shows a published rule that gives wrong sums (`tributary demo --literal`); jobs use switchml",
    .worker = &trib_literal_worker_verbs,
    .switch_node = &trib_literal_switch_verbs,
};
