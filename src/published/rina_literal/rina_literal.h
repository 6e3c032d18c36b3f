/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal.h: Rina (Chen et al., ICNP'24) with the paper's agents, in the simulator alone: its bytes and steps.
 *
 * As published (sections IV-A to IV-C): the rank of lowest number of a rack, its agent, takes the sum of the racks
 * before, adds its own gradient, and sends both to its switch. The switch adds the rack's other ranks, and sends the
 * sum to the agent of the next rack. A model has as many chunks as there are racks, and each begins at another one:
 * `trees` of a job. Windows are AIMD. So with G racks and M bytes the links of agents carry (1 + (G - 1)/G) M each
 * way, those of other ranks M. A chunk takes 2 G - 1 steps, each from an agent over its switch to the next agent.
 *
 * Where it differs from the paper:
 *   - Results go back along the chain, in place of on around the ring: as many bytes, and as many steps.
 *   - A rank sends within its window; there is no PULL, by which an agent asks for a chunk.
 *   - What is lost is asked for by the rules of trees (docs/ARCHITECTURE.md), as the paper has none.
 * So its sums are right. `rina` differs in what links carry, and in its windows (schemes/rina/rina.h). */
#ifndef TRIB_PUBLISHED_RINA_LITERAL_H
#define TRIB_PUBLISHED_RINA_LITERAL_H

#include "schemes/schemes.h"

extern const struct trib_scheme trib_rina_literal;

#endif
