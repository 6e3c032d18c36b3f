/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h: the table of operations below a port. Each kind of carrier is one file and one table. A port calls its
 * carrier once for a train, never for a packet. For src/net, and for a test's double.
 * Read next: port.c (calls them), udp.c, pipe.c, faults.c. */
#ifndef TRIB_NET_CARRIER_H
#define TRIB_NET_CARRIER_H

#include "net/train.h"

struct trib_port;

/* Results of trib_port_receive_room, trib_port_has_trains and trib_port_has_address. */
struct trib_port_limits {
    uint32_t receive_room;
    bool has_trains;
    bool has_address;
};

/* A received train: all packets are `segment` bytes long, except that the last may be shorter. Bytes and sender are
 * valid until the next receive. */
struct trib_delivery {
    uint8_t *bytes;
    size_t len;
    size_t segment;
    const struct trib_address *from;
    bool is_marked; /* by the network: congestion experienced (CE, RFC 3168), on all packets or none */
    const struct trib_carrier *owner; /* of bytes and sender */
};

/* First field of each kind's own struct. The last carrier of a port moves packets between machines. Carriers above it
 * serve some packets and pass the rest to the carrier below. */
struct trib_carrier {
    const struct trib_carrier_operations *operations;
    struct trib_carrier *below;    /* NULL: this is the last */
    struct trib_port_stats *stats; /* the port's; set before any call but open and close */
    /* Of the last carrier alone. */
    struct trib_address local; /* bound address, with the port number that was actually bound */
    int fd;                    /* to poll for input; -1: none */
};

struct trib_carrier_operations {
    const char *name;
    /* Makes the last carrier of a port; NULL: this kind is never the last. config->group: the carrier receives
     * multicast. Returns ERR_SYSTEM, ERR_MEMORY with the cause in error (TRIB_ERROR_TEXT_MAX bytes, or NULL). */
    enum trib_status (*open)(const struct trib_port_config *config, struct trib_carrier **carrier, char *error);
    void (*close)(struct trib_carrier *carrier); /* closes this carrier, not the one below */
    /* Sends to one destination, which may be a multicast group; NULL: the connected peer. Packets that cannot be sent
     * are dropped and counted. */
    void (*send)(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to);
    /* Reads one train without blocking. False: no train. */
    bool (*receive)(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery);
    /* When to call receive without input at the descriptor; 0: now. NULL: never, and the same below. */
    uint64_t (*deadline)(const struct trib_carrier *carrier);
    /* Bytes in the queues of this machine for these destinations; to and bits as for trib_port_send. */
    uint32_t (*backlog)(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits);
    /* Carrier `gone` is about to be removed: drops the rest of its train. NULL: this kind keeps no bytes from below. */
    void (*forget)(struct trib_carrier *carrier, const struct trib_carrier *gone);
    /* The following are operations of the last carrier. As trib_port_connect; sets `local`. */
    bool (*connect)(struct trib_carrier *carrier, const struct trib_address *peer);
    /* As trib_port_use. config: as for open. */
    enum trib_status (*use)(struct trib_carrier *carrier, const struct trib_port_config *config, char *error);
    /* Writes the present limits. */
    void (*limits)(const struct trib_carrier *carrier, struct trib_port_limits *limits);
};

/* Inserts a carrier directly above the port's last one. The port closes it in trib_port_remove or trib_port_close. */
void trib_port_insert(struct trib_port *port, struct trib_carrier *carrier);
/* Removes and closes a carrier. The rest of a train from this carrier is lost. */
void trib_port_remove(struct trib_port *port, struct trib_carrier *carrier);
/* The port's carrier of this kind; NULL: none. */
struct trib_carrier *trib_port_find(const struct trib_port *port, const struct trib_carrier_operations *operations);

#endif
