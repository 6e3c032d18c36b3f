/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h: the loop of an endpoint: its threads wait here. Locked.
 * The rules are in endpoint.h. */
#ifndef TRIB_COMM_DRIVE_H
#define TRIB_COMM_DRIVE_H

#include "comm/state.h"

/* Drives until *done; releases the lock while it sleeps. */
void trib_endpoint_wait(struct trib_endpoint *endpoint, const atomic_bool *done);
/* The same, until then at the latest. */
void trib_endpoint_wait_until(struct trib_endpoint *endpoint, const atomic_bool *done, uint64_t until_ns);
/* Drives once without sleeping. */
void trib_endpoint_poke(struct trib_endpoint *endpoint);
/* The caller is about to leave, and has left new work or an earlier deadline: makes sure that an awake thread knows. */
void trib_endpoint_attend(struct trib_endpoint *endpoint);
/* The body of the progress thread. Not locked. */
void *trib_endpoint_progress(void *endpoint);

#endif
