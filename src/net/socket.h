/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h: the sockets below udp.c: creation, buffer sizes, binding, multicast. For src/net only. Read next: udp.c. */
#ifndef TRIB_NET_SOCKET_H
#define TRIB_NET_SOCKET_H

#include "net/traffic.h"

/* Makes and binds the socket of config, and writes the bound address to local. A spare socket has no options yet. *fd
 * is -1 on failure. Returns ERR_SYSTEM with the cause in error. */
TRIB_MUST_USE enum trib_status trib_socket_open(const struct trib_port_config *config, int *fd,
                                                struct trib_address *local, char *error);
/* Sets the options of a socket: of a spare socket before the first use. Returns ERR_SYSTEM. */
TRIB_MUST_USE enum trib_status trib_socket_set_up(const struct trib_port_config *config, int fd, char *error);
/* Connects the socket, and writes its source address to local. False: errno has the cause. */
bool trib_socket_connect(int fd, const struct trib_address *peer, struct trib_address *local);
/* True if the socket is still bound to local's port number, and still connected if it was. */
bool trib_socket_is_at(int fd, const struct trib_address *local, bool was_connected);
/* Lets the kernel deliver whole trains. False: not supported. */
bool trib_socket_set_trains(int fd);
/* Bytes of kernel memory held by sent packets in device queues; 0 also if unknown. */
uint32_t trib_socket_backlog(int fd);
/* Guaranteed payload bytes in the receive buffer. */
uint32_t trib_socket_receive_room(int fd);

#endif
