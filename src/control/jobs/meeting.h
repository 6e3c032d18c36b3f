/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.h: where ranks go if their switch is gone for good. Read next: meeting.c. */
#ifndef TRIB_CONTROL_JOBS_MEETING_H
#define TRIB_CONTROL_JOBS_MEETING_H

#include "control/jobs/state.h"

/* All ranks are there: sets job->meeting. */
void trib_job_choose_meeting(const struct trib_jobs *jobs, struct trib_job *job);
/* Address of this switch for a rank that came through switches below, or in scheme rina of one on the rank's own host;
 * len 0: it came directly, the scheme has no detour, or the rank cannot find this switch by any known address. */
struct trib_address trib_job_server_towards(const struct trib_jobs *jobs, const struct trib_job *job,
                                            const struct trib_session *session);

#endif
