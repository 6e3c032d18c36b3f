/* SPDX-License-Identifier: Apache-2.0 */
/* panama.h: the scheme of PANAMA (Gebara et al., MLSys'21): SwitchML's window of slots, with a congestion window for
 * each tree. A tree is a root of the table of roots: fragments are dealt over them in turn, or by weights, and each
 * tree sends as its own window allows.
 *
 * From the paper: the tree's window follows the marks of results (core/congestion.h), a result is the
 * acknowledgement, the switches say how many fragments they have room for. Not from the paper: a result names the
 * marked parts, and each rank heeds the marks of its own way, where the paper ORs the marks for all (as a rank without
 * a number at the switch still does); slots are owned by the exact sequence, and lost packets are asked for, as in
 * switchml (docs/ARCHITECTURE.md, "The window"), so packets may overtake each other and there is no FIN; where the
 * paper's rules freeze or grow without end they are repaired.
 *
 * Worker and switch are the paced ones of protocol/protocol.h. Repairs, and reasons: core/congestion.h,
 * docs/DECISIONS.md. Read next: protocol/worker_pace.c, protocol/switch_pace.c. */
#ifndef TRIB_PANAMA_H
#define TRIB_PANAMA_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_panama;

#endif
