/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h: one round of the server's loop. Read next: rounds.c. */
#ifndef TRIB_CONTROL_SERVER_ROUNDS_H
#define TRIB_CONTROL_SERVER_ROUNDS_H

#include "control/server/connection.h"

/* Sends the cause to all remaining sessions, waits a moment, and closes everything. A second call does nothing. */
void trib_connections_deinit(struct trib_connections *connections, enum trib_status status, const char *text);
/* True while the process is out of descriptors and nothing is accepted. Other listeners of the process should not be
 * polled either. */
bool trib_connections_is_paused(const struct trib_connections *connections, uint64_t now_ns);
/* Writes the descriptors to poll; fds has room for TRIB_CONNECTIONS_POLLED. Returns how many; the order holds until
 * _ready. */
uint32_t trib_connections_poll(const struct trib_connections *connections, struct pollfd *fds, uint64_t now_ns);
void trib_connections_ready(struct trib_connections *connections, const struct pollfd *fds, uint32_t count,
                            uint64_t now_ns);

#endif
