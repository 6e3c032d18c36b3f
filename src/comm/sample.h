/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h: ranks repeat a sample of each sum that the tag does not prove (core/sample.h; trib_config.sample). Behind
 * each such operation goes an allgather of the drawn parts. A request is done when both have ended and the sample
 * agrees. If it does not agree, the communicator fails with root and fragment named. Locked.
 * Read next: sample.c, request.c (the caller). */
#ifndef TRIB_COMM_SAMPLE_H
#define TRIB_COMM_SAMPLE_H

#include "comm/queue.h"

struct trib_sampler; /* of a communicator */

/* Makes comm->sampler, if sums of comm are sampled. The tag has the nonces of all ranks. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_sampler_open(struct trib_comm *comm);
void trib_sampler_close(struct trib_comm *comm);

/* Draws for an operation that is about to be submitted, copies this rank's part, and has request->sampled and its
 * request wait for the allgather. Does nothing if the operation is not sampled. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_sample_prepare(struct trib_comm *comm, struct trib_request *request);
/* The allgather, to be submitted right behind the operation; NULL: the operation is not sampled. */
struct trib_request *trib_sample_gathering(const struct trib_request *request);
/* A request with samples, or their allgather, has ended at the node. first: its first sequence. False: comm has failed,
 * because the sample does not agree, and both requests have ended. */
TRIB_MUST_USE bool trib_sample_agrees(struct trib_comm *comm, struct trib_request *request, uint64_t first);
/* Frees request->sampled. The request has ended, or was not submitted. */
void trib_sample_free(struct trib_request *request);

/* Room for trib_sample_explain. */
#define TRIB_SAMPLE_TEXT_MAX 192
/* Writes the probability with which samples of one in `every` runs find falsified ones. */
void trib_sample_explain(uint32_t every, char text[TRIB_SAMPLE_TEXT_MAX]);
#endif
