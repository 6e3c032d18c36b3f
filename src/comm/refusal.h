/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h: the cause of a refused call, for trib_comm_error. Each thread has its last one, as with errno. A refused
 * call has begun nothing, and its communicator goes on.
 * Read next: collectives.c (the checks). */
#ifndef TRIB_COMM_REFUSAL_H
#define TRIB_COMM_REFUSAL_H

#include <tributary/comm.h>

/* Keeps the text for the calling thread, and logs it. comm: NULL: the call named none. Returns status. */
__attribute__((format(printf, 3, 4))) enum trib_status trib_refuse(const struct trib_comm *comm,
                                                                   enum trib_status status, const char *format, ...);
/* The same for a communicator that may be gone, without the log. */
void trib_note_refusal(uint64_t serial, const char *text);
/* The text, if this thread's last refused call was one of comm (NULL: of none), else "". */
const char *trib_refusal_of(const struct trib_comm *comm);

#endif
