/* SPDX-License-Identifier: Apache-2.0 */
/* check_buffers.h: the caller's buffers in a world, made so that every touch can be judged. Read next:
 * check_buffers.c. */
#ifndef TRIB_TESTS_WORLD_CHECK_BUFFERS_H
#define TRIB_TESTS_WORLD_CHECK_BUFFERS_H

#include "world.h"

/* Do its switches look at no number? Then a NaN of 16 bits stays as it was. */
bool world_passes_on(const struct world *world);
/* Do all ranks' inputs come from one tensor: each its share, or one rank all of it? */
bool buffers_are_one(const struct world_op *op);
void buffers_make(struct world_op *op, uint32_t rank);
void buffers_scribble(struct trib_prng *prng, struct world_op *op, uint32_t rank);
void buffers_free(struct rank_op *r);

#endif
