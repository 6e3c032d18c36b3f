/* SPDX-License-Identifier: Apache-2.0 */
/* swarm.h: how settings are drawn. Read next: swarm.c. */
#ifndef TRIB_TESTS_WORLD_SWARM_H
#define TRIB_TESTS_WORLD_SWARM_H

#include "world.h"

uint64_t swarm_between(struct trib_prng *prng, uint64_t low, uint64_t high);
uint64_t swarm_logarithmic(struct trib_prng *prng, uint32_t bits); /* 1 to 2^bits, small as likely as large */
bool swarm_one_in(struct trib_prng *prng, uint32_t count);
double swarm_rate(struct trib_prng *prng, double on, double high); /* on in that part of worlds: high / 1000 to high */

#endif
