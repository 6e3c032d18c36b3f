/* SPDX-License-Identifier: Apache-2.0 */
/* rina.h: the scheme of Rina (Chen et al., ICNP'24): racks with a switch that adds form chains. No switch between racks
 * has to add. A rack sends the sum of its ranks, and of all racks behind it, on to the next rack. The result comes back
 * the same way.
 *
 * From the paper (sections III-B, IV): a rack with a switch that adds counts as one worker of a ring, racks pass
 * partial sums on to one another, and ranks get the result from their own switch. Not from the paper:
 *   - A switch takes the partial sum of the rack before as the part of one more child. In the paper a rank of the rack,
 *     its agent, takes that sum and adds it to its own gradient, as a Tofino switch can begin no packet. So an agent
 *     carries almost twice the bytes of other ranks. Here no rank does.
 *   - The paper cuts the model into as many chunks as there are racks, each of which begins at another rack and goes
 *     once around for the sum, and once for the result. Here each root has the ring cut at another place, so that two
 *     chains lead to the rack of the root, and results go back along them. The link of a rack carries the same bytes,
 *     2 (G-1)/G of the model for G racks in each direction, if there are as many roots (shards) as racks.
 *   - All rules are those of trees of switches (docs/ARCHITECTURE.md, "Trees"). The paper has none for losses.
 * Windows are PANAMA's. Reasons and measurements: docs/DECISIONS.md. */
#ifndef TRIB_RINA_H
#define TRIB_RINA_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_rina;

#endif
