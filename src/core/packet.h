/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h: the wire format, and nothing else: one 64-byte header in network byte order, then the payload. Packets of a
 * job with a key end in an authenticator, which is made and checked elsewhere (keys/auth.h). Encoding and
 * decoding copy; packet memory is never cast. docs/PROTOCOL.md says the same byte by byte, tests/vectors pins it. A
 * change here also changes: docs/PROTOCOL.md, tests/vectors, TRIB_WIRE_VERSION, CHANGELOG.md.
 * Read next: node.h (the verbs that take and give packets). */
#ifndef TRIB_CORE_PACKET_H
#define TRIB_CORE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIB_WIRE_VERSION 1
#define TRIB_WIRE_AUTHENTICATED 2 /* version of a packet that ends in an authenticator (keys/auth.h) */
#define TRIB_HEADER_SIZE 64
#define TRIB_AUTHENTICATOR_SIZE 28
#define TRIB_WIRE_EXTRA \
    (TRIB_HEADER_SIZE + 28 + 38) /* bytes of a packet on Ethernet beside its payload: IPv4 and UDP */
#define TRIB_PAYLOAD_MAX 8192
#define TRIB_PAYLOAD_ALIGN 64
#define TRIB_SEQUENCE_MAX ((UINT64_C(1) << 48) - 1)
#define TRIB_PATH_HEADERS 64U /* answers to PATHs that an address gets at most before it has proved itself */

enum trib_kind {
    TRIB_KIND_NONE = 0,
    TRIB_CONTRIBUTION = 1, /* up: a rank's part of one fragment */
    TRIB_RESULT = 2,       /* down: the sum of one fragment; bitmap: children with a congested way */
    TRIB_PROBE = 3, /* up, no payload: "I have no result for this sequence"; bitmap: which of the 64 behind were sent */
    TRIB_ASK = 4,   /* down, no payload: "send your part of this sequence", and of those in bitmap */
    TRIB_HELD = 5,  /* down, no payload: "waiting for others"; bitmap names the ranks that are there */
    TRIB_OFFER = 6, /* up: a finished result, from a rank's retained copy */
    TRIB_BOOT = 7,  /* down, no payload: "my boot id is this"; a hint */
    TRIB_PATH = 8,  /* both ways: path probe while joining, of full size in the end; never reaches a node */
    TRIB_FLOW = 9,  /* between peers: a fragment of a flow, its label is in bitmap */
    TRIB_FLOW_ACK = 10, /* between peers, no payload; bitmap: sequences of one word that have come; lane: the limit */
    TRIB_KIND_COUNT
};

enum trib_flag {
    TRIB_FLAG_FIN = 1 << 0,       /* reserved on the wire; a published rule in the simulator: an operation's last */
    TRIB_FLAG_ECN = 1 << 1,       /* congestion was experienced on this packet's way */
    TRIB_FLAG_OVERFLOW = 1 << 2,  /* reserved for ATP */
    TRIB_FLAG_COLLISION = 1 << 3, /* reserved for ATP */
    TRIB_FLAG_RESEND = 1 << 4,    /* sent because it was asked for; PROBE, HELD: docs/PROTOCOL.md */
    TRIB_FLAG_QUORUM = 1 << 5,    /* PANAMA, up: the sum may lack ranks; down, OFFER: it does (core/quorum.h) */
    TRIB_FLAG_UNWANTED = 1 << 6,  /* up: the rank needs no payload of the result; on a PROBE: asks for M alone */
    TRIB_FLAG_MORE = 1 << 7       /* up: the rank has as many fragments to send after this one as are in flight */
};
#define TRIB_FLAGS_KNOWN 0xffU

/* Byte offsets of the header. */
enum trib_offset {
    TRIB_AT_VERSION = 0,       /* 1 */
    TRIB_AT_KIND = 1,          /* 1 */
    TRIB_AT_FLAGS = 2,         /* 2 */
    TRIB_AT_COMMUNICATOR = 4,  /* 4 */
    TRIB_AT_GENERATION = 8,    /* 2 */
    TRIB_AT_ATTEMPT = 10,      /* 1: reserved, 0 */
    TRIB_AT_TREE = 11,         /* 1: reserved, 0 */
    TRIB_AT_SEQUENCE = 12,     /* 6 */
    TRIB_AT_NODE = 18,         /* 2: child number of the sender, or of the receiver; for people, never believed */
    TRIB_AT_BITMAP = 20,       /* 8 */
    TRIB_AT_TYPE = 28,         /* 1 */
    TRIB_AT_REDUCTION = 29,    /* 1 */
    TRIB_AT_PAYLOAD_LEN = 30,  /* 2 */
    TRIB_AT_DIGEST = 32,       /* 4 */
    TRIB_AT_BOOT = 36,         /* 4 */
    TRIB_AT_MARK = 40,         /* 4: two's complement, mark - sequence */
    TRIB_AT_CONTRIBUTORS = 44, /* 2: contributions with payload that are in this one */
    TRIB_AT_LAST_RANK = 46,    /* 2 */
    TRIB_AT_WINDOW_CAP = 48,   /* 2: and priority */
    TRIB_AT_EXPONENT = 50,     /* 2: two's complement */
    TRIB_AT_CRC = 52,          /* 4: CRC32C of header (these four bytes zero) and payload */
    TRIB_AT_LANE = 56          /* 8 */
};

