/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h: why a call was refused, for trib_comm_error: of each thread its last refused call, as errno is of each
 * thread. A refused call has begun nothing, and its communicator goes on.
 * Read next: collectives.c (what is refused). */
#ifndef TRIB_COMM_REFUSAL_H
#define TRIB_COMM_REFUSAL_H

#include <tributary/comm.h>

/* Keeps the text for this thread, and logs it. comm: NULL: the call named none. Returns status. */
__attribute__((format(printf, 3, 4))) enum trib_status trib_refuse(const struct trib_comm *comm,
                                                                   enum trib_status status, const char *format, ...);
/* The same for a communicator that may be gone, without the log. */
void trib_note_refusal(uint64_t serial, const char *text);
/* The text, if this thread's last refused call was one of comm (NULL: of none), else "". */
const char *trib_refusal_of(const struct trib_comm *comm);

#endif
