/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: encoded packets, and trains of packets for one destination. A packet for several destinations is encoded
 * once, and joins the train of each. For src/net only.
 * Read next: port.c (gathers trains), udp_send.c (sends them). */
#ifndef TRIB_NET_TRAIN_H
#define TRIB_NET_TRAIN_H

#include <sys/uio.h>

#include "net/traffic.h"

#define TRIB_WIRE_PIECES 3 /* header, payload if present, authenticator if present */

/* An encoded packet. The owner keeps the payload, unless encrypted. */
struct trib_wire_packet {
    struct iovec piece[TRIB_WIRE_PIECES];
    uint32_t pieces;
    uint32_t bytes;
    uint8_t header[TRIB_HEADER_SIZE];
    uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE];
};

/* All packets are `segment` bytes long, except that the last may be shorter. The pieces are borrowed. */
struct trib_train {
    uint32_t packets;
    uint32_t pieces;
    size_t segment;
    size_t bytes;
    struct iovec piece[TRIB_WIRE_PIECES * TRIB_TRAIN_PACKETS_MAX];
};

/* Bytes of UDP payload of a packet. seal: NULL for a packet without an authenticator. */
static inline uint32_t trib_wire_size(const struct trib_packet *packet, const struct trib_seal *seal)
{
    return trib_packet_size(packet->payload_len, seal != NULL);
}
/* Encodes a packet, with the authenticator of seal, and encrypts the payload if the seal's key does.
 * cipher: memory for an encrypted payload. Returns the used bytes of it. */
uint32_t trib_wire_encode(struct trib_wire_packet *wire, const struct trib_packet *packet, const struct trib_seal *seal,
                          void *cipher);

/* True if a packet of len bytes can join the train. An empty train takes any packet. */
bool trib_train_fits(const struct trib_train *train, size_t len);
/* Adds a packet that fits. */
void trib_train_add(struct trib_train *train, const struct trib_wire_packet *wire);
static inline void trib_train_empty(struct trib_train *train)
{
    train->packets = train->pieces = 0;
    train->bytes = 0;
}

#endif
