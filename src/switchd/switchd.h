/* SPDX-License-Identifier: Apache-2.0 */
/* switchd.h: the switch daemon as one call: sockets, shard threads, control plane. The program (src/cli) parses options
 * and handles signals.
 *
 * Use: trib_switchd_init(&config); change fields; trib_switchd_run(&config, error) from the main thread;
 * trib_switchd_stop() in the handlers of SIGTERM and SIGINT. One at a time in a process.
 * Read next: switchd.c, plane.h (the data plane), shard.h (one thread of it). */
#ifndef TRIB_SWITCHD_SWITCHD_H
#define TRIB_SWITCHD_SWITCHD_H

#include "switchd/config.h"

/* Sets the defaults, which the fields' comments have in brackets. */
void trib_switchd_init(struct trib_switchd_config *config);
/* The port of HTTP, where nobody chose one, of a switch with this port for sessions. */
uint16_t trib_switchd_http_port(uint16_t port);
/* Returns ERR_INVALID with the cause for a config that trib_switchd_run would refuse before opening sockets. */
TRIB_MUST_USE enum trib_status trib_switchd_check(const struct trib_switchd_config *config, char *error);
/* True if the address is this switch's, with its port. */
bool trib_switchd_is_at(const struct trib_switchd_config *config, const struct trib_address *address);
/* Serves until trib_switchd_stop. error: TRIB_ERROR_TEXT_MAX bytes for the cause, may be NULL.
 * Returns OK after a stop; ERR_INVALID, ERR_MEMORY, ERR_SYSTEM if the start failed. */
TRIB_MUST_USE enum trib_status trib_switchd_run(const struct trib_switchd_config *config, char *error);
/* Ends trib_switchd_run soon, also a call that is still starting. For signal handlers and other threads. */
void trib_switchd_stop(void);

#endif
