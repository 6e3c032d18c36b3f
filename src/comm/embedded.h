/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h: the control plane in rank 0's process, where no switch is named, or for ranks that go on without the
 * switch: a thread that serves the sessions of all ranks, rank 0's as well. It is a switch's control plane
 * (control/server.h) without shards: the ranks' processes are the roots (own_root.h). Communicators of one process with
 * rank 0 here share one control plane for each rendezvous.
 * Read next: embedded.c, control/server.h. */
#ifndef TRIB_COMM_EMBEDDED_H
#define TRIB_COMM_EMBEDDED_H

#include <tributary/comm.h>

#include "keys/derive.h"
#include "net/address.h"

struct trib_embedded;

/* Finds or starts the one at this address: of the rendezvous of config; or, with port 0, of this host, at any port.
 * keys: of its sessions, copied by the one that starts. *embedded is the caller's share of it, written only on success.
 * ERR_REFUSED when another program has the port; ERR_SYSTEM, ERR_MEMORY; error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_embedded_acquire(const struct trib_config *config, const struct trib_keys *keys,
                                                     const struct trib_address *address,
                                                     struct trib_embedded **embedded, char *error);
/* Port; NULL: 0. */
uint16_t trib_embedded_port(const struct trib_embedded *embedded);
/* One more share; NULL is fine. Returns it. */
struct trib_embedded *trib_embedded_share(struct trib_embedded *embedded);
/* Gives a share up; NULL is fine. The last release waits for at most linger_ns until all jobs have ended: other
 * ranks may have to hear the last message, also ranks that come late to a job that failed for its settings. If
 * is_patient, and communicators without rank 0 run, it waits for them as well, for at most timeout_ns of the config;
 * and again when the process ends by exit(), since they would end with it. It does not wait for ranks that are about
 * to join the next communicator of this process. Between these waits, and after them, the control plane serves as
 * long as the process lives, and ends with the last job. */
void trib_embedded_release(struct trib_embedded *embedded, uint64_t linger_ns, bool is_patient);

/* For fork.c: takes all locks; gives all back; in the child of the fork: forgets all control planes, and closes
 * their descriptors. */
void trib_embedded_hold(void);
void trib_embedded_resume(void);
void trib_embedded_abandon(void);

#endif
