/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: the common part of the transports host and level 0: the memory of one host, its lines to the other ranks
 * there, and the texts about them. Locked. comm->host may be NULL: ranks have not met, or there is one rank only.
 * Read next: local.c, level0.c, host/host.h (the memory). */
#ifndef TRIB_COMM_MEMORY_H
#define TRIB_COMM_MEMORY_H

#include <poll.h>

#include "comm/state.h"

/* An operation begins in the memory: from now on its lateness counts. */
void trib_comm_host_start(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns);
/* A request has ended: names no late rank any more. */
void trib_comm_host_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns);
/* Takes the verdicts that are the same for both transports: fails, or waits. True: it was one of these. */
bool trib_comm_host_take_verdict(struct trib_comm *comm, enum trib_host_verdict verdict);
/* Names the ranks that the operation waits for, in stall_text and the log. leader: the text if the first of them is
 * rank 0 of the memory; NULL: the usual one. */
void trib_comm_host_report_stall(struct trib_comm *comm, const char *leader, uint64_t now_ns);
/* ": rank 2 is missing", from stall_text. */
void trib_comm_host_explain(const struct trib_comm *comm, char *text, size_t size);
/* Tells the other ranks in the memory why this one is about to fail. */
void trib_comm_host_tell(struct trib_comm *comm, enum trib_status status, const char *text);

/* Number that no other run of the job has. */
uint64_t trib_comm_host_run(const struct trib_comm *comm);
/* Fills fds, NULL: counts only. Returns the number of descriptors to poll. */
uint32_t trib_comm_host_descriptors(const struct trib_comm *comm, struct pollfd *fds);
/* Takes the answers of poll; returns their number. */
uint32_t trib_comm_host_take_answers(struct trib_comm *comm, const struct pollfd *answers);
/* Asks the other ranks for a wake-up, before a sleep; false: there is something to do already. Withdraws that. */
bool trib_comm_host_arm(struct trib_comm *comm);
void trib_comm_host_disarm(struct trib_comm *comm);
void trib_comm_host_close(struct trib_comm *comm);

#endif
