/* SPDX-License-Identifier: Apache-2.0 */
/* udp.h: UDP as a carrier. A train is sent by one UDP_SEGMENT call (header and payload gathered by iovec, no copy), and
 * received as one UDP_GRO buffer. For src/net only. Read next: udp.c (receiving), udp_send.c, socket.c. */
#ifndef TRIB_NET_UDP_H
#define TRIB_NET_UDP_H

#include "net/carrier.h"

extern const struct trib_carrier_operations trib_udp_operations;

/* Sends the train to one destination; NULL: connected. *whole: send the train in one call; cleared if the kernel
 * refuses trains here but takes single packets. */
void trib_udp_send_train(struct trib_train *train, int fd, const struct trib_address *to, bool *whole,
                         struct trib_port_stats *stats);

#endif
