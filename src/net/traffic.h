/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h: settings, packets and counts of a port, for ports and the carriers below. Read next: port.h,
 * carrier.h. */
#ifndef TRIB_NET_TRAFFIC_H
#define TRIB_NET_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/packet.h"
#include "keys/auth.h"
#include "net/address.h"

struct trib_carrier_operations; /* carrier.h */

#define TRIB_TRAIN_PACKETS_MAX 64  /* UDP_MAX_SEGMENTS of every kernel that has UDP_SEGMENT */
#define TRIB_TRAIN_BYTES_MAX 65507 /* of UDP payload */
/* Queue length, bytes, above which packets are flagged (trib_port_set_backlog): PANAMA's 85 packets of 1500 bytes,
 * which is DCTCP's threshold at 10 Gbit/s. */
#define TRIB_BACKLOG_DEFAULT (85U * 1500)

struct trib_port_config {
    const struct trib_carrier_operations *carrier; /* NULL: UDP */
    struct trib_address local;                     /* bind here; port 0: any */
    struct trib_address peer;                      /* len > 0: connect, and receive only from this address */
    /* len > 0: join and bind to this group, on the interface of `local`; receive only */
    struct trib_address group;
    struct trib_address group_source; /* with group: receive only from this address (port included) */
    uint32_t payload;                 /* bytes of the largest payload */
    uint32_t buffer;                  /* requested socket buffer, bytes, each direction; SO_*BUFFORCE is tried first */
    uint32_t dscp;
    bool trains;   /* false: one packet a call, for comparison */
    bool is_spare; /* bound, may stay unused: call trib_port_use before any other use. Without peer and group */
    struct trib_faults faults;
};

/* Free-running. bytes are UDP payload bytes. */
struct trib_port_stats {
    uint64_t bytes_sent, bytes_received, packets_sent, packets_received, send_calls, receive_calls;
    uint64_t send_waits;      /* waits for room in the kernel, 2 ms at most each */
    uint64_t send_dropped;    /* packets refused by the kernel and dropped, as the node contract allows */
    uint64_t flagged_sent;    /* packets sent with TRIB_FLAG_ECN because of the backlog here (trib_port_set_backlog) */
    uint64_t marked_received; /* packets received with the network's mark: congestion experienced */
    /* handed to a neighbour without the kernel; counted neither as sent nor, there, as received */
    uint64_t bytes_handed, packets_handed;
    uint64_t injected_loss, injected_duplicate, injected_reorder, injected_corrupt;
};

/* A received packet. Bytes are valid until the next trib_port_next or trib_port_receive. */
struct trib_arrival {
    uint8_t *data;
    size_t len;
    const struct trib_address *from;
    bool is_marked; /* the network has marked the packet: congestion experienced (CE, RFC 3168) */
};

/* Authenticator of a packet (keys/auth.h), made when the packet joins a train. */
struct trib_seal {
    struct trib_auth *auth; /* of the sender, in this incarnation of the packet's communicator */
    uint16_t receiver;      /* id; TRIB_AUTH_ALL for a set of more than one */
};

#endif
