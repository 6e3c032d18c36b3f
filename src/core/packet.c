/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c: encodes and decodes the 64-byte header. It knows fields and their ranges; the meaning of a packet is the
 * nodes' business. Read next: docs/PROTOCOL.md, "Packet header"; node.h. */
#include "core/packet.h"

#include <string.h>

#include <tributary/types.h>

#include "core/assert.h"
#include "core/crc32c.h"

_Static_assert(TRIB_AT_LANE + 8 == TRIB_HEADER_SIZE, "the lane ends the header");
_Static_assert(TRIB_AT_CRC + 4 == TRIB_AT_LANE, "no gap before the lane");

/* The header as eight numbers. DESIGN NOTE: the fields are put together in registers and cross memory as whole words,
 * as the checksum reads them. Field by field, its wider reads would have to wait until all stores before them
 * have reached the cache, among them a result's into a cold tensor: 15 % of a worker's time. */
#define WORDS (TRIB_HEADER_SIZE / 8)
#define CRC_WORD (TRIB_AT_CRC / 8)
#define CRC_BITS UINT64_C(0xffffffff) /* the lower half of its word */

_Static_assert(TRIB_AT_CRC % 8 == 4, "the checksum ends its word");

static uint64_t swap64(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

static void load_words(const uint8_t *data, uint64_t *words)
{
    for (int i = 0; i < WORDS; i++) {
        uint64_t raw;
        memcpy(&raw, data + 8 * i, sizeof raw);
        words[i] = swap64(raw);
    }
}

static bool kind_has_payload(uint8_t kind)
{
    return kind == TRIB_CONTRIBUTION || kind == TRIB_RESULT || kind == TRIB_OFFER || kind == TRIB_PATH ||
           kind == TRIB_FLOW;
}

/* The same for both directions, so that nothing can be sent that every receiver drops. A negative mark has wrapped to a
 * huge one. attempt and tree are reserved: a sender that sets one means more than the receiver would do. */
static bool has_valid_fields(const struct trib_packet *packet)
{
    return packet->kind > TRIB_KIND_NONE && packet->kind < TRIB_KIND_COUNT && packet->type < TRIB_TYPE_COUNT &&
           packet->reduction < TRIB_REDUCTION_COUNT && (packet->flags & ~TRIB_FLAGS_KNOWN) == 0 &&
           (packet->attempt | packet->tree) == 0 && packet->sequence <= TRIB_SEQUENCE_MAX &&
           packet->mark <= TRIB_SEQUENCE_MAX + 1 && packet->payload_len <= TRIB_PAYLOAD_MAX &&
           (packet->payload_len == 0 || kind_has_payload(packet->kind));
}

/* The checksum of header and payload, for words with checksum 0. */
static uint32_t checksum(const uint64_t *words, const void *payload, size_t payload_len)
{
    uint64_t raw[WORDS];
    for (int i = 0; i < WORDS; i++) {
        raw[i] = swap64(words[i]);
    }
    uint32_t crc = trib_crc32c(0, raw, sizeof raw);
    return payload_len == 0 ? crc : trib_crc32c(crc, payload, payload_len);
}

bool trib_packet_can_encode(const struct trib_packet *packet)
{
    int64_t offset = (int64_t)(packet->mark - packet->sequence);
    return has_valid_fields(packet) && offset >= INT32_MIN && offset <= INT32_MAX &&
           (packet->payload_len == 0 || packet->payload != NULL);
}

void trib_packet_encode(const struct trib_packet *packet, uint8_t *header)
{
    int64_t offset = (int64_t)(packet->mark - packet->sequence);
    uint64_t version = packet->authenticated != 0 ? TRIB_WIRE_AUTHENTICATED : TRIB_WIRE_VERSION;
    TRIB_ASSERT(trib_packet_can_encode(packet));
    uint64_t words[WORDS] = {
        version << 56 | (uint64_t)packet->kind << 48 | (uint64_t)packet->flags << 32 | packet->communicator,
        (uint64_t)packet->generation << 48 | (uint64_t)packet->attempt << 40 | (uint64_t)packet->tree << 32 |
            packet->sequence >> 16,
        packet->sequence << 48 | (uint64_t)packet->node << 32 | packet->bitmap >> 32,
        packet->bitmap << 32 | (uint64_t)packet->type << 24 | (uint64_t)packet->reduction << 16 | packet->payload_len,
        (uint64_t)packet->digest << 32 | packet->boot,
        (uint64_t)offset << 32 | (uint64_t)packet->contributors << 16 | packet->last_rank,
        (uint64_t)packet->window_cap << 48 | (uint64_t)(uint16_t)packet->exponent << 32,
        packet->lane,
    };
    words[CRC_WORD] |= packet->authenticated != 0 ? 0 : checksum(words, packet->payload, packet->payload_len);
    for (int i = 0; i < WORDS; i++) {
        uint64_t raw = swap64(words[i]);
        memcpy(header + 8 * i, &raw, sizeof raw);
    }
}

static inline void parse(const uint64_t *words, const uint8_t *payload, struct trib_packet *packet)
{
    uint64_t sequence = (words[1] & 0xffffffff) << 16 | words[2] >> 48;
    int32_t offset = (int32_t)(words[5] >> 32);
    uint16_t payload_len = (uint16_t)words[3];
    *packet = (struct trib_packet){
        .sequence = sequence,
        .mark = sequence + (uint64_t)(int64_t)offset,
        .bitmap = words[2] << 32 | words[3] >> 32,
        .lane = words[7],
        .payload = payload_len == 0 ? NULL : payload,
        .communicator = (uint32_t)words[0],
        .digest = (uint32_t)(words[4] >> 32),
        .boot = (uint32_t)words[4],
        .flags = (uint16_t)(words[0] >> 32),
        .generation = (uint16_t)(words[1] >> 48),
        .node = (uint16_t)(words[2] >> 32),
        .payload_len = payload_len,
        .contributors = (uint16_t)(words[5] >> 16),
        .last_rank = (uint16_t)words[5],
        .window_cap = (uint16_t)(words[6] >> 48),
        .exponent = (int16_t)(words[6] >> 32),
        .kind = (uint8_t)(words[0] >> 48),
        .attempt = (uint8_t)(words[1] >> 40),
        .tree = (uint8_t)(words[1] >> 32),
        .type = (uint8_t)(words[3] >> 24),
        .reduction = (uint8_t)(words[3] >> 16),
        .authenticated = words[0] >> 56 == TRIB_WIRE_AUTHENTICATED,
    };
}

enum trib_drop trib_packet_decode(const uint8_t *data, size_t len, struct trib_packet *packet)
{
    uint64_t words[WORDS];
    if (len < TRIB_HEADER_SIZE) {
        return TRIB_DROP_SHORT;
    }
    load_words(data, words);
    bool is_authenticated = words[0] >> 56 == TRIB_WIRE_AUTHENTICATED;
    if (words[0] >> 56 != TRIB_WIRE_VERSION && !is_authenticated) {
        return TRIB_DROP_VERSION;
    }
    const uint8_t *payload = data + TRIB_HEADER_SIZE;
    size_t payload_len = words[3] & 0xffff;
    if (len != TRIB_HEADER_SIZE + payload_len + (is_authenticated ? TRIB_AUTHENTICATOR_SIZE : 0)) {
        return TRIB_DROP_LENGTH;
    }
    uint32_t crc = (uint32_t)(words[CRC_WORD] & CRC_BITS);
    words[CRC_WORD] &= ~CRC_BITS;
    if (!is_authenticated && checksum(words, payload, payload_len) != crc) {
        return TRIB_DROP_CRC;
    }
    struct trib_packet checked;
    parse(words, payload, &checked);
    if (!has_valid_fields(&checked)) {
        return TRIB_DROP_FIELD;
    }
    parse(words, payload, packet); /* from registers: a copy of `checked` would wait for stores, as above */
    return TRIB_DROP_NONE;
}

const char *trib_drop_name(enum trib_drop drop)
{
    static const char *const names[] = {
#define X(name, text) #name,
        TRIB_DROP_MAP(X)
#undef X
    };
    return (size_t)drop < TRIB_DROP_COUNT ? names[drop] : "unknown";
}

const char *trib_drop_text(enum trib_drop drop)
{
    static const char *const texts[] = {
#define X(name, text) text,
        TRIB_DROP_MAP(X)
#undef X
    };
    return (size_t)drop < TRIB_DROP_COUNT ? texts[drop] : "unknown";
}

const char *trib_kind_name(enum trib_kind kind)
{
    static const char *const names[TRIB_KIND_COUNT] = {
        [TRIB_KIND_NONE] = "NONE",    [TRIB_CONTRIBUTION] = "CONTRIBUTION",
        [TRIB_RESULT] = "RESULT",     [TRIB_PROBE] = "PROBE",
        [TRIB_ASK] = "ASK",           [TRIB_HELD] = "HELD",
        [TRIB_OFFER] = "OFFER",       [TRIB_BOOT] = "BOOT",
        [TRIB_PATH] = "PATH",         [TRIB_FLOW] = "FLOW",
        [TRIB_FLOW_ACK] = "FLOW_ACK",
    };
    return (size_t)kind < TRIB_KIND_COUNT ? names[kind] : "unknown";
}