/* A packet in the host's terms. payload is borrowed. */
struct trib_packet {
    uint64_t sequence;
    uint64_t mark; /* absolute; up: the sender's mark, down: the communicator mark M */
    uint64_t bitmap;
    uint64_t lane;
    uint32_t digest;
    uint32_t boot;
    uint16_t flags;
    uint16_t generation;
    uint16_t node;
    uint16_t payload_len;
    uint16_t contributors;
    uint16_t last_rank;
    uint16_t window_cap; /* PANAMA: fragments that a rank may have in flight at this root; 0: not said. Up, where
                          * switches on the way combine: the priority of the part, or the least of a sum's parts */
    int16_t exponent;
    uint8_t kind;
    uint8_t attempt; /* reserved: a packet on the wire has 0 */
    uint8_t tree;    /* reserved as well; a published rule in the simulator: the tree */
    uint8_t type;
    uint8_t reduction;
    uint32_t communicator;  /* fields that differ between its packets stand before this one, except payload */
    uint32_t authenticated; /* 1: an authenticator follows the payload, and there is no checksum; nodes leave it 0 */
    const void *payload;    /* NULL when payload_len is 0 */
};

_Static_assert(offsetof(struct trib_packet, communicator) == 64, "what differs is in one cache line");

/* Bytes of a packet with `payload` bytes of payload. */
static inline uint32_t trib_packet_size(uint32_t payload, bool is_authenticated)
{
    return TRIB_HEADER_SIZE + payload + (is_authenticated ? TRIB_AUTHENTICATOR_SIZE : 0);
}

/* Why a packet was dropped; every drop is counted under its reason (counters.h). */
#define TRIB_DROP_MAP(X)                                            \
    X(NONE, "not dropped")                                          \
    X(SHORT, "shorter than a header")                               \
    X(VERSION, "another wire version")                              \
    X(LENGTH, "payload length differs from the datagram's")         \
    X(FIELD, "a field has a value that none may have")              \
    X(CRC, "checksum wrong")                                        \
    X(SOURCE, "unknown sender or communicator")                     \
    X(AUTH, "no authenticator, or a wrong one")                     \
    X(REPLAY, "a packet with its number was here")                  \
    X(KIND, "a kind that this node does not take")                  \
    X(GENERATION, "another generation")                             \
    X(BOOT, "another boot")                                         \
    X(UNREGISTERED, "not all ranks have registered")                \
    X(MARK, "impossible mark")                                      \
    X(STALE, "older than the communicator mark")                    \
    X(WINDOW, "beyond the window")                                  \
    X(DUPLICATE, "already had")                                     \
    X(OVERLAP, "some parts of a sum are there already")             \
    X(REPEAT, "answered a moment ago")                              \
    X(SHAPE, "type, length or attempt differs from the fragment's") \
    X(DIGEST, "another operation")                                  \
    X(LANE, "the lane says that the set of contributors is wrong")  \
    X(UNASKED, "nothing is waiting for it")                         \
    X(LATE, "its sum was complete without it")                      \
    X(FULL, "no room to queue an answer")

enum trib_drop {
#define X(name, text) TRIB_DROP_##name,
    TRIB_DROP_MAP(X)
#undef X
        TRIB_DROP_COUNT
};

const char *trib_drop_name(enum trib_drop drop); /* "CRC" */
const char *trib_drop_text(enum trib_drop drop);
const char *trib_kind_name(enum trib_kind kind); /* "RESULT" */

/* True if the packet can be encoded. A packet from a node always can. A switch checks nevertheless: a mistake with
 * numbers that a stranger chose must cost one packet, not the switch of all jobs. */
bool trib_packet_can_encode(const struct trib_packet *packet);

/* Writes the header for packet into header[TRIB_HEADER_SIZE], with the checksum over header and packet->payload, or 0
 * for a packet that is to end in an authenticator. The payload is not copied: the driver sends the pieces by iovec. */
void trib_packet_encode(const struct trib_packet *packet, uint8_t *header);

/* Reads len bytes at data. On TRIB_DROP_NONE *packet is whole, and packet->payload points into data.
 * Checks, in this order: SHORT, VERSION, LENGTH, CRC, FIELD (kind, type, reduction, flags, attempt,
 * tree, mark). No other effect. Of a packet with an authenticator no checksum is checked: nobody believes it before
 * its authenticator was checked. */
enum trib_drop trib_packet_decode(const uint8_t *data, size_t len, struct trib_packet *packet);

#endif
