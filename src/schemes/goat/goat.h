/* SPDX-License-Identifier: Apache-2.0 */
/* goat.h: the scheme of GOAT (Fang et al., IWQoS'23): a parameter server on a host, and switches on the way that add
 * the pieces of a model that a plan has placed there.
 *
 * From the paper: a model is cut into sub-models (here: pieces); a switch adds those that the plan gives it, in memory
 * of the job alone, and only routes the others; the server adds all that comes. Not from the paper: the sequence says
 * the piece (protocol/pieces.h), where the published packet names a switch; a row is free once its sum has left, not
 * after an iteration; packets keep to their way to the server, so a switch beside it adds nothing, and a sum that
 * passes a second switch with the piece is added there again. The server alone keeps sums right, as with scheme `atp`:
 * worker and root are the same. Without a plan for the job no switch adds. Reasons: docs/DECISIONS.md.
 * Read next: protocol/pieces.h, plan/goat.h (which switch gets which piece). */
#ifndef TRIB_GOAT_H
#define TRIB_GOAT_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_goat;

#endif
