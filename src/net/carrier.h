/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h: the table of operations below a port: each kind of carrier is one file and one table. A port calls its
 * carrier once for a train, never for a packet. For src/net, and for a test's double.
 * Read next: port.c (calls them), udp.c. */
#ifndef TRIB_NET_CARRIER_H
#define TRIB_NET_CARRIER_H

#include "net/train.h"

/* Results of trib_port_receive_room and trib_port_has_trains. */
struct trib_port_limits {
    uint32_t receive_room;
    bool has_trains;
};

/* A train as it came: all packets are `segment` bytes long but the last, which may be shorter. Bytes and sender are
 * valid until the next receive. */
struct trib_delivery {
    const uint8_t *bytes;
    size_t len;
    size_t segment;
    const struct trib_address *from;
    bool is_marked; /* by the network: congestion experienced (CE, RFC 3168), all its packets or none */
};

/* The first field of each kind's own struct. */
struct trib_carrier {
    const struct trib_carrier_operations *operations;
    struct trib_port_stats *stats; /* the port's: set before anything but open and close is called */
    struct trib_address local;     /* bound to, with the port number that was really bound */
    int fd;                        /* to poll for input; -1: none */
};

struct trib_carrier_operations {
    const char *name;
    /* Makes one for a port. config->group: the carrier receives multicast. Returns ERR_SYSTEM, ERR_MEMORY with the
     * cause in error (TRIB_ERROR_TEXT_MAX bytes, or NULL). */
    enum trib_status (*open)(const struct trib_port_config *config, struct trib_carrier **carrier, char *error);
    void (*close)(struct trib_carrier *carrier);
    /* Sends to one destination, which may be a multicast group; NULL: the connected peer. Packets that it cannot send
     * are dropped and counted. */
    void (*send)(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to);
    /* Reads one train without blocking; false: there is none. */
    bool (*receive)(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery);
    /* Bytes that wait in this machine's queues, of all that was sent. */
    uint32_t (*backlog)(const struct trib_carrier *carrier);
    /* As trib_port_connect; `local` follows. */
    bool (*connect)(struct trib_carrier *carrier, const struct trib_address *peer);
    /* As trib_port_use. */
    void (*use)(struct trib_carrier *carrier);
    /* As they are now. */
    void (*limits)(const struct trib_carrier *carrier, struct trib_port_limits *limits);
};

#endif
