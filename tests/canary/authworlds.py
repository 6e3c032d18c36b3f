# SPDX-License-Identifier: Apache-2.0
"""Canaries in authenticators of packets (src/keys/auth.h) and in the keys and ids that control planes give, as in
canaries.py. The worlds must catch each, and a unit test as well."""
from canaries import Canary, Never

AUTH = "src/keys/auth_openssl.c"
OPENING = "src/control/jobs/opening.c"
START = "src/control/jobs/start.c"

NO_AUTH = Never("its packets have no authenticators")


def defect(name, about, edits, test):
    return Canary(name, "I1", about, edits=edits, world=("auth",), search=NO_AUTH, test=test)


AUTHWORLDS = [
    defect("packet-key-stays", "all incarnations of a job have the same keys, and number their packets from 0",
           ((START, "for (size_t i = 0; job->key != 0 && i <",
             "for (size_t i = 0; job->key != 0 && job->packet_key[0] == 0 && i <"),), "unit/test_leaves_auth"),
    defect("packet-number-twice", "a packet for all has the number of the next one",
           ((AUTH, "    uint64_t number = auth->next++;",
             "    uint64_t number = auth->next;\n    auth->next += receiver != TRIB_AUTH_ALL;"),), "unit/test_auth"),
    defect("packet-for-another", "a packet is taken whoever it was sealed for",
           ((AUTH, "    bool is_for_own = receiver == auth->own ||", "    bool is_for_own = receiver != 0x6fff ||"),), "unit/test_auth"),
    defect("packet-again", "what has come is not remembered", ((AUTH, "    note(from, number);\n", ""),),
           "unit/test_auth"),
    defect("parent-of-another-root", "a switch takes its children for switches of the first root",
           ((OPENING, "next != 0 ? trib_auth_switch(next, root)", "next != 0 ? trib_auth_switch(next, 0)"),),
           "unit/test_leaves_auth"),
    defect("rank-sends-to-the-root", "a rank behind a switch takes the root for its parent",
           ((OPENING, "        auth->parent = (uint16_t)job->ranks[rank].below;", "        auth->parent = (uint16_t)(job->ranks[rank].below * 0);"),),
           "unit/test_leaves_auth"),
]
