/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h: the table of operations below a port: each kind of carrier is one file and one table. A port calls its
 * carrier once for a train, never for a packet. For src/net, and for a test's double.
 * Read next: port.c (calls them), udp.c, pipe.c, faults.c. */
#ifndef TRIB_NET_CARRIER_H
#define TRIB_NET_CARRIER_H

#include "net/train.h"

/* Results of trib_port_receive_room, trib_port_has_trains and trib_port_has_address. */
struct trib_port_limits {
    uint32_t receive_room;
    bool has_trains;
    bool has_address;
};

/* A train as it came: all packets are `segment` bytes long but the last, which may be shorter. Bytes and sender are
 * valid until the next receive. */
struct trib_delivery {
    uint8_t *bytes;
    size_t len;
    size_t segment;
    const struct trib_address *from;
    bool is_marked; /* by the network: congestion experienced (CE, RFC 3168), all its packets or none */
    const struct trib_carrier *owner; /* of bytes and sender */
};

/* The first field of each kind's own struct. A port has one carrier that moves packets between machines, the last, and
 * may have others above it, which serve some packets and leave the rest to the carrier below them. */
struct trib_carrier {
    const struct trib_carrier_operations *operations;
    struct trib_carrier *below;    /* NULL: this is the last */
    struct trib_port_stats *stats; /* the port's: set before anything but open and close is called */
    /* of the last alone */
    struct trib_address local; /* bound to, with the port number that was really bound */
    int fd;                    /* to poll for input; -1: none */
};

struct trib_carrier_operations {
    const char *name;
    /* Makes the last one of a port; NULL: never the last. config->group: the carrier receives multicast. Returns
     * ERR_SYSTEM, ERR_MEMORY with the cause in error (TRIB_ERROR_TEXT_MAX bytes, or NULL). */
    enum trib_status (*open)(const struct trib_port_config *config, struct trib_carrier **carrier, char *error);
    void (*close)(struct trib_carrier *carrier); /* itself, not the one below */
    /* Sends to one destination, which may be a multicast group; NULL: the connected peer. Packets that it cannot send
     * are dropped and counted. */
    void (*send)(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to);
    /* Reads one train without blocking; false: there is none. */
    bool (*receive)(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery);
    /* When receive is to be called although nothing came to the descriptor; 0: now. NULL: never, nor below. */
    uint64_t (*deadline)(const struct trib_carrier *carrier);
    /* Bytes in the queues of this machine, on the way to these destinations; to and bits as of trib_port_send. */
    uint32_t (*backlog)(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits);
    /* Carrier `gone` is about to be removed: forgets all that is left of its train. NULL: keeps none from below. */
    void (*forget)(struct trib_carrier *carrier, const struct trib_carrier *gone);
    /* The rest is of the last alone. As trib_port_connect; `local` follows. */
    bool (*connect)(struct trib_carrier *carrier, const struct trib_address *peer);
    /* As trib_port_use. */
    void (*use)(struct trib_carrier *carrier);
    /* As they are now. */
    void (*limits)(const struct trib_carrier *carrier, struct trib_port_limits *limits);
};

/* Puts a carrier right above the port's last one. The port closes it, by trib_port_remove or with itself. */
void trib_port_insert(struct trib_port *port, struct trib_carrier *carrier);
/* Takes it out and closes it: what is left of a train of its own is lost. */
void trib_port_remove(struct trib_port *port, struct trib_carrier *carrier);
/* The port's carrier of this kind; NULL: it has none. */
struct trib_carrier *trib_port_find(const struct trib_port *port, const struct trib_carrier_operations *operations);

#endif
