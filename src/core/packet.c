/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c: encodes and decodes the 64-byte header. It knows fields and their ranges; what a packet means is the nodes'
 * business. Read next: docs/PROTOCOL.md, "Packet header"; node.h. */
#include "core/packet.h"

#include <string.h>

#include <tributary/types.h>

#include "core/assert.h"
#include "core/crc32c.h"

_Static_assert(TRIB_AT_LANE + 8 == TRIB_HEADER_SIZE, "the lane ends the header");
_Static_assert(TRIB_AT_CRC + 4 == TRIB_AT_LANE, "no gap before the lane");

/* Written out byte by byte: compilers make one swapped load or store of it. */
static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, (uint16_t)(value >> 16));
    put16(at + 2, (uint16_t)value);
}

static void put48(uint8_t *at, uint64_t value)
{
    put16(at, (uint16_t)(value >> 32));
    put32(at + 2, (uint32_t)value);
}

static void put64(uint8_t *at, uint64_t value)
{
    put32(at, (uint32_t)(value >> 32));
    put32(at + 4, (uint32_t)value);
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint64_t get48(const uint8_t *at)
{
    return (uint64_t)get16(at) << 32 | get32(at + 2);
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static bool kind_has_payload(uint8_t kind)
{
    return kind == TRIB_CONTRIBUTION || kind == TRIB_RESULT || kind == TRIB_OFFER || kind == TRIB_PATH;
}

/* The same for both directions, so that nothing can be sent that every receiver drops. A negative mark has wrapped to a
 * huge one. */
static bool has_valid_fields(const struct trib_packet *packet)
{
    return packet->kind > TRIB_KIND_NONE && packet->kind < TRIB_KIND_COUNT && packet->type < TRIB_TYPE_COUNT &&
           packet->reduction < TRIB_REDUCTION_COUNT && (packet->flags & ~TRIB_FLAGS_KNOWN) == 0 &&
           packet->sequence <= TRIB_SEQUENCE_MAX && packet->mark <= TRIB_SEQUENCE_MAX + 1 &&
           packet->payload_len <= TRIB_PAYLOAD_MAX && (packet->payload_len == 0 || kind_has_payload(packet->kind));
}

/* The checksum of header and payload. Only for a header whose checksum field is zero. */
static uint32_t checksum(const uint8_t *header, const void *payload, size_t payload_len)
{
    uint32_t crc = trib_crc32c(0, header, TRIB_HEADER_SIZE);
    return payload_len == 0 ? crc : trib_crc32c(crc, payload, payload_len);
}

void trib_packet_encode(const struct trib_packet *packet, uint8_t *header)
{
    int64_t offset = (int64_t)(packet->mark - packet->sequence);
    TRIB_ASSERT(has_valid_fields(packet));
    TRIB_ASSERT(offset >= INT32_MIN && offset <= INT32_MAX);
    TRIB_ASSERT(packet->payload_len == 0 || packet->payload != NULL);
    header[TRIB_AT_VERSION] = TRIB_WIRE_VERSION;
    header[TRIB_AT_KIND] = packet->kind;
    put16(header + TRIB_AT_FLAGS, packet->flags);
    put32(header + TRIB_AT_COMMUNICATOR, packet->communicator);
    put16(header + TRIB_AT_GENERATION, packet->generation);
    header[TRIB_AT_ATTEMPT] = packet->attempt;
    header[TRIB_AT_TREE] = packet->tree;
    put48(header + TRIB_AT_SEQUENCE, packet->sequence);
    put16(header + TRIB_AT_NODE, packet->node);
    put64(header + TRIB_AT_BITMAP, packet->bitmap);
    header[TRIB_AT_TYPE] = packet->type;
    header[TRIB_AT_REDUCTION] = packet->reduction;
    put16(header + TRIB_AT_PAYLOAD_LEN, packet->payload_len);
    put32(header + TRIB_AT_DIGEST, packet->digest);
    put32(header + TRIB_AT_BOOT, packet->boot);
    put32(header + TRIB_AT_MARK, (uint32_t)offset);
    put16(header + TRIB_AT_CONTRIBUTORS, packet->contributors);
    put16(header + TRIB_AT_LAST_RANK, packet->last_rank);
    put16(header + TRIB_AT_WINDOW_CAP, packet->window_cap);
    put16(header + TRIB_AT_EXPONENT, (uint16_t)packet->exponent);
    put32(header + TRIB_AT_CRC, 0);
    put64(header + TRIB_AT_LANE, packet->lane);
    put32(header + TRIB_AT_CRC, checksum(header, packet->payload, packet->payload_len));
}

static struct trib_packet parse(const uint8_t *data)
{
    uint64_t sequence = get48(data + TRIB_AT_SEQUENCE);
    int32_t offset = (int32_t)get32(data + TRIB_AT_MARK);
    uint16_t payload_len = get16(data + TRIB_AT_PAYLOAD_LEN);
    return (struct trib_packet){
        .sequence = sequence,
        .mark = sequence + (uint64_t)(int64_t)offset,
        .bitmap = get64(data + TRIB_AT_BITMAP),
        .lane = get64(data + TRIB_AT_LANE),
        .payload = payload_len == 0 ? NULL : data + TRIB_HEADER_SIZE,
        .communicator = get32(data + TRIB_AT_COMMUNICATOR),
        .digest = get32(data + TRIB_AT_DIGEST),
        .boot = get32(data + TRIB_AT_BOOT),
        .flags = get16(data + TRIB_AT_FLAGS),
        .generation = get16(data + TRIB_AT_GENERATION),
        .node = get16(data + TRIB_AT_NODE),
        .payload_len = payload_len,
        .contributors = get16(data + TRIB_AT_CONTRIBUTORS),
        .last_rank = get16(data + TRIB_AT_LAST_RANK),
        .window_cap = get16(data + TRIB_AT_WINDOW_CAP),
        .exponent = (int16_t)get16(data + TRIB_AT_EXPONENT),
        .kind = data[TRIB_AT_KIND],
        .attempt = data[TRIB_AT_ATTEMPT],
        .tree = data[TRIB_AT_TREE],
        .type = data[TRIB_AT_TYPE],
        .reduction = data[TRIB_AT_REDUCTION],
    };
}

enum trib_drop trib_packet_decode(const uint8_t *data, size_t len, struct trib_packet *packet)
{
    if (len < TRIB_HEADER_SIZE) {
        return TRIB_DROP_SHORT;
    }
    if (data[TRIB_AT_VERSION] != TRIB_WIRE_VERSION) {
        return TRIB_DROP_VERSION;
    }
    size_t payload_len = len - TRIB_HEADER_SIZE;
    if (payload_len != get16(data + TRIB_AT_PAYLOAD_LEN)) {
        return TRIB_DROP_LENGTH;
    }
    uint8_t header[TRIB_HEADER_SIZE];
    memcpy(header, data, sizeof header);
    put32(header + TRIB_AT_CRC, 0);
    if (checksum(header, data + TRIB_HEADER_SIZE, payload_len) != get32(data + TRIB_AT_CRC)) {
        return TRIB_DROP_CRC;
    }
    struct trib_packet parsed = parse(data);
    if (!has_valid_fields(&parsed)) {
        return TRIB_DROP_FIELD;
    }
    *packet = parsed;
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
        [TRIB_KIND_NONE] = "NONE", [TRIB_CONTRIBUTION] = "CONTRIBUTION",
        [TRIB_RESULT] = "RESULT",  [TRIB_PROBE] = "PROBE",
        [TRIB_ASK] = "ASK",        [TRIB_HELD] = "HELD",
        [TRIB_OFFER] = "OFFER",    [TRIB_BOOT] = "BOOT",
        [TRIB_PATH] = "PATH",
    };
    return (size_t)kind < TRIB_KIND_COUNT ? names[kind] : "unknown";
}
