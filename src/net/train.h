/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: packets gathered for one send. A train holds headers, authenticators and encrypted payloads; other payloads
 * stay with their owner. For src/net only.
 * Read next: port.c (gathers them), udp_send.c (sends them). */
#ifndef TRIB_NET_TRAIN_H
#define TRIB_NET_TRAIN_H

#include <sys/uio.h>

#include "net/traffic.h"

/* All packets are `segment` bytes long, except that the last may be shorter. A packet has a piece for its header, one
 * for a payload, and one for an authenticator, if present. */
struct trib_train {
    const struct trib_address *to;    /* NULL: connected */
    uint64_t to_bits;                 /* destinations in the array */
    const struct trib_address *group; /* one packet for all destinations; NULL: one packet for each */
    uint32_t packets;
    uint32_t pieces;
    size_t segment;
    size_t bytes;
    bool is_flagged; /* packets get TRIB_FLAG_ECN; decided when the first packet is added */
    struct iovec piece[3 * TRIB_TRAIN_PACKETS_MAX];
    uint8_t header[TRIB_TRAIN_PACKETS_MAX][TRIB_HEADER_SIZE];
    uint8_t authenticator[TRIB_TRAIN_PACKETS_MAX][TRIB_AUTHENTICATOR_SIZE];
    size_t encrypted;                     /* bytes of `cipher` in use */
    uint8_t cipher[TRIB_TRAIN_BYTES_MAX]; /* encrypted payloads */
};

/* True if a packet of len bytes can join the train. An empty train takes any packet. */
bool trib_train_fits(const struct trib_train *train, size_t len);
/* Bytes of UDP payload of a packet. seal: NULL for a packet without an authenticator. */
static inline size_t trib_train_size(const struct trib_packet *packet, const struct trib_seal *seal)
{
    return trib_packet_size(packet->payload_len, seal != NULL);
}
/* Adds a packet that fits. Its payload is borrowed until trib_train_empty, unless encrypted. */
void trib_train_add(struct trib_train *train, const struct trib_packet *packet, const struct trib_seal *seal);
void trib_train_empty(struct trib_train *train);

#endif
