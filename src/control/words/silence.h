/* SPDX-License-Identifier: Apache-2.0 */
/* silence.h: after how long a silence the kernel ends the TCP connection of a session. A process that dies closes its own at
 * once; this is for machines that die, and for links. Not how long anybody waits for a peer to come back: comm/join.c.
 * Read next: session_client.h (the lower end), server/connections.h (the upper). */
#ifndef TRIB_CONTROL_SILENCE_H
#define TRIB_CONTROL_SILENCE_H

#include <stdint.h>

/* The peer's kernel may be silent for so long, in whole milliseconds: 1 s at least, an hour at most; what is greater is
 * that. The session ends by three gaps later, where a gap is a twelfth of it, 1 s at least, and at no less than two lost
 * questions. Small messages leave at once, too. A kernel that lacks an option of these waits longer. */
void trib_session_bound_silence(int fd, uint64_t silence_ns);

#endif
