/* SPDX-License-Identifier: Apache-2.0 */
/* switchml.h: the scheme of SwitchML (Sapio et al., NSDI'21) on Tributary's window: the communicator has a pool of
 * slots of its own on every root, a sequence's slot is its dense index mod the pool, and a fixed window clocks itself.
 *
 * From the paper: the pool, self-clocking, results to all, block floating point with exponents agreed ahead. Not from
 * the paper: slots are owned by the exact sequence instead of one version bit, and payload is resent only when asked
 * for (docs/ARCHITECTURE.md, "The window"): the published rule gives wrong sums when an early resend is overtaken.
 * Worker and switch are from protocol/protocol.h, with fixed windows. Read next: protocol/protocol.h. */
#ifndef TRIB_SWITCHML_H
#define TRIB_SWITCHML_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_switchml;

#endif
