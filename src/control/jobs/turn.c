/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c: how far a session has come here, and so which messages are in turn (the table of words.c). Read next: jobs.c
 * (effects of the messages). */
#include "control/jobs/turn.h"
#include "control/jobs/state.h"

/* Stage of the session of rank `index`, once there is a communicator. */
static enum trib_stage stage_of(const struct trib_job *job, uint32_t index)
{
    const struct trib_rank *rank = &job->ranks[index];
    if (rank->is_recalled) {
        return TRIB_STAGE_RECALLED;
    }
    if (job->state <= TRIB_JOB_PLACING) {
        return TRIB_STAGE_JOINING;
    }
    if (rank->is_registered) { /* a closed rank sends CLOSE first, and registers like all ranks */
        if (rank->is_closing) {
            return TRIB_STAGE_CLOSING;
        }
        return job->state == TRIB_JOB_RUNNING ? TRIB_STAGE_RUNNING : TRIB_STAGE_REGISTERED;
    }
    return rank->has_paths || rank->was_ready ? TRIB_STAGE_PROVED : TRIB_STAGE_WELCOMED;
}

/* The first message of a session shows the sender. */
static bool begins_in_turn(const struct trib_message *message)
{
    bool is_master = message->kind == TRIB_MESSAGE_CONTROL;
    return trib_message_is_in_turn(message->kind, is_master ? TRIB_SENDER_MASTER : TRIB_SENDER_RANK, TRIB_STAGE_FIRST);
}

bool trib_session_is_in_turn(const struct trib_session *session, const struct trib_message *message)
{
    const struct trib_job *job = session->job;
    if (!trib_session_is_joined(session)) {
        return begins_in_turn(message);
    }
    if (session->master) {
        return trib_message_is_in_turn(message->kind, TRIB_SENDER_MASTER, TRIB_STAGE_WELCOMED);
    }
    return trib_message_is_in_turn(message->kind, TRIB_SENDER_RANK, stage_of(job, session->rank));
}
