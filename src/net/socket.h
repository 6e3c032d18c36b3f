/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h: the sockets below udp.c: made, sized, bound, joined. For src/net only. Read next: udp.c. */
#ifndef TRIB_NET_SOCKET_H
#define TRIB_NET_SOCKET_H

#include "net/port.h"

/* Makes and binds the socket of config. local gets the bound address. *fd is -1 on failure. */
TRIB_MUST_USE enum trib_status trib_socket_open(const struct trib_port_config *config, int *fd,
                                                struct trib_address *local, char *error);
/* Connects it; local gets the address that it now sends from. False: errno says why. */
bool trib_socket_connect(int fd, const struct trib_address *peer, struct trib_address *local);
/* Whether it is still bound to the port number of local, and connected, if it was. */
bool trib_socket_is_at(int fd, const struct trib_address *local, bool was_connected);
/* Lets the kernel hand over whole trains; false where it cannot. */
bool trib_socket_set_trains(int fd);
/* Bytes of the kernel's memory that what was sent still takes, in the queues of devices; 0 also where it cannot be
 * told. */
uint32_t trib_socket_backlog(int fd);
/* Bytes of payload that surely fit into the receive buffer. */
uint32_t trib_socket_receive_room(int fd);

#endif
