/* SPDX-License-Identifier: Apache-2.0 */
/* session_goldens.h: a message of every kind of the session protocol (docs/PROTOCOL.md, "Sessions"), with its bytes,
 * written down by hand. Used by test_session.c, which holds the codec to them, and by tests/fuzz/seeds.c. */
#ifndef TRIB_TESTS_SESSION_GOLDENS_H
#define TRIB_TESTS_SESSION_GOLDENS_H

#include <stdint.h>
#include <stdlib.h>

#include "control/words/words.h"

#define GRANT_HEX                                                                                              \
    "0102030405060708 1112131415161718 191a1b1c1d1e1f20 292a2b2c2d2e2f30 21222324 31323334 00000002 0000002c " \
    "00000580 00000160 0001 1d2e efc07401 1d3e 03010000 00000000 00000000 00000000 "                           \
    "00000000 00000000 00000000 00000000 0301040000000000"
#define OF                     \
    {                          \
        0x21222324, 0x31323334 \
    }
#define NO_ITEMS_HEX " 0000000000000000 00"
#define PACKET_KEY_HEX "d1d2d3d4d5d6d7d8 d9dadbdcdddedfe0 e1e2e3e4e5e6e7e8 e9eaebecedeeeff0 "
#define PACKET_KEY                                                                                                  \
    {                                                                                                               \
        0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xe1, 0xe2, \
            0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xf0                      \
    }

#define GRANT                                                                                                      \
    {                                                                                                              \
        .salt = 0x0102030405060708, .token = 0x1112131415161718, .key = 0x191a1b1c1d1e1f20,                        \
        .job_token = 0x292a2b2c2d2e2f30, .communicator = 0x21222324, .boot = 0x31323334, .roots = 2, .train = 44,  \
        .slots = 1408, .window = 352, .generation = 1, .data_port = 7470, .group = 0xefc07401, .group_port = 7486, \
        .weight = {3, 1}, .switches = {                                                                            \
            3,                                                                                                     \
            1,                                                                                                     \
            4                                                                                                      \
        }                                                                                                          \
    }

/* Every kind, with the bytes of its whole frame. */
struct golden {
    const char *name;
    const char *hex;
    struct trib_message message;
};

