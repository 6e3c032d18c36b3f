/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: packets gathered for one send. Headers, authenticators and encrypted payloads lie here, other payloads where
 * their owner has them. For src/net only.
 * Read next: port.c (gathers them), udp_send.c (sends them). */
#ifndef TRIB_NET_TRAIN_H
#define TRIB_NET_TRAIN_H

#include <sys/uio.h>

#include "net/port.h"

/* All packets are `segment` bytes long but the last, which may be shorter. A packet has a piece for its header, one for
 * its payload if there is any, and one for its authenticator if it has one. */
struct trib_train {
    const struct trib_address *to;    /* NULL: connected */
    uint64_t to_bits;                 /* which of the array */
    const struct trib_address *group; /* one packet for all; NULL: one for each */
    uint32_t packets;
    uint32_t pieces;
    size_t segment;
    size_t bytes;
    bool is_flagged; /* its packets get TRIB_FLAG_ECN; whoever adds the first says so */
    struct iovec piece[3 * TRIB_TRAIN_PACKETS_MAX];
    uint8_t header[TRIB_TRAIN_PACKETS_MAX][TRIB_HEADER_SIZE];
    uint8_t authenticator[TRIB_TRAIN_PACKETS_MAX][TRIB_AUTHENTICATOR_SIZE];
    size_t encrypted;                     /* bytes of `cipher` in use */
    uint8_t cipher[TRIB_TRAIN_BYTES_MAX]; /* encrypted payloads */
};

/* Can a packet of len bytes join the train? An empty train takes any. */
bool trib_train_fits(const struct trib_train *train, size_t len);
/* Bytes of UDP payload that a packet takes. seal: NULL for one without an authenticator. */
static inline size_t trib_train_size(const struct trib_packet *packet, const struct trib_seal *seal)
{
    return trib_packet_size(packet->payload_len, seal != NULL);
}
void trib_train_add(struct trib_train *train, const struct trib_packet *packet, const struct trib_seal *seal);
void trib_train_empty(struct trib_train *train);

#endif
