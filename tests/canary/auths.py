# SPDX-License-Identifier: Apache-2.0
"""Canaries in authenticators of packets (src/keys/auth.h) and in who asks for them, as in canaries.py. A unit test must
catch each."""
from canaries import Canary, Never

AUTH = "src/keys/auth_openssl.c"
GHASH = "src/core/ghash_clmul.c"
HEADER = "src/keys/auth.h"
SHARD = "src/switchd/shard.c"
PORT = "src/net/port.c"
COMM = "src/comm/auth.c"
TRAIN = "src/net/train.c"
START = "src/control/jobs/start.c"
OPENING = "src/control/jobs/opening.c"
SENDER = "src/keys/sender.c"
MEMBERS = "src/switchd/members.c"
SOCKET = "src/net/socket.c"

NODES_ALONE = Never("it has nodes, and what is before them has taken or dropped the packet")


def defect(name, about, edits, test):
    return Canary(name, "I12", about, edits=edits, world=NODES_ALONE, search=NODES_ALONE, test=test)


AUTHS = [
    defect("auth-any-mac", "a packet of somebody without the key is taken",
           ((AUTH, "CRYPTO_memcmp(mac, authenticator + NAMES_SIZE, MAC_SIZE) != 0", "CRYPTO_memcmp(mac, mac, MAC_SIZE) != 0"),),
           "unit/test_auth"),
    defect("auth-half-mac", "half of a MAC is enough",
           ((AUTH, "CRYPTO_memcmp(mac, authenticator + NAMES_SIZE, MAC_SIZE) != 0",
             "CRYPTO_memcmp(mac, authenticator + NAMES_SIZE, MAC_SIZE / 2) != 0"),),
           "unit/test_auth"),
    defect("auth-any-receiver", "a packet is taken by whom it is not for",
           ((AUTH, "from->id || !is_for_own) {", "from->id || (!is_for_own && number_of_roots > 99)) {"),
            (AUTH, "    uint64_t number = get(authenticator + 4, 8);", "    unsigned number_of_roots = auth->count;\n    uint64_t number = get(authenticator + 4, 8);")),
           "unit/test_auth"),
    defect("auth-any-sender", "a packet of one rank is taken from the address of another",
           ((AUTH, "    if (get(authenticator, 2) != from->id || ", "    if ("),
            (AUTH, "    put(block + 2, sender, 2);", "    put(block + 2, 1, 2);")),
           "unit/test_auth"),
    defect("auth-one-pad-for-two-senders", "two senders use the same pads",
           ((AUTH, "    put(block + 2, sender, 2);", "    put(block + 2, sender >> 15, 2);"),),
           "unit/test_auth"),
    defect("auth-payload-shows-pads", "payloads are encrypted with the pads of MACs",
           ((AUTH, "    first_block(start, sender, number, 2);", "    first_block(start, sender, number, 1);"),),
           "unit/test_auth"),
    defect("auth-number-stands-still", "two packets have one pad",
           ((AUTH, "    uint64_t number = auth->next++;", "    uint64_t number = auth->next++ / 2;"),),
           "unit/test_auth"),
    defect("auth-pad-of-the-row", "all packets of a row of numbers have the pad of the first",
           ((AUTH, "    put(block + 4, number, 8);", "    put(block + 4, number - number % ROW, 8);"),),
           "unit/test_auth"),
    defect("auth-length-not-in-the-mac", "zeros behind a payload may be cut off",
           ((AUTH, "    put(lengths + 8, 8 * packet->payload_len, 8);", "    put(lengths + 8, 0, 8);"),),
           "unit/test_auth"),
    defect("auth-sum-of-the-last-blocks", "a MAC is of the last blocks of a payload alone",
           ((GHASH, "        all = add_some(hash, all, data, TOGETHER, 0);", "        all = add_some(hash, load(sum), data, TOGETHER, 0);"),),
           "unit/test_ghash"),
    defect("auth-repeated", "a packet is taken again",
           ((AUTH, "    note(from, number);\n    return", "    note(from, number | 63);\n    return"),),
           "unit/test_auth"),
    defect("auth-below-the-window", "a packet older than the window is taken again",
           ((AUTH, "    return peer->word - word >= WORDS || (peer", "    return peer->word - word < WORDS && (peer"),),
           "unit/test_auth"),
    defect("auth-old-window", "numbers of before are taken for those of now, and true packets are dropped",
           ((AUTH, "        peer->seen[peer->word % WORDS] = 0;\n", ""),),
           "unit/test_auth"),
    defect("auth-forged-number-counts", "a forged number moves the window",
           ((AUTH, "    if (was_here(from, number)) {", "    bool was = was_here(from, number);\n    note(from, number);\n    if (was) {"),),
           "unit/test_auth"),
    defect("auth-down-is-up", "what a switch sends down to all is taken by the switch above",
           ((AUTH, "(from->is_above && trib_auth_is_for(", "(from->id != 0 && trib_auth_is_for("),),
           "unit/test_auth"),
    defect("auth-for-the-one-left-out", "what all but one receive is taken by that one",
           ((HEADER, "(is_all_but && receiver != trib_auth_all_but(id));", "is_all_but;"),),
           "unit/test_auth"),
    defect("auth-without", "packets without an authenticator are taken for a job with a key",
           ((PORT, "    if ((auth != NULL) != (packet->authenticated != 0)) {", "    if (auth == NULL && packet->authenticated != 0) {"),
            (PORT, "    enum trib_drop drop = auth != NULL ? trib_auth_check(", "    enum trib_drop drop = packet->authenticated != 0 ? trib_auth_check(")),
           "unit/test_plane_auth"),
    defect("auth-of-others", "packets with an authenticator are taken for a job without a key",
           ((PORT, "    if ((auth != NULL) != (packet->authenticated != 0)) {", "    if (auth != NULL && packet->authenticated == 0) {"),),
           "unit/test_plane_auth"),
    defect("auth-in-clear", "payloads that are to be encrypted leave in clear",
           ((TRAIN, "    bool is_encrypted = seal != NULL && trib_auth_encrypts(seal->auth) &&", "    bool is_encrypted = seal != NULL && false &&"),),
           "unit/test_port_auth"),
    defect("auth-one-stream", "all payloads of a sender are encrypted with one key stream",
           ((AUTH, "    first_block(start, sender, number, 2);", "    first_block(start, sender, number > 99, 2);"),),
           "unit/test_auth"),
    defect("auth-shard-for-all", "a result for some may be brought to others",
           ((SHARD, "    return is_one_address(node, lacks) ?", "    return is_one_address(node, lacks) && lacks == 0 ?"),),
           "unit/test_plane_auth"),
    defect("auth-rank-without-a-key", "a rank with a key goes on at a switch that gives none for its packets",
           ((COMM, "    if (is_set != comm->keys.is_set) {", "    if (is_set && !comm->keys.is_set) {"),),
           "unit/test_comm_auth"),
    defect("auth-peer-for-all", "on a ring what one rank has sent to another is taken by a third",
           ((COMM, "        return trib_auth_set_peer(auth, root, trib_auth_rank(comm->peers[root]),",
             "        return trib_auth_set_above(auth, root, trib_auth_rank(comm->peers[root]),"),),
           "unit/test_comm_auth"),
    defect("auth-one-key-for-all", "a rank can forge packets of other ranks, as all senders have one key",
           ((SENDER, "    const uint32_t input[4] = {0, name, 0, 0};", "    const uint32_t input[4] = {0, name * 0, 0, 0};"),),
           "unit/test_auth"),
    defect("auth-rank-has-the-packet-key", "WELCOME brings a rank the key with which it can make the keys of others",
           ((OPENING, "        trib_auth_make_sender_key(job->packet_key, heard, auth->heard);",
             "        memcpy(auth->heard, job->packet_key, sizeof auth->heard);"),),
           "unit/test_leaves_auth"),
    defect("auth-up-is-down", "a switch seals packets up with the key that its ranks have",
           ((MEMBERS, "        trib_auth_make_sender_key(opening->auth->bytes, TRIB_AUTH_UP | own, key);",
             "        trib_auth_make_sender_key(opening->auth->bytes, own, key);"),
            (MEMBERS, "trib_auth_is_agent(id) ? TRIB_AUTH_UP | id : id, key);", "id, key);")),
           "unit/test_plane_auth"),
    defect("auth-key-of-before", "the next incarnation has the packet key of the last one, and numbers begin anew",
           ((START, "    for (size_t i = 0; job->key != 0 && i < ", "    for (size_t i = 0; job->key != 0 && !job->is_return && i < "),),
           "unit/test_leaves_faults"),
    defect("net-believes-icmp", "one forged ICMP message stops a job for ten minutes",
           ((SOCKET, "IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)", "IP_MTU_DISCOVER, IP_PMTUDISC_DO)"),),
           "unit/test_udp_marks"),
]
