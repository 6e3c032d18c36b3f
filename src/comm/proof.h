/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h: the tag of a communicator with a key (core/tag.h), and texts for people about it.
 * Read next: proof.c, core/tag.h. */
#ifndef TRIB_COMM_PROOF_H
#define TRIB_COMM_PROOF_H

#include <tributary/comm.h>

#include "core/node.h"

struct trib_comm;
struct trib_grant;

/* True if lanes of comm prove values: comm has a key, and its ranks send to switches or roots. All ranks of comm have
 * the same answer, also a rank for which the leader of its host sends. */
bool trib_proof_is_wanted(const struct trib_comm *comm);
/* Makes comm->tag, before the node is made; NULL if no proof is wanted. False: out of memory. */
bool trib_proof_open(struct trib_comm *comm, const struct trib_grant *grant);
/* Renews comm->tag, if there is one, with the nonces of all ranks. No operation may be under way. */
void trib_proof_renew(struct trib_comm *comm, const uint64_t *nonces);
void trib_proof_close(struct trib_comm *comm);

/* Writes why the results of a fragment failed. event: FAILED, of the node. */
void trib_proof_explain(const struct trib_comm *comm, const struct trib_event *event, char *text, size_t size);

/* Names the operations of such a communicator of which values are proved, for people. */
const char *trib_proof_text(const struct trib_config *config, const char *scheme);

#endif
