/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h: the lanes of a communicator with a key (core/tag.h): the numbers, and texts for people.
 * Read next: proof.c, core/tag.h. */
#ifndef TRIB_COMM_PROOF_H
#define TRIB_COMM_PROOF_H

#include <tributary/comm.h>

#include "core/node.h"

struct trib_comm;
struct trib_grant;

/* True if lanes of comm prove values: it has a key, and the ranks send to switches or roots. The same at all ranks of
 * comm, also at a rank that another rank of its host sends for. */
bool trib_proof_is_wanted(const struct trib_comm *comm);
/* Before the node is made: comm->tag, NULL if no lanes are wanted. False: no memory. */
bool trib_proof_open(struct trib_comm *comm, const struct trib_grant *grant);
/* Between two operations: the numbers of a key of all ranks' nonces. */
void trib_proof_renew(struct trib_comm *comm, const uint64_t *nonces);
void trib_proof_close(struct trib_comm *comm);

/* Why the results of a fragment fail, by the FAILED event of the node. */
void trib_proof_explain(const struct trib_comm *comm, const struct trib_event *event, char *text, size_t size);

/* Which sums of such a communicator are proved, for people. */
const char *trib_proof_text(const struct trib_config *config, const char *scheme);

#endif
