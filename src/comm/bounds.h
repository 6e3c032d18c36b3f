/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h: the times for which a communicator waits, and the texts that name them. Nothing here changes the
 * communicator. Locked.
 * Read next: connect.c, move.c. */
#ifndef TRIB_COMM_BOUNDS_H
#define TRIB_COMM_BOUNDS_H

#include "comm/state.h"

#define TRIB_COMM_WAITED_MAX 128
#define TRIB_COMM_OTHER_MAX 224

/* True if the communicator may go on without its switch. */
bool trib_comm_may_move(const struct trib_comm *comm);
/* True if comm is being made of a communicator that may go on without the switch. The maker hears the same of the
 * switch, and takes comm along. */
bool trib_comm_is_brought(const struct trib_comm *comm);
/* Time at which comm goes on without the switch although the switch is back, since other ranks are not. */
uint64_t trib_comm_move_time(const struct trib_comm *comm, uint64_t now_ns);
/* Time until which other ranks may come back as well. It is as long at every place, else the control plane could not
 * name the missing ranks. */
uint64_t trib_comm_return_time(const struct trib_comm *comm, uint64_t now_ns);
/* Until when a switch that was away may go away again, before all ranks are back. */
uint64_t trib_comm_last_outage_time(const struct trib_comm *comm);
/* Time at which this rank gives up, if the time of the control plane is up at until_ns. */
uint64_t trib_comm_hearing_time(const struct trib_comm *comm, uint64_t until_ns);
/* True for a ring if its switch is away and every rank has all results of this rank: the rank may leave. */
bool trib_comm_is_done_ring(const struct trib_comm *comm);
/* Until when trib_comm_close waits for CLOSED. */
uint64_t trib_comm_close_time(const struct trib_comm *comm, uint64_t now_ns);

/* Cause of the missing session. */
const char *trib_comm_cause(const struct trib_comm *comm);
/* "; waited 1.2 s (TRIB_JOIN_TIMEOUT is 1 s)": the time passed, and the setting for its limit. text:
 * TRIB_COMM_WAITED_MAX bytes. Returns text. */
char *trib_comm_say_waited(const struct trib_comm *comm, uint64_t now_ns, char *text);
/* "; nor does switch 10.0.0.1:7470 take this rank: connection refused", or "". text: TRIB_COMM_OTHER_MAX bytes. Returns
 * text. */
char *trib_comm_say_other(const struct trib_comm *comm, char *text);
/* Writes why comm has not returned by now. text: TRIB_ERROR_TEXT_MAX bytes. */
void trib_comm_explain_absence(const struct trib_comm *comm, uint64_t now_ns, char *text);

#endif
