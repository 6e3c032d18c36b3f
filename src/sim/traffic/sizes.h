/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h: flow sizes from a published distribution, interpolated linearly between its points.
 *
 * Both workloads are published in two forms. Each form has a name here, because their means differ, and so does the
 * meaning of "60 % load":
 *   websearch-packets    DCTCP's, in packets of 1460 B, as in pFabric and PIAS: mean 1.67 MB
 *   websearch-bytes      the same in bytes, as in TrafficGenerator and HPCC: mean 1.71 MB
 *   datamining-packets   VL2's, in packets of 1460 B, as in pFabric: mean 7.47 MB, half of all flows one packet
 *   datamining-bytes     the same in bytes, as in TrafficGenerator: mean 12.66 MB
 *
 * Read next: traffic.h. */
#ifndef TRIB_SIM_SIZES_H
#define TRIB_SIM_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/prng.h"

struct sim_sizes; /* a distribution, constant */

const struct sim_sizes *sim_sizes_find(const char *name);
/* Returns the index-th distribution; NULL after the last. */
const struct sim_sizes *sim_sizes_at(uint32_t index);
const char *sim_sizes_name(const struct sim_sizes *sizes);
double sim_sizes_mean(const struct sim_sizes *sizes); /* bytes, the integral */
uint64_t sim_sizes_draw(const struct sim_sizes *sizes, struct trib_prng *prng);
/* Draws from an exponential distribution with mean 1. Only additions and products: the result is bit-identical on every
 * machine. */
double sim_draw_exponential(struct trib_prng *prng);

#endif
