/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: the scheme `forward`: a switch that passes on the parts that a switch of `switchml` would add, to measure
 * the cost of adding (`tributary reproduce panama-fig7`). A contribution of the communicator's one rank goes back
 * unchanged, as the result: the sum of one rank is the rank's part. No slot keeps the part, and no number is looked
 * at; all else, recovery above all, is switchml's business.
 *
 * It is no aggregation: communicators have one rank.
 * Read next: forward_switch.c. */
#ifndef TRIB_FORWARD_H
#define TRIB_FORWARD_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_forward;
extern const struct trib_switch_verbs trib_forward_switch_verbs;

#endif
