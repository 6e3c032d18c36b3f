/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h: the stage of a session, and so the messages in turn (the table of words.c). Read next: turn.c. */
#ifndef TRIB_CONTROL_JOBS_TURN_H
#define TRIB_CONTROL_JOBS_TURN_H

#include "control/jobs/state.h"

/* True if the message is in turn on the session. */
bool trib_session_is_in_turn(const struct trib_session *session, const struct trib_message *message);

#endif
