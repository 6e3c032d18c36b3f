/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h: how large flows are: one size, or a published distribution, drawn with straight lines between its points.
 *
 * Both published forms of both workloads are here under names of their own, because their means differ, and so what "60
 * % load" is:
 *   websearch-packets    DCTCP's, in packets of 1460 B, as pFabric and PIAS have it: mean 1.67 MB
 *   websearch-bytes      the same in bytes, as TrafficGenerator and HPCC have it: mean 1.71 MB
 *   datamining-packets   VL2's, in packets of 1460 B, as pFabric has it: mean 7.47 MB, half of all flows one packet
 *   datamining-bytes     the same in bytes, as TrafficGenerator has it: mean 12.66 MB
 * Read next: traffic.h. */
#ifndef TRIB_SIM_SIZES_H
#define TRIB_SIM_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/prng.h"

struct sim_sizes; /* a distribution: constant */

const struct sim_sizes *sim_sizes_find(const char *name);
/* The index-th; NULL behind the last. */
const struct sim_sizes *sim_sizes_at(uint32_t index);
const char *sim_sizes_name(const struct sim_sizes *sizes);
double sim_sizes_mean(const struct sim_sizes *sizes); /* bytes, the integral */
uint64_t sim_sizes_draw(const struct sim_sizes *sizes, struct trib_prng *prng);
/* Exponential with mean 1. Plain additions and products: the same bits on every machine. */
double sim_draw_exponential(struct trib_prng *prng);

#endif
