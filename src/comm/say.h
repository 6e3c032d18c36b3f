/* SPDX-License-Identifier: Apache-2.0 */
/* say.h: messages from a rank to the control plane. Locked.
 * Read next: join.c (the dialogue), control/words/words.h (the messages). */
#ifndef TRIB_COMM_SAY_H
#define TRIB_COMM_SAY_H

#include "comm/state.h"

void trib_comm_say_join(struct trib_comm *comm);
/* REGISTERING, from here on. */
void trib_comm_register(struct trib_comm *comm);
/* MARK, CLOSE or REGISTER, with the mark. */
void trib_comm_tell_mark(struct trib_comm *comm, enum trib_message_kind kind);
/* CLOSE, if comm is being closed and its session stands. */
void trib_comm_tell_close(struct trib_comm *comm);
/* The answer to DESCRIBE. */
void trib_comm_say_operation(struct trib_comm *comm, uint64_t sequence);
/* A packet names another boot: sends a mark, so that a dead connection shows. */
void trib_comm_hint_boot(struct trib_comm *comm, uint64_t now_ns);

#endif
