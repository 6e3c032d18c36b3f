/* SPDX-License-Identifier: Apache-2.0 */
/* silence.h: after how long a silence the kernel ends the TCP connection of a session. The connections of a process
 * that dies end at once; the silence is for dead machines and links. comm/join.c has the time to wait for a peer's
 * return. Read next: session_client.h (the lower end), server/connections.h (the upper). */
#ifndef TRIB_CONTROL_SILENCE_H
#define TRIB_CONTROL_SILENCE_H

#include <stdint.h>

/* Sets how long the peer's kernel may be silent, in whole milliseconds: 1 s at least, an hour at most; greater values
 * count as an hour. The session ends by three gaps later, and after two lost questions at least. A gap is a twelfth of
 * the silence, 1 s at least. Small messages leave at once, too. A kernel without one of these options waits longer. */
void trib_session_bound_silence(int fd, uint64_t silence_ns);

#endif
