/* SPDX-License-Identifier: Apache-2.0 */
/* udp.h: UDP sockets that move trains: packets for one destination, handed over one after another, leave as one
 * UDP_SEGMENT call (header and payload gathered by iovec, nothing copied) and arrive as one UDP_GRO buffer.
 * It knows packets and addresses, no nodes. One thread at a time per object.
 *
 * Use:
 *   trib_udp_open; then again and again
 *     while (trib_udp_receive(udp, now)) while (trib_udp_next(udp, &arrival)) ... decode, feed, ...
 *     trib_udp_send(udp, &packet, to, count) for each packet, trib_udp_flush(udp) at the end of a drain;
 *   and trib_udp_close. Waiting is the caller's: poll(2) trib_udp_fd() until trib_udp_deadline().
 * Faults (inject.h) are applied between receive and next, so every user of this file has them.
 * Read next: inject.h. */
#ifndef TRIB_NET_UDP_H
#define TRIB_NET_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/packet.h"
#include "net/address.h"

#define TRIB_TRAIN_PACKETS_MAX 64  /* UDP_MAX_SEGMENTS of every kernel that has UDP_SEGMENT */
#define TRIB_TRAIN_BYTES_MAX 65507 /* of UDP payload */
/* From which on a queue is long (trib_udp_set_backlog): PANAMA's 85 packets of 1500 bytes, which is DCTCP's at 10
 * Gbit/s. */
#define TRIB_BACKLOG_DEFAULT (85U * 1500)

struct trib_udp;

struct trib_udp_config {
    struct trib_address local;        /* bind here; port 0: any */
    struct trib_address peer;         /* len > 0: connect, and take packets only from there */
    struct trib_address group;        /* len > 0: join and bind to it, on the interface of `local`; receive only */
    struct trib_address group_source; /* with group: take packets only from this address (port included) */
    uint32_t payload;                 /* bytes of the largest payload */
    uint32_t buffer;                  /* socket buffers wanted, bytes, each direction; SO_*BUFFORCE is tried first */
    uint32_t dscp;
    bool trains;   /* false: one packet a call, for comparison */
    bool is_spare; /* may never be used: trib_udp_use comes first if it is */
    struct trib_faults faults;
};

/* Free-running. bytes are UDP payload bytes. */
struct trib_udp_stats {
    uint64_t bytes_sent, bytes_received, packets_sent, packets_received, send_calls, receive_calls;
    uint64_t send_waits;      /* times that the kernel had no room and was waited for, 2 ms at most */
    uint64_t send_dropped;    /* packets that the kernel would not take: dropped, as the node contract says */
    uint64_t flagged_sent;    /* packets sent with TRIB_FLAG_ECN because of the backlog here (trib_udp_set_backlog) */
    uint64_t marked_received; /* packets that came marked by the network: congestion experienced */
    uint64_t bytes_handed, packets_handed; /* to a neighbour, without the kernel; neither sent nor, there, received */
    uint64_t injected_loss, injected_duplicate, injected_reorder, injected_corrupt;
};

/* One packet as it came: bytes valid until the next trib_udp_next or _receive. */
struct trib_arrival {
    const uint8_t *data;
    size_t len;
    const struct trib_address *from;
    bool is_marked; /* the network has said on the way that it is congested (CE, RFC 3168) */
};

/* error: TRIB_ERROR_TEXT_MAX bytes for the cause, may be NULL. Returns ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_udp_open(const struct trib_udp_config *config, struct trib_udp **udp, char *error);
void trib_udp_close(struct trib_udp *udp);
/* Takes the memory of a socket's buffer from the system now, not with the first packets. Only a spare one needs that. */
void trib_udp_use(struct trib_udp *udp);
int trib_udp_fd(const struct trib_udp *udp);
/* The local address, with the port that was really bound. */
void trib_udp_local(const struct trib_udp *udp, struct trib_address *local);
/* Socket buffer really granted for receiving, in bytes of payload that fit (the kernel counts overhead too). */
uint32_t trib_udp_receive_room(const struct trib_udp *udp);
/* True if the kernel sends and receives whole trains here; false: one system call a packet (trains off, or an old
 * kernel). */
bool trib_udp_has_trains(const struct trib_udp *udp);

/* The address that packets for peer leave from when their socket is bound to none, as the routes are now. False: there
 * is no way. */
bool trib_udp_source(const struct trib_address *peer, struct trib_address *local);

/* Reads one buffer without blocking; false when there is none (then also held-back packets of the injector that are
 * due have been handed out). Receive errors such as ICMP port unreachable are swallowed. */
bool trib_udp_receive(struct trib_udp *udp, uint64_t now_ns);
/* The next packet of that buffer, after fault injection; false at its end. */
bool trib_udp_next(struct trib_udp *udp, struct trib_arrival *arrival);
/* Decodes it; a mark of the network becomes TRIB_FLAG_ECN of the packet, which nodes know. */
enum trib_drop trib_udp_decode(const struct trib_arrival *arrival, struct trib_packet *packet);
/* When trib_udp_receive is to be called although nothing came to the descriptor: the injector holds packets, or a
 * neighbour has handed over some (0: now). UINT64_MAX: never. */
uint64_t trib_udp_deadline(const struct trib_udp *udp);

/* Adds a packet to the train for these destinations (the same train goes to each of them, encoded once; connected:
 * to is NULL, count 1). A train is sent when the packet does not fit: larger than its first one, behind a shorter
 * one (which ends a train), 64 packets, 65,507 bytes; or when more than 16 destinations take turns. Packets to one
 * destination leave in order. The payload must stay valid until the next flush. The `to` array is compared by
 * pointer and count, so keep it stable. */
void trib_udp_send(struct trib_udp *udp, const struct trib_packet *packet, const struct trib_address *to,
                   uint32_t count);
void trib_udp_flush(struct trib_udp *udp);
/* Whether nothing has been sent since. */
bool trib_udp_is_flushed(const struct trib_udp *udp);
/* Where the network does not mark, its first queue is our own: from now on trains begin with a look at what the kernel
 * still holds of this socket, in its queues and the device's, and get TRIB_FLAG_ECN if that is more than so many bytes
 * for each destination of the train. The kernel counts memory, which is 1.0 to 1.6 times the bytes on the wire. 0: no
 * look, no flag, as in the beginning. */
void trib_udp_set_backlog(struct trib_udp *udp, uint32_t bytes);
uint32_t trib_udp_backlog(const struct trib_udp *udp); /* as it was set */

/* Makes two sockets of this process neighbours, until one of them is closed: what one sends to the address at which it
 * knows the other is handed over without the kernel. The addresses are those that receivers see as the sender. The same
 * thread drives both at a time, and neither is connected. A socket has one neighbour at most. False: out of memory, and
 * the kernel goes on carrying. */
bool trib_udp_join(struct trib_udp *a, const struct trib_address *a_known_as, struct trib_udp *b,
                   const struct trib_address *b_known_as);
void trib_udp_part(struct trib_udp *udp); /* and what its neighbour has not taken is lost, as packets are */

const struct trib_udp_stats *trib_udp_stats(const struct trib_udp *udp);
/* Adds every count of part to sum. */
void trib_udp_stats_add(struct trib_udp_stats *sum, const struct trib_udp_stats *part);

#endif
