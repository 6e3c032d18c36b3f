/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h: the control plane in rank 0's process, where no switch is named, or to go on without the one that is: a
 * thread that serves sessions, of all ranks, this one's as well. It is the same as a switch's (control/server.h),
 * without shards of its own: the ranks' processes are the roots (own_root.h). All communicators of the process whose
 * rank 0 is here share one for each rendezvous.
 * Read next: embedded.c, control/server.h. */
#ifndef TRIB_COMM_EMBEDDED_H
#define TRIB_COMM_EMBEDDED_H

#include <tributary/comm.h>

#include "net/address.h"

struct trib_embedded;

/* Finds or starts the one at this address: of the rendezvous of config; or, with port 0, of this host, at any port.
 * *embedded is the caller's share of it, written only on success. ERR_REFUSED when another program has the port;
 * ERR_SYSTEM, ERR_MEMORY; error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_embedded_acquire(const struct trib_config *config,
                                                     const struct trib_address *address,
                                                     struct trib_embedded **embedded, char *error);
/* Where it listens; NULL: 0. */
uint16_t trib_embedded_port(const struct trib_embedded *embedded);
/* One more share; NULL is fine. Returns it. */
struct trib_embedded *trib_embedded_share(struct trib_embedded *embedded);
/* Gives a share up; NULL is fine. With the last one it waits for linger_ns at most until all jobs have ended: other
 * ranks may still have to hear the last word, also those that have yet to come to a job that has ended since settings
 * differ. Where it is to be patient and communicators without rank 0 are running it waits for those as well, for
 * timeout_ns of the config at most, and again when the process ends by exit(): they would end with it. It does not wait
 * for who is about to join the next communicator of this process. In between, or if time is up, it goes on serving them
 * as long as the process lives, and ends with the last of them. */
void trib_embedded_release(struct trib_embedded *embedded, uint64_t linger_ns, bool is_patient);

/* For fork.c: takes all locks; gives them back; in the child of the fork: forgets all, and closes their descriptors. */
void trib_embedded_hold(void);
void trib_embedded_resume(void);
void trib_embedded_abandon(void);

#endif
