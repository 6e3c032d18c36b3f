/* SPDX-License-Identifier: Apache-2.0 */
/* rina.h: the scheme of Rina (Chen et al., ICNP'24): racks whose switch adds form a chain, and no switch between
 * racks has to add. A rack sends the sum of its ranks and of all racks before it on to the next rack, and the result
 * comes back the same way.
 *
 * From the paper (sections III-B, IV): a rack with a switch that adds counts as one worker, racks pass partial sums on
 * to one another, and a rack gets the result from its own switch. Not from the paper:
 *   - The switch takes the partial sum of the rack before as the part of one more child. In the paper a rank of the
 *     rack, its agent, takes that sum and adds it to its own gradient, as a Tofino switch can begin no packet. So
 *     agents there carry almost twice the bytes of other ranks; here no rank does.
 *   - Results go back along the chain, in place of on around a ring. The bytes are the same, but each direction of a
 *     link between racks carries the model once, so one chain is as good as the paper's G chunks on a ring.
 *   - The rules are those of any tree of switches (docs/ARCHITECTURE.md, "Trees"): the chain is one. The paper has none
 *     for losses.
 * `rina-literal`, in the simulator alone, has agents and chunks (published/published.h).
 * Windows are PANAMA's. Reasons: docs/DECISIONS.md. */
#ifndef TRIB_RINA_H
#define TRIB_RINA_H

#include "schemes/schemes.h"

extern const struct trib_scheme trib_rina;

#endif