static const struct golden goldens[] = {
    {"join",
     "000000d0 01 54524942 0015 0001 0006 646967697473 000a 736c75726d2034323a30 00000003 4e204e21 "
     "0000000000000000000000000000000000000000000000000000000000000000 "
     "00000000000000000000000000000000000000000000000000000000 01 0008 7377697463686d6c 00000004 "
     "00000580 00010000 04 01 00000000 00400000 09 01 01 b1b2b3b4b5b6b7b8 01 00400000 1d30 00000004 "
     "c1c2c3c4c5c6c7c8 03 8002 000f 02 04 0000 0a000003 04 0000 0a010003 8003 0003 1d2f 05 "
     "8005 0011 21222324 292a2b2c2d2e2f30 0003 616c6c",
     {.kind = TRIB_MESSAGE_JOIN,
      .capabilities = 0xc1c2c3c4c5c6c7c8,
      .join = {.magic = TRIB_SESSION_MAGIC,
               .version = TRIB_SESSION_VERSION,
               .wire_version = 1,
               .job = "digits",
               .run = "slurm 42:0",
               .rank = 3,
               .data_port = {20000, 20001},
               .multicast = true,
               .settings = {.scheme = "switchml",
                            .ranks = 4,
                            .payload = 1408,
                            .window = 65536,
                            .wire = 4,
                            .fallback = true,
                            .gradient_bytes = 4194304,
                            .priority = 9,
                            .encrypt = true},
               .is_ring = true,
               .host = 0xb1b2b3b4b5b6b7b8,
               .level0 = true,
               .root_port = 7471,
               .weight = 5,
               .meet_port = 7472,
               .roots = 4,
               .room = 4194304,
               .maker = {0x21222324, 0x292a2b2c2d2e2f30, "all"}}}},
    {"join, a return",
     "000000f9 01 54524942 0015 0001 0001 6a 0000 00000000 ffff0000 "
     "0000000000000000000000000000000000000000000000000000000000000000 "
     "00000000000000000000000000000000000000000000000000000000 00 0000 00000001 00000040 00000000 "
     "01 00 0000000000000000 00 00 00 0000000000000000 00 00000000 0000 00000000 "
     "0000000000000000 01 8001 006b " GRANT_HEX " 01",
     {.kind = TRIB_MESSAGE_JOIN,
      .join = {.magic = TRIB_SESSION_MAGIC,
               .version = TRIB_SESSION_VERSION,
               .wire_version = 1,
               .job = "j",
               .data_port = {65535},
               .settings = {.ranks = 1, .payload = 64, .wire = 1},
               .known = GRANT,
               .was_ready = true}}},
    {"welcome",
     "00000080 02 " GRANT_HEX " 00000004 00 00 00 00 00 00 0000" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.grant = GRANT, .generation_ranks = 4}}},
    {"welcome, of hosts",
     "00000082 02 " GRANT_HEX " 0000000c 00 00 00 00 00 00 0003 11 08" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_WELCOME,
      .welcome = {.grant = GRANT, .generation_ranks = 12, .hosts = 3, .leaders = {{0x811}}}}},
    {"welcome, without a switch",
     "000000ab 02 " GRANT_HEX " 00000004 02 01 01 04 1d2f 0a000001 06 1d30 20010db8000000000000000000000002 "
     "00000003 04 4e20 0a000003 00 04 0000 0a000002 00 0000" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.grant = GRANT, .generation_ranks = 4}}},
    {"welcome, with a place to meet",
     "00000086 02 " GRANT_HEX " 00000004 00 00 00 04 1d30 0a000001 00 00 0000" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.grant = GRANT, .generation_ranks = 4}}},
    {"welcome, behind a combiner",
     "00000086 02 " GRANT_HEX " 00000004 00 00 00 00 00 04 1d2e 0a000001 0000" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.grant = GRANT, .generation_ranks = 4}}},
    {"welcome, of a job with a key",
     "000000c7 02 " GRANT_HEX " 00000004 00 00 00 00 00 00 0000 0000000000000000 01 8032 0043 " PACKET_KEY_HEX
     "4142434400000000 0000000000000000 0000000000000000 0000000000000000 0002 01",
     {.kind = TRIB_MESSAGE_WELCOME,
      .welcome = {.grant = GRANT,
                  .generation_ranks = 4,
                  .auth = {.own = PACKET_KEY, .heard = {0x41, 0x42, 0x43, 0x44}, .parent = 2, .encrypts = true}}}},
    {"paths", "00000003 03 01 00", {.kind = TRIB_MESSAGE_PATHS, .paths = {true, false}}},
    {"register", "00000009 04 0000a1a2a3a4a5a6", {.kind = TRIB_MESSAGE_REGISTER, .mark = {0xa1a2a3a4a5a6}}},
    {"ready",
     "0000000e 05 31323334 0000000000000011 01",
     {.kind = TRIB_MESSAGE_READY, .ready = {0x31323334, 17, true}}},
    {"mark", "00000009 06 0000000000000012", {.kind = TRIB_MESSAGE_MARK, .mark = {18}}},
    {"describe", "00000009 07 0000000000000011", {.kind = TRIB_MESSAGE_DESCRIBE, .describe = {17}}},
    {"operation",
     "00000012 08 0000000000000011 0007 62617272696572",
     {.kind = TRIB_MESSAGE_OPERATION, .operation = {17, "barrier"}}},
    {"close", "00000009 09 0000000000000013", {.kind = TRIB_MESSAGE_CLOSE, .mark = {19}}},
    {"closed", "00000001 0a", {.kind = TRIB_MESSAGE_CLOSED}},
    {"abort", "0000000a 0b fffffff3 0003 4e614e", {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_ABORTED, "NaN"}}},
    {"fail", "00000009 0c fffffff5 0002 6869", {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "hi"}}},
    {"stall",
     "00000013 0d 0000000000000731 000004b0 0000 0002 4c31",
     {.kind = TRIB_MESSAGE_STALL, .stall = {1841, 1200, {0}, "L1"}}},
    {"gone", "00000007 0e 01 0003 62796e", {.kind = TRIB_MESSAGE_GONE, .note = {"byn", true}}},
    {"ring", "00000005 19 0002 6869", {.kind = TRIB_MESSAGE_RING, .note = {.text = "hi"}}},
    {"ping", "00000009 1a 0000000000000007", {.kind = TRIB_MESSAGE_PING, .ping = {7}}},
    {"pong", "00000009 1b 0000000000000007", {.kind = TRIB_MESSAGE_PONG, .ping = {7}}},
    {"away", "00000005 0f 0002 6869", {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "hi"}}},
    {"missing",
     "00000015 10 0000000000000731 000004b0 0002 0002 03ff 0000",
     {.kind = TRIB_MESSAGE_MISSING, .stall = {.sequence = 1841, .since_ms = 1200, .missing = {2, {2, 1023}}}}},
    {"dispute",
     "00000019 11 21222324 31323334 0000000000000011 00000003 00000005",
     {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {OF, 17, {3, 5}}}},
    {"root_open",
     "000000d9 12 21222324 31323334 00000001 00000002 00000006 0008 7377697463686d6c 0003 6a6f62 0000000000000007 04 "
     "1d31 0a000002 "
     "c1c2c3c4c5c6c7c8 00000004 "
     "00000002 0000002c "
     "00000580 "
     "00000580 0001 04 03010000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
     "00000003 04 1d30 0a000001 000000000000000b 09 01 01 efc07401 1d3e "
     "0000000000000000 03 0022 0009 10 0000000000008027 0023 0008 d1d2d3d4d5d6d7d8 8030 0025 " PACKET_KEY_HEX
     "0003 0002 00",
     {.kind = TRIB_MESSAGE_ROOT_OPEN,
      .root_open = {.of = OF,
                    .index = 1,
                    .shard = 2,
                    .ranks = 6,
                    .scheme = "switchml",
                    .job = "job",
                    .job_id = 7,
                    .key = 0xc1c2c3c4c5c6c7c8,
                    .behind = 3,
                    .tenant = 0xd1d2d3d4d5d6d7d8,
                    .auth = {.bytes = PACKET_KEY, .below = 3, .parent = 2},
                    .numbers = {{0xb}},
                    .own_pieces = 0x8027,
                    .pieces = 16,
                    .priority = 9,
                    .is_return = true,
                    .wants_group = true,
                    .group = 0xefc07401,
                    .group_port = 7486,
                    .session = {.communicator = 0x21222324,
                                .ranks = 4,
                                .roots = 2,
                                .train = 44,
                                .slots = 1408,
                                .payload = 1408,
                                .generation = 1,
                                .wire = TRIB_INT32,
                                .weight = {3, 1}}}}},
    {"root_child",
     "00000027 13 21222324 31323334 00000003 00000002 01 01 8032 04 4e21 0a000003 00000000 04 1d2e 0a000002",
     {.kind = TRIB_MESSAGE_ROOT_CHILD,
      .root_child = {.of = OF, .rank = 3, .branch = 2, .is_switch = true, .is_combined = true, .sender = 0x8032}}},
    {"root_join",
     "00000015 14 21222324 31323334 00000003 0000000000000012",
     {.kind = TRIB_MESSAGE_ROOT_JOIN, .root_join = {OF, 3, 18}}},
    {"root_ready", "00000009 15 21222324 31323334", {.kind = TRIB_MESSAGE_ROOT_READY, .of = OF}},
    {"root_missing",
     "00000017 16 21222324 31323334 0000000000000731 0002 0002 0003",
     {.kind = TRIB_MESSAGE_ROOT_MISSING, .root_missing = {.of = OF, .sequence = 1841, .missing = {2, {2, 3}}}}},
    {"control",
     "00000024 17 54524942 0015 0001 1d2e 0102030405060708 1112131415161718" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_CONTROL,
      .control = {TRIB_SESSION_MAGIC, TRIB_SESSION_VERSION, TRIB_WIRE_VERSION, 7470, 0x0102030405060708,
                  0x1112131415161718}}},
    {"hello",
     "0000004b 18 54524942 0015 0001 3132333435363738 2122232425262728 00000009 1112131415161718 00200000 03 02 04 "
     "1d2e 0a000002 04 1d2f 00000000 01 4142434445464748" NO_ITEMS_HEX,
     {.kind = TRIB_MESSAGE_HELLO,
      .hello = {.magic = TRIB_SESSION_MAGIC,
                .version = TRIB_SESSION_VERSION,
                .wire_version = TRIB_WIRE_VERSION,
                .identity = 0x3132333435363738,
                .life = 0x2122232425262728,
                .attempt = 9,
                .nonce = 0x1112131415161718,
                .room = 1U << 21,
                .weight = 3,
                .shards = 2,
                .path = {1, {0x4142434445464748}}}}},
    {"challenge", "00000009 20 1112131415161718", {.kind = TRIB_MESSAGE_CHALLENGE, .proof = {0x1112131415161718}}},
    {"proof", "00000009 21 1112131415161718", {.kind = TRIB_MESSAGE_PROOF, .proof = {0x1112131415161718}}},
    {"channel",
     "00000017 22 00000005 04 4e21 0a000003 00000000 04 1d2e 0a000002",
     {.kind = TRIB_MESSAGE_CHANNEL, .channel = {.number = 5}}},
    {"bytes",
     "00000010 23 00000005 0009 00000005 1c00200000",
     {.kind = TRIB_MESSAGE_BYTES, .bytes = {5, 9, {0, 0, 0, 5, 0x1c, 0, 0x20, 0, 0}}}},
    {"end", "00000006 24 00000005 01", {.kind = TRIB_MESSAGE_END, .end = {5, true}}},
    {"room", "00000005 1c 00200000", {.kind = TRIB_MESSAGE_ROOM, .room = {1U << 21}}},
    {"root_shut", "00000009 1d 21222324 31323334", {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = OF}},
    {"recall", "0000000c 25 31323334 0005 6c6f737421", {.kind = TRIB_MESSAGE_RECALL, .recall = {0x31323334, "lost!"}}},
    {"root_opened",
     "0000000f 1f 21222324 31323334 efc07401 1d3e",
     {.kind = TRIB_MESSAGE_ROOT_OPENED, .root_opened = {OF, 0xefc07401, 7486}}},
    {"root_mark",
     "00000012 26 21222324 31323334 0000000000000012 01",
     {.kind = TRIB_MESSAGE_ROOT_MARK, .root_mark = {OF, 18, true}}},
    {"root_probe", "00000009 27 21222324 31323334", {.kind = TRIB_MESSAGE_ROOT_PROBE, .of = OF}},
    {"bye", "0000000a 28 fffffff4 0003 627965", {.kind = TRIB_MESSAGE_BYE, .fail = {-12, "bye"}}},
    {"progress",
     "00000011 29 0000000000001234 0000000077359400",
     {.kind = TRIB_MESSAGE_PROGRESS, .progress = {0x1234, 2000000000}}},
    {"root_refused",
     "00000011 1e 21222324 31323334 fffffff9 0002 6e6f",
     {.kind = TRIB_MESSAGE_ROOT_REFUSED, .root_refused = {.of = OF, .status = -7, .text = "no"}}},
};

#define GOLDEN_COUNT (sizeof goldens / sizeof goldens[0])

/* Spaces are for the reader. Returns how many bytes there are. */
static inline size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t len = 0;
    for (const char *at = hex; *at; at += *at == ' ' ? 1 : 2) {
        if (*at != ' ') {
            const char two[3] = {at[0], at[1], 0};
            bytes[len++] = (uint8_t)strtoul(two, NULL, 16);
        }
    }
    return len;
}

#endif
