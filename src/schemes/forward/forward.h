/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: the scheme `forward`: a switch that passes on the parts that a switch of `switchml` would add, to measure
 * the cost of adding (`tributary reproduce panama-fig7`). A contribution of the one rank that the communicator
 * has goes back to it as it came, as the result: the sum of one rank is the rank's part. It is kept in no slot,
 * and no number in it is looked at; all else, recovery above all, is switchml's business.
 *
 * It is no aggregation: communicators have one rank.
 * Read next: forward_switch.c. */
#ifndef TRIB_FORWARD_H
#define TRIB_FORWARD_H

#include "schemes/schemes.h"

extern const struct trib_scheme trib_forward;
extern const struct trib_switch_verbs trib_forward_switch_verbs;

#endif
