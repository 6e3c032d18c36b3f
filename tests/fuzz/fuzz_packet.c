/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packet.c: bytes to the decoder; what it takes must encode to the same bytes. The first byte of an input is no
 * part of the packet: if it is odd the checksum is made right first, so that the search gets past it. */
#include <stdlib.h>
#include <string.h>

#include "core/crc32c.h"
#include "core/packet.h"
#include "fuzz/fuzz.h"

static void mend_checksum(uint8_t *packet, size_t len)
{
    memset(packet + TRIB_AT_CRC, 0, 4);
    uint32_t crc = trib_crc32c(0, packet, len);
    for (int i = 0; i < 4; i++) {
        packet[TRIB_AT_CRC + i] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

static void check(const uint8_t *bytes, size_t len)
{
    uint8_t header[TRIB_HEADER_SIZE];
    uint8_t given[TRIB_HEADER_SIZE];
    struct trib_packet packet;
    if (trib_packet_decode(bytes, len, &packet) != TRIB_DROP_NONE) {
        return;
    }
    size_t behind = packet.authenticated != 0 ? TRIB_AUTHENTICATOR_SIZE : 0;
    trib_packet_encode(&packet, header);
    memcpy(given, bytes, sizeof given);
    if (packet.authenticated != 0) { /* whatever is in place of its checksum, its authenticator proves */
        memset(given + TRIB_AT_CRC, 0, 4);
    }
    if (memcmp(header, given, sizeof header) != 0 || TRIB_HEADER_SIZE + (size_t)packet.payload_len + behind != len) {
        abort();
    }
    if (packet.payload_len > 0 && packet.payload != bytes + TRIB_HEADER_SIZE) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t len = size - 1;
    uint8_t *bytes = malloc(len + (len == 0)); /* of exactly this size, so that a read beyond it is seen */
    if (bytes == NULL) {
        return 0;
    }
    memcpy(bytes, data + 1, len);
    if ((data[0] & 1U) != 0 && len >= TRIB_HEADER_SIZE) {
        mend_checksum(bytes, len);
    }
    check(bytes, len);
    free(bytes);
    return 0;
}
