/* SPDX-License-Identifier: Apache-2.0 */
/* port.h: packets between addresses, in trains. Packets for one destination, sent one after another, leave in one call
 * and arrive as one buffer. A port knows packets and addresses, no nodes. One thread at a time per port.
 * The carrier below a port moves trains (carrier.h): UDP, if the configuration names no other.
 *
 * Use:
 *   trib_port_open; then again and again
 *     while (trib_port_receive(port, now)) while (trib_port_next(port, &arrival)) ... decode, feed, ...
 *     trib_port_send(port, &packet, to, bits) for each packet, trib_port_flush(port) at the end of a drain;
 *   and trib_port_close. The caller waits: poll(2) trib_port_fd() until trib_port_deadline().
 * Faults (faults.c) are applied to all packets that a port receives.
 * Read next: carrier.h (below a port), udp.c (the carrier with sockets). */
#ifndef TRIB_NET_PORT_H
#define TRIB_NET_PORT_H

#include "net/traffic.h"

struct trib_port;

/* error: TRIB_ERROR_TEXT_MAX bytes for the cause, may be NULL. Returns ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_port_open(const struct trib_port_config *config, struct trib_port **port,
                                              char *error);
void trib_port_close(struct trib_port *port);
/* Gives a spare port its options and its memory, and touches the receive buffer before the first packets do.
 * No effect on another port, or a second time. Returns ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_port_use(struct trib_port *port, char *error);
/* True until trib_port_use. */
bool trib_port_is_spare(const struct trib_port *port);
/* Descriptor to poll for input. */
int trib_port_fd(const struct trib_port *port);
/* The local address, with the port that was actually bound. */
void trib_port_local(const struct trib_port *port, struct trib_address *local);
/* Guaranteed payload bytes in the receive buffer that was actually granted. */
uint32_t trib_port_receive_room(const struct trib_port *port);
/* True if the system sends and receives whole trains here; false: one system call a packet (trains off, or an old
 * kernel). */
bool trib_port_has_trains(const struct trib_port *port);
/* False: the system has removed the socket's address, or its peer's, as `ss -K` does. Packets then leave from another
 * address, or not at all. */
bool trib_port_has_address(const struct trib_port *port);
/* Connects an unconnected port: packets with no destination go to `peer`, and trib_port_local is their source address.
 * Earlier packets of others are dropped. False: errno has the cause. */
TRIB_MUST_USE bool trib_port_connect(struct trib_port *port, const struct trib_address *peer);

/* Reads one train without blocking. False: no train has arrived, and no packet held by injected faults is due. Receive
 * errors such as ICMP port unreachable are ignored. */
bool trib_port_receive(struct trib_port *port, uint64_t now_ns);
/* Next packet of the train read last. False: the train has no more. */
bool trib_port_next(struct trib_port *port, struct trib_arrival *arrival);
/* Decodes a packet. A mark of the network becomes TRIB_FLAG_ECN of the packet. The authenticator is not checked here:
 * that needs the sender's key. */
enum trib_drop trib_port_decode(const struct trib_arrival *arrival, struct trib_packet *packet);
/* Checks the authenticator of a decoded packet, and decrypts an encrypted payload.
 * auth: of the packet's communicator; NULL: its packets have no authenticator. peer: number of the sender in auth.
 * Returns NONE for an authentic packet; else AUTH or REPLAY. */
enum trib_drop trib_port_authenticate(const struct trib_arrival *arrival, const struct trib_packet *packet,
                                      struct trib_auth *auth, uint32_t peer);
/* When to call trib_port_receive without input at the descriptor: faults hold packets, or a neighbour has handed over
 * some (0: now). UINT64_MAX: never. */
uint64_t trib_port_deadline(const struct trib_port *port);

/* Adds a packet to the trains of its destinations: to[i] for each bit i of `bits`, not 0 (connected: to is NULL, bits
 * 1). The packet is encoded once.
 * A destination's train is sent when the next packet does not fit: a packet larger than the first, a packet after a
 * shorter one (which ends a train), 64 packets, or 65,507 bytes. All trains are sent when 256 packets wait, or packets
 * for 32 arrays. Packets from one array to one destination leave in order.
 * Payload and array must stay valid until the next flush: arrays are compared by pointer. */
void trib_port_send(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                    uint64_t bits);
/* As trib_port_send, with an authenticator; seal NULL: without. */
void trib_port_send_sealed(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                           uint64_t bits, const struct trib_seal *seal);
/* Sends one packet to several destinations, by a multicast group. The packet keeps its order with packets to single
 * destinations of the group. seal: as for trib_port_send_sealed. */
void trib_port_send_to_group(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                             uint64_t bits, const struct trib_address *group, const struct trib_seal *seal);
/* Sends all loaded trains: payloads and arrays are no longer borrowed. */
void trib_port_flush(struct trib_port *port);
/* True if no packet waits. */
bool trib_port_is_flushed(const struct trib_port *port);
/* Flags packets by the local queue, where the network does not mark. A packet that begins a train looks at the bytes
 * that the kernel holds for this socket, in its queues and the device's. Above `bytes` for each destination of the
 * packet, the packet and its followers in the trains get TRIB_FLAG_ECN.
 * The kernel counts memory, which is 1.0 to 1.6 times the bytes on the wire. 0: no look, no flag, the state after
 * trib_port_open. */
void trib_port_set_backlog(struct trib_port *port, uint32_t bytes);
uint32_t trib_port_backlog(const struct trib_port *port); /* the last value set */

/* Makes two ports of this process neighbours until one of them is closed. Trains to the address at which a port knows
 * its neighbour are handed over without the kernel. The addresses are the ones that receivers see as the sender.
 * One thread drives both ports at a time, and neither is connected. A port has at most one neighbour. False: out of
 * memory, and the kernel carries the packets as before. */
bool trib_port_join(struct trib_port *a, const struct trib_address *a_known_as, struct trib_port *b,
                    const struct trib_address *b_known_as);
void trib_port_part(struct trib_port *port); /* ends it; trains that the neighbour has not read are lost */

const struct trib_port_stats *trib_port_stats(const struct trib_port *port);
/* Adds every count of part to sum. */
void trib_port_stats_add(struct trib_port_stats *sum, const struct trib_port_stats *part);

#endif
